//===- PaddedOperands.cpp - Operands read past their padding --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a padded buffer takes, and what it takes to do without.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/PaddedOperands.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Schedules/TiledDimensions.h"
#include "core/Transforms/Contraction/OperandChoice.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/MachineGraph.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

void PaddedOperands::apply(Contraction &c) const {
  for (ContractionOperand *operand : {&c.a, &c.b})
    for (const PaddedArray &array : passedBy)
      if (operand->access.memref == array.buffer) {
        operand->access = array.onSource(operand->access);
        operand->bounded = array.dimensions;
      }
}

void PaddedOperands::eraseBuffers() const {
  for (const PaddedArray &array : passedBy) {
    auto isWriter = [&](Operation *user) {
      return array.fill->isAncestor(user) || array.copy->isAncestor(user) || isa<memref::DeallocOp>(user);
    };
    if (!llvm::all_of(array.buffer.getUsers(), isWriter))
      continue;
    AffineForOp(array.fill).erase();
    AffineForOp(array.copy).erase();
    for (Operation *user : llvm::make_early_inc_range(array.buffer.getUsers()))
      user->erase();
    array.buffer.getDefiningOp()->erase();
  }
}

llvm::SmallSetVector<Operation *, 4> tilewright::readersOf(Value buffer) {
  llvm::SmallSetVector<Operation *, 4> readers;
  for (Operation *user : buffer.getUsers())
    if (isa<AffineLoadOp>(user))
      readers.insert(buffer.getParentBlock()->findAncestorOpInBlock(*user));
  return readers;
}

/// Seconds of the launches that write the buffer, shared by those that read it: of the zeros, and of the inside if it
/// is copied.
static double bufferSeconds(const PaddedArray &array, const TargetDescription &chip, bool isCopied) {
  auto bytesOf = [](Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    double elements = 1;
    for (int64_t size : type.getShape())
      elements *= double(ShapedType::isDynamic(size) ? assumedExtent : size);
    return elements * elementBytes(type.getElementType());
  };
  double bytes = bytesOf(array.buffer) + (isCopied ? 2 * bytesOf(array.source) : 0);
  double clocks = bytes / chip.graph().backing()->bytesPerClock + (isCopied ? 2 : 1) * launchClocks(chip);
  return secondsOf(clocks, chip) / double(std::max<size_t>(1, readersOf(array.buffer).size()));
}

PaddedOperands tilewright::findPaddedOperands(const Contraction &c, const PaddingOptions &options, Value computed) {
  PaddedOperands result;
  if (!options.chip.graph().backing())
    return result;
  double buffers = 0;
  int64_t which = 0;
  AffineForOp root = Nest(c.nest).root();
  for (auto [operand, bit] : {std::pair(&c.a, turnsA), {&c.b, turnsB}}) {
    if (options.padded & bit)
      continue;
    std::optional<PaddedArray> found = findPadding(operand->access.memref, root);
    if (!found || found->dimensions.empty())
      continue;
    which |= bit;
    if (llvm::none_of(result.passedBy, [&](const PaddedArray &other) { return other.buffer == found->buffer; })) {
      buffers += bufferSeconds(*found, options.chip, found->buffer != computed);
      result.passedBy.push_back(std::move(*found));
    }
  }
  if (!which)
    return result;
  Contraction direct = c;
  result.apply(direct);
  auto planOf = [&](const Contraction &asked, int64_t padded, double before) {
    return planChoice({asked, options.freedom, options.overrides}, options.chip, options.hierarchy, padded, before);
  };
  OperandChoice past = planOf(direct, 0, 0), padded = planOf(c, which, buffers);
  if (!past.plan || padded.seconds < past.seconds)
    result.passedBy.clear();
  for (const OperandChoice &choice : {past, padded})
    if (choice.plan)
      result.considered.push_back(choice.toJSON("padded"));
  return result;
}

//===-- Insides that are computed -----------------------------------------===//

/// Whether `nest` is a contraction that reads past `buffer`.
static bool readsPast(Operation *nest, Value buffer, const PaddingOptions &options) {
  auto root = dyn_cast_or_null<AffineForOp>(nest);
  FailureOr<Nest> loops = root ? analyzeNest(root) : FailureOr<Nest>(failure());
  FailureOr<Contraction> c = succeeded(loops) ? recognizeContraction(*loops) : FailureOr<Contraction>(failure());
  if (failed(c))
    return false;
  orientToResult(*c);
  PaddedOperands operands = findPaddedOperands(*c, options, buffer);
  return llvm::any_of(operands.passedBy, [&](const PaddedArray &array) { return array.buffer == buffer; });
}

