//===- UnitModelTest.cpp - Units against their functional model ------------ ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The model of each record against a plain multiplication of matrices, and,
/// for units that this machine has, against the instruction itself: the outside
/// oracle of layout and emission.
///
//===----------------------------------------------------------------------===//

#include "tilewright/UnitModel.h"
#include "tilewright/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>

namespace unit_model_test {

using namespace tilewright;

namespace {

/// A fragment of small whole numbers times `scale`, floats of 4 and 6 bits of halves (every sum is exact), and the
/// matrix that it holds.
struct Fragment {
  std::vector<char> bytes;
  std::vector<double> matrix;
};

Fragment randomFragment(const UnitOperand &operand, std::mt19937 &random, double scale = 1) {
  Fragment fragment;
  fragment.bytes.resize(fragmentBytes(operand) + 64);
  fragment.matrix.resize(operand.rows * operand.cols);
  int low = isSigned(operand.element) ? -8 : 0, high = operand.element == ElementKind::I4 ? 7 : 8;
  if (isFloat(operand.element) && bitWidth(operand.element) < 8) {
    low = -3, high = 3;
    scale = 0.5;
  }
  for (double &value : fragment.matrix)
    value = scale * std::uniform_int_distribution<int>(low, high)(random);
  int64_t elements = operand.layout.numElements();
  for (int64_t lane = 0; lane < operand.layout.numLanes(); ++lane) {
    for (int64_t element = 0; element < elements; ++element) {
      Position p = operand.layout.at(lane, element);
      writeElement(operand.element, fragment.bytes.data(), lane * elements + element,
                   fragment.matrix[p.row * operand.cols + p.col]);
    }
  }
  return fragment;
}

/// Powers of two from a quarter to four.
Fragment randomScales(const UnitOperand &operand, std::mt19937 &random) {
  Fragment fragment;
  fragment.bytes.resize(fragmentBytes(operand));
  fragment.matrix.resize(operand.rows * operand.cols);
  for (double &value : fragment.matrix)
    value = std::ldexp(1.0, std::uniform_int_distribution<int>(-2, 2)(random));
  const int64_t elements = operand.layout.numElements();
  for (int64_t lane = 0; lane < operand.layout.numLanes(); ++lane)
    for (int64_t element = 0; element < elements; ++element) {
      Position p = operand.layout.at(lane, element);
      writeElement(operand.element, fragment.bytes.data(), lane * elements + element,
                   fragment.matrix[p.row * operand.cols + p.col]);
    }
  return fragment;
}

/// Places of elements, among bytes whose higher bits mean nothing.
Fragment randomPlaces(const UnitSparsity &sparsity, std::mt19937 &random) {
  const UnitOperand &operand = sparsity.index;
  Fragment fragment;
  fragment.bytes.resize(fragmentBytes(operand));
  fragment.matrix.resize(operand.rows * operand.cols);
  for (double &value : fragment.matrix)
    value = std::uniform_int_distribution<int>(0, 255)(random);
  const int64_t elements = operand.layout.numElements();
  for (int64_t lane = 0; lane < operand.layout.numLanes(); ++lane)
    for (int64_t element = 0; element < elements; ++element) {
      Position p = operand.layout.at(lane, element);
      writeElement(operand.element, fragment.bytes.data(), lane * elements + element,
                   fragment.matrix[p.row * operand.cols + p.col]);
    }
  for (double &value : fragment.matrix)
    value = std::fmod(value, double(sparsity.group));
  return fragment;
}

/// Every unit of every linked chip, once.
std::vector<MatrixUnit> allUnits() {
  static bool done = [] {
    if (TargetRegistry::get().targets().empty())
      registerLinkedTargets();
    return true;
  }();
  (void)done;
  std::map<std::string, MatrixUnit> units;
  for (const Target *target : TargetRegistry::get().targets()) {
    for (const std::string &chip : target->chips()) {
      auto description = llvm::cantFail(target->describe(chip));
      for (const MatrixUnit &unit : description->units())
        units.emplace(unit.name, unit);
    }
  }
  std::vector<MatrixUnit> all;
  for (auto &[name, unit] : units)
    all.push_back(unit);
  return all;
}

llvm::Type *vectorType(ElementKind kind, int64_t count, llvm::LLVMContext &context) {
  llvm::Type *element = kind == ElementKind::F64    ? llvm::Type::getDoubleTy(context)
                        : kind == ElementKind::F32  ? llvm::Type::getFloatTy(context)
                        : kind == ElementKind::F16  ? llvm::Type::getHalfTy(context)
                        : kind == ElementKind::BF16 ? llvm::Type::getBFloatTy(context)
                                                    : llvm::Type::getIntNTy(context, bitWidth(kind));
  return llvm::FixedVectorType::get(element, count);
}

using Instruction = void (*)(const void *, const void *, void *);

/// Compiles `void f(ptr a, ptr b, ptr c)` around the emission of `unit`; null for a form that this test does not know.
Instruction compile(llvm::orc::LLJIT &jit, const MatrixUnit &unit, const CodegenTarget &codegen) {
  bool vectors = unit.b.residence == Residence::VectorRegister && unit.c.residence == Residence::VectorRegister;
  bool fma = unit.emit.name == "llvm.intr.fma";
  bool dot =
      unit.emit.kind == EmissionKind::LlvmIntrinsic && unit.emit.arguments == std::vector<std::string>{"C", "A", "B"};
  bool assembly = unit.emit.kind == EmissionKind::InlineAsm && unit.emit.arguments.size() == 4 &&
                  llvm::StringRef(unit.emit.arguments[3]).starts_with("constraints:");
  if (!vectors || !(fma || dot || assembly))
    return nullptr;
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>(unit.name, *context);
  module->setDataLayout(jit.getDataLayout());
  llvm::IRBuilder<> b(*context);
  auto *pointer = b.getPtrTy();
  auto *function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer}, false),
                                          llvm::Function::ExternalLinkage, "run_" + unit.name, *module);
  function->addFnAttr("target-cpu", codegen.cpu);
  function->addFnAttr("target-features", codegen.features);
  b.SetInsertPoint(llvm::BasicBlock::Create(*context, "entry", function));
  int64_t elements = unit.b.rows * unit.b.cols;
  llvm::Type *typeA = vectorType(unit.a.element, elements, *context);
  llvm::Type *typeB = vectorType(unit.b.element, elements, *context);
  llvm::Type *typeC = vectorType(unit.c.element, unit.m * unit.n, *context);
  llvm::Value *a;
  if (unit.a.residence == Residence::BroadcastScalar) { // the group of k in every lane
    unsigned bits = bitWidth(unit.a.element) * unit.k;
    llvm::Value *group = b.CreateAlignedLoad(b.getIntNTy(bits), function->getArg(0), llvm::Align(1));
    a = b.CreateBitCast(b.CreateVectorSplat(elements / unit.k, group), typeA);
  } else {
    a = b.CreateAlignedLoad(typeA, function->getArg(0), llvm::Align(1));
  }
  llvm::Value *vectorB = b.CreateAlignedLoad(typeB, function->getArg(1), llvm::Align(1));
  llvm::Value *c = b.CreateAlignedLoad(typeC, function->getArg(2), llvm::Align(1));
  llvm::Value *result;
  if (fma) {
    result = b.CreateIntrinsic(typeC, llvm::Intrinsic::fma, {a, vectorB, c});
  } else if (assembly) {
    auto *type = llvm::FunctionType::get(typeC, {typeC, typeA, typeB}, false);
    llvm::StringRef constraints = llvm::StringRef(unit.emit.arguments[3]).split(':').second;
    result = b.CreateCall(llvm::InlineAsm::get(type, unit.emit.name, constraints, false), {c, a, vectorB});
  } else {
    llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(unit.emit.name);
    llvm::SmallVector<llvm::Type *> overloads;
    if (llvm::Intrinsic::isOverloaded(id))
      overloads = {typeC, typeA};
    llvm::Function *callee = llvm::Intrinsic::getOrInsertDeclaration(module.get(), id, overloads);
    auto fit = [&](llvm::Value *value, unsigned index) {
      return b.CreateBitCast(value, callee->getFunctionType()->getParamType(index));
    };
    result = b.CreateBitCast(b.CreateCall(callee, {fit(c, 0), fit(a, 1), fit(vectorB, 2)}), typeC);
  }
  b.CreateAlignedStore(result, function->getArg(2), llvm::Align(1));
  b.CreateRetVoid();
  llvm::cantFail(jit.addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  return llvm::cantFail(jit.lookup("run_" + unit.name)).toPtr<Instruction>();
}

} // namespace

