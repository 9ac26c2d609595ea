//===- StencilPair.cpp - A stencil that reads another one -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Legality, the model's question, and the two forms of StencilPair.h.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Fusion/StencilPair.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Guards.h"
#include "core/Analysis/Instructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

/// Operations of a body after inlining, at most.
static constexpr int64_t mostOperations = 512;

/// `call` with each point of the taps: the loops' values as expressions, those of `space` at `element`.
static void forEachTap(const Stencil &stencil, ArrayRef<AffineExpr> element,
                       llvm::function_ref<void(ArrayRef<AffineExpr>)> call) {
  MLIRContext *context = stencil.target().getContext();
  SmallVector<AffineExpr> loops(stencil.nest.depth());
  for (auto [dim, loop] : llvm::enumerate(stencil.space))
    loops[loop] = element[dim];
  for (int64_t point = 0; point < stencil.points; ++point) {
    int64_t rest = point;
    for (unsigned tap : llvm::reverse(stencil.taps)) {
      loops[tap] = getAffineConstantExpr(rest % *stencil.nest.tripCounts[tap], context);
      rest /= *stencil.nest.tripCounts[tap];
    }
    call(loops);
  }
}

/// Indices of `access` where the nest's loops have the values `loops`.
static SmallVector<AffineExpr, 4> elementAt(const Access &access, ArrayRef<AffineExpr> loops, unsigned dims) {
  SmallVector<AffineExpr, 4> element;
  for (AffineExpr index : access.map.getResults())
    element.push_back(simplifyAffineExpr(index.replaceDims(loops), dims, access.map.getNumSymbols()));
  return element;
}

static double bytesOf(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return type.hasStaticShape() ? static_cast<double>(type.getNumElements()) * elementBytes(type.getElementType()) : 0;
}

/// Instructions of one element; loads of `without` are those of the buffer between.
static StencilWork work(const Stencil &stencil, Value without, int64_t lanes, const MemoryModel &model) {
  StencilWork work;
  for (Operation &op : *stencil.nest.body) {
    if (!OpTrait::hasElementwiseMappableTraits(&op) || op.hasTrait<OpTrait::ConstantLike>())
      continue;
    bool isFused = isa<arith::MulFOp>(op) && op.hasOneUse() && isa<arith::AddFOp, arith::SubFOp>(*op.user_begin());
    work.arithmetic += isFused ? 0 : instructionsOf(&op);
  }
  for (auto test : stencil.nest.body->getOps<AffineIfOp>())
    work.arithmetic += test.getIntegerSet().getNumConstraints();
  work.arithmetic *= static_cast<double>(stencil.points);
  const unsigned rows = stencil.space.back();
  for (const Access &load : stencil.nest.loads) {
    if (load.memref == without || load.memref == stencil.target() || !load.dims().test(rows))
      continue;
    bool isShifted =
        llvm::any_of(stencil.taps, [&](unsigned tap) { return load.stride(tap).value_or(1) % lanes != 0; });
    double each = isShifted ? 1 + model.lineCrossings() : 1;
    if (!stencil.isAlongLanes(load)) // an element at a time
      each = static_cast<double>(lanes);
    work.loads += each * static_cast<double>(stencil.points);
  }
  return work;
}

bool StencilPair::isLegal(bool elementwise) {
  if (!first->target().getDefiningOp<memref::AllocOp>() || first->target() == second.target())
    return false;
  Block *block = second.nest.root()->getBlock();
  for (Operation *user : first->target().getUsers()) {
    Operation *top = block->findAncestorOpInBlock(*user);
    if (!top || (top != first->nest.root() && top != first->init && top != second.nest.root() &&
                 !isa<memref::DeallocOp, memref::DimOp>(user)))
      return false;
  }
  for (const Access &load : first->nest.loads)
    if (load.memref == second.target() || isWrittenBetween(load.memref))
      return false;
  for (const Access &load : second.nest.loads)
    if (load.memref == first->target() && load.map.getNumSymbols() != 0)
      return false;
  operations = first->points * static_cast<int64_t>(first->nest.body->getOperations().size());
  operations *= rowsRead(1);
  return (rowsRead(1) > 1 || elementwise) && (operations <= mostOperations || findWindow());
}

bool StencilPair::isWrittenBetween(Value memref) const {
  return llvm::any_of(accessesBetween(memref, first->nest.root(), second.nest.root()), [&](Operation *op) {
    return op
        ->walk([&](Operation *inner) {
          bool reads = isa<AffineLoadOp, memref::DimOp>(inner) || !llvm::is_contained(inner->getOperands(), memref);
          return reads ? WalkResult::advance() : WalkResult::interrupt();
        })
        .wasInterrupted();
  });
}

