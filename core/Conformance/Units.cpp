//===- Units.cpp - Matrix units, one instruction at a time ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Numbers, fragments and the program around one instruction.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Units.h"
#include "core/Machine/PackedElements.h"
#include "core/Machine/RecordTypes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include "tilewright/UnitModel.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::conformance;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Whole numbers: any that the type holds for small integers, else small ones, so that most sums are exact.
static double drawElement(ElementKind kind, bool extreme, std::mt19937 &random) {
  if (kind == ElementKind::F8E8M0) // a scale: powers of two that stay exact in the sums, or far from one
    return std::ldexp(1.0, int(random() % (extreme ? 40 : 5)) - (extreme ? 20 : 2));
  auto between = [&](int64_t low, int64_t high) {
    return static_cast<double>(low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1)));
  };
  if (isFloat(kind) && bitWidth(kind) < 8)
    return between(-3, 3) / (extreme ? 2 : 1);
  if (isFloat(kind))
    return between(-8, 8) / (extreme && bitWidth(kind) >= 16 ? 1024 : 1);
  int64_t top = int64_t(1) << (bitWidth(kind) - isSigned(kind));
  if (kind == ElementKind::I1)
    return between(0, 1);
  if (extreme) {
    double ends[] = {double(top - 1), double(isSigned(kind) ? -top : 0), double(isSigned(kind) ? -top : top - 1), 1};
    return ends[random() % 4];
  }
  if (bitWidth(kind) >= 16)
    return between(-1000, 1000);
  return between(isSigned(kind) ? -top : 0, top - 1);
}

/// The fragment of `matrix` in bytes.
static void writeFragment(const UnitOperand &operand, llvm::ArrayRef<double> matrix, std::vector<char> &bytes) {
  bytes.assign(fragmentBytes(operand), 0);
  int64_t elements = operand.layout.numElements();
  for (int64_t lane = 0; lane < operand.layout.numLanes(); ++lane)
    for (int64_t element = 0; element < elements; ++element) {
      Position p = operand.layout.at(lane, element);
      writeElement(operand.element, bytes.data(), lane * elements + element, matrix[p.row * operand.cols + p.col]);
    }
}

/// A matrix, and its fragment in bytes.
static std::vector<double> drawFragment(const UnitOperand &operand, bool extreme, std::mt19937 &random,
                                        std::vector<char> &bytes) {
  std::vector<double> matrix(operand.rows * operand.cols);
  for (double &value : matrix) {
    value = drawElement(operand.element, extreme, random);
    if (isUnsignedScale(operand))
      value = std::fabs(value);
  }
  writeFragment(operand, matrix, bytes);
  return matrix;
}

/// Places that ascend in each group, and their fragment, in which the bits above them are drawn, too.
static std::vector<double> drawPlaces(const UnitSparsity &sparsity, std::mt19937 &random, std::vector<char> &bytes) {
  const UnitOperand &operand = sparsity.index;
  std::vector<double> places(operand.rows * operand.cols), whole(places.size());
  std::vector<int64_t> group(sparsity.group);
  std::iota(group.begin(), group.end(), 0);
  const int64_t above = (int64_t(1) << bitWidth(operand.element)) / sparsity.group;
  for (size_t first = 0; first < places.size(); first += sparsity.kept) {
    std::shuffle(group.begin(), group.end(), random);
    std::sort(group.begin(), group.begin() + sparsity.kept);
    for (int64_t i = 0; i < sparsity.kept; ++i) {
      places[first + i] = double(group[i]);
      whole[first + i] = double(group[i] + sparsity.group * static_cast<int64_t>(random() % above));
    }
  }
  writeFragment(operand, whole, bytes);
  return places;
}

/// The type of arrays that holds values of an instruction's C.
static ElementType arrayType(ElementKind kind) {
  switch (kind) {
  case ElementKind::F64:
    return ElementType::F64;
  case ElementKind::F16:
    return ElementType::F16;
  case ElementKind::BF16:
    return ElementType::BF16;
  default:
    return isFloat(kind) ? ElementType::F32 : ElementType::I32;
  }
}

