//===- LaneAddressTest.cpp - Offsets beyond 32 bits ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a worker's number contributes to an address, folded to a constant for
/// every number, constant steps of pointers around the width that a GEP holds, and
/// programs that read corners of arrays of up to 256 GiB, emulated: of those only
/// the pages that somebody touches exist.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/Transforms/Lower/Lanes/LaneAccess.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tilewright/CallLaneOps.h"
#include "tilewright/PointerOffset.h"
#include "tilewright/Target.h"
#include "llvm/Support/FormatVariadic.h"

namespace lane_address_test {

using namespace mlir;
using namespace tilewright;
using namespace tilewright::test;

namespace {

/// The offset that `indexFromBits` computes for `number`, and whether it multiplied with 64 bits.
std::pair<int64_t, bool> offsetOf(int64_t number, ArrayRef<int64_t> bits) {
  MLIRContext &context = programContext();
  context.loadDialect<func::FuncDialect, arith::ArithDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType({}, builder.getIndexType()));
  builder.setInsertionPointToStart(function.addEntryBlock());
  auto chip = llvm::cantFail(TargetRegistry::get().describe("nvidia:A100"));
  CallLaneOps ops(*chip, "lane.");
  SharedValues shared;
  LaneContext lanes{builder, ops, loc, shared};
  auto result = func::ReturnOp::create(builder, loc, lanes.indexFromBits(lanes.i32(number), bits));
  EXPECT_TRUE(succeeded(verify(*module)));
  bool wide = false;
  function.walk([&](arith::MulIOp op) { wide |= op.getType().isIndex(); });
  EXPECT_TRUE(succeeded(applyPatternsGreedily(function, RewritePatternSet(&context))));
  APInt value;
  EXPECT_TRUE(matchPattern(result.getOperand(0), m_ConstantInt(&value)));
  return {value.getSExtValue(), wide};
}

/// Every number's offset is the sum of its bits'.
void expectSums(ArrayRef<int64_t> bits, bool wide) {
  for (int64_t number = 0; number < int64_t(1) << bits.size(); ++number) {
    int64_t sum = 0;
    for (size_t b = 0; b < bits.size(); ++b)
      sum += (number >> b) & 1 ? bits[b] : 0;
    auto [offset, isWide] = offsetOf(number, bits);
    EXPECT_EQ(offset, sum) << "number " << number;
    EXPECT_EQ(isWide, wide) << "number " << number;
  }
}

/// A program reads columns 64 and on of the rows of a `rows` x `columns` array, of which `width` are given values.
struct Corner {
  ElementKind kind;
  int64_t rows, columns, width;
  std::string text; // of the program
};

constexpr const char *transposition = R"(
  func.func @f(%x: tensor<{0}x{1}x{2}>) -> tensor<{3}x{0}x{2}> {{
    %s = tensor.extract_slice %x[0, 64] [{0}, {3}] [1, 1] : tensor<{0}x{1}x{2}> to tensor<{0}x{3}x{2}>
    %e = tensor.empty() : tensor<{3}x{0}x{2}>
    %r = linalg.transpose ins(%s : tensor<{0}x{3}x{2}>) outs(%e : tensor<{3}x{0}x{2}>) permutation = [1, 0]
    return %r : tensor<{3}x{0}x{2}>
  })";

Corner cornerOf(ElementKind kind, int64_t rows, int64_t columns, int64_t width) {
  return {kind, rows, columns, width,
          llvm::formatv(transposition, rows, columns, elementName(kind).str(), width).str()};
}

} // namespace

TEST(LaneAddress, SumsBelow31BitsStayNarrow) {
  programContext();
  expectSums({4, 8, 64, 128}, false);
  const int64_t last = int64_t(1) << 30;
  expectSums({last - 1, last}, false); // the largest is 2^31 - 1
}

TEST(LaneAddress, LargerSumsHave64Bits) {
  programContext();
  const int64_t row = int64_t(1) << 30;
  expectSums({1, 2, row, 2 * row, 4 * row}, true);
  expectSums({row, row}, true); // 2^31 by the sum alone
  expectSums({3 * row + 5, 6 * row + 10, 7, 100 * row}, true);
}

TEST(LaneAddress, NegativeStepsHave64Bits) {
  programContext();
  expectSums({-4, -8, 64}, true);
  expectSums({-(int64_t(1) << 40), 3}, true);
}