/// Elements of the first that `rows` neighbours of the second, side by side in the loop that is taken in steps, read.
int64_t StencilPair::rowsRead(int64_t rows) const {
  MLIRContext *context = first->target().getContext();
  SmallVector<Element> seen;
  for (int64_t row = 0; row < rows; ++row) {
    Element element;
    for (auto [dim, loop] : llvm::enumerate(second.space)) {
      AffineExpr index = getAffineDimExpr(dim, context);
      bool isStepped = dim + 2 == second.space.size();
      element.push_back(isStepped ? index + row : index);
    }
    forEachTap(second, element, [&](ArrayRef<AffineExpr> loops) {
      for (const Access &load : second.nest.loads)
        if (load.memref == first->target()) {
          Element read = elementAt(load, loops, second.space.size());
          if (!llvm::is_contained(seen, read))
            seen.push_back(read);
        }
    });
  }
  return static_cast<int64_t>(seen.size());
}

/// Finds the rows of the first that one row of the second reads: its indices are those of the second's element plus
/// constants, which differ in the rows and in the position in a row alone.
bool StencilPair::findWindow() {
  rowCount = 0;
  MLIRContext *context = first->target().getContext();
  unsigned rank = second.space.size(), rows = rank - 2;
  if (rank < 2 || first->space.size() != rank)
    return false;
  Element element;
  for (unsigned dim = 0; dim < rank; ++dim)
    element.push_back(getAffineDimExpr(dim, context));
  int64_t least = INT64_MAX, most = INT64_MIN;
  bool isWindow = true;
  forEachTap(second, element, [&](ArrayRef<AffineExpr> loops) {
    for (const Access &load : second.nest.loads) {
      if (load.memref != first->target())
        continue;
      for (auto [dim, index] : llvm::enumerate(elementAt(load, loops, rank))) {
        auto offset = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(index - element[dim], rank, 0));
        isWindow &= offset && (dim >= rows || offset.getValue() == 0);
        if (isWindow && dim == rows) {
          least = std::min(least, offset.getValue());
          most = std::max(most, offset.getValue());
        }
      }
    }
  });
  if (!isWindow || least < 0 || most <= least)
    return false;
  rowBegin = least;
  rowCount = most - least + 1;
  return true;
}

HaloAnswer StencilPair::compare(const PassModel &model, int64_t threads) {
  HaloQuestion question;
  question.bytesBetween = bytesOf(first->target());
  question.bytesOut = bytesOf(second.target());
  llvm::SmallDenseSet<Value> inputs;
  for (const Access &load : llvm::concat<const Access>(first->nest.loads, second.nest.loads))
    if (load.memref != first->target() && load.memref != second.target() && inputs.insert(load.memref).second)
      question.bytesIn += bytesOf(load.memref);
  unsigned width = 8;
  for (const Access &access : llvm::concat<const Access>(first->nest.loads, second.nest.loads))
    width = std::max(width, cast<MemRefType>(access.memref.getType()).getElementTypeBitWidth());
  question.lanes = model.lanes(width);
  auto between = cast<MemRefType>(first->target().getType());
  question.between = static_cast<double>(between.getNumElements());
  question.elements = static_cast<double>(cast<MemRefType>(second.target().getType()).getNumElements());
  question.reads = rowsRead(1);
  // Rows that are computed together share; a buffer of one dimension has none.
  int64_t rows = second.space.size() > 1 && model.onCaches() ? model.caches().rowsAtOnce() : 1;
  question.recompute = static_cast<double>(rowsRead(rows)) / static_cast<double>(rows);
  question.first = work(*first, {}, question.lanes, model.caches());
  question.second = work(second, first->target(), question.lanes, model.caches());
  // Rows of a circular buffer follow each other: one core writes them.
  if (threads == 1 && model.onCaches() && findWindow())
    question.ringBytes = bytesOf(first->target()) /
                         static_cast<double>(between.getNumElements() / between.getShape().back()) *
                         static_cast<double>(llvm::PowerOf2Ceil(rowCount));
  HaloAnswer answer = compareHalo(question, model);
  if (operations > mostOperations)
    answer.fused = HUGE_VAL;
  return answer;
}