UnitProblem conformance::unitProblem(const MatrixUnit &unit, bool extreme, uint64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  UnitProblem problem;
  std::vector<double> a = drawFragment(unit.a, extreme, random, problem.a);
  std::vector<double> b = drawFragment(unit.b, extreme, random, problem.b);
  std::vector<double> c = drawFragment(unit.c, extreme, random, problem.c);
  if (unit.scales) {
    const int64_t block = unit.scales->block, blocks = unit.k / block;
    std::vector<double> ofA, ofB;
    if (unit.scales->hasA())
      ofA = drawFragment(unit.scales->a, extreme, random, problem.scaleA);
    if (unit.scales->hasB())
      ofB = drawFragment(unit.scales->b, extreme, random, problem.scaleB);
    for (int64_t i = 0; unit.scales->hasA() && i < unit.m * unit.k; ++i)
      a[i] *= ofA[i / unit.k * blocks + i % unit.k / block];
    for (int64_t i = 0; unit.scales->hasB() && i < unit.k * unit.n; ++i)
      b[i] *= ofB[i / unit.n / block * unit.n + i % unit.n];
  }
  const int64_t depth = unit.depthOfA();
  std::vector<double> index;
  if (unit.sparsity)
    index = drawPlaces(*unit.sparsity, random, problem.indexA);
  /// The row of B that element e of row i of A is multiplied by: written out here, so that it checks the model's.
  auto rowOf = [&](int64_t i, int64_t e) {
    if (!unit.sparsity)
      return e;
    const int64_t group = unit.sparsity->group;
    return e / unit.sparsity->kept * group + static_cast<int64_t>(index[i * depth + e]);
  };
  problem.expected = Expected(unit.m * unit.n);
  double range = std::ldexp(1.0, static_cast<int>(bitWidth(unit.c.element)));
  for (int64_t i = 0; i < unit.m; ++i)
    for (int64_t j = 0; j < unit.n; ++j) {
      int64_t at = i * unit.n + j;
      double sum = unit.init == UnitInit::NoAccumulate ? 0 : c[at], magnitude = std::fabs(sum), largest = magnitude;
      for (int64_t e = 0; e < depth; ++e) {
        double product = a[i * depth + e] * b[rowOf(i, e) * unit.n + j];
        sum += product;
        magnitude += std::fabs(product);
        largest = std::max(largest, std::fabs(product));
      }
      if (isFloat(unit.c.element)) {
        problem.expected.bound[at] = sumBound(arrayType(unit.c.element), unit.k, magnitude);
        if (unit.sumBits) // each term is cut off where the sum's last bit is, which the largest of all says
          problem.expected.bound[at] +=
              double(unit.k + 1) * std::ldexp(std::max(largest, std::fabs(sum)), 1 - int(unit.sumBits));
      } else if (unit.saturates) {
        sum = std::min(std::max(sum, isSigned(unit.c.element) ? -range / 2 : 0),
                       isSigned(unit.c.element) ? range / 2 - 1 : range - 1);
      } else { // wraps
        sum -= std::floor(sum / range) * range;
        sum -= isSigned(unit.c.element) && sum >= range / 2 ? range : 0;
      }
      problem.expected.value[at] = sum;
    }
  return problem;
}

