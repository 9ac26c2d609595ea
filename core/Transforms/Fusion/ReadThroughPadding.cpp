//===- ReadThroughPadding.cpp - Arrays read without what is around --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// On lanes, nests that no unit computes read the array that a padded buffer has inside, each element behind a guard.
/// Those that contractions read are map-contractions' own. On chips with caches the buffer stays, and what is around
/// the array is all that is filled.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Contraction.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Guards.h"
#include "core/Transforms/Contraction/PaddedOperands.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "core/Transforms/Utils/NestPass.h"
#include "core/Transforms/Utils/NestTime.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_READTHROUGHPADDING
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Whether a unit may compute the nest at `root`.
static bool computesProduct(AffineForOp root) {
  FailureOr<Nest> nest = analyzeNest(root);
  return succeeded(nest) && isProduct(*nest);
}

/// What begins to write a sum that a unit may compute, and that `nest`, which is after it in its block, reads; null if
/// there is none.
static Operation *productBefore(AffineForOp nest) {
  Operation *first = nullptr;
  nest->walk([&](AffineLoadOp load) {
    SmallVector<Operation *> writers;
    for (Operation *user : load.getMemRef().getUsers())
      if (isa<AffineStoreOp>(user))
        writers.push_back(nest->getBlock()->findAncestorOpInBlock(*user));
    auto computes = [](Operation *writer) {
      auto root = dyn_cast_or_null<AffineForOp>(writer);
      return root && computesProduct(root);
    };
    if (!llvm::any_of(writers, computes) || llvm::is_contained(writers, nullptr))
      return;
    for (Operation *writer : writers)
      if (writer->isBeforeInBlock(first ? first : nest.getOperation()))
        first = writer;
  });
  return first;
}

/// The buffer's reads below `root`.
static SmallVector<AffineLoadOp> readsBelow(AffineForOp root, Value buffer) {
  SmallVector<AffineLoadOp> reads;
  root->walk([&](AffineLoadOp load) {
    if (load.getMemRef() == buffer)
      reads.push_back(load);
  });
  return reads;
}

/// Iterations of the loops around `op`, up to `root`; dynamic ones count as one.
static double iterationsOf(Operation *op, AffineForOp root) {
  double iterations = 1;
  for (auto loop = op->getParentOfType<AffineForOp>(); loop && root->isAncestor(loop);
       loop = loop->getParentOfType<AffineForOp>())
    if (loop.hasConstantBounds())
      iterations *= double(loop.getConstantUpperBound() - loop.getConstantLowerBound());
  return iterations;
}

/// Writes nests before `array.fill` that fill what is around the inside alone, each element once: of each dimension the
/// slabs before and behind it, which other dimensions before it cross inside.
static SmallVector<AffineForOp> writeBorder(const PaddedArray &array) {
  OpBuilder builder(array.fill);
  Location loc = AffineForOp(array.fill).getLoc();
  ArrayRef<int64_t> sizes = cast<MemRefType>(array.buffer.getType()).getShape();
  SmallVector<AffineForOp> nests;
  auto fill = [&](unsigned d, int64_t count, ArrayRef<int64_t> begins) {
    if (count == 0)
      return;
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<int64_t> trips;
    SmallVector<AffineExpr> places;
    for (unsigned e = 0; e < sizes.size(); ++e) {
      trips.push_back(e < d ? array.sizes[e] : e == d ? count : sizes[e]);
      places.push_back(builder.getAffineDimExpr(e) + (e < d ? array.low[e] : 0));
    }
    const SmallVector<Value> ivs = elementLoops(builder, loc, trips);
    nests.push_back(getForInductionVarOwner(ivs.front()));
    Value around = arith::ConstantOp::create(builder, loc, array.around);
    for (int64_t begin : begins) {
      SmallVector<AffineExpr> own(places);
      own[d] = own[d] + begin;
      AffineStoreOp::create(builder, loc, around, array.buffer,
                            AffineMap::get(sizes.size(), 0, own, builder.getContext()), ivs);
    }
  };
  for (unsigned d : array.dimensions) {
    const int64_t low = array.low[d], end = low + array.sizes[d], high = sizes[d] - end;
    if (low == high) {
      fill(d, low, {0, end});
    } else {
      fill(d, low, {0});
      fill(d, high, {end});
    }
  }
  return nests;
}

