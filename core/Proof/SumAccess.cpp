//===- SumAccess.cpp - Arrays and arithmetic, counted -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What operations read, write and add up.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/SumCounter.h"

#include "tilewright/Explain.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::proof;

/// The floating-point type of the elements of a value; null: integers and others.
static FloatType floatOf(Type type) {
  if (auto fragment = dyn_cast<tile::FragmentType>(type))
    type = fragment.getElementType();
  return dyn_cast<FloatType>(getElementTypeOrSelf(type));
}

//===-- Places ------------------------------------------------------------===//

unsigned SumCounter::placeOf(Operation *op) {
  Location location = op->getLoc();
  for (Operation *around = op->getParentOp(); around && isa<UnknownLoc>(location); around = around->getParentOp())
    location = around->getLoc();
  while (auto call = dyn_cast<CallSiteLoc>(location)) // equal calls have one kernel
    location = call.getCallee();
  auto [known, isNew] = placeByLocation.try_emplace(location, 0);
  if (isNew) {
    std::string name = DecisionLog::textOf(location);
    if (auto nest = nests.find(name); nest != nests.end())
      name = nest->second;
    auto [found, isFirst] = placeByName.try_emplace(name, places.size());
    if (isFirst)
      places.push_back({name, {}});
    known->second = found->second;
  }
  return known->second;
}

/// `op` has `chain` and `additions` more.
void SumCounter::addition(Operation *op, Chain chain, int64_t additions, Operation *at) {
  FloatType type = floatOf(op->getResultTypes().front());
  if (type && additions > 0) {
    unsigned index = placeOf(at ? at : op);
    chain.add(index, additions);
    PlaceSums &sums = place(index);
    sums.additions = std::max(sums.additions, chain.at(index));
    sums.unit = std::max(sums.unit, std::ldexp(1.0, -static_cast<int>(type.getFPMantissaWidth())));
  }
  for (Value result : op->getResults())
    chains[result] = chain;
}

Chain SumCounter::chainOf(ValueRange values) {
  Chain result;
  for (Value each : values)
    if (auto found = chains.find(each); found != chains.end())
      result.join(found->second);
  return result;
}

//===-- Arrays ------------------------------------------------------------===//

unsigned SumCounter::newArray(std::vector<int64_t> shape) {
  arrays.emplace_back(std::move(shape), &counterRanges);
  return arrays.size() - 1;
}

std::vector<Interval> SumCounter::whole(Value memref) const {
  auto found = views.find(memref);
  size_t rank = found == views.end() ? 0 : arrays[found->second.array].extents().size();
  return std::vector<Interval>(rank, Interval{{}, 1, true});
}

std::vector<Interval> SumCounter::intervals(ArrayRef<Number> indices, Type type) {
  std::vector<Interval> result;
  for (const Number &each : indices)
    result.push_back({each.form, 1, false});
  if (auto vector = dyn_cast<VectorType>(type))
    for (auto [i, extent] : llvm::enumerate(llvm::reverse(vector.getShape())))
      if (i < result.size())
        result[result.size() - 1 - i].width = extent;
  return result;
}

/// The smallest and largest value of `expr` over a box of points.
static std::pair<int64_t, int64_t> rangeOf(AffineExpr expr, ArrayRef<int64_t> shape) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return {0, shape[dim.getPosition()] - 1};
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {constant.getValue(), constant.getValue()};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return {0, 0};
  auto a = rangeOf(binary.getLHS(), shape), b = rangeOf(binary.getRHS(), shape);
  if (expr.getKind() == AffineExprKind::Add)
    return {a.first + b.first, a.second + b.second};
  if (expr.getKind() == AffineExprKind::Mul) {
    int64_t low = a.first * b.first, high = a.second * b.first;
    return {std::min(low, high), std::max(low, high)};
  }
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return {llvm::divideFloorSigned(a.first, b.first), llvm::divideFloorSigned(a.second, b.first)};
  if (expr.getKind() == AffineExprKind::CeilDiv)
    return {llvm::divideCeilSigned(a.first, b.first), llvm::divideCeilSigned(a.second, b.first)};
  return {0, a.first >= 0 ? std::min(a.second, b.first - 1) : b.first - 1};
}