std::string conformance::judgeUnit(const MatrixUnit &unit, const UnitProblem &problem, const std::vector<char> &c) {
  int64_t elements = unit.c.layout.numElements();
  for (int64_t lane = 0; lane < unit.c.layout.numLanes(); ++lane)
    for (int64_t element = 0; element < elements; ++element) {
      Position p = unit.c.layout.at(lane, element);
      int64_t at = p.row * unit.n + p.col;
      double got = readElement(unit.c.element, c.data(), lane * elements + element), want = problem.expected.value[at];
      double tolerance;
      if (judgeElement(got, want, problem.expected.bound[at], arrayType(unit.c.element), tolerance) > 1)
        return llvm::formatv("C[{0}, {1}] (lane {2}, element {3}) is {4:f6}, expected {5:f6} +- {6:e1}", p.row, p.col,
                             lane, element, got, want, tolerance);
    }
  return "";
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static bool isOfLanes(const MatrixUnit &unit) {
  return unit.a.residence == Residence::LaneRegisters && unit.b.residence == Residence::LaneRegisters &&
         unit.c.residence == Residence::LaneRegisters;
}

int64_t conformance::unitLanes(const MatrixUnit &unit) {
  return std::max({unit.a.layout.numLanes(), unit.b.layout.numLanes(), unit.c.layout.numLanes()});
}

std::string conformance::whyNoProgram(const MatrixUnit &unit) {
  if (isOfLanes(unit) || isOfGroup(unit))
    return "";
  for (const UnitOperand *operand : {&unit.a, &unit.b, &unit.c}) {
    if (operand->residence == Residence::Scratchpad || operand->residence == Residence::Accumulator)
      return "an operand lies in a memory of the chip: programs show it";
    if (operand->scalable)
      return "its vectors have no fixed length";
    if (operand->opaque && !operand->opaque->masks.empty())
      return "its registers are numbered: programs show it";
    if (operand->opaque && (operand->opaque->fill.name.empty() ||
                            operand->opaque->rows * operand->opaque->rowBytes != fragmentBytes(*operand)))
      return "its registers cannot be filled from the bytes of one operand: programs show it";
  }
  if (!unit.states.empty())
    return "it needs the state " + unit.states.front().name + " around it: programs show it";
  return "";
}

static std::string vectorOf(ElementKind kind, int64_t count) {
  llvm::StringRef element = elementName(kind);
  if (kind == ElementKind::TF32)
    element = "f32";
  else if (!isFloat(kind) || bitWidth(kind) <= 8)
    return llvm::formatv("vector<{0}xi{1}>", count, bitWidth(kind));
  return llvm::formatv("vector<{0}x{1}>", count, element);
}

/// The function that moves a register of `operand` from or to memory: "fill" or "store".
static std::string moveOf(const UnitOperand &operand, llvm::StringRef move) {
  std::string element = vectorOf(operand.element, 1);
  return ("tilewright.register." + operand.opaque->name + "." + move + "." +
          llvm::StringRef(element).split('x').second.drop_back())
      .str();
}

/// Loads the floats of 4 or 6 bits of `operand`, side by side, word by word: memory has no vectors of 24 bytes.
static std::string loadOfWords(const char *name, const std::string &space, const std::string &type,
                               const UnitOperand &operand) {
  const int64_t words = operand.layout.numElements() * bitWidth(operand.element) / 64;
  std::string vector = llvm::formatv("vector<{0}xi64>", words), last = llvm::formatv("%{0}y", name), text;
  text = llvm::formatv("    {0} = llvm.mlir.poison : {1}\n", last, vector);
  for (int64_t i = 0; i < words; ++i) {
    std::string next = llvm::formatv("%{0}y{1}", name, i);
    text += llvm::formatv("    {0}p = llvm.getelementptr %{1}p[{2}] : (!llvm.ptr{3}) -> !llvm.ptr{3}, i64\n"
                          "    {0}v = llvm.load {0}p {{alignment = 1 : i64} : !llvm.ptr{3} -> i64\n"
                          "    {0}i = llvm.mlir.constant({2} : i32) : i32\n"
                          "    {0} = llvm.insertelement {0}v, {4}[{0}i : i32] : {5}\n",
                          next, name, i, space, last, vector);
    last = next;
  }
  return text + llvm::formatv("    %{0}v = llvm.bitcast {1} : {2} to {3}\n", name, last, vector, type).str();
}

llvm::Expected<OwningOpRef<ModuleOp>> conformance::unitProgram(const MatrixUnit &unit, llvm::StringRef target,
                                                               MLIRContext &context) {
  if (isOfGroup(unit))
    return groupUnitProgram(
        unit, target, cast<VectorType>(parseType(vectorOf(unit.c.element, 1), &context)).getElementType(), context);
  auto chip = TargetRegistry::get().describe(target.str());
  if (!chip)
    return chip.takeError();
  // Where programs are launches, an instruction of one lane is one, too.
  bool lanes = isOfLanes(unit) || (*chip)->graph().startsLaunches();
  // A broadcast operand is a whole vector for the instruction: its group of k once for each column.
  bool broadcast = unit.a.residence == Residence::BroadcastScalar;
  int64_t countA = broadcast ? unit.b.layout.numElements() : unit.a.layout.numElements();
  // Operands in registers of a class are filled from memory and stored to it, as programs do.
  auto typeOf = [&](const UnitOperand &operand, int64_t count) {
    std::string type = vectorOf(operand.element, count);
    if (operand.opaque)
      llvm::raw_string_ostream(type = "") << parseRecordType(operand.opaque->valueType, context);
    return type;
  };
  std::string a = typeOf(unit.a, countA), b = typeOf(unit.b, unit.b.layout.numElements()),
              c = typeOf(unit.c, unit.c.layout.numElements());
  struct Beside { // scales, an index
    std::string name, type;
    const UnitOperand *operand;
  };
  std::vector<Beside> besides;
  std::string besideTypes, besideParameters, besideValues;
  for (const UnitOperand *operand : unit.besides()) {
    besides.push_back(
        {llvm::formatv("s{0}", besides.size()), vectorOf(operand->element, operand->layout.numElements()), operand});
    besideTypes += ", " + besides.back().type;
    besideParameters += ", %" + besides.back().name + ": !llvm.ptr" + (lanes ? "<1>" : "");
    besideValues += ", %" + besides.back().name + "v";
  }
  std::string types = llvm::formatv("({0}, {1}, {2}{3}) -> {2}", a, b, c, besideTypes);
  std::string space = lanes ? "<1>" : "", text;
  llvm::raw_string_ostream os(text);
  os << "module attributes {tilewright.target = \"" << target << "\"} {\n";
  llvm::StringSet<> declared;
  for (const auto &[operand, type] : {std::pair(&unit.a, &a), std::pair(&unit.b, &b), std::pair(&unit.c, &c)}) {
    if (operand->opaque && declared.insert(moveOf(*operand, "fill")).second)
      os << "  llvm.func @" << moveOf(*operand, "fill") << "(!llvm.ptr, i64) -> " << *type << "\n";
    if (operand->opaque && operand == &unit.c)
      os << "  llvm.func @" << moveOf(*operand, "store") << "(" << *type << ", !llvm.ptr, i64)\n";
  }
  os << "  llvm.func @tilewright.unit." << unit.name << types << "\n  llvm.func @" << unitEntry << "(%a: !llvm.ptr"
     << space << ", %b: !llvm.ptr" << space << ", %c: !llvm.ptr" << space << besideParameters
     << (lanes ? ")" : ") -> i32") << " {\n    %lane = llvm.mlir.constant(0 : i32) : i32\n";
  auto pointer = [&](const char *name, const UnitOperand &operand) {
    // Fragments lie lane after lane; an operand on fewer lanes repeats.
    int64_t bytes = operand.layout.numElements() * bitWidth(operand.element) / 8;
    os << llvm::formatv(
        "    %{0}n = llvm.mlir.constant({1} : i32) : i32\n    %{0}l = llvm.mlir.constant({2} : i32) : i32\n"
        "    %{0}w = llvm.and %lane, %{0}l : i32\n    %{0}o = llvm.mul %{0}w, %{0}n : i32\n"
        "    %{0}p = llvm.getelementptr %{0}[%{0}o] : (!llvm.ptr{3}, i32) -> !llvm.ptr{3}, i8\n",
        name, bytes, operand.layout.numLanes() - 1, space);
  };
  // The alignment of one element. Assemblers have been seen to store single bytes of a float as what the float is as an
  // integer (ptxas 13.0).
  auto alignment = [](const UnitOperand &operand) { return std::max<int64_t>(1, bitWidth(operand.element) / 8); };
  auto load = [&](const char *name, const std::string &type, const UnitOperand &operand) {
    if (operand.opaque)
      os << llvm::formatv("    %{0}r = llvm.mlir.constant({1} : i64) : i64\n    %{0}v = llvm.call @{2}(%{0}p, %{0}r) : "
                          "(!llvm.ptr, i64) -> {3}\n",
                          name, operand.opaque->rowBytes, moveOf(operand, "fill"), type);
    else if (bitWidth(operand.element) < 8 && isFloat(operand.element))
      os << loadOfWords(name, space, type, operand);
    else
      os << llvm::formatv("    %{0}v = llvm.load %{0}p {{alignment = {3} : i64} : !llvm.ptr{1} -> {2}\n", name, space,
                          type, alignment(operand));
  };
  pointer("a", unit.a);
  pointer("b", unit.b);
  pointer("c", unit.c);
  if (broadcast) {
    int64_t bits = bitWidth(unit.a.element) * unit.k, groups = countA / unit.k;
    std::string zeros;
    for (int64_t i = 0; i < groups; ++i)
      zeros += i ? ", 0" : "0";
    os << llvm::formatv("    %as = llvm.load %ap {{alignment = 1 : i64} : !llvm.ptr{0} -> i{1}\n"
                        "    %ae = llvm.mlir.poison : vector<{2}xi{1}>\n    %az = llvm.mlir.constant(0 : i32) : i32\n"
                        "    %ai = llvm.insertelement %as, %ae[%az : i32] : vector<{2}xi{1}>\n"
                        "    %ab = llvm.shufflevector %ai, %ae [{3}] : vector<{2}xi{1}>\n"
                        "    %av = llvm.bitcast %ab : vector<{2}xi{1}> to {4}\n",
                        space, bits, groups, zeros, a);
  } else {
    load("a", a, unit.a);
  }
  load("b", b, unit.b);
  load("c", c, unit.c);
  for (const Beside &beside : besides) {
    pointer(beside.name.c_str(), *beside.operand);
    load(beside.name.c_str(), beside.type, *beside.operand);
  }
  os << "    %d = llvm.call @tilewright.unit." << unit.name << "(%av, %bv, %cv" << besideValues << ") : " << types
     << "\n";
  if (unit.c.opaque)
    os << llvm::formatv("    llvm.call @{0}(%d, %cp, %cr) : ({1}, !llvm.ptr, i64) -> ()\n", moveOf(unit.c, "store"), c);
  else
    os << llvm::formatv("    llvm.store %d, %cp {{alignment = {2} : i64} : {0}, !llvm.ptr{1}\n", c, space,
                        alignment(unit.c));
  os << (lanes ? "    llvm.return" : "    %ok = llvm.mlir.constant(0 : i32) : i32\n    llvm.return %ok : i32")
     << "\n  }\n}\n";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context, "unit.mlir");
  if (!module)
    return llvm::createStringError("the program of one instruction cannot be read:\n" + text);
  if (!lanes)
    return module;
  auto ops = laneOpsOf(*module);
  if (!ops)
    return ops.takeError();
  auto function = module->lookupSymbol<LLVM::LLVMFuncOp>(unitEntry);
  Operation *lane = &function.front().front();
  OpBuilder builder(lane);
  lane->getResult(0).replaceAllUsesWith((*ops)->threadId(builder, function.getLoc()));
  lane->erase();
  (*ops)->finishLaunch(function, {unitLanes(unit), 0});
  return module;
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

std::vector<Case> conformance::unitCases(const TargetDescription &chip) {
  std::vector<Case> cases;
  const std::pair<CaseUnit::Kind, const char *> kinds[] = {
      {CaseUnit::Model, "model"}, {CaseUnit::Code, "code"}, {CaseUnit::Run, "run"}};
  for (const MatrixUnit &unit : chip.units())
    for (auto [kind, word] : kinds) {
      std::string types = llvm::formatv("{0}.{1}.{2}", elementName(unit.a.element), elementName(unit.b.element),
                                        elementName(unit.c.element));
      Case one{"unit", unit.name, types, llvm::formatv("{0}x{1}x{2}", unit.m, unit.n, unit.k), word, true, {}, {}};
      one.unit = CaseUnit{&unit, kind};
      cases.push_back(std::move(one));
    }
  return cases;
}
