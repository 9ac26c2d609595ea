//===- LowerTileToVector.cpp - Fragments of one lane become vectors -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Converts tile ops on fragments whose layout has one lane, and the scf ops
/// that carry them, to vectors; matrix units become calls by record.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Units/UnitRegisters.h"
#include "core/Transforms/Lower/Vectors/RereadScalars.h"
#include "core/Transforms/Lower/Vectors/TileAccessLowering.h"
#include "core/Transforms/Lower/Vectors/TileBufferLowering.h"
#include "core/Transforms/Lower/Vectors/TileRegionLowering.h"
#include "core/Transforms/Lower/Vectors/VectorTranspose.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "tilewright/TargetDescription.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_LOWERTILETOVECTOR
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace tilewright;

//===-- Values and accesses -----------------------------------------------===//

namespace {
/// A pattern that may ask the chip; `target` is null where no op needs one.
template <typename OpTy> struct ChipPattern : OpConversionPattern<OpTy> {
  ChipPattern(const TypeConverter &converter, MLIRContext *context, const TargetDescription *target, ModuleOp module)
      : OpConversionPattern<OpTy>(converter, context), target(target), module(module) {}
  const TargetDescription *target;
  mutable ModuleOp module;
};

struct ZeroLowering : ChipPattern<tile::ZeroOp> {
  using ChipPattern::ChipPattern;
  LogicalResult matchAndRewrite(tile::ZeroOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    if (op.getType().isOpaque()) {
      FailureOr<Value> value = lowerRegisterZero(rewriter, op, *target, module);
      if (failed(value))
        return failure();
      rewriter.replaceOp(op, *value);
      return success();
    }
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, rewriter.getZeroAttr(vectorTypeOf(op.getType())));
    return success();
  }
};

struct IndexLowering : OpConversionPattern<tile::IndexOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::IndexOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    VectorType type = vectorTypeOf(op.getType());
    SmallVector<Attribute> numbers;
    for (Position position : op.getType().positions())
      numbers.push_back(
          rewriter.getIntegerAttr(type.getElementType(), op.getDimension() == 0 ? position.row : position.col));
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, DenseElementsAttr::get(type, numbers));
    return success();
  }
};

/// `vector` holds the positions `held`; the vector of those that `wanted` lists.
Value pick(OpBuilder &builder, Location loc, Value vector, ArrayRef<Position> held, ArrayRef<Position> wanted) {
  if (held.size() == 1)
    return repeatGroup(builder, loc, vector, wanted.size());
  SmallVector<int64_t> order;
  for (Position position : wanted)
    order.push_back(llvm::find(held, position) - held.begin());
  return vector::ShuffleOp::create(builder, loc, vector, vector, order);
}

struct BroadcastLowering : OpConversionPattern<tile::BroadcastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::BroadcastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto source = dyn_cast<tile::FragmentType>(op.getSource().getType());
    if (!source) {
      rewriter.replaceOpWithNewOp<vector::BroadcastOp>(op, vectorTypeOf(op.getType()), adaptor.getSource());
      return success();
    }
    SmallVector<Position> wanted = op.getType().positions();
    for (Position &position : wanted)
      position = {source.getRows() == 1 ? 0 : position.row, source.getCols() == 1 ? 0 : position.col};
    rewriter.replaceOp(op, pick(rewriter, op.getLoc(), adaptor.getSource(), source.positions(), wanted));
    return success();
  }
};

struct ConvertLowering : OpConversionPattern<tile::ConvertOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ConvertOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, pick(rewriter, op.getLoc(), adaptor.getSource(), op.getSource().getType().positions(),
                                op.getType().positions()));
    return success();
  }
};

struct JoinLowering : OpConversionPattern<tile::JoinOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::JoinOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    Value all = arith::ConstantOp::create(rewriter, op.getLoc(), rewriter.getZeroAttr(type));
    int64_t count = type.getNumElements() / int64_t(op.getParts().size());
    for (auto [i, part] : llvm::enumerate(adaptor.getParts()))
      all = vector::InsertStridedSliceOp::create(rewriter, op.getLoc(), part, all, int64_t(i) * count, 1);
    rewriter.replaceOp(op, all);
    return success();
  }
};

struct SplitLowering : OpConversionPattern<tile::SplitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::SplitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getParts().front().getType()));
    for (int64_t i = 0; i < int64_t(op.getParts().size()); ++i)
      parts.push_back(vector::ExtractStridedSliceOp::create(rewriter, op.getLoc(), adaptor.getWhole(),
                                                            i * type.getNumElements(), type.getNumElements(), 1));
    rewriter.replaceOp(op, parts);
    return success();
  }
};

