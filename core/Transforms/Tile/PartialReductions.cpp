//===- PartialReductions.cpp - Dependent reductions of parts --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The nests of the parts, and one nest for each result, which computes what it needs of all parts.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Tile/PartialReductions.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Tile/StepWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <map>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

using Place = ReductionStatement::Place;

namespace {
/// Writes a chain in parts. What a step is otherwise, a part is here.
class PartWriter : public StepWriter {
public:
  PartWriter(DependentReductions &chain, int64_t parts, llvm::function_ref<bool(Operation *)> isInside,
             OpBuilder buffers)
      : StepWriter(chain, chain.loops[chain.common].trips / parts, buffers, parts), isInside(isInside) {}
  LogicalResult check(std::string &reason) const;
  PartialNests write(OpBuilder &builder);

private:
  bool begins(unsigned number) const;
  bool isResult(const ReductionStatement &s) const;
  StepArray allocateForParts(ArrayRef<unsigned> loops, Type element) { return allocate(loops, element, numParts); }
  void nestOfParts(OpBuilder &builder, ArrayRef<unsigned> loops, Body body);
  void writePart(OpBuilder &builder, unsigned number);
  Value emit(OpBuilder &builder, const Term *term) override;
  Value emitLoad(OpBuilder &builder, const Term *term) override;
  Value sumOf(OpBuilder &builder, unsigned statement, unsigned part) override;
  Value lastCorrection(OpBuilder &builder, unsigned number) override;
  Value ofPart(OpBuilder &builder, const StepArray &array, int64_t part);
  Value extremeOf(OpBuilder &builder, unsigned statement);
  const ReductionBase *baseAt(unsigned statement) const;
  Value startAt(OpBuilder &builder, unsigned statement, Value extreme);
  Value baseOf(OpBuilder &builder, unsigned statement);
  Value valueOf(OpBuilder &builder, unsigned statement);
  Value all(OpBuilder &builder, ArrayRef<Value> values, const ReductionStatement &s);

  llvm::function_ref<bool(Operation *)> isInside;
  std::map<unsigned, StepArray> extremes;                    // of parts, by statement
  std::map<std::pair<unsigned, unsigned>, StepArray> sums;   // of parts, by statement and pair
  std::map<std::pair<int, unsigned>, Value> computed;        // in the nest of a result
  std::map<std::pair<unsigned, int64_t>, Value> corrections; // in it: of a base and a part
};
} // namespace

/// Whether statement `number` is what a reduction begins with.
bool PartWriter::begins(unsigned number) const {
  return llvm::any_of(chain.statements,
                      [&](const ReductionStatement &s) { return s.isState && s.before == int(number); });
}

/// Whether others see what the statement writes, which no later one replaces.
bool PartWriter::isResult(const ReductionStatement &s) const {
  if (llvm::any_of(ArrayRef(chain.statements).drop_front(&s - chain.statements.begin() + 1),
                   [&](const ReductionStatement &later) { return later.memref == s.memref; }))
    return false;
  Value memref = s.memref;
  return !memref.getDefiningOp<memref::AllocOp>() || !llvm::all_of(memref.getUsers(), [&](Operation *user) {
    return isa<memref::DeallocOp>(user) || isInside(user);
  });
}

LogicalResult PartWriter::check(std::string &reason) const {
  auto refuse = [&](const char *why) {
    reason = why;
    return failure();
  };
  const DependentReductions::Loop &common = chain.loops[chain.common];
  if (common.bound || common.trips % numParts != 0)
    return refuse("the parts do not divide the common dimension, or its size is not known");
  if (!chain.means.empty())
    return refuse("means of parts are not put together");
  for (const ReductionStatement &s : chain.statements) {
    if (s.place == Place::After && s.combine)
      return refuse("what follows the reductions is no map");
  }
  // A result is computed where it is read.
  auto isAtItsPlace = [&](const Term *term) {
    if (term->kind != Term::Kind::Load || term->writer < 0)
      return true;
    const ReductionStatement &from = chain.statements[term->writer];
    return (from.place != Place::After && !from.isState) || from.map == term->map;
  };
  std::function<bool(const Term *)> areAtTheirPlaces = [&](const Term *term) {
    return isAtItsPlace(term) && llvm::all_of(term->operands, areAtTheirPlaces);
  };
  for (const ReductionStatement &s : chain.statements)
    if (s.place == Place::After && !areAtTheirPlaces(s.term))
      return refuse("results are read at other places than they are written at");
  return success();
}

/// A nest whose outermost loop goes over the parts.
void PartWriter::nestOfParts(OpBuilder &builder, ArrayRef<unsigned> loops, Body body) {
  auto over = AffineForOp::create(builder, loc, 0, numParts);
  stepNumber = over.getInductionVar();
  OpBuilder inner = OpBuilder::atBlockBegin(over.getBody());
  nest(inner, loops, body);
  stepNumber = {};
}

