//===- LaneAccess.h - Addresses of one lane ---------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where the elements that one lane holds lie in an array or a scratchpad. An
/// access is distributed over 2^n workers (the lanes of a subgroup, or the
/// threads of a block for a copy that they share); each bit of the worker's
/// number moves the address by a constant, or by a multiple of a dynamic stride:
///
///   A of 16 x 16, 32 lanes        lane bits    move      element   at
///   row-major, 64 columns         0, 1         2, 4      0, 1      0, 1
///                                 2, 3, 4      64 ..     2, 3      512, 513
///
///   address(lane, e) = uniform + fromBits(lane) + constant(e)
///
/// In a swizzled scratchpad the same sum is an XOR below the period of the
/// swizzle, which itself is linear: one XOR serves all elements of a lane.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEACCESS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEACCESS_H

#include "core/CostModel/Copies/ExchangeModel.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/Transforms/Utils/SharedValues.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// An array or a scratchpad buffer in the code of a lane.
struct LaneArray {
  mlir::Value pointer;                  // LLVM pointer to its first element
  mlir::MemRefType type;                // shape and element type
  llvm::SmallVector<mlir::Value> sizes; // index, one per dynamic dimension
  tile::ArrangementAttr arrangement;    // scratchpad only, may be null
  bool scratchpad = false;
  int64_t alignment = 16;  // bytes that divide the address of its first element; less for views of bytes
  int64_t rowMultiple = 1; // divides the innermost size, where that is dynamic: what the program has checked
  std::shared_ptr<const struct LaneChoice> choice; // null: it is no choice
};

/// An array that is one of two, by a condition (i1); `pointer` and `sizes` of the choice are those of that one.
struct LaneChoice {
  mlir::Value condition;
  LaneArray yes, no;
};

/// How points are shared out over workers.
struct Distribution : SharedPoints {
  mlir::Value number; // i32; null: one worker
};

/// What the functions below need to know about the function that is written.
struct LaneContext {
  mlir::OpBuilder &builder;
  const LaneOps &ops;
  mlir::Location loc;
  SharedValues &shared;

  /// What `write` writes where the builder stands; at the end of a block what it wrote there before, where that was the
  /// same.
  template <typename Op>
  mlir::Value once(const void *first, const void *second, llvm::function_ref<mlir::Value()> write) const {
    return once<Op>(first, second, nullptr, write);
  }
  template <typename Op>
  mlir::Value once(const void *first, const void *second, const void *third,
                   llvm::function_ref<mlir::Value()> write) const {
    const SharedValues::Key key{mlir::TypeID::get<Op>().getAsOpaquePointer(), first, second, third};
    return isAtEnd() ? shared.once(builder, key, write) : write();
  }
  /// An operation of integers that is told by its operands.
  template <typename Op> mlir::Value make(mlir::Value a, mlir::Value b) const {
    return once<Op>(a.getAsOpaquePointer(), b.getAsOpaquePointer(),
                    [&] { return Op::create(builder, loc, a, b).getResult(); });
  }
  mlir::Value expand(mlir::AffineExpr expr, mlir::ValueRange dims, mlir::ValueRange symbols) const;
  mlir::Value i32(int64_t value) const;
  mlir::Value index(int64_t value) const;
  mlir::Value toIndex(mlir::Value i32) const;
  mlir::Value toI32(mlir::Value index) const;
  /// Whether the builder stands in no branch that only some lanes of a subgroup take.
  bool allComeHere() const;
  /// sum of bits[b] over the set bits b of `number`, i32; null if that is zero for every number. The largest sum must
  /// have 32 bits, as one of bytes in a scratchpad has.
  mlir::Value fromBits(mlir::Value number, llvm::ArrayRef<int64_t> bits) const;
  /// The same as an index, of any size and either sign: of 64 bits all along where a sum may reach 2^31 or be negative,
  /// else widened at the end, which takes fewer registers.
  mlir::Value indexFromBits(mlir::Value number, llvm::ArrayRef<int64_t> bits) const;

private:
  bool isAtEnd() const;
};

