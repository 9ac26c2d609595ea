//===- ConsumerGroups.cpp - Each reader computes what it reads ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Groups the nests that write no wide array, orders the groups, and writes each of them with its own wide arrays.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Schedule/ConsumerGroups.h"
#include "core/Analysis/Nest.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// Nests in the order of the program that are to stand together.
struct Group {
  SmallVector<size_t> readers;            // nests of no wide array
  llvm::BitVector nests;                  // with those that compute the wide arrays that they read
  llvm::DenseSet<Value> wide;             // arrays
  llvm::SmallSetVector<size_t, 4> before; // groups whose results it reads
  int64_t ofSteps = 0;                    // reads of others' results along what it sums over, as a chain's steps do
};

class ConsumerSeparator {
public:
  ConsumerSeparator(func::FuncOp kernel, ConsumerGroups by) : kernel(kernel), by(by) {}
  SeparateConsumers run();

private:
  bool collect();
  bool findWide();
  void joinDimensions();
  void findGroups();
  void gatherNests(Group &group);
  const void *dimensionOf(const Nest &nest, unsigned loop) const;
  bool order();
  void write();
  bool isReader(const Nest &nest) const { return !wide.contains(nest.stores.front().memref); }
  static SmallVector<Value> arraysOf(const Nest &nest) {
    SmallVector<Value> arrays;
    for (const Access &access : llvm::concat<const Access>(nest.loads, nest.stores))
      arrays.push_back(access.memref);
    return arrays;
  }

  func::FuncOp kernel;
  ConsumerGroups by;
  std::vector<Nest> nests;
  llvm::DenseMap<Operation *, size_t> numbers; // of nests, by their roots
  llvm::DenseSet<Value> wide;
  using Node = std::pair<void *, unsigned>; // a loop, or a dimension of an array
  llvm::EquivalenceClasses<Node> dimensions;
  std::vector<Group> groups, ordered;
};
} // namespace

/// The nests of the kernel; false where other operations than these have effects, or sizes are dynamic.
bool ConsumerSeparator::collect() {
  for (Operation &op : kernel.front().without_terminator()) {
    auto root = dyn_cast<AffineForOp>(op);
    if (!root && !isMemoryEffectFree(&op) && !isa<memref::AllocOp>(op))
      return false;
    if (!root)
      continue;
    FailureOr<Nest> nest = analyzeNest(root);
    if (failed(nest) || nest->stores.size() != 1 ||
        !llvm::all_of(nest->tripCounts, [](auto trips) { return trips.value_or(0) > 0; }))
      return false;
    numbers[root] = nests.size();
    nests.push_back(std::move(*nest));
  }
  return nests.size() > 2;
}

/// Arrays that only these nests touch, larger than all that others see.
bool ConsumerSeparator::findWide() {
  auto isOwn = [&](Value memref) {
    auto array = memref.getDefiningOp<memref::AllocOp>();
    return array && llvm::all_of(memref.getUsers(), [&](Operation *user) {
             while (user->getBlock() != &kernel.front())
               user = user->getParentOp();
             return numbers.contains(user);
           });
  };
  int64_t largest = 0;
  llvm::SetVector<Value> own;
  for (const Nest &nest : nests) {
    Value memref = nest.stores.front().memref;
    auto type = cast<MemRefType>(memref.getType());
    if (!type.hasStaticShape())
      return false;
    if (isOwn(memref))
      own.insert(memref);
    else
      largest = std::max(largest, type.getNumElements());
  }
  for (Value memref : own)
    if (cast<MemRefType>(memref.getType()).getNumElements() > largest)
      wide.insert(memref);
  return !wide.empty();
}

/// Loops that index the same dimension of a wide array are one class.
void ConsumerSeparator::joinDimensions() {
  for (const Nest &nest : nests)
    for (const Access &access : llvm::concat<const Access>(nest.loads, nest.stores)) {
      if (!wide.contains(access.memref))
        continue;
      for (auto [d, index] : llvm::enumerate(access.map.getResults()))
        for (unsigned loop = 0; loop < nest.depth(); ++loop)
          if (index.isFunctionOfDim(loop) && nest.tripCounts[loop] != 1)
            dimensions.unionSets({AffineForOp(nest.loops[loop]).getOperation(), 0},
                                 {access.memref.getAsOpaquePointer(), d + 1});
    }
}

/// The class of a loop; null where it indexes no wide array.
const void *ConsumerSeparator::dimensionOf(const Nest &nest, unsigned loop) const {
  auto leader = dimensions.findLeader({AffineForOp(nest.loops[loop]).getOperation(), 0});
  return leader == dimensions.member_end() ? nullptr : &*leader;
}

