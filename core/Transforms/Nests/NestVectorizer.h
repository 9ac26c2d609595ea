//===- NestVectorizer.h - One nest as vector code ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes a perfect nest again with the iterations of one loop as lanes:
///
///   affine.for i { affine.for j { s[i] += x[i, j] } }           lanes: j, a reduction
///   ->
///   affine.for i {
///     %v:4 = scf.for j = 0 to N - N % 64 step 64 iter_args(..)   4 vectors of partial sums
///     .. one masked vector for the rest, sum of the lanes, s[i] += sum
///   }
///
/// If the lanes are no reduction but an outer loop is one, several steps of that loop are taken at once:
///
///   affine.for i { affine.for j { c[j] += x[i, j] } }            lanes: j
///   ->
///   affine.for i4 { scf.for j step 16 { c[j..] += x[4 i4, j..] + x[4 i4 + 1, j..] + .. } }
///
/// and so are several rows that come from memory, or that read one row too long to stay in the first cache:
///
///   affine.for i { affine.for j { y[i, j] = x[i, j] + bias[j] } }
///   ->
///   affine.for i4 { scf.for j step 16 { b = bias[j..]; y[4 i4, j..] = x[4 i4, j..] + b; .. } }
///
/// What lies across the lanes, but side by side along another loop, is read along that loop and transposed in
/// registers:
///
///   affine.for i { affine.for j { y[i, j] = x[j, i] } }            lanes: j
///   ->
///   affine.for i16 { scf.for j step 16 { r0 = x[j, 16 i16..]; r1 = x[j + 1, 16 i16..]; ..
///                                        y[16 i16, j..] = r0[0] r1[0] ..; y[16 i16 + 1, j..] = r0[1] r1[1] ..; .. } }
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_NESTVECTORIZER_H
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_NESTVECTORIZER_H

#include "core/Analysis/Nest.h"
#include "core/CostModel/Machine/MemoryModel.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <string>

namespace tilewright {

/// A value that the nest combines into one element of memory again and again: load, combine, store.
struct Accumulation {
  const Access *load, *store;
  mlir::Operation *combine;
  mlir::vector::CombiningKind kind;
  bool overLanes = false; // the lanes are summed up: kept in registers
};

class NestVectorizer {
public:
  NestVectorizer(const Nest &nest, const MemoryModel &model, bool mayReassociate)
      : nest(nest), model(model), mayReassociate(mayReassociate) {}

  /// Accesses of one vector of iterations of a loop, in vector loads.
  struct LaneCost {
    double loads = 0, stores = 0;
    double idle = 1;     // vectors over those without idle lanes, at least 1
    int64_t gathers = 0; // loads of what is only read that take one access a lane
    int64_t returns = 0; // of these, whose lines have left the nearest cache when the loop begins anew
    /// Accesses alone: the loops of a nest compare by what each reads itself, and scalars wait for the same lines.
    double total() const { return (loads + stores + 0.01) * idle; }
  };
  /// What the iterations of each loop cost as lanes, nothing for those that cannot be; nothing at all where the body
  /// has no vector form.
  llvm::SmallVector<std::optional<LaneCost>> laneCosts();
  /// The loop of `dims` whose iterations cost the least as lanes, of equal ones the last; nullopt if none can be.
  static std::optional<unsigned> cheapestLane(llvm::ArrayRef<std::optional<LaneCost>> costs,
                                              llvm::ArrayRef<unsigned> dims);

  /// Whether the array that `store` writes in rows of `trips` elements, along loop `lane`, goes past the caches.
  /// `touched`: bytes of all arrays of the outermost loop.
  static bool goesPastCaches(const Access &store, unsigned lane, int64_t trips, const MemoryModel &model,
                             double touched);
  /// Says what the outermost loop around the nest touches, in bytes; before `choose`.
  void within(double bytes) { touched = bytes; }
  /// Picks the loop of the lanes; false with `reason` if none is possible or profitable.
  bool choose(std::string &reason);
  /// Writes the nest anew and erases the old one. Returns the outermost loops of the new code that run over `loops[0]`;
  /// none if that loop became lanes or is a sum taken in steps.
  llvm::SmallVector<mlir::affine::AffineForOp> rewrite();
  bool hasSums() const { return !accumulations.empty(); }
  /// Whether results of `nest` are sums of so many terms, or of a number known at run time, that adding them in another
  /// order pays for the additions that it takes: the error of n additions in a row grows with n.
  static bool hasLongSums(const Nest &nest);

  /// A line that the next iteration of the loop of `outer` reads or writes, brought into the nearest cache or the
  /// second.
  struct Prefetch {
    Access access;
    mlir::Value outer;
    bool near = true;
    bool written = false;
  };
  /// Prefetches it, each line once.
  void prefetchNext(const Prefetch &next);
  /// Cuts the lanes' iterations into `count` ranges that may run at once; only for nests of one loop without sums.
  void splitOverCores(int64_t count) { ranges = count; }