TEST(UnitModel, MultipliesMatrices) {
  std::mt19937 random(1);
  int64_t fractions = 0; // results that are no whole numbers
  for (const MatrixUnit &unit : allUnits()) {
    // Eighths, where the type of C holds every sum of their products.
    bool exact = isFloat(unit.a.element) && isFloat(unit.b.element) && bitWidth(unit.c.element) >= 32;
    double scale = exact ? 0.125 : 1;
    Fragment a = randomFragment(unit.a, random, scale), b = randomFragment(unit.b, random, scale);
    Fragment c = randomFragment(unit.c, random, scale * scale);
    Fragment scaleA, scaleB, index;
    if (unit.sparsity)
      index = randomPlaces(*unit.sparsity, random);
    if (unit.scales) {
      scaleA = randomScales(unit.scales->a, random);
      scaleB = randomScales(unit.scales->b, random);
    }
    runUnit(unit, a.bytes.data(), b.bytes.data(), c.bytes.data(), scaleA.bytes.data(), scaleB.bytes.data(),
            index.bytes.data());
    if (unit.sparsity) { // A with zeros for what it does not keep
      std::vector<double> whole(unit.m * unit.k);
      for (int64_t i = 0; i < unit.m; ++i)
        for (int64_t e = 0; e < unit.a.cols; ++e) {
          const int64_t place = int64_t(index.matrix[i * unit.a.cols + e]);
          whole[i * unit.k + e / unit.sparsity->kept * unit.sparsity->group + place] += a.matrix[i * unit.a.cols + e];
        }
      a.matrix = whole;
    }
    std::vector<double> expected = c.matrix;
    for (int64_t i = 0; i < unit.m; ++i)
      for (int64_t j = 0; j < unit.n; ++j)
        for (int64_t k = 0; k < unit.k; ++k) {
          double product = a.matrix[i * unit.k + k] * b.matrix[k * unit.n + j];
          if (unit.scales) {
            const int64_t block = k / unit.scales->block, blocks = unit.k / unit.scales->block;
            product *= scaleA.matrix[i * blocks + block] * scaleB.matrix[block * unit.n + j];
          }
          expected[i * unit.n + j] += product;
        }
    int64_t elements = unit.c.layout.numElements();
    std::vector<bool> seen(expected.size());
    for (int64_t lane = 0; lane < unit.c.layout.numLanes(); ++lane)
      for (int64_t element = 0; element < elements; ++element) {
        Position p = unit.c.layout.at(lane, element);
        int64_t place = p.row * unit.n + p.col;
        seen[place] = true;
        fractions += expected[place] != std::floor(expected[place]);
        EXPECT_EQ(readElement(unit.c.element, c.bytes.data(), lane * elements + element), expected[place])
            << unit.name << " lane " << lane << " element " << element;
      }
    EXPECT_EQ(llvm::count(seen, false), 0) << unit.name << ": lanes hold not all of C";
  }
  EXPECT_GT(fractions, 0);
}