struct TransposeLowering : OpConversionPattern<tile::TransposeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::TransposeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, transposeVectors(rewriter, op.getLoc(), llvm::to_vector(adaptor.getInputs())));
    return success();
  }
};

/// The same of an access; its subscripts are shared with others.
template <typename OpTy> struct AccessPattern : ChipPattern<OpTy> {
  AccessPattern(const TypeConverter &converter, MLIRContext *context, const TargetDescription *target, ModuleOp module,
                SharedValues &subscripts)
      : ChipPattern<OpTy>(converter, context, target, module), subscripts(subscripts) {}
  SharedValues &subscripts;
};

struct LoadLowering : AccessPattern<tile::LoadOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    if (!op.getBounded().empty())
      return op.emitOpError() << "is bounded by its array, which loads of lanes alone check";
    FailureOr<Value> value = op.getType().isOpaque() ? lowerRegisterLoad(rewriter, op, *target, module)
                                                     : lowerLoad(rewriter, op, subscripts);
    if (failed(value))
      return failure();
    rewriter.replaceOp(op, *value);
    return success();
  }
};

struct StoreLowering : AccessPattern<tile::StoreOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getValue().getType().isOpaque())
      lowerStore(rewriter, op, adaptor.getValue(), subscripts);
    else if (failed(lowerRegisterStore(rewriter, op, adaptor.getValue(), *target, module)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

//===-- Regions -----------------------------------------------------------===//

namespace {
struct MapLowering : OpConversionPattern<tile::MapOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::MapOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Type first = op.getNumOperands() ? op.getOperand(0).getType() : op.getResult(0).getType();
    int64_t count = cast<tile::FragmentType>(first).getNumElements();
    rewriter.replaceOp(op, vectorizeRegion(rewriter, op.getLoc(), op.getBody().front(), adaptor.getInputs(), count));
    return success();
  }
};

/// Halves the reduced dimension until one row of results is left.
struct ReduceLowering : OpConversionPattern<tile::ReduceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ReduceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    tile::FragmentType input = op.getInput().getType(), result = op.getType();
    SmallVector<Position> held = input.positions();
    bool rows = op.getDimension() == 0;
    int64_t reduced = rows ? input.getRows() : input.getCols(), width = result.getNumElements();

    // Order of the elements: index of the reduced dimension outside, result elements inside.
    SmallVector<int64_t> order;
    for (int64_t k = 0; k < reduced; ++k)
      for (Position kept : result.positions()) {
        Position wanted = rows ? Position{k, kept.col} : Position{kept.row, k};
        order.push_back(llvm::find(held, wanted) - held.begin());
      }
    Value current = adaptor.getInput();
    if (!llvm::equal(order, llvm::seq<int64_t>(0, held.size())))
      current = vector::ShuffleOp::create(rewriter, loc, current, current, order);
    auto slice = [&](Value vector, int64_t from, int64_t count) -> Value {
      return vector::ExtractStridedSliceOp::create(rewriter, loc, vector, ArrayRef<int64_t>{from * width},
                                                   ArrayRef<int64_t>{count * width}, ArrayRef<int64_t>{1});
    };
    auto combine = [&](Value left, Value right, int64_t count) {
      return vectorizeRegion(rewriter, loc, op.getBody().front(), {left, right}, count * width).front();
    };
    Value rest; // one row that an odd count left over
    while (reduced > 1) {
      if (reduced % 2) {
        Value last = slice(current, reduced - 1, 1);
        rest = rest ? combine(rest, last, 1) : last;
      }
      int64_t half = reduced / 2;
      current = combine(slice(current, 0, half), slice(current, half, half), half);
      reduced = half;
    }
    rewriter.replaceOp(op, rest ? combine(current, rest, 1) : current);
    return success();
  }
};
} // namespace

//===-- Matrix units ------------------------------------------------------===//