/// How much of a dimension of a box lies inside the array; or, with `steps`, an index of the array that has to be in
/// [0, `end`): that of point p is `start` + `steps` p.
struct ValidExtent {
  mlir::Value end;      // index; null: all of it
  int64_t multiple = 1; // a power of two that divides `end`: so many neighbours are inside or outside together
  mlir::Value start;    // index
  llvm::SmallVector<int64_t> steps = {};
  unsigned dimension = 0; // of the array, whose index it is
  explicit operator bool() const { return bool(end); }
};
/// Per dimension of the box; those of indices stand after them.
using ValidExtents = llvm::SmallVector<ValidExtent>;

/// One access of a lane.
class LaneAccess {
public:
  /// Elements are at `map(operands) + elements(point)` of `array`. An element map that is not linear in the bits of
  /// worker and element is evaluated for each element by itself (global arrays), or is a failure (scratchpads).
  static mlir::FailureOr<LaneAccess> create(const LaneContext &context, const LaneArray &array, mlir::AffineMap map,
                                            mlir::ValueRange operands, mlir::AffineMap elements,
                                            const Distribution &distribution);

  /// Runs of at most `maxBytes` whose addresses are proved aligned: to their size, or where they have a place, to the
  /// `begin` bytes to which that was loosened.
  llvm::SmallVector<LaneRun> runs(int64_t maxBytes) const;
  void loosen(int64_t begin) { loosened = begin; }
  /// Whether runs begin at any element.
  bool beginsAnywhere() const { return loosened && loosened <= elementBytes(); }
  /// Bytes to which the address of one of them is aligned, or of a part of one.
  int64_t alignment(LaneRun run) const;
  /// Whether the places of elements and of the worker's bits add up.
  bool addsUp() const { return linear; }
  /// The access to the same elements of an array shared out otherwise: `distribution` is the one before after an
  /// exchange. Only where it is linear.
  LaneAccess over(const Distribution &distribution) const;
  /// Pointer to element `e`.
  mlir::Value pointer(unsigned e) const;
  /// The part of element `e`'s place in a swizzled tile that is no constant behind the lane's own: accesses in which it
  /// is the same have addresses a constant apart.
  int64_t flipped(unsigned e) const;
  /// Where element `e` of an array lies, in the parts that the chip's loads may take; nullopt where an offset of a lane
  /// is not known to be a sum of constants that is small enough. The constant is at least `before`, elements: so much
  /// may be taken from the lane's part.
  std::optional<ArrayPlace> place(unsigned e, int64_t before = 0) const;
  /// Whether it lies so.
  bool hasPlace(unsigned e, int64_t before = 0) const;
  /// Bytes of the constant that the places of all elements have and that no condition of `valid` compares: accesses
  /// that differ in it alone, those of the steps along a dimension without an end, have the same conditions.
  int64_t unchecked(const ValidExtents &valid) const;
  /// Loads the matrices of the subgroup that make up all elements in the order of the lanes; null if the layout or the
  /// chip does not allow it.
  mlir::Value loadMatrices(mlir::Type resultType) const;
  /// The same by loads of columns (`LaneOps::loadColumns`), where runs of elements lie across the rows of the
  /// scratchpad.
  mlir::Value loadColumns(mlir::Type resultType) const;
  int64_t elementBytes() const;

private:
  LaneAccess(const LaneContext &context, const LaneArray &array) : context(&context), array(array) {}
  mlir::Value scratchpadPointer(llvm::ArrayRef<int64_t> bitBytes, int64_t constantBytes) const;
  mlir::Value fromWords(mlir::ValueRange words, mlir::Type resultType) const;

  const LaneContext *context;
  LaneArray array;
  mlir::Value general(unsigned e) const;
  void distribute(const Distribution &distribution);