TEST(UnitModel, AgreesWithTheInstructionsOfThisMachine) {
  allUnits();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  std::mt19937 random(2);
  for (const Target *target : TargetRegistry::get().targets()) {
    auto host = target->describe("host");
    if (!host) {
      llvm::consumeError(host.takeError());
      continue;
    }
    CodegenTarget codegen = (*host)->codegen();
    llvm::orc::JITTargetMachineBuilder machine((llvm::Triple(codegen.triple)));
    machine.setCPU(codegen.cpu);
    machine.addFeatures(llvm::SubtargetFeatures(codegen.features).getFeatures());
    auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create());
    for (const MatrixUnit &unit : (*host)->units()) {
      Instruction instruction = compile(*jit, unit, codegen);
      if (!instruction)
        continue;
      for (int round = 0; round < 20; ++round) {
        Fragment a = randomFragment(unit.a, random), b = randomFragment(unit.b, random);
        Fragment c = randomFragment(unit.c, random), modelled = c;
        instruction(a.bytes.data(), b.bytes.data(), c.bytes.data());
        runUnit(unit, a.bytes.data(), b.bytes.data(), modelled.bytes.data());
        ASSERT_EQ(c.bytes, modelled.bytes) << unit.name;
      }
    }
  }
}

TEST(UnitModel, ElementsSurviveTheirTypes) {
  char data[16] = {};
  for (ElementKind kind :
       {ElementKind::F64, ElementKind::F32, ElementKind::F16, ElementKind::BF16, ElementKind::F8E4M3,
        ElementKind::F8E5M2, ElementKind::F8E4M3FNUZ, ElementKind::F8E5M2FNUZ, ElementKind::F6E2M3, ElementKind::F6E3M2,
        ElementKind::F4E2M1, ElementKind::I32, ElementKind::I16, ElementKind::I8, ElementKind::I4}) {
    for (double value : {-4.0, 0.0, 3.0}) {
      writeElement(kind, data, 1, value);
      EXPECT_EQ(readElement(kind, data, 1), value) << elementName(kind).str();
    }
  }
  for (double value : {0x1p-127, 1.0, 0x1p127}) {
    writeElement(ElementKind::F8E8M0, data, 1, value);
    EXPECT_EQ(readElement(ElementKind::F8E8M0, data, 1), value);
  }
  data[1] = char(0xff);
  EXPECT_TRUE(std::isnan(readElement(ElementKind::F8E8M0, data, 1)));
  writeElement(ElementKind::U8, data, 0, 200);
  EXPECT_EQ(readElement(ElementKind::U8, data, 0), 200);
  writeElement(ElementKind::F32, data, 0, 1 + 0x1p-20);
  EXPECT_EQ(readElement(ElementKind::TF32, data, 0), 1);
}

