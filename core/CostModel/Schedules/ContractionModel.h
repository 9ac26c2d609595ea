//===- ContractionModel.h - How a contraction is tiled and mapped -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Closed-form choice of unit, register tile, cache tiles, packing and loop
/// order of a contraction. One of the two multiplicands is read as vectors (its
/// free dimension has the lanes), the other as scalars that are broadcast (its
/// free dimension has the register rows), or with a unit of several rows, both
/// as fragments, in vector registers or in tile registers of their own:
///
///   for pc in K / kBlock:   for jc in L / laneBlock:   [pack vectors]
///     for ic in R / rowBlock:   [pack scalars]
///       for panel: for row tile:  rows x vectors accumulators in registers, k innermost
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CONTRACTIONMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CONTRACTIONMODEL_H

#include "core/Analysis/Contraction.h"
#include "core/CostModel/Schedules/ForcedFields.h"
#include "core/CostModel/Schedules/SumChains.h"
#include "tilewright/TargetDescription.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

/// The decisions for one contraction. Sizes are in elements of the iteration space unless said.
struct ContractionPlan {
  const MatrixUnit *unit = nullptr;
  const MatrixUnit *tailUnit = nullptr; // narrower unit of the same kind for the last, partial vector; null: the same
  bool lanesOnM = false;                // the vector operand is A, lanes run over an m dimension
  std::optional<unsigned> rowDim;       // nest dimension with the register rows; none for a matrix-vector product
  std::optional<unsigned> laneDim;      // nest dimension with the lanes
  /// Dimensions around rowDim and laneDim that count on where these end, innermost first: rows of an image whose
  /// columns are lanes follow each other in the vectors as they do in C.
  llvm::SmallVector<unsigned, 2> outerRows, outerLanes;
  bool windows = false;       // the vector operand has gaps between outerLanes: its copy closes them
  bool rowWindows = false;    // the same of the scalar operand and outerRows
  bool resultGaps = false;    // C or what is beside it has gaps between outerRows: its rows move one by one
  bool neighbourRows = false; // rows begin with the dimension in which C is contiguous, not with the longest one
  unsigned kDim = 0;          // the reduction dimension that is blocked
  bool tapsInside = false;    // the other reduction dimensions run inside of its loop, not around it
  int64_t rows = 1;           // register tile: steps of unit rows ...
  int64_t vectors = 1;        // ... times unit columns
  int64_t kBlock = 0;         // 0: all of k in one block
  int64_t rowBlock = 0;       // register-row tiles a cache block; 0: all
  int64_t laneBlock = 0;      // panels a cache block; 0: all
  int64_t kUnroll = 1;        // unit steps of k a loop iteration
  int64_t tapUnroll = 1;      // the same of the innermost reduction dimension inside of k
  bool packVectors = false, packScalars = false;
  bool boundVectors = false;   // they are packed before the first call, all panels of all of k (PlanOptions::constant)
  bool offsetScalars = false;  // signed scalars for an unsigned slot: half their range is added in the packing
                               // copy and its product with the vectors' column sums taken off
  bool rowsOutside = false;    // row tiles outside panels: whole rows of C are written
  int64_t prefetchPanels = 0;  // source lines of the panel this many ahead are prefetched; 0: none
  bool prefetchResult = false; // what is read after the k loop of a register tile is prefetched before it
  bool rereadScalars = false;  // what taps share is loaded for each: registers have no room to keep it
  bool prefetchRows = false;   // scalars whose k is strided: lines of the next row tile, a step's in each step
  int64_t threads = 1;
  std::optional<unsigned> splitDim; // nest dimension of which each core takes a part; none: one core
  int64_t splitPiece = 0;           // elements a core, the last one takes the rest; 0: ranges of tiles (dynamic sizes)
  double seconds = 0;               // modelled, one call

  /// Whether the unit reads its first operand as fragments, not as scalars that are broadcast.
  bool isBlock() const { return unit->a.residence != Residence::BroadcastScalar; }

  const ContractionOperand &vectorOperand(const Contraction &c) const { return lanesOnM ? c.a : c.b; }
  const ContractionOperand &scalarOperand(const Contraction &c) const { return lanesOnM ? c.b : c.a; }
  /// How a field is treated: a forced value is given to plans that have another one, and it is printed only where it
  /// is not 0.
  struct Field {
    bool isGiven, isRare;
  };
  /// Calls `visit` with each field of `plan` that has a number, by its JSON name.
  template <typename Plan, typename Visit> static void forFields(Plan &plan, Visit visit) {
    visit("rows", plan.rows, Field{false, false});
    visit("vectors", plan.vectors, Field{false, false});
    visit("pack_vectors", plan.packVectors, Field{false, false});
    visit("pack_scalars", plan.packScalars, Field{false, false});
    visit("rows_outside", plan.rowsOutside, Field{false, false});
    visit("split_part", plan.splitPiece, Field{false, false});
    visit("bound_vectors", plan.boundVectors, Field{false, true});
    visit("neighbour_rows", plan.neighbourRows, Field{false, true});
    visit("k_block", plan.kBlock, Field{true, false});
    visit("row_block", plan.rowBlock, Field{true, false});
    visit("lane_block", plan.laneBlock, Field{true, false});
    visit("k_unroll", plan.kUnroll, Field{true, false});
    visit("prefetch_panels", plan.prefetchPanels, Field{true, false});
    visit("prefetch_result", plan.prefetchResult, Field{true, false});
    visit("prefetch_rows", plan.prefetchRows, Field{true, true});
    visit("reread_scalars", plan.rereadScalars, Field{true, true});
  }
  llvm::json::Object toJSON() const;
  auto key() const { return std::tuple(unit, rows, vectors, packVectors, packScalars); }
};