void StencilPair::eraseNests() {
  for (AffineForOp old : {second.nest.root(), second.init})
    if (old)
      old.erase();
  if (!first)
    return;
  for (AffineForOp old : {first->nest.root(), first->init})
    if (old)
      old.erase();
  if (Operation *buffer = first->target().getDefiningOp(); buffer->use_empty())
    buffer->erase();
}

void StencilPair::fuse() {
  Location loc = second.nest.root().getLoc();
  OpBuilder b(second.nest.root());
  SmallVector<AffineExpr> ofLoop(second.nest.depth());
  for (unsigned loop = 0; loop < second.nest.depth(); ++loop) {
    if (!llvm::is_contained(second.space, loop))
      continue;
    auto fresh = AffineForOp::create(b, loc, 0, *second.nest.tripCounts[loop]);
    ofLoop[loop] = b.getAffineDimExpr(ivs.size());
    ivs.push_back(fresh.getInductionVar());
    b.setInsertionPointToStart(fresh.getBody());
  }
  Element element;
  for (unsigned loop : second.space)
    element.push_back(ofLoop[loop]);
  Value value = compute(b, second, element, [&](OpBuilder &at, const Element &read) -> Value {
    auto known = llvm::find_if(computed, [&](auto entry) { // not on the side of a guarded read
      Block *own = entry.second.getParentBlock(), *here = at.getBlock();
      return entry.first == read && (own == here || own->findAncestorOpInBlock(*here->getParentOp()));
    });
    if (known != computed.end())
      return known->second;
    Value fresh = compute(at, *first, read, nullptr);
    computed.push_back({read, fresh});
    return fresh;
  });
  AffineStoreOp::create(b, loc, value, second.target(), AffineMap::get(ivs.size(), 0, element, b.getContext()), ivs);
  eraseNests();
}

void StencilPair::slide() {
  Location loc = second.nest.root().getLoc();
  OpBuilder b(second.nest.root());
  const unsigned rank = second.space.size(), rows = rank - 2;
  auto between = cast<MemRefType>(first->target().getType());
  const int64_t size = llvm::PowerOf2Ceil(rowCount), width = between.getShape().back();
  Value ring = memref::AllocOp::create(b, loc, MemRefType::get({size, width}, between.getElementType()));
  // `loop` enters a loop and returns what leaves it again.
  Element element;
  auto loop = [&](int64_t trips) {
    auto fresh = AffineForOp::create(b, loc, 0, trips);
    element.push_back(b.getAffineDimExpr(ivs.size()));
    ivs.push_back(fresh.getInductionVar());
    b.setInsertionPointToStart(fresh.getBody());
    return fresh;
  };
  auto leave = [&](AffineForOp left) {
    element.pop_back();
    ivs.pop_back();
    b.setInsertionPointAfter(left);
  };
  auto mapOf = [&](ArrayRef<AffineExpr> indices) { return AffineMap::get(ivs.size(), 0, indices, b.getContext()); };
  // Row number `row` of the window, counted from rowBegin, into its place of the circular buffer.
  auto writeRow = [&](AffineExpr row) {
    AffineForOp along = loop(width);
    Element at(element.begin(), element.begin() + rows);
    at.push_back(row + rowBegin);
    at.push_back(element.back());
    Value value = compute(b, *first, at, nullptr);
    AffineStoreOp::create(b, loc, value, ring, mapOf({row % size, element.back()}), ivs);
    leave(along);
  };

  for (unsigned dim = 0; dim < rows; ++dim)
    loop(*second.nest.tripCounts[second.space[dim]]);
  AffineForOp before = loop(rowCount - 1);
  writeRow(element.back());
  leave(before);
  loop(*second.nest.tripCounts[second.space[rows]]);
  writeRow(element.back() + (rowCount - 1));
  loop(*second.nest.tripCounts[second.space[rank - 1]]);
  Value value = compute(b, second, element, [&](OpBuilder &at, const Element &read) -> Value {
    AffineExpr row = simplifyAffineExpr(read[rows] - rowBegin, ivs.size(), 0);
    return AffineLoadOp::create(at, loc, ring, mapOf({row % size, read.back()}), ivs);
  });
  AffineStoreOp::create(b, loc, value, second.target(), mapOf(element), ivs);
  eraseNests();
}

/// The value of one element of `stencil`; `readFirst` gives elements of the first->
Value StencilPair::compute(OpBuilder &b, const Stencil &stencil, const Element &element, Read readFirst) {
  Value sum;
  if (stencil.beginning)
    sum = arith::ConstantOp::create(b, stencil.nest.root().getLoc(), stencil.beginning);
  forEachTap(stencil, element, [&](ArrayRef<AffineExpr> loops) {
    IRMapping mapping;
    clone(b, stencil, *stencil.nest.body, loops, mapping, sum, readFirst);
  });
  return sum;
}