/// A base whose maximum statement `statement` computes; null: none.
const ReductionBase *PartWriter::baseAt(unsigned statement) const {
  auto found = llvm::find_if(chain.bases, [&](const ReductionBase &each) { return each.statement == statement; });
  return found == chain.bases.end() ? nullptr : &*found;
}

/// One statement for all parts.
void PartWriter::writePart(OpBuilder &builder, unsigned number) {
  const ReductionStatement &s = chain.statements[number];
  llvm::SmallBitVector every(chain.loops.size(), true);
  auto reduce = [&](const Term *term, const StepArray &to) {
    nestOfParts(builder, to.loops,
                [&](OpBuilder &inner) { store(inner, emit(inner, chain.statements[s.before].term), to); });
    SmallVector<unsigned> loops;
    llvm::SmallBitVector used = chain.loopsOf(term);
    for (unsigned loop : llvm::concat<const unsigned>(s.reduced, to.loops))
      used.set(loop);
    llvm::copy_if(s.loops, std::back_inserter(loops), [&](unsigned loop) { return used.test(loop); });
    nestOfParts(builder, loops, [&](OpBuilder &inner) {
      Value before = load(inner, to);
      store(inner, combined(inner, s, before, emit(inner, term)), to);
    });
  };
  if (!s.isState) {
    for (auto [part, pair] : llvm::enumerate(s.pairs))
      if (pair.g)
        nestOfParts(builder, s.loops, [&, part = part, &pair = pair](OpBuilder &inner) {
          const StepArray &array = partOf(number, part);
          Value value = emit(inner, pair.g);
          store(inner, s.combine ? combined(inner, s, load(inner, array), value) : value, array);
        });
    return;
  }
  if (baseAt(number)) {
    reduce(s.term, extremes[number] = allocateForParts(indexLoops(chain, s.map, every), s.term->type));
    return;
  }
  Type element = cast<MemRefType>(s.memref.getType()).getElementType();
  for (auto [part, pair] : llvm::enumerate(s.pairs))
    if (pair.g) {
      SmallVector<unsigned> loops =
          s.pairs.size() == 1 ? indexLoops(chain, s.map, every) : indexLoops(chain, s.map, chain.loopsOf(pair.g));
      reduce(pair.g, sums[{number, part}] = allocateForParts(loops, element));
    }
}

//===-- Results -----------------------------------------------------------===//

/// Values of all parts, combined as the statement does.
Value PartWriter::all(OpBuilder &builder, ArrayRef<Value> values, const ReductionStatement &s) {
  SmallVector<Value> left(values);
  for (; left.size() > 1; left.resize(llvm::divideCeil(left.size(), 2)))
    for (size_t i = 0, half = llvm::divideCeil(left.size(), 2); i + half < left.size(); ++i)
      left[i] = combined(builder, s, left[i], left[i + half]);
  return left.front();
}

Value PartWriter::ofPart(OpBuilder &builder, const StepArray &array, int64_t part) {
  SmallVector<AffineExpr> place{builder.getAffineConstantExpr(part)};
  SmallVector<Value> operands;
  for (unsigned loop : array.loops) {
    place.push_back(builder.getAffineDimExpr(operands.size()));
    operands.push_back(positions.lookup(loop));
  }
  return AffineLoadOp::create(builder, loc, array.buffer,
                              AffineMap::get(operands.size(), 0, place, builder.getContext()), operands);
}

/// The maximum over all parts.
Value PartWriter::extremeOf(OpBuilder &builder, unsigned statement) {
  Value &known = computed[{statement, 0}];
  if (!known) {
    SmallVector<Value> values;
    for (int64_t part = 0; part < numParts; ++part)
      values.push_back(ofPart(builder, extremes[statement], part));
    known = all(builder, values, chain.statements[statement]);
  }
  return known;
}

/// `extreme`, the maximum of a statement, where it is above -inf, else 0.
Value PartWriter::startAt(OpBuilder &builder, unsigned statement, Value extreme) {
  Value zero = constant(builder.getFloatAttr(cast<FloatType>(extreme.getType()), 0.0));
  return arith::SelectOp::create(builder, loc, isAbove(builder, *baseAt(statement), extreme), extreme, zero);
}

Value PartWriter::baseOf(OpBuilder &builder, unsigned statement) {
  Value extreme = extremeOf(builder, statement);
  Value &known = computed[{statement, 1}];
  return known ? known : known = startAt(builder, statement, extreme);
}