/// Lets `access`, a load or a store, access `memref`, whose places differ from those before by `shift` times `low`.
static void shiftAccess(Operation *access, Value memref, ArrayRef<int64_t> low, int64_t shift) {
  auto [own, map, operands, isStore] = affineAccess(access);
  SmallVector<AffineExpr> places;
  for (auto [place, first] : llvm::zip(map.getResults(), low))
    places.push_back(simplifyAffineExpr(place + shift * first, map.getNumDims(), map.getNumSymbols()));
  map = AffineMap::get(map.getNumDims(), map.getNumSymbols(), places, map.getContext());
  moveAccess(access, memref, map, operands);
}

/// Copies `inside`, a buffer of the sizes of the array's inside, into `buffer`, where the builder stands.
static AffineForOp copyInside(OpBuilder &builder, const PaddedArray &array, Value inside, Value buffer) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = inside.getLoc();
  SmallVector<Value> indices = elementLoops(builder, loc, array.sizes, array.extents);
  SmallVector<AffineExpr> places;
  for (int64_t low : array.low)
    places.push_back(builder.getAffineDimExpr(places.size()) + low);
  Value element = AffineLoadOp::create(builder, loc, inside, indices);
  AffineStoreOp::create(builder, loc, element, buffer, AffineMap::get(indices.size(), 0, places, builder.getContext()),
                        indices);
  return getForInductionVarOwner(indices.front());
}

Value tilewright::padArray(OpBuilder &builder, const PaddedArray &array, Value inside) {
  Location loc = inside.getLoc();
  Type element = cast<MemRefType>(inside.getType()).getElementType();
  auto alloc = array.buffer.getDefiningOp<memref::AllocOp>();
  ArrayRef<int64_t> sizes = alloc.getType().getShape();
  Value buffer =
      memref::AllocOp::create(builder, loc, MemRefType::get(sizes, element), alloc.getDynamicSizes()).getResult();
  {
    OpBuilder::InsertionGuard guard(builder);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
    SmallVector<Value> extents;
    unsigned nextSize = 0;
    for (int64_t size : sizes)
      extents.push_back(ShapedType::isDynamic(size) ? alloc.getDynamicSizes()[nextSize++] : Value());
    AffineStoreOp::create(builder, loc, zero, buffer, elementLoops(builder, loc, sizes, extents));
  }
  copyInside(builder, array, inside, buffer);
  return buffer;
}

SeparatedInside tilewright::separateInside(const PaddedArray &array) {
  SeparatedInside result;
  auto buffer = array.buffer.getDefiningOp<memref::AllocOp>();
  auto computes = [&](Operation *user) {
    return AffineForOp(array.copy)->isAncestor(user) ||
           llvm::any_of(array.others, [&](AffineForOp other) { return other->isAncestor(user); });
  };
  llvm::copy_if(buffer->getUsers(), std::back_inserter(result.accesses), computes);
  OpBuilder b(array.copy);
  auto type = MemRefType::get(array.sizes, buffer.getType().getElementType());
  auto extents = llvm::to_vector(array.extents);
  llvm::erase(extents, nullptr);
  result.inside = memref::AllocOp::create(b, AffineForOp(array.copy).getLoc(), type, extents);
  for (Operation *access : result.accesses)
    shiftAccess(access, result.inside, array.low, -1);
  b.setInsertionPointAfter(array.others.empty() ? array.copy : array.others.back());
  result.copy = copyInside(b, array, result.inside, buffer);
  return result;
}

void tilewright::separateInsides(func::FuncOp function, const PaddingOptions &options) {
  SmallVector<memref::AllocOp> buffers;
  function.walk([&](memref::AllocOp buffer) { buffers.push_back(buffer); });
  for (memref::AllocOp buffer : buffers) {
    auto readers = readersOf(buffer);
    if (readers.empty() || llvm::is_contained(readers, nullptr))
      continue;
    std::optional<PaddedArray> array = findPadding(buffer, readers.front(), nullptr, /*mayCompute=*/true);
    if (!array || array->source || array->dimensions.empty())
      continue;
    SeparatedInside own = separateInside(*array);
    if (llvm::all_of(readers, [&](Operation *reader) { return readsPast(reader, buffer, options); }))
      continue;
    for (Operation *access : own.accesses)
      shiftAccess(access, buffer, array->low, 1);
    own.copy.erase();
    own.inside.getDefiningOp()->erase();
  }
}