/// Writes what `block` does, the body of the stencil or one side of a guarded read, where its loops have the values
/// `loops`.
void StencilPair::clone(OpBuilder &b, const Stencil &stencil, Block &block, ArrayRef<AffineExpr> loops,
                        IRMapping &mapping, Value &sum, Read readFirst) {
  for (Operation &op : block.without_terminator()) {
    if (auto store = dyn_cast<AffineStoreOp>(op)) {
      sum = mapping.lookupOrDefault(store.getValueToStore());
    } else if (isa<AffineLoadOp>(op)) {
      const Access *load = llvm::find_if(stencil.nest.loads, [&](const Access &a) { return a.op == &op; });
      mapping.map(op.getResult(0), read(b, stencil, *load, loops, sum, readFirst));
    } else if (auto test = dyn_cast<AffineIfOp>(op)) {
      cloneTest(b, stencil, test, loops, mapping, sum, readFirst);
    } else {
      for (auto [value, loop] : llvm::zip(loops, stencil.nest.loops)) {
        Value variable = AffineForOp(loop).getInductionVar();
        if (llvm::is_contained(op.getOperands(), variable)) { // a number that the body computes with
          AffineMap map = AffineMap::get(ivs.size(), 0, value);
          SmallVector<Value> operands(ivs);
          canonicalizeMapAndOperands(&map, &operands);
          mapping.map(variable, AffineApplyOp::create(b, op.getLoc(), map, operands).getResult());
        }
      }
      b.clone(op, mapping);
    }
  }
}

/// A guarded read: one side alone where its guard always or never holds at `loops`.
void StencilPair::cloneTest(OpBuilder &b, const Stencil &stencil, AffineIfOp test, ArrayRef<AffineExpr> loops,
                            IRMapping &mapping, Value &sum, Read readFirst) {
  SmallVector<Value> operands, symbols;
  IntegerSet set = composedGuard(test, operands);
  SmallVector<AffineExpr> constraints;
  for (AffineExpr constraint : set.getConstraints()) {
    AffineExpr own = overLoops(constraint, set.getNumDims(), operands, stencil.nest.loops, symbols);
    constraints.push_back(own.replaceDims(loops));
  }
  operands.assign(ivs.begin(), ivs.end());
  operands.append(symbols);
  set = IntegerSet::get(ivs.size(), symbols.size(), constraints, set.getEqFlags());
  const GuardForm form = simplifyGuard(set, operands);
  auto yielded = [&](OpBuilder &at, Block &side) {
    clone(at, stencil, side, loops, mapping, sum, readFirst);
    return llvm::map_to_vector(side.getTerminator()->getOperands(),
                               [&](Value each) { return mapping.lookupOrDefault(each); });
  };
  if (form != GuardForm::Some) {
    mapping.map(test.getResults(), yielded(b, form == GuardForm::Always ? *test.getThenBlock() : *test.getElseBlock()));
    return;
  }
  auto fresh = AffineIfOp::create(b, test.getLoc(), test.getResultTypes(), set, operands, /*withElseRegion=*/true);
  for (auto [from, to] :
       {std::pair(test.getThenBlock(), fresh.getThenBlock()), std::pair(test.getElseBlock(), fresh.getElseBlock())}) {
    OpBuilder side = OpBuilder::atBlockEnd(to);
    AffineYieldOp::create(side, test.getLoc(), yielded(side, *from));
  }
  mapping.map(test.getResults(), fresh.getResults());
}

/// What a load gives: the running sum, an element of the first stencil, or memory.
Value StencilPair::read(OpBuilder &b, const Stencil &stencil, const Access &load, ArrayRef<AffineExpr> loops, Value sum,
                        Read readFirst) {
  if (load.memref == stencil.target())
    return sum;
  Element at = elementAt(load, loops, ivs.size());
  if (first && load.memref == first->target())
    return readFirst(b, at);
  SmallVector<Value> operands(ivs);
  operands.append(load.symbols.begin(), load.symbols.end());
  AffineMap map = AffineMap::get(ivs.size(), load.symbols.size(), at, b.getContext());
  canonicalizeMapAndOperands(&map, &operands); // without loops that do not move it
  return AffineLoadOp::create(b, load.op->getLoc(), load.memref, map, operands);
}

} // namespace tilewright
