//===- LowerTileToLoops.cpp - The meaning of tile ops, executed -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The reference lowering: a fragment is a small buffer of its matrix (no layout,
/// no lanes), each op loops over scalars. Slow, simple, for every chip.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Vectors/FragmentBuffers.h"
#include "core/Transforms/Lower/Vectors/TileBufferLowering.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_LOWERTILETOLOOPS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace tilewright;

static bool isFragment(Value value) { return isa<tile::FragmentType>(value.getType()); }

namespace {
/// Lowers one function.
class LoopsLowering {
public:
  explicit LoopsLowering(func::FuncOp function) : function(function), rewriter(function.getContext()) {}
  LogicalResult run() {
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
      if (isa<tile::FragmentType>(type))
        return function.emitError() << "lower-tile-to-loops: fragments cannot be arguments or results of functions";
    if (function.isExternal())
      return success();
    buffers.frame = &function.front();
    for (Block &block : function.getBody())
      if (failed(lowerBlock(block)))
        return failure();
    for (Operation *op : dead)
      op->dropAllReferences();
    for (Operation *op : llvm::reverse(dead))
      op->erase();
    return success();
  }

private:
  Value define(Value fragment) { return buffers.define(fragment); }
  Value read(OpBuilder &builder, Location loc, Value buffer, ValueRange point) {
    return memref::LoadOp::create(builder, loc, buffer, point);
  }

  //===-- Ops on fragments ------------------------------------------------===//

  void lower(tile::ZeroOp op) {
    Location loc = op.getLoc();
    Value result = define(op.getResult());
    Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(op.getType().getElementType()));
    FragmentBuffers::forEach(rewriter, loc, op.getType(), [&](OpBuilder &at, ValueRange point) {
      memref::StoreOp::create(at, loc, zero, result, point);
    });
  }

  void lower(tile::IndexOp op) {
    Location loc = op.getLoc();
    Value result = define(op.getResult());
    Type element = op.getType().getElementType();
    FragmentBuffers::forEach(rewriter, loc, op.getType(), [&](OpBuilder &at, ValueRange point) {
      Value number = point[op.getDimension()];
      if (!element.isIndex())
        number = arith::IndexCastOp::create(at, loc, element, number);
      memref::StoreOp::create(at, loc, number, result, point);
    });
  }

  void lower(tile::BroadcastOp op) {
    Location loc = op.getLoc();
    Value result = define(op.getResult());
    auto source = dyn_cast<tile::FragmentType>(op.getSource().getType());
    FragmentBuffers::forEach(rewriter, loc, op.getType(), [&](OpBuilder &at, ValueRange point) {
      Value value = op.getSource();
      if (source) {
        Value zero = arith::ConstantIndexOp::create(at, loc, 0);
        Value from[] = {source.getRows() == 1 ? zero : point[0], source.getCols() == 1 ? zero : point[1]};
        value = read(at, loc, buffers.of(op.getSource()), from);
      }
      memref::StoreOp::create(at, loc, value, result, point);
    });
  }

  void lower(tile::JoinOp op) {
    Location loc = op.getLoc();
    Value result = define(op.getResult());
    auto part = cast<tile::FragmentType>(op.getParts().front().getType());
    for (auto [i, from] : llvm::enumerate(op.getParts())) {
      Value source = buffers.of(from);
      FragmentBuffers::forEach(rewriter, loc, part, [&](OpBuilder &at, ValueRange point) {
        Value first = arith::ConstantIndexOp::create(at, loc, int64_t(i) * part.getCols());
        Value column = arith::AddIOp::create(at, loc, first, point[1]);
        memref::StoreOp::create(at, loc, read(at, loc, source, point), result, ValueRange{point[0], column});
      });
    }
  }

  void lower(tile::SplitOp op) {
    Location loc = op.getLoc();
    Value source = buffers.of(op.getWhole());
    auto part = cast<tile::FragmentType>(op.getParts().front().getType());
    for (auto [i, each] : llvm::enumerate(op.getParts())) {
      Value result = define(each);
      FragmentBuffers::forEach(rewriter, loc, part, [&](OpBuilder &at, ValueRange point) {
        Value first = arith::ConstantIndexOp::create(at, loc, int64_t(i) * part.getCols());
        Value column = arith::AddIOp::create(at, loc, first, point[1]);
        memref::StoreOp::create(at, loc, read(at, loc, source, ValueRange{point[0], column}), result, point);
      });
    }
  }