std::vector<Interval> SumCounter::box(ArrayRef<Number> indices, AffineMap elements, ArrayRef<int64_t> shape) {
  std::vector<Interval> result;
  for (auto [index, expr] : llvm::zip_equal(indices, elements.getResults())) {
    auto [low, high] = rangeOf(expr, shape);
    Interval interval{index.form, high - low + 1, false};
    interval.begin.constant += low;
    result.push_back(std::move(interval));
  }
  return result;
}

Chain SumCounter::read(Value memref, std::vector<Interval> where) {
  if (auto select = memref.getDefiningOp<arith::SelectOp>()) { // of either
    Chain chain = read(select.getTrueValue(), where);
    chain.join(read(select.getFalseValue(), where));
    return chain;
  }
  auto found = views.find(memref);
  if (found == views.end())
    return {};
  return arrays[found->second.array].read(found->second.isWhole ? where : whole(memref));
}

void SumCounter::write(Value memref, std::vector<Interval> where, Chain chain) {
  if (auto select = memref.getDefiningOp<arith::SelectOp>()) { // to one of two
    bool wasSure = std::exchange(isSure, false);
    write(select.getTrueValue(), where, chain);
    write(select.getFalseValue(), where, chain);
    isSure = wasSure;
    return;
  }
  auto found = views.find(memref);
  if (found == views.end())
    return;
  bool isExact = found->second.isWhole;
  arrays[found->second.array].write({isExact ? std::move(where) : whole(memref), isSure && isExact, std::move(chain)});
}