  unsigned lane() const { return laneLoop; }
  int64_t width() const { return lanes; }
  int64_t copies() const { return unroll; }
  int64_t steps() const { return jam; }
  /// Iterations of the lanes that other loops run over at once; 0: all.
  int64_t lanesAtOnce() const { return laneBlock; }
  bool streams() const { return streamed != nullptr; }
  /// Loads that a square of registers turns.
  int64_t turns() const { return static_cast<int64_t>(turned.size()); }

private:
  /// What one step of the loops around the lanes shares: induction variables and values that do not vary with lanes.
  struct Step {
    llvm::SmallVector<mlir::Value> ivs;
    mlir::IRMapping uniform;   // scalars
    mlir::IRMapping broadcast; // the same as vectors
  };

  /// All iterations of the lane loop, for steps that are taken at once.
  struct Row {
    llvm::ArrayRef<Step> steps;
    mlir::Value zero, begin, trips;      // iterations from `begin` to before `trips`
    std::optional<int64_t> known;        // how many, where the end of each part is a constant behind the begin
    mlir::Value aligned, position;       // where whole vectors begin; up to where the row is written
    llvm::SmallVector<unsigned> kept;    // accumulations in registers
    llvm::SmallVector<mlir::Value> sums; // the vectors of these
  };

  /// Loads that lie side by side along `loop` and are read for `side` steps of it and `side` lanes at once.
  struct Turn {
    unsigned loop;
    int64_t side;
    llvm::SmallVector<const Access *, 2> loads;
  };

  bool readBody(std::string &reason);
  /// The loop along which most loads can be transposed for lanes over `lane`; nullopt if none can, or if it does not
  /// pay.
  std::optional<Turn> turnOver(unsigned lane) const;
  void chooseTurn();
  bool laneIsPossible(unsigned dim) const;
  bool keepsApart(unsigned dim);
  LaneCost laneCost(unsigned dim) const;
  llvm::SmallVector<std::optional<LaneCost>> costsOfLoops() const;
  void countGather(const Access &load, unsigned dim, LaneCost &cost) const;
  void findVarying();
  static bool isData(mlir::affine::AffineApplyOp apply);
  std::optional<int64_t> laneCoefficient(mlir::affine::AffineApplyOp apply) const;
  void chooseSteps();
  double arithmetic() const;
  const Access *accessOf(mlir::Operation *op) const;
  const Accumulation *accumulationOf(mlir::Operation *op) const;