  void lower(tile::TransposeOp op) {
    Location loc = op.getLoc();
    const bool areRows = cast<tile::FragmentType>(op.getInputs().front().getType()).getRows() == 1;
    for (auto [i, result] : llvm::enumerate(op.getOutputs())) {
      Value output = define(result);
      Value index = arith::ConstantIndexOp::create(rewriter, loc, i),
            zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
      for (auto [j, input] : llvm::enumerate(op.getInputs())) {
        Value other = arith::ConstantIndexOp::create(rewriter, loc, j);
        Value from[] = {areRows ? zero : index, areRows ? index : zero};
        Value to[] = {areRows ? other : zero, areRows ? zero : other};
        memref::StoreOp::create(rewriter, loc, read(rewriter, loc, buffers.of(input), from), output, to);
      }
    }
  }

  void lower(tile::LoadOp op) {
    Location loc = op.getLoc();
    Value result = define(op.getResult());
    FragmentBuffers::forEach(rewriter, loc, op.getType(), [&](OpBuilder &at, ValueRange point) {
      SmallVector<Value> from = subscriptsAt(at, loc, op.getMap(), op.getMapOperands(), op.getElements(), point);
      auto element = [&](OpBuilder &inner) { return read(inner, loc, op.getMemref(), from); };
      Value value, inside = isValidAt(at, loc, op.getValidMap(), op.getValidOperands(), point);
      inside = isWithin(at, loc, op.getMemref(), from, op.getBounded(), inside);
      if (inside) {
        Attribute zero = at.getZeroAttr(op.getType().getElementType());
        value =
            scf::IfOp::create(
                at, loc, inside, [&](OpBuilder &inner, Location) { scf::YieldOp::create(inner, loc, element(inner)); },
                [&](OpBuilder &inner, Location) {
                  Value none = arith::ConstantOp::create(inner, loc, cast<TypedAttr>(zero));
                  scf::YieldOp::create(inner, loc, none);
                })
                .getResult(0);
      } else {
        value = element(at);
      }
      memref::StoreOp::create(at, loc, value, result, point);
    });
  }

  void lower(tile::StoreOp op) {
    Location loc = op.getLoc();
    Value source = buffers.of(op.getValue());
    FragmentBuffers::forEach(rewriter, loc, op.getValue().getType(), [&](OpBuilder &at, ValueRange point) {
      auto element = [&](OpBuilder &inner) {
        memref::StoreOp::create(inner, loc, read(inner, loc, source, point), op.getMemref(),
                                subscriptsAt(inner, loc, op.getMap(), op.getMapOperands(), op.getElements(), point));
      };
      if (Value inside = isValidAt(at, loc, op.getValidMap(), op.getValidOperands(), point))
        scf::IfOp::create(at, loc, inside, [&](OpBuilder &inner, Location) {
          element(inner);
          scf::YieldOp::create(inner, loc);
        });
      else
        element(at);
    });
  }

  /// `value` of a factor in the type of the accumulator.
  Value widen(OpBuilder &builder, Location loc, Value value, Type type, bool isUnsigned) {
    if (value.getType() == type)
      return value;
    if (isa<FloatType>(type))
      return arith::ExtFOp::create(builder, loc, type, value);
    if (isUnsigned)
      return arith::ExtUIOp::create(builder, loc, type, value);
    return arith::ExtSIOp::create(builder, loc, type, value);
  }