namespace {
struct ReadThroughPadding : tilewright::impl::ReadThroughPaddingBase<ReadThroughPadding> {
  /// Reads the array where `reader` reads the padded buffer, if that is faster. `sharers`: nests that read the buffer.
  bool readThrough(AffineForOp reader, const PaddedArray &array, const PassModel &model, size_t sharers) const {
    SmallVector<AffineLoadOp> reads = readsBelow(reader, array.buffer);
    PassWork buffered = passWork(reader, model), guarded = buffered;
    const unsigned bits = elementOf(array.buffer).getIntOrFloatBitWidth();
    unsigned tests = 0;
    for (AffineLoadOp read : reads) {
      const unsigned own = countTests(read, array);
      tests += own;
      guarded.arithmetic += own * iterationsOf(read, reader) / double(model.lanes(bits));
    }
    double writing = model.seconds(passWork(AffineForOp(array.fill), model)) +
                     model.seconds(passWork(AffineForOp(array.copy), model));
    double through = model.seconds(guarded), apart = model.seconds(buffered) + writing / double(sharers);
    const bool isFaster = through < apart;
    if (DecisionLog *log = DecisionLog::of(reader.getContext()))
      log->add(
          "read-padding", reader,
          llvm::json::Object{
              {"inputs", llvm::json::Object{{"reads", int64_t(reads.size())},
                                            {"tests", int64_t(tests)},
                                            {"readers", int64_t(sharers)}}},
              {"choice", llvm::json::Object{{"form", isFaster ? "guarded reads" : "padded buffer"}}},
              {"candidates", llvm::json::Array{llvm::json::Object{{"form", "guarded reads"}, {"seconds", through}},
                                               llvm::json::Object{{"form", "padded buffer"}, {"seconds", apart}}}}});
    if (isFaster)
      for (AffineLoadOp read : reads)
        tilewright::readThrough(read, array);
    return isFaster;
  }

  /// Looks at all readers of `buffer`, which is erased if none is left.
  void visit(memref::AllocOp buffer, const PassModel &model) const {
    auto readers = readersOf(buffer);
    for (Operation *user : buffer->getUsers()) // nests that go on with what is inside
      if (isa<AffineStoreOp>(user))
        readers.remove(buffer->getBlock()->findAncestorOpInBlock(*user));
    SmallVector<AffineForOp> nests;
    for (Operation *reader : readers)
      if (auto root = dyn_cast_or_null<AffineForOp>(reader); root && !computesProduct(root))
        nests.push_back(root);
    if (nests.empty())
      return;
    auto padding = [&](AffineForOp reader) {
      return findPadding(buffer, reader, nullptr, /*mayCompute=*/true, Around::Constant);
    };
    std::optional<PaddedArray> array = padding(nests.front());
    if (!array || array->dimensions.empty())
      return;
    if (!array->source) {
      if (nests.size() != readers.size())
        return;
      separateInside(*array);
    }
    PaddedOperands passed;
    for (AffineForOp reader : nests)
      if (std::optional<PaddedArray> own = padding(reader); own && own->source)
        if (readThrough(reader, *own, model, readers.size()) && passed.passedBy.empty())
          passed.passedBy.push_back(*own);
    passed.eraseBuffers();
  }

  /// Fills what is around the array in `buffer`, if that is faster than all of it; before a product whose sums are what
  /// is inside, so that these are computed into the buffer while they are in registers.
  void fillBorder(memref::AllocOp buffer, const PassModel &model) const {
    Operation *first = nullptr;
    for (Operation *reader : readersOf(buffer)) {
      bool writes = reader && llvm::any_of(buffer->getUsers(), [&](Operation *user) {
                      return isa<AffineStoreOp>(user) && reader->isAncestor(user);
                    });
      if (!reader)
        return;
      if (!writes && (!first || reader->isBeforeInBlock(first)))
        first = reader;
    }
    std::optional<PaddedArray> array =
        first ? findPadding(buffer, first, nullptr, /*mayCompute=*/true, Around::Constant) : std::nullopt;
    if (!array || array->dimensions.empty() || !buffer.getType().hasStaticShape() ||
        llvm::is_contained(array->sizes, ShapedType::kDynamic))
      return;
    SmallVector<AffineForOp> kept{array->fill};
    if (model.onCaches()) { // elsewhere each nest is a launch
      SmallVector<AffineForOp> nests = writeBorder(*array);
      double whole = model.seconds(passWork(array->fill, model)), border = 0;
      for (AffineForOp nest : nests)
        border += model.seconds(passWork(nest, model));
      if (border < whole)
        std::swap(kept, nests);
      for (AffineForOp nest : nests)
        nest.erase();
    }
    if (Operation *product = productBefore(array->copy); product && buffer->isBeforeInBlock(product))
      for (AffineForOp nest : kept)
        if (product->isBeforeInBlock(nest))
          nest->moveBefore(product);
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.isExternal() && isScheduled(function))
      return;
    LogicalResult done = withMemoryModel(function, [&](const NestContext &context) {
      PassModel model(context.chip);
      for (Block &block : function.getBody())
        for (auto buffer : llvm::to_vector(block.getOps<memref::AllocOp>()))
          model.onLanes() ? visit(buffer, model) : fillBorder(buffer, model);
    });
    if (failed(done))
      signalPassFailure();
  }
};
} // namespace