namespace {
struct MmaLowering : ChipPattern<tile::MmaOp> {
  using ChipPattern::ChipPattern;
  LogicalResult matchAndRewrite(tile::MmaOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> besides(adaptor.getScales());
    if (op.getIndex())
      besides.push_back(adaptor.getIndex());
    FailureOr<Value> result =
        tilewright::callUnit(rewriter, op, *target, module, adaptor.getA(), adaptor.getB(), adaptor.getC(), besides);
    if (failed(result))
      return failure();
    rewriter.replaceOp(op, *result);
    return success();
  }
};

//===-- Pass --------------------------------------------------------------===//

struct LowerTileToVector : tilewright::impl::LowerTileToVectorBase<LowerTileToVector> {
  /// Beside those of the declaration: addresses of fragments in tile registers are pointers.
  void getDependentDialects(DialectRegistry &registry) const override {
    LowerTileToVectorBase::getDependentDialects(registry);
    registry.insert<LLVM::LLVMDialect>();
  }

  /// Buffers become memrefs, copies code that is done when it returns; tokens are left as casts for loops to carry.
  LogicalResult lowerBuffers(ModuleOp module, int64_t vectorBytes) {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa<tile::AllocOp, tile::FillOp, tile::CopyOp, tile::MultiplyOp, tile::DoneOp, tile::WaitOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
        lowerAlloc(rewriter, alloc);
      } else if (auto fill = dyn_cast<tile::FillOp>(op)) {
        lowerFill(rewriter, fill);
      } else if (isa<tile::WaitOp>(op)) {
        rewriter.eraseOp(op);
      } else {
        if (auto copy = dyn_cast<tile::CopyOp>(op))
          emitCopyAsVectors(rewriter, copy, vectorBytes);
        else if (auto multiply = dyn_cast<tile::MultiplyOp>(op);
                 multiply && failed(emitMultiplyAsLoops(rewriter, multiply)))
          return failure();
        Value done = arith::ConstantIntOp::create(rewriter, op->getLoc(), 1, 1);
        rewriter.replaceOpWithNewOp<UnrealizedConversionCastOp>(op, op->getResult(0).getType(), done);
      }
    }
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool hasTileOps = false, needsTarget = false;
    module.walk([&](Operation *op) {
      hasTileOps |= isa_and_nonnull<tile::TileDialect>(op->getDialect());
      needsTarget |= isa<tile::MmaOp, tile::CopyOp>(op);
      for (Value value : llvm::concat<const Value>(op->getOperands(), op->getResults()))
        if (auto type = dyn_cast<tile::FragmentType>(value.getType()))
          needsTarget |= type.isOpaque();
    });
    if (!hasTileOps)
      return;
    std::shared_ptr<const TargetDescription> target;
    if (needsTarget) {
      auto found = requireTarget(module);
      if (failed(found))
        return signalPassFailure();
      target = *found;
    }
    hideRereadIndices(module);
    if (failed(lowerBuffers(module, target ? target->vectorRegisters().second : 0)))
      return signalPassFailure();

    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([&](tile::FragmentType type) -> std::optional<Type> {
      if (type.getLayout().getNumLanes() != 1)
        return std::nullopt;
      if (type.isOpaque())
        return registerValueType(UnknownLoc::get(type.getContext()), type, *target);
      return vectorTypeOf(type);
    });
    converter.addConversion([](tile::TokenType type) -> Type { return IntegerType::get(type.getContext(), 1); });
    converter.addTargetMaterialization([](OpBuilder &builder, Type type, ValueRange inputs, Location loc) -> Value {
      return UnrealizedConversionCastOp::create(builder, loc, type, inputs).getResult(0);
    });
    converter.addSourceMaterialization([](OpBuilder &builder, Type type, ValueRange inputs, Location loc) -> Value {
      return UnrealizedConversionCastOp::create(builder, loc, type, inputs).getResult(0);
    });
    ConversionTarget legality(getContext());
    legality.addIllegalDialect<tile::TileDialect>();
    legality.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    RewritePatternSet patterns(&getContext());
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, legality);
    patterns.add<IndexLowering, BroadcastLowering, ConvertLowering, JoinLowering, SplitLowering, TransposeLowering,
                 MapLowering, ReduceLowering>(converter, &getContext());
    patterns.add<ZeroLowering, MmaLowering>(converter, &getContext(), target.get(), module);
    SharedValues subscripts;
    patterns.add<LoadLowering, StoreLowering>(converter, &getContext(), target.get(), module, subscripts);
    ConversionConfig config;
    config.allowPatternRollback = false; // no pattern fails after it changed something, but with an error
    if (failed(applyPartialConversion(module, legality, std::move(patterns), config)))
      return signalPassFailure();
    SmallVector<UnrealizedConversionCastOp> casts;
    module.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
    reconcileUnrealizedCasts(casts);
  }
};
} // namespace