  LogicalResult lower(tile::MmaOp op) {
    Location loc = op.getLoc();
    Type type = op.getType().getElementType();
    bool isFloat = isa<FloatType>(type), unsignedA = false, unsignedB = false, isOfB = false;
    int64_t kept = 1, group = 1;
    if (!isFloat || op.getScales().size() == 1 || op.getIndex()) {
      // Only the record knows which factors are unsigned, whose scales the only ones are, and what a sparse one keeps.
      auto target = requireTarget(op);
      if (failed(target))
        return failure();
      FailureOr<const MatrixUnit *> unit = requireUnit(op, **target, op.getUnit());
      if (failed(unit))
        return failure();
      unsignedA = !isSigned((*unit)->a.element);
      unsignedB = !isSigned((*unit)->b.element);
      isOfB = (*unit)->scales && !(*unit)->scales->hasA();
      if ((*unit)->sparsity) {
        kept = (*unit)->sparsity->kept;
        group = (*unit)->sparsity->group;
      }
    }
    Value a = buffers.of(op.getA()), b = buffers.of(op.getB()), c = buffers.of(op.getC()),
          result = define(op.getResult());
    int64_t depth = op.getA().getType().getCols(), block = 0;
    SmallVector<Value, 2> scales;
    for (Value each : op.getScales())
      scales.push_back(buffers.of(each));
    if (!scales.empty()) {
      auto first = cast<tile::FragmentType>(op.getScales().front().getType());
      block = depth / (isOfB ? first.getRows() : first.getCols());
    }
    FragmentBuffers::forEach(rewriter, loc, op.getType(), [&](OpBuilder &at, ValueRange point) {
      Value zero = arith::ConstantIndexOp::create(at, loc, 0), one = arith::ConstantIndexOp::create(at, loc, 1);
      Value extent = arith::ConstantIndexOp::create(at, loc, depth);
      auto sum = scf::ForOp::create(
          at, loc, zero, extent, one, ValueRange{read(at, loc, c, point)},
          [&](OpBuilder &inner, Location, Value k, ValueRange carried) {
            Value x = widen(inner, loc, read(inner, loc, a, {point[0], k}), type, unsignedA);
            Value row = k;
            if (op.getIndex()) { // the group's begin, and the place in it
              auto count = [&](int64_t n) { return arith::ConstantIndexOp::create(inner, loc, n); };
              Value place = read(inner, loc, buffers.of(op.getIndex()), {point[0], k});
              place = arith::IndexCastUIOp::create(inner, loc, inner.getIndexType(), place);
              place = arith::RemUIOp::create(inner, loc, place, count(group));
              Value begin = arith::DivUIOp::create(inner, loc, k, count(kept));
              row = arith::AddIOp::create(inner, loc, arith::MulIOp::create(inner, loc, begin, count(group)), place);
            }
            Value y = widen(inner, loc, read(inner, loc, b, {row, point[1]}), type, unsignedB);
            if (block) {
              Value number = arith::DivUIOp::create(inner, loc, k, arith::ConstantIndexOp::create(inner, loc, block));
              auto times = [&](Value factor, Value scale, ValueRange place) -> Value {
                return arith::MulFOp::create(inner, loc, factor,
                                             widen(inner, loc, read(inner, loc, scale, place), type, false));
              };
              if (!isOfB)
                x = times(x, scales.front(), {point[0], number});
              if (isOfB || scales.size() > 1)
                y = times(y, scales.back(), {number, point[1]});
            }
            Value next;
            if (isFloat)
              next = arith::AddFOp::create(inner, loc, arith::MulFOp::create(inner, loc, x, y), carried[0]);
            else
              next = arith::AddIOp::create(inner, loc, arith::MulIOp::create(inner, loc, x, y), carried[0]);
            scf::YieldOp::create(inner, loc, next);
          });
      memref::StoreOp::create(at, loc, sum.getResult(0), result, point);
    });
    return success();
  }

  /// Clones the scalar ops of a region; returns the yielded scalars.
  SmallVector<Value> inlineRegion(OpBuilder &builder, Block &body, ValueRange arguments) {
    IRMapping mapping;
    mapping.map(body.getArguments(), arguments);
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    SmallVector<Value> results;
    for (Value value : body.getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(value));
    return results;
  }

  void lower(tile::MapOp op) {
    Location loc = op.getLoc();
    SmallVector<Value> results;
    for (Value result : op.getResults())
      results.push_back(define(result));
    Type shape = op.getNumOperands() ? op.getOperand(0).getType() : op.getResult(0).getType();
    FragmentBuffers::forEach(rewriter, loc, shape, [&](OpBuilder &at, ValueRange point) {
      SmallVector<Value> scalars;
      for (Value input : op.getInputs())
        scalars.push_back(read(at, loc, buffers.of(input), point));
      for (auto [value, result] : llvm::zip(inlineRegion(at, op.getBody().front(), scalars), results))
        memref::StoreOp::create(at, loc, value, result, point);
    });
  }

