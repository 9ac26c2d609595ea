//===- Touches.cpp - What operations touch --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each operation that reads or writes memory, as the indices that it touches. What
/// reads or writes memory and is not here is a gap of the proof.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Reader.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::proof;

void Reader::touch(Operation *op, Touch touch) {
  if (auto select = touch.memref.getDefiningOp<arith::SelectOp>()) { // of one of two arrays
    Truth condition = truthOf(select.getCondition());
    for (auto [memref, holds] : {std::pair(select.getTrueValue(), condition), {select.getFalseValue(), !condition}}) {
      touch.memref = memref;
      within(holds, [&] { this->touch(op, touch); });
    }
    return;
  }
  View view = viewOf(touch.memref);
  if (!view.unknown.empty())
    return gap(op, view.unknown);
  Access access;
  access.op = op;
  access.array = view.array;
  access.isWrite = touch.isWrite;
  access.index = view.place ? view.place(touch.index) : touch.index;
  access.conditions = conditions;
  access.conditions.add(touch.conditions);
  llvm::erase_if(access.conditions.all, [](const Linear &each) { return each.isConstant() && each.constant() >= 0; });
  access.isExact = isExact && touch.isExact;
  access.time = time;
  access.time.push_back({clock, std::nullopt, false, 0, 0, {}, op, {}});
  access.token = touch.token;
  program.accesses.push_back(std::move(access));
}

Linear Reader::element(unsigned position, int64_t extent) {
  if (extent == 1)
    return 0;
  auto [found, isNew] = elements.try_emplace({position, extent}, 0);
  if (isNew) {
    found->second = space.add("element " + std::to_string(position), Space::Kind::Element);
    space.know(found->second, Linear::of(found->second));
    space.know(found->second, Linear::of(found->second, -1) + (extent - 1));
  }
  return Linear::of(found->second);
}

//===-- Vectors -----------------------------------------------------------===//

void Reader::mask(Value mask, ArrayRef<Linear> elements, Touch &touch) {
  auto bound = [&](ArrayRef<Linear> sizes) {
    for (auto [element, size] : llvm::zip(elements, sizes))
      touch.conditions.all.push_back(size - element + -1);
  };
  if (auto made = mask.getDefiningOp<vector::CreateMaskOp>())
    return bound(numbersOf(made.getOperands()));
  if (auto constant = mask.getDefiningOp<vector::ConstantMaskOp>())
    return bound(llvm::map_to_vector(constant.getMaskDimSizes(), [](int64_t size) { return Linear(size); }));
  if (DenseElementsAttr constant; matchPattern(mask, m_Constant(&constant)) && constant.isSplat()) {
    if (!constant.getSplatValue<bool>())
      touch.conditions.all.push_back(-1);
    return;
  }
  touch.isExact = false;
}

/// `index` with the elements of a vector of `type` added to its last dimensions.
static SmallVector<Linear> addElements(SmallVector<Linear> index, ArrayRef<Linear> elements) {
  size_t before = index.size() - std::min(index.size(), elements.size());
  for (size_t i = before; i < index.size(); ++i)
    index[i] += elements[i - before + elements.size() - (index.size() - before)];
  return index;
}