/// Buffers and views.
bool SumCounter::runMemory(Operation *op) {
  auto allocate = [&](MemRefType type, ValueRange dynamic) {
    std::vector<int64_t> shape;
    for (int64_t extent : type.getShape()) {
      if (!ShapedType::isDynamic(extent)) {
        shape.push_back(extent);
        continue;
      }
      shape.push_back(dynamic.empty() ? size : numberOf(dynamic.front()).value.value_or(size));
      dynamic = dynamic.empty() ? dynamic : dynamic.drop_front();
    }
    auto found = views.find(op->getResult(0));
    if (found != views.end()) // another time: nothing is in it
      arrays[found->second.array] = SumArray(std::move(shape), &counterRanges);
    else
      views[op->getResult(0)] = {newArray(std::move(shape)), true};
    return true;
  };
  auto same = [&](Value source, bool isWhole) {
    if (auto found = views.find(source); found != views.end())
      views[op->getResult(0)] = {found->second.array, found->second.isWhole && isWhole};
    return true;
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<memref::AllocOp, memref::AllocaOp>(
          [&](auto alloc) { return allocate(alloc.getType(), alloc.getDynamicSizes()); })
      .Case([&](tile::AllocOp alloc) {
        return allocate(cast<MemRefType>(alloc.getMemref().getType()), alloc.getDynamicSizes());
      })
      .Case([&](memref::GetGlobalOp global) { return allocate(cast<MemRefType>(global.getType()), {}); })
      .Case([&](memref::CastOp cast) { return same(cast.getSource(), true); })
      .Case([&](arith::SelectOp select) { // its sizes; `read` and `write` ask for both arrays
        return isa<MemRefType>(select.getType()) && same(select.getTrueValue(), true);
      })
      .Case([&](memref::DimOp dim) {
        Number &number = numbers[dim.getResult()] = {};
        auto found = views.find(dim.getSource());
        std::optional<int64_t> index = dim.getConstantIndex();
        if (found != views.end() && found->second.isWhole && index) {
          number.value = arrays[found->second.array].extents()[*index];
          number.form.constant = *number.value;
        } else
          number.form.terms[atomOf(dim.getResult())] = 1;
        return true;
      })
      .Case<memref::SubViewOp, memref::CollapseShapeOp, memref::ExpandShapeOp, memref::ReinterpretCastOp,
            memref::ReshapeOp, memref::TransposeOp, memref::ViewOp>(
          [&](auto view) { return same(view->getOperand(0), false); })
      .Default([](Operation *) { return false; });
}

bool SumCounter::runAccess(Operation *op) {
  auto load = [&](Value memref, std::vector<Interval> where, Value result) {
    if (floatOf(result.getType()))
      chains[result] = read(memref, std::move(where));
    else
      computeNumbers(op);
    return true;
  };
  auto store = [&](Value memref, std::vector<Interval> where, Value value) {
    write(memref, std::move(where), chainOf(value));
    return true;
  };
  auto fragment = [&](auto each, tile::FragmentType type) {
    return box(evaluate(each.getMap(), each.getMapOperands()), each.getElements(), {type.getRows(), type.getCols()});
  };
  auto vectorLoad = [&](auto each, ValueRange indices) {
    return load(each.getBase(), intervals(numbersOf(indices), each.getVectorType()), each.getResult());
  };
  auto copy = [&](Value from, std::vector<Interval> source, Value to, std::vector<Interval> target) {
    write(to, std::move(target), read(from, std::move(source)));
    return true;
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](memref::LoadOp each) {
        return load(each.getMemRef(), intervals(numbersOf(each.getIndices()), each.getType()), each.getResult());
      })
      .Case([&](memref::StoreOp each) {
        return store(each.getMemRef(), intervals(numbersOf(each.getIndices()), each.getValue().getType()),
                     each.getValue());
      })
      .Case<affine::AffineLoadOp, affine::AffineVectorLoadOp>([&](auto each) {
        return load(each.getMemRef(), intervals(evaluate(each.getAffineMap(), each.getMapOperands()), each.getType()),
                    each.getResult());
      })
      .Case<affine::AffineStoreOp, affine::AffineVectorStoreOp>([&](auto each) {
        return store(each.getMemRef(),
                     intervals(evaluate(each.getAffineMap(), each.getMapOperands()), each.getValue().getType()),
                     each.getValue());
      })
      .Case<vector::LoadOp, vector::MaskedLoadOp>([&](auto each) { return vectorLoad(each, each.getIndices()); })
      .Case<vector::StoreOp, vector::MaskedStoreOp>([&](auto each) {
        return store(each.getBase(), intervals(numbersOf(each.getIndices()), each.getVectorType()),
                     each.getValueToStore());
      })
      .Case([&](vector::GatherOp each) { return load(each.getBase(), whole(each.getBase()), each.getResult()); })
      .Case([&](vector::ScatterOp each) {
        bool wasSure = std::exchange(isSure, false);
        store(each.getBase(), whole(each.getBase()), each.getValueToStore());
        isSure = wasSure;
        return true;
      })
      .Case([&](vector::TransferReadOp each) {
        return load(each.getBase(), intervals(numbersOf(each.getIndices()), each.getVectorType()), each.getResult());
      })
      .Case([&](vector::TransferWriteOp each) {
        return store(each.getBase(), intervals(numbersOf(each.getIndices()), each.getVectorType()), each.getVector());
      })
      .Case([&](tile::LoadOp each) {
        return load(each.getMemref(), fragment(each, each.getResult().getType()), each.getResult());
      })
      .Case([&](tile::StoreOp each) {
        return store(each.getMemref(), fragment(each, each.getValue().getType()), each.getValue());
      })
      .Case([&](tile::FillOp each) { return store(each.getMemref(), whole(each.getMemref()), each.getValue()); })
      .Case([&](memref::CopyOp each) {
        return copy(each.getSource(), whole(each.getSource()), each.getTarget(), whole(each.getTarget()));
      })
      .Case([&](tile::CopyOp each) {
        return copy(
            each.getSource(),
            box(evaluate(each.getSourceMap(), each.getSourceOperands()), each.getSourceElements(), each.getShape()),
            each.getDestination(),
            box(evaluate(each.getDestinationMap(), each.getDestinationOperands()), each.getDestinationElements(),
                each.getShape()));
      })
      .Case([&](tile::MultiplyOp each) {
        ArrayRef<int64_t> shape = each.getShape();
        Builder b(op->getContext());
        auto tile = [&](ValueRange indices, int64_t rows, int64_t cols) {
          return intervals(numbersOf(indices), VectorType::get({rows, cols}, b.getI8Type()));
        };
        Chain chain = read(each.getA(), tile(each.getAIndices(), shape[0], shape[2]));
        chain.join(read(each.getB(), tile(each.getBIndices(), shape[2], shape[1])));
        std::optional<int64_t> accumulates = numberOf(each.getAccumulate()).value;
        std::vector<Interval> where = tile(each.getCIndices(), shape[0], shape[1]);
        if (!accumulates || (*accumulates & 1))
          chain.join(read(each.getC(), where));
        if (FloatType type = floatOf(each.getC().getType())) {
          unsigned index = placeOf(op);
          chain.add(index, shape[2]);
          PlaceSums &sums = place(index);
          sums.additions = std::max(sums.additions, chain.at(index));
          sums.unit = std::max(sums.unit, std::ldexp(1.0, -static_cast<int>(type.getFPMantissaWidth())));
          sums.isFused = true;
          sums.arithmetic.insert("arith.mulf");
        }
        write(each.getC(), std::move(where), std::move(chain));
        return true;
      })
      .Default([](Operation *) { return false; });
}

