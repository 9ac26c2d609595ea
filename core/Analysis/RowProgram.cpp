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
#include "core/Analysis/Elementwise.h"
#include "core/Analysis/LoopDependence.h"
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

/// Whether both are of the same element of an array at each iteration.
static bool samePlace(const Access &a, const Access &b) {
  return a.memref == b.memref && llvm::equal(a.map.getResults(), b.map.getResults()) &&
         llvm::equal(a.symbols, b.symbols);
}

llvm::MapVector<RowSource, SmallVector<unsigned>>
RowProgram::uses(llvm::SmallVectorImpl<const RowStep *> *again) const {
  llvm::MapVector<RowSource, SmallVector<unsigned>> uses;
  llvm::DenseSet<std::pair<const RowStep *, unsigned>> computed;
  auto usesRows = [&](auto &self, const RowStep &step, unsigned phase) -> void {
    for (const Access &load : step.nest().loads) {
      if (!step.isAlongRow(load))
        continue;
      RowSource source = step.sources.lookup(load.op);
      if (again && source.first && source.first->phase < phase && source.first->canComputeAgain) {
        if (computed.insert({source.first, phase}).second) {
          again->push_back(source.first);
          self(self, *source.first, phase);
        }
      } else if (auto &phases = uses[source]; phases.empty() || phases.back() != phase) {
        phases.push_back(phase);
      }
    }
  };
  for (const auto &step : steps) {
    usesRows(usesRows, *step, step->phase);
    if (step->kind == RowStep::Kind::Elementwise)
      for (const Access &store : step->nest().stores)
        uses[{step.get(), &store}].push_back(step->phase);
  }
  return uses;
}

/// Whether lanes can execute the nest's body element by element. Bools that lie one after the other in memory are no
/// bytes that lanes could load as vectors.
static bool isPlainBody(const Nest &nest, unsigned outer) {
  for (Operation &op : nest.body->without_terminator())
    if (!isa<AffineLoadOp, AffineStoreOp>(op) && !isElementwise(&op))
      return false;
  for (const auto *accesses : {&nest.loads, &nest.stores})
    for (const Access &access : *accesses) {
      Type type = elementOf(access.memref);
      bool isOne = nest.depth() <= outer || access.stride(outer) == 0;
      if (!type.isIntOrFloat() || (type.getIntOrFloatBitWidth() < 8 && !isOne))
        return false;
    }
  return true;
}

/// Whether each iteration of the nest stores to an element of its own.
static bool isOwn(const Access &store, const Nest &nest) {
  std::optional<llvm::SmallBitVector> dims = ownDims(store.map);
  if (!dims || llvm::any_of(store.map.getResults(),
                            [](AffineExpr index) { return !isa<AffineDimExpr, AffineConstantExpr>(index); }))
    return false;
  for (unsigned dim = 0; dim < nest.depth(); ++dim)
    if (!dims->test(dim) && nest.tripCounts[dim] != 1)
      return false;
  return true;
}