bool Reader::readVectorAccess(Operation *op) {
  auto elementsOf = [&](Type type) {
    SmallVector<Linear> result;
    auto vector = dyn_cast<VectorType>(type);
    for (auto [i, extent] : llvm::enumerate(vector ? vector.getShape() : ArrayRef<int64_t>()))
      result.push_back(element(i, extent));
    return result;
  };
  auto plain = [&](auto each, Type vector, bool isWrite) {
    touch(op, {each.getBase(), addElements(numbersOf(each.getIndices()), elementsOf(vector)), isWrite});
    return true;
  };
  auto masked = [&](auto each, Type vector, bool isWrite) {
    SmallVector<Linear> elements = elementsOf(vector);
    Touch access{each.getBase(), addElements(numbersOf(each.getIndices()), elements), isWrite};
    mask(each.getMask(), elements, access);
    touch(op, std::move(access));
    return true;
  };
  auto affine = [&](auto each, Type vector, bool isWrite) {
    SmallVector<Linear> index = evaluate(each.getAffineMap(), numbersOf(each.getMapOperands()));
    touch(op, {each.getMemRef(), addElements(std::move(index), elementsOf(vector)), isWrite});
    return true;
  };
  // By indices of a vector: known where they are constants at one distance.
  auto scattered = [&](auto each, bool isWrite) {
    SmallVector<Linear> elements = elementsOf(each.getVectorType());
    Touch access{each.getBase(), numbersOf(each.getOffsets()), isWrite};
    mask(each.getMask(), elements, access);
    DenseIntElementsAttr constant;
    if (!matchPattern(each.getIndices(), m_Constant(&constant)) || elements.size() != 1) {
      access.index.back() += fresh("index", "an index of data: a gather or scatter");
      access.isExact = false;
    } else {
      auto values = llvm::to_vector(llvm::map_range(constant, [](const APInt &v) { return v.getSExtValue(); }));
      int64_t first = values.front(), distance = values.size() > 1 ? values[1] - first : 0;
      bool isEven = true;
      for (auto [i, value] : llvm::enumerate(values))
        isEven &= value == first + static_cast<int64_t>(i) * distance;
      if (isEven)
        access.index.back() += elements.front() * distance + first;
      else {
        Linear any = fresh("index", "an index out of a table");
        space.know(any.terms().front().first, any - *llvm::min_element(values));
        space.know(any.terms().front().first, any * -1 + *llvm::max_element(values));
        access.index.back() += any;
        access.isExact = false;
      }
    }
    touch(op, std::move(access));
    return true;
  };
  auto transfer = [&](VectorTransferOpInterface each, bool isWrite) {
    auto vector = cast<VectorType>(each.getVectorType());
    SmallVector<Linear> index = numbersOf(each.getIndices()), elements;
    Touch access{each.getBase(), {}, isWrite};
    for (int64_t i = 0; i < vector.getRank(); ++i) {
      elements.push_back(element(i, vector.getShape()[i]));
      auto dim = dyn_cast<AffineDimExpr>(each.getPermutationMap().getResult(i));
      if (!dim)
        continue;
      index[dim.getPosition()] += elements.back();
      if (!each.isDimInBounds(i)) { // what lies outside is no access
        View view = viewOf(each.getBase());
        if (view.unknown.empty()) {
          access.conditions.all.push_back(index[dim.getPosition()]);
          access.conditions.all.push_back(view.shape[dim.getPosition()] - index[dim.getPosition()] + -1);
        }
      }
    }
    access.index = index;
    if (each.getMask())
      mask(each.getMask(), elements, access);
    access.isExact &= !each->getParentOfType<vector::MaskOp>();
    touch(op, std::move(access));
    return true;
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](vector::LoadOp each) { return plain(each, each.getVectorType(), false); })
      .Case([&](vector::StoreOp each) { return plain(each, each.getVectorType(), true); })
      .Case([&](vector::MaskedLoadOp each) { return masked(each, each.getVectorType(), false); })
      .Case([&](vector::MaskedStoreOp each) { return masked(each, each.getVectorType(), true); })
      .Case([&](affine::AffineVectorLoadOp each) { return affine(each, each.getVectorType(), false); })
      .Case([&](affine::AffineVectorStoreOp each) { return affine(each, each.getVectorType(), true); })
      .Case([&](vector::GatherOp each) { return scattered(each, false); })
      .Case([&](vector::ScatterOp each) { return scattered(each, true); })
      .Case([&](vector::TransferReadOp each) { return transfer(each, false); })
      .Case([&](vector::TransferWriteOp each) { return transfer(each, true); })
      .Default([](Operation *) { return false; });
}

//===-- Tiles -------------------------------------------------------------===//