// Two lanes that exchange their scales are seen in the results, whichever two differ in them.
TEST(UnitModel, AWrongLaneOfAScaleChangesTheResult) {
  std::mt19937 random(3);
  int64_t scaled = 0;
  for (const MatrixUnit &unit : allUnits()) {
    if (!unit.scales)
      continue;
    ++scaled;
    Fragment a = randomFragment(unit.a, random), b = randomFragment(unit.b, random), c = randomFragment(unit.c, random);
    Fragment scales[] = {randomScales(unit.scales->a, random), randomScales(unit.scales->b, random)};
    auto run = [&] {
      std::vector<char> result = c.bytes;
      runUnit(unit, a.bytes.data(), b.bytes.data(), result.data(), scales[0].bytes.data(), scales[1].bytes.data());
      return result;
    };
    const std::vector<char> expected = run();
    for (Fragment &each : scales)
      for (size_t lane = 1; lane < each.bytes.size(); lane *= 2) {
        if (each.bytes[0] == each.bytes[lane])
          continue;
        std::swap(each.bytes[0], each.bytes[lane]);
        EXPECT_NE(run(), expected) << unit.name << " lane " << lane;
        std::swap(each.bytes[0], each.bytes[lane]);
      }
  }
  EXPECT_GE(scaled, 50);
}

// A place of a sparse A that changes is seen in the results, and what A does not keep a factor of is not multiplied.
TEST(UnitModel, ASparseUnitReadsWhatItsIndexSays) {
  std::mt19937 random(5);
  int64_t sparse = 0;
  for (const MatrixUnit &unit : allUnits()) {
    if (!unit.sparsity)
      continue;
    ++sparse;
    Fragment a = randomFragment(unit.a, random), b = randomFragment(unit.b, random), c = randomFragment(unit.c, random);
    Fragment index = randomPlaces(*unit.sparsity, random);
    for (char &place : index.bytes) // the last element of no group
      place = char(static_cast<unsigned char>(place) % (unit.sparsity->group - 1));
    auto run = [&] {
      std::vector<char> result = c.bytes;
      runUnit(unit, a.bytes.data(), b.bytes.data(), result.data(), nullptr, nullptr, index.bytes.data());
      return result;
    };
    const std::vector<char> expected = run();
    const int64_t elements = unit.b.layout.numElements();
    for (int64_t lane = 0; lane < unit.b.layout.numLanes(); ++lane)
      for (int64_t element = 0; element < elements; ++element)
        if (unit.b.layout.at(lane, element).row % unit.sparsity->group == unit.sparsity->group - 1)
          writeElement(unit.b.element, b.bytes.data(), lane * elements + element,
                       isFloat(unit.b.element) ? std::numeric_limits<double>::quiet_NaN() : 100);
    EXPECT_EQ(run(), expected) << unit.name;
    const Fragment other = randomPlaces(*unit.sparsity, random);
    index.bytes = other.bytes;
    EXPECT_NE(run(), expected) << unit.name;
  }
  EXPECT_GE(sparse, 14 + 8 + 2 * 10 + 40 + 48); // of CDNA3, RDNA4, mma.sp, wgmma.sp and tcgen05.mma.sp
}

} // namespace unit_model_test