Value PartWriter::lastCorrection(OpBuilder &builder, unsigned number) {
  const ReductionBase &base = chain.bases[number];
  Value from = baseOf(builder, base.statement);
  return exponential(builder, base, from, emit(builder, base.value));
}

/// The sum of all parts, each at the maximum of all.
Value PartWriter::sumOf(OpBuilder &builder, unsigned statement, unsigned part) {
  const ReductionStatement &s = chain.statements[statement];
  SmallVector<Value> values;
  for (int64_t each = 0; each < numParts; ++each) {
    Value value = ofPart(builder, sums[{statement, part}], each);
    for (unsigned number : s.pairs[part].bases) {
      const ReductionBase &base = chain.bases[number];
      Value to = baseOf(builder, base.statement);
      Value &correction = corrections[{number, each}];
      if (!correction) {
        Value own = ofPart(builder, extremes[base.statement], each);
        Value factor = exponential(builder, base, own, to);
        Value zero = constant(builder.getFloatAttr(cast<FloatType>(own.getType()), 0.0));
        correction = arith::SelectOp::create(builder, loc, isAbove(builder, base, own), factor, zero);
      }
      value = arith::MulFOp::create(builder, loc, value, correction);
    }
    values.push_back(value);
  }
  return all(builder, values, s);
}

Value PartWriter::valueOf(OpBuilder &builder, unsigned statement) {
  const ReductionStatement &s = chain.statements[statement];
  if (!s.isState)
    return emit(builder, s.term);
  if (extremes.contains(statement))
    return extremeOf(builder, statement);
  Value known = computed[{statement, 2}];
  return known ? known : computed[{statement, 2}] = resultOf(builder, statement);
}

/// In parts, exponentials stand at the maximum of their part, as it is guarded here.
Value PartWriter::emit(OpBuilder &builder, const Term *term) {
  for (const ReductionBase &base : chain.bases)
    if (inStep && term == base.value) {
      Value &known = emitted[term];
      return known ? known : known = startAt(builder, base.statement, load(builder, extremes[base.statement]));
    }
  return StepWriter::emit(builder, term);
}

Value PartWriter::emitLoad(OpBuilder &builder, const Term *term) {
  if (term->writer >= 0) {
    const ReductionStatement &from = chain.statements[term->writer];
    if (inStep && from.place == Place::Step)
      return load(builder, partOf(term->writer, std::max(term->part, 0)));
    if (!inStep && (from.isState || from.place == Place::After))
      return valueOf(builder, term->writer);
  }
  return StepWriter::emitLoad(builder, term);
}

PartialNests PartWriter::write(OpBuilder &builder) {
  PartialNests nests;
  Block::iterator taken = std::prev(builder.getInsertionPoint());
  auto take = [&](SmallVector<AffineForOp> &to) {
    while (std::next(taken) != builder.getInsertionPoint())
      if (auto loop = dyn_cast<AffineForOp>(*++taken))
        to.push_back(loop);
  };
  for (auto [number, s] : llvm::enumerate(chain.statements))
    if (s.place == Place::Before && !begins(number))
      writeWhole(builder, s);
  inStep = true;
  size = step;
  for (auto [number, s] : llvm::enumerate(chain.statements))
    if (s.place == Place::Step)
      writePart(builder, number);
  inStep = false;
  take(nests.parts);
  llvm::SmallBitVector every(chain.loops.size(), true);
  for (auto [number, s] : llvm::enumerate(chain.statements))
    if ((s.isState || s.place == Place::After) && isResult(s))
      nest(builder, indexLoops(chain, s.map, every), [&, number = number, &s = s](OpBuilder &inner) {
        computed.clear();
        corrections.clear();
        Value value = valueOf(inner, number);
        store(inner, value, StepArray{s.memref, {}, s.map});
      });
  take(nests.results);
  return nests;
}

FailureOr<PartialNests> tilewright::splitReductions(ArrayRef<Operation *> ops, int64_t parts, std::string &reason) {
  auto isInside = [&](Operation *user) {
    return llvm::any_of(ops, [&](Operation *op) { return op->isAncestor(user); });
  };
  const bool mayReassociate = Settings::of(ops.front()).mayReassociate();
  std::unique_ptr<DependentReductions> chain = DependentReductions::find(ops, isInside, mayReassociate, reason);
  if (!chain)
    return failure();
  PartWriter writer(*chain, parts, isInside, OpBuilder(ops.front()));
  if (failed(writer.check(reason)))
    return failure();
  OpBuilder builder(ops.back());
  builder.setInsertionPointAfter(ops.back());
  PartialNests nests = writer.write(builder);
  for (Operation *op : llvm::reverse(ops))
    if (isa<AffineForOp, AffineStoreOp>(op))
      op->erase();
  return nests;
}