bool Reader::readTileAccess(Operation *op) {
  auto sum = [](SmallVector<Linear> a, ArrayRef<Linear> b) {
    for (auto [x, y] : llvm::zip(a, b))
      x += y;
    return a;
  };
  auto fragment = [&](auto each, tile::FragmentType type, bool isWrite) {
    SmallVector<Linear> elements{element(0, type.getRows()), element(1, type.getCols())};
    Touch access{each.getMemref(),
                 sum(evaluate(each.getMap(), numbersOf(each.getMapOperands())), evaluate(each.getElements(), elements)),
                 isWrite};
    if (std::optional<AffineMap> valid = each.getValidMap())
      for (auto [element, size] : llvm::zip(elements, evaluate(*valid, numbersOf(each.getValidOperands()))))
        access.conditions.all.push_back(size - element + -1);
    touch(op, std::move(access));
    return true;
  };
  auto whole = [&](Value memref, bool isWrite) {
    SmallVector<Linear> index;
    auto type = cast<MemRefType>(memref.getType());
    Touch access{memref, {}, isWrite};
    for (auto [i, extent] : llvm::enumerate(type.getShape())) {
      if (!type.isDynamicDim(i)) {
        access.index.push_back(element(i, extent));
        continue;
      }
      Linear any = Linear::of(space.add("element " + std::to_string(i), Space::Kind::Element));
      View view = viewOf(memref);
      space.know(any.terms().front().first, any);
      if (view.unknown.empty())
        access.conditions.all.push_back(view.shape[i] - any + -1);
      access.index.push_back(any);
    }
    touch(op, std::move(access));
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](tile::LoadOp each) { return fragment(each, each.getResult().getType(), false); })
      .Case([&](tile::StoreOp each) { return fragment(each, each.getValue().getType(), true); })
      .Case([&](tile::FillOp each) {
        whole(each.getMemref(), true);
        return true;
      })
      .Case([&](memref::CopyOp each) {
        whole(each.getSource(), false);
        whole(each.getTarget(), true);
        return true;
      })
      .Case([&](tile::CopyOp each) {
        SmallVector<Linear> points;
        for (auto [i, extent] : llvm::enumerate(each.getShape()))
          points.push_back(element(i, extent));
        Conditions valid;
        if (std::optional<AffineMap> map = each.getValidMap())
          for (auto [point, size] : llvm::zip(points, evaluate(*map, numbersOf(each.getValidOperands()))))
            valid.all.push_back(size - point + -1);
        Touch from{each.getSource(),
                   sum(evaluate(each.getSourceMap(), numbersOf(each.getSourceOperands())),
                       evaluate(each.getSourceElements(), points)),
                   false,
                   valid,
                   true,
                   each.getToken()};
        View view = viewOf(each.getSource());
        for (int64_t d : each.getBounded())
          if (view.unknown.empty()) { // beyond the array nothing is read
            from.conditions.all.push_back(from.index[d]);
            from.conditions.all.push_back(view.shape[d] - from.index[d] + -1);
          }
        touch(op, std::move(from));
        touch(op, {each.getDestination(),
                   sum(evaluate(each.getDestinationMap(), numbersOf(each.getDestinationOperands())),
                       evaluate(each.getDestinationElements(), points)),
                   true, each.getClipped() ? valid : Conditions(), true, each.getToken()});
        return true;
      })
      .Case([&](tile::MultiplyOp each) {
        ArrayRef<int64_t> shape = each.getShape();
        Linear m = element(0, shape[0]), n = element(1, shape[1]), k = element(2, shape[2]);
        touch(op, {each.getA(), addElements(numbersOf(each.getAIndices()), {m, k}), false, {}, true, each.getToken()});
        touch(op, {each.getB(), addElements(numbersOf(each.getBIndices()), {k, n}), false, {}, true, each.getToken()});
        touch(op, {each.getC(), addElements(numbersOf(each.getCIndices()), {m, n}), true, {}, true, each.getToken()});
        return true;
      })
      .Default([](Operation *) { return false; });
}

bool Reader::readAccess(Operation *op) {
  auto scalar = [&](auto each, SmallVector<Linear> index, bool isWrite) {
    touch(op, {each.getMemRef(), std::move(index), isWrite});
    return true;
  };
  bool isRead = llvm::TypeSwitch<Operation *, bool>(op)
                    .Case([&](memref::LoadOp each) {
                      if (isa<MemRefType>(each.getMemRefType()) && each.getType().isIntOrIndex())
                        numbers[each.getResult()] = fresh("data", "a value of data");
                      return scalar(each, numbersOf(each.getIndices()), false);
                    })
                    .Case([&](memref::StoreOp each) { return scalar(each, numbersOf(each.getIndices()), true); })
                    .Case([&](affine::AffineLoadOp each) {
                      return scalar(each, evaluate(each.getAffineMap(), numbersOf(each.getMapOperands())), false);
                    })
                    .Case([&](affine::AffineStoreOp each) {
                      return scalar(each, evaluate(each.getAffineMap(), numbersOf(each.getMapOperands())), true);
                    })
                    .Case<affine::AffinePrefetchOp, memref::PrefetchOp>([](auto) { return true; }) // touches nothing
                    .Default([](Operation *) { return false; });
  if (isRead || readVectorAccess(op) || readTileAccess(op))
    return true;
  // Whatever else may touch an array.
  bool hasArray = llvm::any_of(op->getOperandTypes(), [](Type type) { return isa<BaseMemRefType>(type); });
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  bool touches = hasArray && op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
                 (!effects || effects.hasEffect<MemoryEffects::Read>() || effects.hasEffect<MemoryEffects::Write>());
  if (touches)
    gap(op, "what '" + op->getName().getStringRef() + "' touches is not known");
  return touches;
}