//===-- Arithmetic --------------------------------------------------------===//

/// Additions, and what combines the elements of vectors and tiles.
bool SumCounter::runSum(Operation *op) {
  auto fused = [&](int64_t additions) {
    if (floatOf(op->getResultTypes().front())) {
      PlaceSums &sums = place(placeOf(op));
      sums.isFused = true;
      sums.arithmetic.insert("arith.mulf");
    }
    addition(op, chainOf(op->getOperands()), additions);
    return true;
  };
  auto anyOrder = [&] { place(placeOf(op)).isAnyOrder |= static_cast<bool>(floatOf(op->getResultTypes().front())); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddFOp, arith::SubFOp>([&](auto) {
        addition(op, chainOf(op->getOperands()), 1);
        return true;
      })
      .Case<vector::FMAOp, math::FmaOp>([&](auto) { return fused(1); })
      .Case([&](vector::OuterProductOp each) { return fused(each.getAcc() ? 1 : 0); })
      .Case([&](tile::MmaOp each) { return fused(each.getA().getType().getCols()); })
      .Case([&](vector::ContractionOp each) {
        int64_t additions = 1;
        for (auto [kind, extent] : llvm::zip_equal(each.getIteratorTypesArray(), *each.getShapeForUnroll()))
          if (kind == vector::IteratorType::reduction)
            additions *= extent;
        return fused(additions);
      })
      .Case([&](vector::ReductionOp each) {
        int64_t terms = cast<VectorType>(each.getVector().getType()).getNumElements();
        bool isSum = each.getKind() == vector::CombiningKind::ADD;
        if (isSum && arith::bitEnumContainsAny(each.getFastmath(), arith::FastMathFlags::reassoc))
          anyOrder();
        addition(op, chainOf(op->getOperands()), isSum ? terms - !each.getAcc() : 0);
        return true;
      })
      .Case([&](vector::MultiDimReductionOp each) {
        int64_t terms = 1;
        for (auto [extent, isReduced] :
             llvm::zip_equal(cast<VectorType>(each.getSource().getType()).getShape(), each.getReductionMask()))
          terms *= isReduced ? extent : 1;
        bool isSum = each.getKind() == vector::CombiningKind::ADD;
        if (isSum)
          anyOrder();
        addition(op, chainOf(op->getOperands()), isSum ? terms : 0);
        return true;
      })
      .Case([&](tile::ReduceOp each) {
        tile::FragmentType type = each.getInput().getType();
        int64_t terms = each.getDimension() ? type.getCols() : type.getRows();
        auto sum = llvm::find_if(each.getRegion().front(), [](Operation &inner) { return isa<arith::AddFOp>(inner); });
        bool isSum = sum != each.getRegion().front().end();
        if (isSum && terms > 1)
          place(placeOf(&*sum)).isAnyOrder = true;
        addition(op, chainOf(each.getInput()), isSum ? terms - 1 : 0, isSum ? &*sum : nullptr);
        return true;
      })
      .Case([&](tile::MapOp each) {
        Block &body = each.getBody().front();
        for (auto [argument, input] : llvm::zip_equal(body.getArguments(), each.getInputs()))
          chains[argument] = chainOf(input);
        runBlock(body);
        for (auto [result, value] : llvm::zip_equal(op->getResults(), body.getTerminator()->getOperands()))
          chains[result] = chainOf(value);
        return true;
      })
      .Default([](Operation *) { return false; });
}