  void lower(tile::ReduceOp op) {
    Location loc = op.getLoc();
    Value input = buffers.of(op.getInput()), result = define(op.getResult());
    bool rows = op.getDimension() == 0;
    int64_t reduced = rows ? op.getInput().getType().getRows() : op.getInput().getType().getCols();
    FragmentBuffers::forEach(rewriter, loc, op.getType(), [&](OpBuilder &at, ValueRange point) {
      auto element = [&](OpBuilder &inner, Value k) {
        return read(inner, loc, input, rows ? ValueRange{k, point[1]} : ValueRange{point[0], k});
      };
      Value zero = arith::ConstantIndexOp::create(at, loc, 0), one = arith::ConstantIndexOp::create(at, loc, 1);
      Value extent = arith::ConstantIndexOp::create(at, loc, reduced);
      auto loop =
          scf::ForOp::create(at, loc, one, extent, one, ValueRange{element(at, zero)},
                             [&](OpBuilder &inner, Location, Value k, ValueRange carried) {
                               Value values[] = {carried[0], element(inner, k)};
                               scf::YieldOp::create(inner, loc, inlineRegion(inner, op.getBody().front(), values));
                             });
      memref::StoreOp::create(at, loc, loop.getResult(0), result, point);
    });
  }

  //===-- Control flow ----------------------------------------------------===//