void ConsumerSeparator::findGroups() {
  llvm::EquivalenceClasses<void *> together; // of readers, arrays and leaders of dimensions
  for (const Nest &nest : nests) {
    if (!isReader(nest))
      continue;
    void *own = nest.root().getOperation();
    together.insert(own);
    for (Value memref : arraysOf(nest))
      if (!wide.contains(memref) && memref.getDefiningOp<memref::AllocOp>())
        together.unionSets(own, memref.getAsOpaquePointer());
    for (unsigned loop = 0; loop < nest.depth() && by == ConsumerGroups::BySum; ++loop) {
      const void *dimension = dimensionOf(nest, loop);
      if (dimension && !nest.stores.front().dims().test(loop))
        together.unionSets(own, const_cast<void *>(dimension));
    }
    together.unionSets(own, nest.stores.front().memref.getAsOpaquePointer());
  }
  llvm::MapVector<void *, Group> byLeader;
  for (auto [number, nest] : llvm::enumerate(nests))
    if (isReader(nest))
      byLeader[together.getLeaderValue(nest.root().getOperation())].readers.push_back(number);
  for (auto &[leader, group] : byLeader) {
    gatherNests(group);
    groups.push_back(std::move(group));
  }
}

/// Adds the nests that compute the wide arrays which the readers, or these nests, read.
void ConsumerSeparator::gatherNests(Group &group) {
  group.nests.resize(nests.size());
  for (size_t reader : group.readers)
    group.nests.set(reader);
  for (size_t at = nests.size(); at-- > 0;) {
    if (group.wide.contains(nests[at].stores.front().memref))
      group.nests.set(at);
    if (group.nests.test(at))
      for (Value memref : arraysOf(nests[at]))
        if (wide.contains(memref))
          group.wide.insert(memref);
  }
  llvm::SmallDenseSet<const void *> summed;
  for (size_t reader : group.readers)
    for (unsigned loop = 0; loop < nests[reader].depth(); ++loop)
      if (!nests[reader].stores.front().dims().test(loop))
        summed.insert(dimensionOf(nests[reader], loop));
  for (unsigned at : group.nests.set_bits())
    for (const Access &load : nests[at].loads)
      if (!isReader(nests[at]) && !wide.contains(load.memref) && load.memref.getDefiningOp())
        for (unsigned loop : load.dims().set_bits())
          if (const void *dimension = dimensionOf(nests[at], loop))
            group.ofSteps += summed.contains(dimension);
}

/// Puts the groups into an order in which each reads what it has read; false where there is none.
bool ConsumerSeparator::order() {
  llvm::DenseMap<Value, std::pair<size_t, size_t>> writers; // of arrays that are not wide: group, last nest
  for (auto [number, group] : llvm::enumerate(groups))
    for (size_t reader : group.readers) {
      auto &entry = writers[nests[reader].stores.front().memref];
      entry = {number, std::max(entry.second, reader)};
    }
  for (auto [number, group] : llvm::enumerate(groups))
    for (unsigned at : group.nests.set_bits())
      for (Value memref : arraysOf(nests[at])) {
        auto found = writers.find(memref);
        if (found == writers.end() || found->second.first == number)
          continue;
        if (found->second.second > at) // it reads what was there before, or a part
          return false;
        group.before.insert(found->second.first);
      }
  // What computes nothing again comes first, then those that may take results into their rows.
  llvm::BitVector done(groups.size());
  auto rank = [&](size_t number) { return std::pair(!groups[number].wide.empty(), groups[number].ofSteps); };
  while (!done.all()) {
    std::optional<size_t> next;
    for (auto [number, group] : llvm::enumerate(groups))
      if (!done.test(number) && llvm::all_of(group.before, [&](size_t other) { return done.test(other); }) &&
          (!next || rank(number) < rank(*next)))
        next = number;
    if (!next)
      return false;
    done.set(*next);
    ordered.push_back(groups[*next]);
  }
  return true;
}

void ConsumerSeparator::write() {
  Block &block = kernel.front();
  OpBuilder builder(block.getTerminator());
  for (const Group &group : ordered) {
    IRMapping mapping;
    for (unsigned at : group.nests.set_bits())
      for (Value memref : arraysOf(nests[at]))
        if (wide.contains(memref) && !mapping.contains(memref)) {
          Operation *array = memref.getDefiningOp();
          OpBuilder behind(array->getContext());
          behind.setInsertionPointAfter(array);
          mapping.map(memref, behind.clone(*array)->getResult(0));
        }
    for (unsigned at : group.nests.set_bits())
      builder.clone(*nests[at].root().getOperation(), mapping);
  }
  for (const Nest &nest : llvm::reverse(nests))
    nest.root()->erase();
  for (Value memref : wide)
    memref.getDefiningOp()->erase();
}

SeparateConsumers ConsumerSeparator::run() {
  if (!collect() || !findWide())
    return {};
  joinDimensions();
  findGroups();
  // Nothing is computed again, but for what several groups read.
  bool isShared = llvm::any_of(wide, [&](Value memref) {
    return llvm::count_if(groups, [&](const Group &group) { return group.wide.contains(memref); }) > 1;
  });
  if (!isShared || !order())
    return {};
  SeparateConsumers result{ordered.size(), std::numeric_limits<int64_t>::max()};
  for (Value memref : wide)
    result.leastElements = std::min(result.leastElements, cast<MemRefType>(memref.getType()).getNumElements());
  write();
  return result;
}

SeparateConsumers tilewright::separateConsumers(func::FuncOp kernel, ConsumerGroups by) {
  return ConsumerSeparator(kernel, by).run();
}