  bool linear = true;
  int64_t loosened = 0;            // bytes to which places are aligned; 0: as long as the run
  mlir::AffineMap map, elementMap; // `map`: not linear, evaluated per element
  llvm::SmallVector<mlir::Value> operands;
  Distribution distribution;
  mlir::Value number;
  mlir::Value uniform;     // index, elements; null: 0
  int64_t divisor = 0;     // of `uniform`; 0: it is zero
  bool hasSign = false;    // `uniform` may be negative
  bool apart = false;      // of a scratchpad: no bit of `uniform` is one of lanes or elements, in any dimension
  int64_t uniformBits = 0; // elements; those that `uniform` may have
  int64_t constant = 0;    // elements
  llvm::SmallVector<int64_t> constants;       // what each dimension adds to it
  llvm::SmallVector<int64_t> bits, elements;  // static part, elements
  llvm::SmallVector<int64_t> constantStrides; // per dimension, or dynamic
  llvm::SmallVector<mlir::Value> strides;     // dynamic strides, index
  llvm::SmallVector<int64_t> strideDivisors;
  llvm::SmallVector<llvm::SmallVector<int64_t>> dynamicBits, dynamicElements; // per dynamic stride: multiples
};

/// Strides of an array in elements, innermost last: a constant, or an index value where sizes are dynamic, of which
/// `divisor` is known.
struct LaneStride {
  int64_t constant = 1;
  mlir::Value value;
  int64_t divisor = 1;
};
llvm::SmallVector<LaneStride> stridesOf(const LaneContext &context, const LaneArray &array);

/// `extent` over these operands.
ValidExtent validExtent(const LaneContext &context, mlir::AffineMap map, unsigned result, mlir::ValueRange operands);
/// The index of dimension `d` of `array`, at `map(operands) + elements(point)`; failure if it is not linear in the
/// point.
mlir::FailureOr<ValidExtent> indexExtent(const LaneContext &context, const LaneArray &array, unsigned d,
                                         mlir::AffineMap map, mlir::ValueRange operands, mlir::AffineMap elements);

/// Whether the points of elements [first, first + count) of this worker are inside; null: always.
mlir::Value insideAll(const LaneContext &context, const Distribution &distribution, const ValidExtents &valid,
                      unsigned first, unsigned count);

/// Whether one condition says of elements [first, first + count) that they are inside.
bool areTogether(const Distribution &distribution, const ValidExtents &valid, unsigned first, unsigned count);

/// The vector of a lane's elements, zero beyond `valid`. `byPlace`: of an array, by `LaneOps::loadPlace` where the chip
/// has it.
mlir::Value loadElements(const LaneContext &context, const LaneAccess &access, const Distribution &distribution,
                         const ValidExtents &valid, mlir::VectorType type, bool byPlace = false);
/// Writes them, none beyond `valid`.
void storeElements(const LaneContext &context, const LaneAccess &access, const Distribution &distribution,
                   const ValidExtents &valid, mlir::Value vector);

/// Writes the elements of `box`, a buffer of the scratchpad, in the order in which the lanes of a subgroup meet in the
/// fewest banks of `memory` (RunOrder.h); `issueSlots`: instructions that the chip issues a clock. Failure where the
/// distribution is not linear.
mlir::LogicalResult storeInOrder(const LaneContext &context, const LaneArray &box, const Distribution &distribution,
                                 mlir::Value vector, int64_t subgroupLanes, const Memory &memory, double issueSlots);

/// The type that LLVM loads for an element: 8-bit floats and bools travel as i8, indices as i64.
mlir::Type carrierOf(mlir::Type element);
/// Elements, one or a vector of them, as their carrier; and a carrier as elements of `type`.
mlir::Value toCarrier(const LaneContext &context, mlir::Value elements);
mlir::Value fromCarrier(const LaneContext &context, mlir::Value carrier, mlir::Type type);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEACCESS_H
