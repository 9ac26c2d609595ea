//===- RowProgram.cpp - Nests that work on the same rows ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads nests one by one, checks that rows are independent, and puts the nests
/// into phases.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/RowProgram.h"
#include "core/Analysis/Buffers.h"
#include "core/Analysis/ElementType.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

const Access *RowStep::storeTo(Value memref) const {
  for (const Access &store : nest().stores)
    if (store.memref == memref)
      return &store;
  return nullptr;
}

ArrayRef<AffineForOp> RowProgram::loops() const {
  for (const auto &step : steps)
    if (step->kind != RowStep::Kind::Scalar)
      return step->nest().loops;
  return {};
}

RowStep *RowProgram::lastWriter(Value memref) const {
  for (const auto &step : llvm::reverse(steps))
    if (step->storeTo(memref))
      return step.get();
  return nullptr;
}

/// Whether both are of the same element of an array at each iteration.
static bool samePlace(const Access &a, const Access &b) {
  return a.memref == b.memref && llvm::equal(a.map.getResults(), b.map.getResults()) &&
         llvm::equal(a.symbols, b.symbols);
}

RowSource RowProgram::sourceOf(const RowStep &step, const Access &load) const {
  if (RowStep *definition = step.definitions.lookup(load.op))
    return {definition, definition->storeTo(load.memref)};
  for (const auto &other : steps)
    for (const Access &first : other->nest().loads)
      if (other->isAlongRow(first) && !other->definitions.lookup(first.op) && samePlace(first, load))
        return {nullptr, &first};
  llvm_unreachable("a load of a step is among those of all steps");
}

llvm::MapVector<RowSource, SmallVector<unsigned>> RowProgram::uses() const {
  llvm::MapVector<RowSource, SmallVector<unsigned>> uses;
  for (const auto &step : steps) {
    for (const Access &load : step->nest().loads)
      if (step->isAlongRow(load))
        if (auto &phases = uses[sourceOf(*step, load)]; phases.empty() || phases.back() != step->phase)
          phases.push_back(step->phase);
    if (step->kind == RowStep::Kind::Elementwise)
      for (const Access &store : step->nest().stores)
        uses[{step.get(), &store}].push_back(step->phase);
  }
  return uses;
}

static bool sameExtent(AffineForOp a, AffineForOp b) {
  return a.getUpperBoundMap() == b.getUpperBoundMap() &&
         llvm::equal(a.getUpperBoundOperands(), b.getUpperBoundOperands());
}

/// Whether lanes can execute the nest's body element by element, without its induction variables.
static bool isPlainBody(const Nest &nest) {
  for (Operation &op : nest.body->without_terminator())
    if (!isa<AffineLoadOp, AffineStoreOp>(op) && !op.hasTrait<OpTrait::ConstantLike>() && !isRowOperation(&op))
      return false;
  for (AffineForOp loop : nest.loops)
    for (Operation *user : loop.getInductionVar().getUsers())
      if (!isa<AffineLoadOp, AffineStoreOp>(user))
        return false;
  for (const auto *accesses : {&nest.loads, &nest.stores})
    for (const Access &access : *accesses) {
      Type type = elementOf(access.memref);
      if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() < 8)
        return false;
    }
  return true;
}

/// The nest at `root` as a step of a program whose loops are `loops`; null if it is none.
static std::unique_ptr<RowStep> readStep(AffineForOp root, ArrayRef<AffineForOp> loops, bool mayReassociate) {
  auto step = std::make_unique<RowStep>();
  if (auto reduction = recognizeRows(root, mayReassociate)) {
    step->kind = RowStep::Kind::Reduction;
    step->reduction = std::move(reduction);
  } else {
    FailureOr<Nest> nest = analyzeNest(root);
    if (failed(nest) || nest->stores.empty())
      return nullptr;
    step->own = std::move(*nest);
    step->kind = step->own.depth() == loops.size() ? RowStep::Kind::Elementwise : RowStep::Kind::Scalar;
  }
  const Nest &nest = step->nest();
  unsigned outer = loops.size() - 1;
  if (nest.depth() != (step->kind == RowStep::Kind::Scalar ? outer : loops.size()) || !isPlainBody(nest))
    return nullptr;
  // Loads read what the steps before have left.
  for (const Access &store : nest.stores)
    for (const Access &load : nest.loads)
      if (load.memref == store.memref && store.op->isBeforeInBlock(load.op))
        return nullptr;
  for (auto [own, other] : llvm::zip(nest.loops, loops))
    if (!sameExtent(own, other))
      return nullptr;
  if (step->kind == RowStep::Kind::Reduction)
    return step->reduction->inner.empty() && step->reduction->outer.size() == outer ? std::move(step) : nullptr;
  for (const Access &store : nest.stores)
    if (!store.isOwn(nest.depth()) || (step->kind == RowStep::Kind::Elementwise && store.stride(outer) != 1) ||
        llvm::count_if(nest.stores, [&](const Access &other) { return other.memref == store.memref; }) != 1)
      return nullptr;
  if (step->kind == RowStep::Kind::Elementwise)
    for (const Access &load : nest.loads)
      if (std::optional<int64_t> stride = load.stride(outer); !stride || (*stride != 0 && *stride != 1))
        return nullptr;
  return step;
}