/// The nest at `root` as a step of a program whose loops are `loops`; null if it is none.
static std::unique_ptr<RowStep> readStep(AffineForOp root, ArrayRef<AffineForOp> loops, bool mayReassociate) {
  auto step = std::make_unique<RowStep>();
  if (auto reduction = recognizeRows(root, mayReassociate, /*mayCount=*/true)) {
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
  if (nest.depth() != (step->kind == RowStep::Kind::Scalar ? outer : loops.size()) || !isPlainBody(nest, outer))
    return nullptr;
  // Loads read what the steps before have left.
  for (const Access &store : nest.stores)
    for (const Access &load : nest.loads)
      if (load.memref == store.memref && store.op->isBeforeInBlock(load.op))
        return nullptr;
  for (auto [own, other] : llvm::zip(nest.loops, loops))
    if (!equalTripCounts(own, other))
      return nullptr;
  if (step->kind == RowStep::Kind::Reduction)
    return step->reduction->inner.empty() && step->reduction->outer.size() == outer ? std::move(step) : nullptr;
  for (const Access &store : nest.stores)
    if (!isOwn(store, nest) || (step->kind == RowStep::Kind::Elementwise && store.stride(outer) != 1) ||
        llvm::count_if(nest.stores, [&](const Access &other) { return other.memref == store.memref; }) != 1)
      return nullptr;
  if (step->kind == RowStep::Kind::Elementwise)
    for (const Access &load : nest.loads)
      if (std::optional<int64_t> stride = load.stride(outer); !stride || (*stride != 0 && *stride != 1))
        return nullptr;
  return step;
}

namespace {
/// A program while it grows, with what tells in constant time whether one more nest can follow.
class Growing {
public:
  Growing(RowProgram &program, const BufferOrigins &origins) : program(program), origins(origins) {}

  /// Binds the loads of `step` to the steps before, and puts it into a phase; false if `step` cannot follow them.
  bool append(std::unique_ptr<RowStep> step);

private:
  /// What the program does with an array.
  struct Uses {
    SmallVector<const Access *, 1> places; // the first access of each place
    bool isWritten = false;
    bool isSharedBefore = false;               // read as it was before the program, one value for all of a row
    SmallVector<const Access *, 1> rowsBefore; // the same along the row, the first load of each place
  };

  /// Whether an access to `memref`, a store or not, may touch what accesses to another array do.
  bool meetsOther(Value memref, bool isStore);
  /// Notes what `access` does; false if one row could touch what is another one's by it.
  bool note(const Access &access);

  RowProgram &program;
  const BufferOrigins &origins;
  llvm::DenseMap<Value, Uses> arrays;
  SmallVector<Value> shared; // of `arrays`, those that may be other names of one
  SmallVector<Value> alone;  // those that are not
  unsigned lastPhase = 0;    // of the steps so far
};
} // namespace

bool Growing::meetsOther(Value memref, bool isStore) {
  auto meets = [&](Value other) {
    return other != memref && (isStore || arrays[other].isWritten) && origins.mayAlias(memref, other);
  };
  return llvm::any_of(shared, meets) || (!origins.isOnlyOrigin(memref) && llvm::any_of(alone, meets));
}

/// An array that one of two accesses writes is the same one at the same place of each row, or another one.
bool Growing::note(const Access &access) {
  auto [entry, isNew] = arrays.try_emplace(access.memref);
  bool startsWriting = access.isStore && !entry->second.isWritten;
  if ((isNew || startsWriting) && meetsOther(access.memref, access.isStore))
    return false;
  Uses &uses = arrays[access.memref];
  if (isNew)
    (origins.isOnlyOrigin(access.memref) ? alone : shared).push_back(access.memref);
  uses.isWritten |= access.isStore;
  if (llvm::none_of(uses.places, [&](const Access *place) { return samePlace(*place, access); }))
    uses.places.push_back(&access);
  return !uses.isWritten || uses.places.size() == 1;
}

bool Growing::append(std::unique_ptr<RowStep> step) {
  for (const auto *accesses : {&step->nest().loads, &step->nest().stores})
    for (const Access &access : *accesses)
      if (!note(access))
        return false;
  for (const Access &load : step->nest().loads) {
    RowStep *definition = program.lastWriters.lookup(load.memref);
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
    if (arrays[store.memref].isSharedBefore)
      return false;
  for (const Access &load : step->nest().loads) {
    Uses &uses = arrays[load.memref];
    if (RowStep *definition = step->definitions.lookup(load.op)) {
      if (step->isAlongRow(load))
        step->sources[load.op] = {definition, definition->storeTo(load.memref)};
    } else if (!step->isAlongRow(load)) {
      uses.isSharedBefore = true;
    } else {
      auto *first = llvm::find_if(uses.rowsBefore, [&](const Access *other) { return samePlace(*other, load); });
      if (first == uses.rowsBefore.end()) {
        uses.rowsBefore.push_back(&load);
        first = &uses.rowsBefore.back();
      }
      step->sources[load.op] = {nullptr, *first};
    }
  }
  for (const Access &store : step->nest().stores)
    program.lastWriters[store.memref] = step.get();
  if (step->kind != RowStep::Kind::Scalar) {
    step->phase = std::max(step->phase, lastPhase);
    lastPhase = step->phase;
    step->available = std::max(step->available, step->phase + (step->reduction ? 1 : 0));
    program.phases = std::max(program.phases, step->phase + 1);
  }
  program.steps.push_back(std::move(step));
  return true;
}

/// Notes which steps later phases can compute, too. Steps come behind those that they read.
static void findComputableAgain(RowProgram &program) {
  for (const auto &step : program.steps)
    step->canComputeAgain =
        step->kind == RowStep::Kind::Elementwise && llvm::all_of(step->nest().loads, [&](const Access &load) {
          const RowStep *from = step->definitions.lookup(load.op);
          if (!from)
            return !program.lastWriters.contains(load.memref);
          return !step->isAlongRow(load) || from->canComputeAgain;
        });
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
      if (isOutside)
        program.results.insert(memref);
    }
}

/// The next nest of the run that `op` stands in, `op` itself included; null where the run ends. What may stand between
/// the nests touches no memory.
static AffineForOp nextNest(Operation *op) {
  for (; op; op = op->getNextNode()) {
    if (auto loop = dyn_cast<AffineForOp>(op))
      return loop;
    if (op->getNumRegions() != 0 || !(isa<memref::AllocOp>(op) || isMemoryEffectFree(op)) ||
        op->hasTrait<OpTrait::IsTerminator>())
      return {};
  }
  return {};
}

AffineForOp RowProgramReader::firstReduction(AffineForOp root) {
  SmallVector<AffineForOp> passed;
  AffineForOp found;
  for (AffineForOp each = root; each; each = nextNest(each->getNextNode())) {
    if (auto known = reductions.find(each); known != reductions.end()) {
      found = known->second;
      break;
    }
    passed.push_back(each);
    if (recognizeRows(each, mayReassociate, /*mayCount=*/true)) {
      found = each;
      break;
    }
  }
  for (AffineForOp each : passed)
    reductions[each] = found;
  return found;
}

std::unique_ptr<RowProgram> RowProgramReader::read(AffineForOp root, size_t mostSteps) {
  AffineForOp reduction = firstReduction(root);
  std::unique_ptr<RowReduction> first =
      reduction ? recognizeRows(reduction, mayReassociate, /*mayCount=*/true) : nullptr;
  if (!first || first->nest.depth() < 2)
    return nullptr;
  auto program = std::make_unique<RowProgram>();
  program->length = first->nest.tripCounts[first->lane].value_or(0);
  Growing growing(*program, origins);
  bool hasReduction = false;
  for (AffineForOp each = root; each; each = nextNest(each->getNextNode())) {
    program->mayGoOn = program->steps.size() >= mostSteps && hasReduction;
    auto step = program->mayGoOn ? nullptr : readStep(each, first->nest.loops, mayReassociate);
    if (!step || !growing.append(std::move(step)))
      break;
    hasReduction |= program->steps.back()->reduction != nullptr;
  }
  if (program->mayGoOn) // what begins the next reduction belongs to it
    while (!program->steps.empty() && program->steps.back()->kind == RowStep::Kind::Scalar)
      program->steps.pop_back();
  if (!hasReduction ||
      llvm::count_if(program->steps, [](const auto &step) { return step->kind != RowStep::Kind::Scalar; }) < fewest)
    return nullptr;
  program->lastWriters.clear();
  for (const auto &step : program->steps)
    for (const Access &store : step->nest().stores)
      program->lastWriters[store.memref] = step.get();
  findComputableAgain(*program);
  findResults(*program);
  return program;
}