  mlir::SmallVector<mlir::Value> indices(mlir::OpBuilder &b, const Access &access, mlir::ValueRange ivs) const;
  mlir::VectorType vectorOf(mlir::Type element) const;
  Step beginStep(mlir::OpBuilder &b, mlir::ValueRange outer);
  void broadcastUniform(mlir::OpBuilder &b, Step &step) const;
  bool restIsShorter(int64_t rest) const;
  mlir::Value vectorValue(mlir::Value original, const Step &step, const mlir::IRMapping &varying) const;
  mlir::Value emitLoad(mlir::OpBuilder &b, mlir::affine::AffineLoadOp load, const Step &step, mlir::Value base,
                       mlir::Value mask) const;
  std::pair<int64_t, int64_t> neighbourhood(const Access &load) const;
  mlir::Value emitDeinterleaved(mlir::OpBuilder &b, const Access &load, mlir::VectorType type,
                                llvm::ArrayRef<mlir::Value> at, int64_t stride, mlir::Value mask,
                                mlir::Value filler) const;
  mlir::Value emitNumbers(mlir::OpBuilder &b, mlir::affine::AffineApplyOp apply, const Step &step, mlir::Value base);
  /// One vector of iterations of all steps. `values`, one a step, holds the vectors of the loads that they share;
  /// `sums`, one a step or one for all, one vector for each accumulation, read and replaced.
  void emitLanes(mlir::OpBuilder &b, llvm::ArrayRef<Step> steps, mlir::Value base, mlir::Value mask, bool aligned,
                 llvm::MutableArrayRef<mlir::IRMapping> values,
                 llvm::MutableArrayRef<llvm::SmallVector<mlir::Value>> sums);
  bool addsPairwise(size_t steps) const;
  void addPairwise(mlir::OpBuilder &b, llvm::SmallVector<llvm::SmallVector<mlir::Value>> sums,
                   llvm::MutableArrayRef<mlir::Value> all);
  void emitOperation(mlir::OpBuilder &b, mlir::Operation &op, const Step &step, mlir::Value base, mlir::Value mask,
                     bool aligned, mlir::IRMapping &values, llvm::MutableArrayRef<mlir::Value> sums);
  /// One vector of iterations of all `steps`; where lanes are masked, `limit` is the last iteration that runs.
  void emitBlock(mlir::OpBuilder &b, llvm::ArrayRef<Step> steps, mlir::Value base, mlir::Value mask, mlir::Value limit,
                 bool aligned, llvm::MutableArrayRef<mlir::Value> sums);
  int64_t vectorsOfLine(const Access &access) const;
  bool runsAbreast() const;
  void emitAbreast(mlir::OpBuilder &b, const Step &step, llvm::ArrayRef<mlir::Value> bases,
                   llvm::MutableArrayRef<llvm::SmallVector<mlir::Value>> sums);
  void emitIfAligned(mlir::OpBuilder &b, llvm::ArrayRef<Step> steps);
  void emitRow(mlir::OpBuilder &b, llvm::ArrayRef<Step> steps);
  Row beginRow(mlir::OpBuilder &b, llvm::ArrayRef<Step> steps) const;
  mlir::Value behindBegin(mlir::OpBuilder &b, const Row &row, int64_t count) const;
  mlir::Value lastMultiple(mlir::OpBuilder &b, const Row &row, int64_t count) const;
  llvm::SmallVector<mlir::Value> emitMasked(mlir::OpBuilder &b, const Row &row, mlir::Value base, mlir::Value count);
  void emitMaskedIfAny(mlir::OpBuilder &b, Row &row, mlir::Value base, mlir::Value count);
  llvm::SmallVector<mlir::Value> emitVectors(mlir::OpBuilder &b, Row &row, int64_t copies,
                                             llvm::ArrayRef<mlir::Value> init, mlir::Value end);
  void combineKept(mlir::OpBuilder &b, const Row &row, llvm::MutableArrayRef<mlir::Value> to,
                   llvm::ArrayRef<mlir::Value> from);
  void emitBlocks(mlir::OpBuilder &b, Row &row);
  void emitUnrolled(mlir::OpBuilder &b, Row &row, mlir::Value end);
  void emitShorter(mlir::OpBuilder &b, Row &row);
  void emitRest(mlir::OpBuilder &b, Row &row);
  void storeSums(mlir::OpBuilder &b, const Row &row);
  /// The vectors of all transposed loads, for the lanes from `base` on and each of `steps`, into `values` (one a step).
  /// No lane reads beyond `limit` (may be null), the last iteration of the lanes.
  void emitTurned(mlir::OpBuilder &b, llvm::ArrayRef<Step> steps, mlir::Value base, mlir::Value limit,
                  llvm::MutableArrayRef<mlir::IRMapping> values) const;
  mlir::affine::AffineForOp emitLaneBlocks(mlir::OpBuilder &b);
  mlir::Value distanceToAlignment(mlir::OpBuilder &b, const Step &step, mlir::Value begin, mlir::Value trips) const;
  mlir::Value laneTrips(mlir::OpBuilder &b) const;
  void emitPrefetches(mlir::OpBuilder &b, const Step &step, mlir::Value base, int64_t copy);
  mlir::Value neutral(mlir::OpBuilder &b, const Accumulation &accumulation, bool vector) const;

  const Nest &nest;
  const MemoryModel &model;
  bool mayReassociate;
  mlir::Location loc = nest.body->getParentOp()->getLoc();
  llvm::SmallVector<Accumulation, 2> accumulations;
  llvm::SmallPtrSet<mlir::Operation *, 16> varying; // operations whose results differ from lane to lane
  unsigned laneLoop = 0;
  std::optional<unsigned> jamLoop; // outer loop of which several steps are taken at once: of a sum, or rows
  llvm::SmallVector<mlir::affine::AffineLoadOp, 2> shared; // loads of lanes that are the same in all steps
  llvm::SmallVector<const Access *, 2> turned;             // loads that lie along the jammed loop
  int64_t lanes = 1, unroll = 1, jam = 1; // elements of a vector, vectors of a step, steps taken at once
  int64_t jamDistance = 1;                // between the steps
  bool interleaved = false;               // steps go on together, operation by operation
  int64_t laneBlock = 0;                  // iterations of the lanes that other loops run over at once; 0: all
  const Access *streamed = nullptr;       // the store that goes past the caches
  bool shortRows = false;                 // of it: whole vectors, less than a page
  bool beginsAligned = false;             // what is written is for rows of it that begin at a vector
  double touched = 0;                     // bytes of all arrays of the outermost loop
  llvm::SmallVector<Prefetch, 0> prefetched;
  int64_t ranges = 1;               // of the lanes' iterations, over cores
  mlir::Value rangeBegin, rangeEnd; // of the range being written
  mlir::Value lanesOn;              // of the masked vector being written
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_NESTVECTORIZER_H
