//===- LaneParts.cpp - Results of products that leave in parts ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A lane holds many elements of a sum. What follows the sum, loads, maps and one
/// store, is done for some of them after the other, so that no other fragment is
/// held as a whole:
///
///   %r = tile.load %bias      for elements 0 .. 7, 8 .. 15, ..
///   %y = tile.map %sum, %r      r = load, y = map of sum and r, store y
///   tile.store %y
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Contraction/LaneTail.h"
#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "core/Transforms/Lower/Vectors/TileRegionLowering.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <numeric>

using namespace mlir;
using namespace tilewright;

/// Elements at a time: as many as hide the latency of an operation, and no less than one access moves.
static constexpr int64_t leastTogether = 8;

int64_t tilewright::elementsTogether(int64_t bytes) { return std::max(leastTogether, mostAccessBytes / bytes); }

/// The store to which all of this value goes, by maps of the same block; null: there is none.
static tile::StoreOp storeOf(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (user->getBlock() != value.getParentBlock())
      return {};
    if (auto store = dyn_cast<tile::StoreOp>(user))
      return store;
    auto map = dyn_cast<tile::MapOp>(user);
    if (!map || map->getNumResults() != 1)
      return {};
    value = map->getResult(0);
  }
  return {};
}

/// Whether a loop gives this fragment, or fragments of which it is joined.
static bool isOfLoop(Value fragment) {
  if (auto join = fragment.getDefiningOp<tile::JoinOp>())
    return llvm::any_of(join.getParts(), isOfLoop);
  return bool(fragment.getDefiningOp<scf::ForOp>());
}

std::optional<int64_t> tilewright::partOfResult(Value stored) {
  auto last = stored.getDefiningOp<tile::MapOp>();
  tile::StoreOp store = last ? storeOf(stored) : tile::StoreOp();
  if (!store || store->getPrevNode() != last)
    return std::nullopt;
  auto typeOf = [](Value value) { return cast<tile::FragmentType>(value.getType()); };
  auto bytesOf = [&](Value value) { return elementBytes(typeOf(value).getElementType()); };
  int64_t count = typeOf(stored).getNumElements(), bytes = bytesOf(stored);
  bool ofSum = false;
  // Loads and maps before the store, and nothing else between them.
  for (Operation *op = last; op; op = op->getPrevNode()) {
    if (!isa<tile::LoadOp, tile::MapOp>(op) || op->getNumResults() != 1 || storeOf(op->getResult(0)) != store)
      break;
    if (typeOf(op->getResult(0)).getNumElements() != count)
      return std::nullopt;
    bytes = std::min(bytes, bytesOf(op->getResult(0)));
    for (Value input : op->getOperands())
      ofSum |= isa<tile::FragmentType>(input.getType()) && isOfLoop(input);
  }
  int64_t together = elementsTogether(bytes);
  if (!ofSum || count <= together || count % together != 0)
    return std::nullopt;
  return together;
}

bool tilewright::leavesInParts(Operation *op) {
  tile::StoreOp store = storeOf(op->getResult(0));
  if (op->getNumResults() != 1 || !store || !partOfResult(store.getValue()))
    return false;
  for (Operation *next = op; next != store; next = next->getNextNode())
    if (!isa<tile::LoadOp, tile::MapOp>(next) || storeOf(next->getResult(0)) != store)
      return false;
  return true;
}

SmallVector<int64_t> LaneWriter::allElements(tile::FragmentType type) {
  SmallVector<int64_t> all(type.getNumElements());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Distribution LaneWriter::partOf(const Distribution &distribution, ArrayRef<int64_t> elements) {
  Distribution part = distribution;
  part.elements.clear();
  for (int64_t e : elements)
    part.elements.push_back(distribution.elements[e]);
  return part;
}

FailureOr<Value> LaneWriter::someOf(Value fragment, ArrayRef<int64_t> elements) {
  if (isInBlock(fragment))
    return readAccumulators(fragment, elements);
  if (Value whole = values.lookupOrNull(fragment)) {
    if (int64_t(elements.size()) == cast<VectorType>(whole.getType()).getNumElements() && llvm::is_sorted(elements))
      return whole;
    return vector::ShuffleOp::create(builder, context.loc, whole, whole, elements).getResult();
  }
  if (auto load = fragment.getDefiningOp<tile::LoadOp>())
    return loadSome(load, elements);
  auto map = fragment.getDefiningOp<tile::MapOp>();
  SmallVector<Value> parts;
  llvm::DenseMap<Value, Value> read; // accumulators come all at once
  for (Value input : map.getInputs())
    if (isInBlock(input) && !read.contains(input)) {
      FailureOr<Value> all = readAccumulators(input, elements);
      if (failed(all))
        return failure();
      read[input] = *all;
    }
  int64_t count = elements.size(), together = std::min<int64_t>(count, *partOfResult(storeOf(fragment).getValue()));
  for (int64_t at = 0; at < count; at += together) {
    SmallVector<Value> inputs;
    for (Value input : map.getInputs()) {
      if (Value all = read.lookup(input)) {
        inputs.push_back(vector::ExtractStridedSliceOp::create(builder, context.loc, all, at, together, 1));
        continue;
      }
      FailureOr<Value> some = someOf(input, elements.slice(at, together));
      if (failed(some))
        return failure();
      inputs.push_back(*some);
    }
    parts.push_back(vectorizeRegion(builder, map.getLoc(), map.getBody().front(), inputs, together, values).front());
  }
  if (parts.size() == 1)
    return parts.front();
  auto type = VectorType::get(count, cast<tile::FragmentType>(fragment.getType()).getElementType());
  Value all = constant(type, builder.getZeroAttr(type));
  for (auto [i, part] : llvm::enumerate(parts))
    all = vector::InsertStridedSliceOp::create(builder, context.loc, part, all, int64_t(i) * together, 1);
  return all;
}