/// Binds the loads of `step` to the steps before, and puts it into a phase; false if `step` cannot follow them.
static bool append(RowProgram &program, std::unique_ptr<RowStep> step, const BufferOrigins &origins) {
  auto all = [](const RowStep &step, auto holds) {
    return llvm::all_of(step.nest().loads, holds) && llvm::all_of(step.nest().stores, holds);
  };
  // An array that one of two accesses writes is the same one at the same place of each row, or another one.
  auto apart = [&](const Access &a, const Access &b) {
    if (!a.isStore && !b.isStore)
      return true;
    return a.memref == b.memref ? samePlace(a, b) : !origins.mayAlias(a.memref, b.memref);
  };
  auto isApart = [&](const RowStep &a, const RowStep &b) {
    return all(a, [&](const Access &x) { return all(b, [&](const Access &y) { return apart(x, y); }); });
  };
  if (!isApart(*step, *step))
    return false;
  for (const auto &before : program.steps)
    if (!isApart(*before, *step))
      return false;
  for (const Access &load : step->nest().loads) {
    RowStep *definition = program.lastWriter(load.memref);
    // Sums that begin with what memory holds would be read by lanes while one of them writes.
    bool ofRow = step->isAlongRow(load);
    if (definition ? (definition->kind == RowStep::Kind::Elementwise) != ofRow
                   : !ofRow && step->storeTo(load.memref) != nullptr)
      return false;
    step->definitions[load.op] = definition;
    if (definition && !step->isSum(load))
      step->phase = std::max(step->phase, definition->available);
    if (definition)
      step->available = std::max(step->available, definition->available);
  }
  // What a row reads before the program writes it would change under other lanes, if it is one value for all of them.
  for (const Access &store : step->nest().stores)
    for (const auto &before : program.steps)
      for (const Access &load : before->nest().loads)
        if (load.memref == store.memref && !before->definitions.lookup(load.op) && !before->isAlongRow(load))
          return false;
  if (step->kind != RowStep::Kind::Scalar) {
    for (const auto &before : program.steps)
      if (before->kind != RowStep::Kind::Scalar)
        step->phase = std::max(step->phase, before->phase);
    step->available = std::max(step->available, step->phase + (step->reduction ? 1 : 0));
    program.phases = std::max(program.phases, step->phase + 1);
  }
  program.steps.push_back(std::move(step));
  return true;
}

/// Arrays that the steps write and others use, or the caller.
static void findResults(RowProgram &program) {
  llvm::SmallPtrSet<Operation *, 8> nests;
  for (const auto &step : program.steps)
    nests.insert(step->nest().loops.front());
  for (const auto &step : program.steps)
    for (const Access &store : step->nest().stores) {
      Value memref = store.memref;
      bool isOutside =
          !memref.getDefiningOp<memref::AllocOp>() || llvm::any_of(memref.getUsers(), [&](Operation *user) {
            Block *block = step->nest().loops.front()->getBlock();
            Operation *top = block->findAncestorOpInBlock(*user);
            return !isa<memref::DeallocOp>(user) && !nests.contains(top);
          });
      if (isOutside && !llvm::is_contained(program.results, memref))
        program.results.push_back(memref);
    }
}

std::unique_ptr<RowProgram> tilewright::recognizeRowProgram(AffineForOp root, bool mayReassociate,
                                                            const BufferOrigins &origins) {
  // What may stand between the nests touches no memory.
  SmallVector<AffineForOp> roots;
  for (Operation *op = root; op; op = op->getNextNode()) {
    if (auto loop = dyn_cast<AffineForOp>(op))
      roots.push_back(loop);
    else if (op->getNumRegions() != 0 || !(isa<memref::AllocOp>(op) || isMemoryEffectFree(op)) ||
             op->hasTrait<OpTrait::IsTerminator>())
      break;
  }
  std::unique_ptr<RowReduction> first;
  for (AffineForOp each : roots)
    if ((first = recognizeRows(each, mayReassociate)))
      break;
  if (!first || first->nest.depth() < 2)
    return nullptr;
  auto program = std::make_unique<RowProgram>();
  program->length = first->nest.tripCounts[first->lane].value_or(0);
  for (AffineForOp each : roots) {
    auto step = readStep(each, first->nest.loops, mayReassociate);
    if (!step || !append(*program, std::move(step), origins))
      break;
  }
  auto count = [&](auto is) { return llvm::count_if(program->steps, [&](const auto &step) { return is(*step); }); };
  if (count([](const RowStep &step) { return step.kind == RowStep::Kind::Reduction; }) == 0 ||
      count([](const RowStep &step) { return step.kind != RowStep::Kind::Scalar; }) < 2)
    return nullptr;
  findResults(*program);
  return program;
}