  /// A loop without its fragments and tokens; they live in buffers.
  LogicalResult lower(scf::ForOp loop) {
    Location loc = loop.getLoc();
    auto isGone = [](Value value) { return isFragment(value) || isa<tile::TokenType>(value.getType()); };
    SmallVector<Value> initial, kept, arguments;
    for (auto [init, argument, result] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
      if (isFragment(init)) {
        initial.push_back(init);
        arguments.push_back(define(argument));
        buffers.define(result, arguments.back());
      } else if (!isGone(init)) {
        kept.push_back(init);
      }
    }
    if (kept.size() == loop.getInitArgs().size())
      return lowerBlock(*loop.getBody());
    buffers.copyAll(rewriter, loc, initial, arguments);
    auto plain = scf::ForOp::create(rewriter, loc, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), kept);
    if (failed(lowerBlock(*loop.getBody())))
      return failure();

    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    OpBuilder builder(yield);
    SmallVector<Value> next, carried;
    for (Value value : yield.getOperands()) {
      if (isFragment(value))
        carried.push_back(value);
      else if (!isGone(value))
        next.push_back(value);
    }
    buffers.copyAll(builder, yield.getLoc(), carried, arguments);
    // Arguments of the plain loop in place of the kept ones.
    SmallVector<Value> keptArguments(plain.getRegionIterArgs()), keptResults(plain.getResults());
    loop.getInductionVar().replaceAllUsesWith(plain.getInductionVar());
    unsigned position = 0;
    for (auto [argument, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults())) {
      if (isGone(argument))
        continue;
      argument.replaceAllUsesWith(keptArguments[position]);
      result.replaceAllUsesWith(keptResults[position++]);
    }
    scf::YieldOp::create(builder, yield.getLoc(), next);
    yield.erase();
    Block *body = plain.getBody();
    body->clear();
    body->getOperations().splice(body->end(), loop.getBody()->getOperations());
    dead.push_back(loop);
    return success();
  }

  LogicalResult lower(scf::IfOp choice) {
    SmallVector<Value> targets;
    for (Value result : choice.getResults())
      if (isFragment(result))
        targets.push_back(define(result));
    for (Region *region : {&choice.getThenRegion(), &choice.getElseRegion()})
      if (!region->empty() && failed(lowerBlock(region->front())))
        return failure();
    if (targets.empty())
      return success();
    if (targets.size() != choice.getNumResults())
      return choice.emitError() << "lower-tile-to-loops: scf.if that yields fragments and other values together";
    for (Region *region : {&choice.getThenRegion(), &choice.getElseRegion()}) {
      Operation *yield = region->front().getTerminator();
      OpBuilder builder(yield);
      buffers.copyAll(builder, yield->getLoc(), yield->getOperands(), targets);
      yield->setOperands({});
    }
    auto plain = scf::IfOp::create(rewriter, choice.getLoc(), choice.getCondition(), /*withElseRegion=*/true);
    plain.getThenRegion().takeBody(choice.getThenRegion());
    plain.getElseRegion().takeBody(choice.getElseRegion());
    dead.push_back(choice);
    return success();
  }

  LogicalResult lower(tile::ParallelOp op) {
    Location loc = op.getLoc();
    auto bounds = affine::expandAffineMap(rewriter, loc, op.getUpperBounds(), op.getBoundOperands());
    SmallVector<OpFoldResult> extents(bounds->begin(), bounds->end());
    Block &body = op.getBody().front();
    LogicalResult result = lowerBlock(body);
    if (failed(result))
      return result;
    rewriter.setInsertionPoint(op);
    buildLoops(rewriter, loc, extents, [&](OpBuilder &at, ValueRange indices) {
      body.getTerminator()->erase();
      for (auto [argument, index] : llvm::zip(body.getArguments(), indices))
        argument.replaceAllUsesWith(index);
      at.getInsertionBlock()->getOperations().splice(at.getInsertionPoint(), body.getOperations());
    });
    dead.push_back(op);
    return success();
  }

  LogicalResult lowerOther(Operation *op) {
    if (auto parallel = dyn_cast<scf::ParallelOp>(op)) {
      // Threads must not share buffers.
      llvm::SaveAndRestore saved(buffers.frame, parallel.getBody());
      return lowerBlock(*parallel.getBody());
    }
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (failed(lowerBlock(block)))
          return failure();
    if (llvm::none_of(op->getOperands(), isFragment) && llvm::none_of(op->getResults(), isFragment))
      return success();
    return op->emitError() << "lower-tile-to-loops: '" << op->getName() << "' cannot carry fragments"
                           << (op->getName().getDialectNamespace() == "affine" ? "; run lower-affine first" : "");
  }

  LogicalResult lowerOp(Operation *op) {
    rewriter.setInsertionPoint(op);
    LogicalResult result = success();
    if (auto zero = dyn_cast<tile::ZeroOp>(op))
      lower(zero);
    else if (auto index = dyn_cast<tile::IndexOp>(op))
      lower(index);
    else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
      lower(broadcast);
    else if (auto convert = dyn_cast<tile::ConvertOp>(op))
      buffers.define(convert.getResult(), buffers.of(convert.getSource()));
    else if (auto join = dyn_cast<tile::JoinOp>(op))
      lower(join);
    else if (auto split = dyn_cast<tile::SplitOp>(op))
      lower(split);
    else if (auto transpose = dyn_cast<tile::TransposeOp>(op))
      lower(transpose);
    else if (auto load = dyn_cast<tile::LoadOp>(op))
      lower(load);
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      lower(store);
    else if (auto mma = dyn_cast<tile::MmaOp>(op))
      result = lower(mma);
    else if (auto map = dyn_cast<tile::MapOp>(op))
      lower(map);
    else if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      lower(reduce);
    else if (auto copy = dyn_cast<tile::CopyOp>(op))
      emitCopyAsLoops(rewriter, copy);
    else if (auto multiply = dyn_cast<tile::MultiplyOp>(op))
      result = emitMultiplyAsLoops(rewriter, multiply);
    else if (auto parallel = dyn_cast<tile::ParallelOp>(op))
      return lower(parallel);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      return lower(loop);
    else if (auto choice = dyn_cast<scf::IfOp>(op))
      return lower(choice);
    else if (auto fill = dyn_cast<tile::FillOp>(op)) {
      lowerFill(rewriter, fill);
      return success();
    } else if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
      lowerAlloc(rewriter, alloc);
      return success();
    } else if (!isa<tile::WaitOp, tile::DoneOp>(op))
      return lowerOther(op);
    dead.push_back(op);
    return result;
  }

  LogicalResult lowerBlock(Block &block) {
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops)
      if (failed(lowerOp(op)))
        return failure();
    return success();
  }

  func::FuncOp function;
  IRRewriter rewriter;
  FragmentBuffers buffers;
  SmallVector<Operation *> dead;
};

struct LowerTileToLoops : tilewright::impl::LowerTileToLoopsBase<LowerTileToLoops> {
  void runOnOperation() override {
    if (failed(LoopsLowering(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