/// Iterations of a loop of `c`; of a dynamic one what plans are compared by (AssumedSizes.h).
int64_t tripsOf(const Contraction &c, unsigned dim);

/// Rows of the register tile of `plan` whose scalars earlier rows read in other iterations of reduction `tap`.
int64_t rowsThatShare(const Contraction &c, const ContractionPlan &plan, unsigned tap);

/// Where the sums of a register tile begin anew: the loops of `c.k` but the plan's own, in this order, where they are
/// around it, and last that over unrolled groups of it. `mayReassociate`: of the program; else each is one chain.
SumChains sumChainsOf(const Contraction &c, const ContractionPlan &plan, bool mayReassociate);

/// Whether what C holds of earlier blocks of k is added when the sums of a block are done, not where they begin: where
/// it is prefetched meanwhile, and of sums that are longer than a chain may be, since then each block is one.
bool addsResultAfter(const Contraction &c, const ContractionPlan &plan, bool mayReassociate);

/// Positions of loop `dim` with all of `outer` around it; 1 without a loop.
int64_t tripsOf(const Contraction &c, std::optional<unsigned> dim, llvm::ArrayRef<unsigned> outer);

/// Elements of k that lie side by side in `operand` before the next free element (a column of B, a row of A): all of a
/// unit's k in a row of A or in the lanes of a dot product, 2 or 4 where a register interleaves rows.
int64_t interleaveOf(const UnitOperand &operand, bool freeIsColumn);

/// The fragments that a packing copy fills: `vector` free elements side by side (0 or 1: scalars), of `bits` each, in
/// groups of `group` elements of k; a unit takes `kStep` elements of k at once.
struct PackedFragments {
  int64_t vector, group, kStep, bits;
  /// A group is a vector of its own: rows of a unit that holds several of them.
  bool hasLongGroups() const { return vector > 1 && group > 1 && group == kStep && group * bits >= 128; }
  /// Vectors along k of as many rows as a vector has free elements are transposed as words of one group.
  bool transposesWords() const {
    int64_t word = bits * group;
    return vector > 1 && (word == 32 || word == 64) && vector * word >= 128 && vector * word <= 512;
  }
  /// Whether the copy reads along k; rows whose k is strided are made contiguous first, one vector of them at a time.
  bool readsAlongK() const { return hasLongGroups() || transposesWords(); }
  /// Whether `length` elements of k, as the taps of a window are, end before a vector along k does: rows of the block
  /// that is transposed would be read for a part of them.
  bool outreaches(int64_t length) const { return length < vector * group; }
};

/// `taps` as they lie in `access`, those furthest apart first.
llvm::SmallVector<unsigned> inMemoryOrder(const Access &access, llvm::ArrayRef<unsigned> taps);

/// Whether the elements along k, and for each of them those of all `taps` (as inMemoryOrder() has them), lie side by
/// side.
bool isOneRun(const Access &access, unsigned k, llvm::ArrayRef<unsigned> taps,
              llvm::function_ref<int64_t(unsigned)> extentOf);

/// How a copy closes gaps: a row of a panel, `width` free elements that run through segments of `columns`, is written
/// segment by segment, each as vectors that may reach into the next one, which is written after it.
struct WindowCopy {
  WindowCopy(int64_t width, int64_t columns, int64_t lanes);
  int64_t vector;     // elements that are copied at once
  int64_t perSegment; // vectors of one segment
  int64_t segments;   // that a row of a panel may touch
};

struct PlanOptions {
  int64_t threads = 1;
  bool mayReassociate = true;        // false: sums keep the order of the program (units with one step of k only)
  NamedFields overrides;             // forced (ForcedFields.h)
  bool constant[2] = {false, false}; // A and B stay the same in many calls: what is packed of them may be bound
  double tilesSharing[2] = {1, 1};   // tiles, one after the other, that A and B are the same in
  std::optional<bool> fuseProducers; // forced: all legal element-wise producers run while packing, or none
  /// What is read and written beside C where it is finished, over the contraction's dimensions.
  std::vector<Access> besideC;
  bool mergesDims = true;            // vectors and rows may run through several dimensions
  std::optional<int64_t> turnBefore; // forced: operands that a launch turns (TurnOperands.h), on SIMT targets
  std::vector<ContractionPlan> *considered = nullptr; // receives every candidate with its time, for --explain
};

/// Whether `access` goes on in dimension `outer` where `trips` positions of `inner` end.
bool continuesIn(const Access &access, unsigned outer, unsigned inner, int64_t trips);

/// Chooses a plan; nullopt with a reason if no unit of the chip fits (`reason` is for a remark).
std::optional<ContractionPlan> planContraction(const Contraction &contraction, const TargetDescription &target,
                                               const PlanOptions &options, std::string &reason);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CONTRACTIONMODEL_H