/// A lane's 8 elements of a `shape` array of f32, 4 in each of two rows of the first dimension.
TEST(LaneAddress, RunsOfEachRowOfDynamicSizes) {
  MLIRContext &context = programContext();
  context.loadDialect<func::FuncDialect, arith::ArithDialect, affine::AffineDialect>();
  auto lengths = [&](ArrayRef<int64_t> shape, int64_t rowMultiple) {
    OpBuilder builder(&context);
    Location loc = builder.getUnknownLoc();
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    Type index = builder.getIndexType();
    auto function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType({index, index}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    auto chip = llvm::cantFail(TargetRegistry::get().describe("nvidia:A100"));
    CallLaneOps ops(*chip, "lane.");
    SharedValues shared;
    LaneContext lanes{builder, ops, loc, shared};
    LaneArray array;
    array.type = MemRefType::get(shape, builder.getF32Type());
    array.sizes = llvm::to_vector_of<Value>(function.getArguments().take_front(array.type.getNumDynamicDims()));
    array.rowMultiple = rowMultiple;
    Distribution distribution;
    distribution.bits = {{0, 4}, {0, 8}};
    for (int64_t row : {0, 1})
      for (int64_t column = 0; column < 4; ++column)
        distribution.elements.push_back({row, column});
    distribution.number = lanes.i32(0);
    SmallVector<AffineExpr> places(shape.size(), builder.getAffineConstantExpr(0));
    places.front() = builder.getAffineDimExpr(0);
    places.back() = builder.getAffineDimExpr(1);
    AffineMap origin =
        AffineMap::get(0, 0, SmallVector<AffineExpr>(shape.size(), builder.getAffineConstantExpr(0)), &context);
    auto access = LaneAccess::create(lanes, array, origin, {}, AffineMap::get(2, 0, places, &context), distribution);
    SmallVector<unsigned> counts;
    for (LaneRun run : access->runs(16))
      counts.push_back(run.count);
    return counts;
  };
  const int64_t dynamic = ShapedType::kDynamic;
  using Counts = SmallVector<unsigned>;
  EXPECT_EQ(lengths({dynamic, dynamic, 16}, 1), Counts({4, 4})); // rows lie a multiple of 16 apart, whatever it is
  EXPECT_EQ(lengths({dynamic, dynamic}, 4), Counts({4, 4}));
  EXPECT_EQ(lengths({dynamic, dynamic}, 2), Counts({4, 2, 2}));
  EXPECT_EQ(lengths({dynamic, dynamic}, 1), Counts({4, 1, 1, 1, 1})); // the second row may begin anywhere
  EXPECT_EQ(lengths({dynamic, dynamic, 6}, 1), Counts({4, 2, 2}));
}

/// Where the chip has no loads by place after all, a load of a pointer promises what has been proved, no more.
TEST(LaneAddress, LoosenedRunsPromiseWhereTheyBegin) {
  MLIRContext &context = programContext();
  context.loadDialect<func::FuncDialect, arith::ArithDialect, affine::AffineDialect, LLVM::LLVMDialect,
                      vector::VectorDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto pointer = LLVM::LLVMPointerType::get(&context, 1);
  auto function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType(pointer, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  auto chip = llvm::cantFail(TargetRegistry::get().describe("nvidia:A100"));
  CallLaneOps ops(*chip, "lane.");
  SharedValues shared;
  LaneContext lanes{builder, ops, loc, shared};
  LaneArray array;
  array.pointer = function.getArgument(0);
  array.type = MemRefType::get({16, 10}, builder.getF16Type()); // rows of 20 bytes
  Distribution distribution;
  distribution.bits = {{1, 0}, {2, 0}};
  for (int64_t column = 0; column < 8; ++column)
    distribution.elements.push_back({0, column});
  distribution.number = lanes.i32(1);
  AffineMap origin = AffineMap::get(0, 0, SmallVector<AffineExpr>(2, builder.getAffineConstantExpr(0)), &context);
  auto vector = VectorType::get(8, builder.getF16Type());
  auto alignments = [&](int64_t begin) {
    auto access =
        LaneAccess::create(lanes, array, origin, {}, AffineMap::getMultiDimIdentityMap(2, &context), distribution);
    access->loosen(begin);
    auto first = LLVM::UndefOp::create(builder, loc, vector);
    loadElements(lanes, *access, distribution, {}, vector, /*byPlace=*/true);
    SmallVector<uint64_t> found;
    for (Operation *op = first; op; op = op->getNextNode())
      if (auto load = dyn_cast<LLVM::LoadOp>(op))
        found.push_back(load.getAlignment().value_or(0));
    return found;
  };
  using Alignments = SmallVector<uint64_t>;
  EXPECT_EQ(alignments(0), Alignments({4, 4, 4, 4})); // as long as they are
  EXPECT_EQ(alignments(4), Alignments({4}));          // 16 bytes
  EXPECT_EQ(alignments(2), Alignments({2}));
}

TEST(LaneAddress, ConstantStepsOfPointersAreKept) {
  MLIRContext &context = programContext();
  context.loadDialect<LLVM::LLVMDialect>();
  const int64_t held = int64_t(1) << (LLVM::kGEPConstantBitWidth - 1);
  for (int64_t count : {int64_t(1), held - 1, held, -held, -held - 1, 2 * held + 3, int64_t(1) << 31, int64_t(1) << 40,
                        -(int64_t(1) << 33) - 7}) {
    OpBuilder builder(&context);
    Location loc = builder.getUnknownLoc();
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    Value base = LLVM::ZeroOp::create(builder, loc, LLVM::LLVMPointerType::get(&context));
    auto gep = elementBehind(builder, loc, base, builder.getI8Type(), count).getDefiningOp<LLVM::GEPOp>();
    ASSERT_EQ(gep.getIndices().size(), 1u);
    llvm::PointerUnion<IntegerAttr, Value> index = gep.getIndices()[0];
    APInt number;
    if (auto constant = dyn_cast<IntegerAttr>(index))
      number = constant.getValue();
    else
      ASSERT_TRUE(matchPattern(cast<Value>(index), m_ConstantInt(&number)));
    EXPECT_EQ(number.getSExtValue(), count);
    EXPECT_EQ(isa<IntegerAttr>(index), count >= -held && count < held) << count;
  }
}

/// What a wrapped address would read is poison or another row.
TEST(LaneAddress, CornersOfLargeArraysAreRead) {
  using enum ElementKind;
  std::mt19937 random(5);
  const Corner corners[] = {cornerOf(I8, 128, 3000000, 128),          // rows 24,000,000 bytes apart, 366 MiB
                            cornerOf(F16, 64, 8388608, 64),           // 2^28 elements behind 32 rows
                            cornerOf(F32, 64, int64_t(1) << 30, 64)}; // bits of lanes beyond 2^31 elements, 256 GiB
  for (const char *chip : {"nvidia:A100", "nvidia:H200", "amd:MI300X", "amd:RX9070"})
    for (const Corner &corner : corners) {
      Compiled compiled = compileFor(corner.text, chip);
      ASSERT_TRUE(compiled.kernels);
      Emulator device(compiled.kernels);
      std::string error;
      const int64_t bytes = bitWidth(corner.kind) / 8, count = corner.rows * corner.width;
      auto *large = static_cast<char *>(device.allocate(corner.rows * corner.columns * bytes, error));
      void *result = device.allocate(count * bytes, error);
      ASSERT_TRUE(large && result) << error;
      Array values(corner.kind, count, &random), turned(corner.kind, count, nullptr);
      for (int64_t r = 0; r < corner.rows; ++r)
        ASSERT_TRUE(device.copyIn(large + (r * corner.columns + 64) * bytes,
                                  values.bytes.data() + r * corner.width * bytes, corner.width * bytes, error))
            << error;
      ASSERT_TRUE(compiled.program->run(device, {}, {large, result}, error)) << error;
      for (const Finding &finding : device.findings())
        ADD_FAILURE() << chip << ": " << finding.str();
      ASSERT_TRUE(device.copyOut(turned.bytes.data(), result, count * bytes, error)) << error;
      int64_t wrong = 0;
      for (int64_t r = 0; r < corner.rows; ++r)
        for (int64_t c = 0; c < corner.width; ++c)
          wrong += turned.at(c * corner.rows + r) != values.values[r * corner.width + c];
      EXPECT_EQ(wrong, 0) << chip << ": " << corner.text;
    }
}

/// Coordinates of tiles have 32 bits: where sizes are known, lanes copy; others are refused when a call tells them.
TEST(LaneAddress, TilesOfTooManyRowsAreRefused) {
  constexpr const char *text = R"(
    func.func @f(%a: tensor<256x256xf16>, %b: tensor<{0}x256xf16>, %c: tensor<256x{0}xf32>) -> tensor<256x{0}xf32> {{
      %z = arith.constant 0.0 : f32
      %f = linalg.fill ins(%z : f32) outs(%c : tensor<256x{0}xf32>) -> tensor<256x{0}xf32>
      %r = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                                          affine_map<(i, j, k) -> (i, j)>]
             ins(%a, %b : tensor<256x256xf16>, tensor<{0}x256xf16>)
             outs(%f : tensor<256x{0}xf32>) -> tensor<256x{0}xf32>
      return %r : tensor<256x{0}xf32>
    })";
  const int64_t most = (int64_t(1) << 31) - 1;
  auto compiled = [&](const std::string &rows) { return compileFor(llvm::formatv(text, rows).str(), "nvidia:H200"); };
  auto takesTiles = [](const Compiled &program) { return llvm::StringRef(program.lanes).contains("bulk.tensor"); };
  EXPECT_TRUE(takesTiles(compiled("4096")));
  EXPECT_FALSE(takesTiles(compiled(std::to_string(most + 1))));
  Compiled dynamic = compiled("?");
  ASSERT_TRUE(takesTiles(dynamic));
  Emulator device(dynamic.kernels);
  std::string error;
  void *memory = device.allocate(256, error);
  EXPECT_FALSE(dynamic.program->run(device, {most + 1}, {memory, memory, memory, memory}, error));
  EXPECT_TRUE(llvm::StringRef(error).contains("expected at most 2147483647")) << error;
}

} // namespace lane_address_test
