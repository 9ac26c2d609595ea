//===- DistributeLanes.cpp - A launch becomes the code of one lane --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks the body of a launch once and writes what one lane does. Where barriers
/// stand is decided before, on the sequential program (LaneBarriers.h).
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/LaneBarriers.h"
#include "core/Transforms/LaneCopy.h"
#include "core/Transforms/LaneReduce.h"
#include "core/Transforms/LaunchManifest.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/RequireLanes.h"
#include "core/Transforms/TileRegionLowering.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tilewright/Target.h"

namespace tilewright {
#define GEN_PASS_DEF_DISTRIBUTELANES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

/// Writes the lane code of one function.
class LaneWriter {
public:
  LaneWriter(func::FuncOp function, const TargetDescription &target, const LaneHierarchy &hierarchy, const LaneOps &ops,
             const LaunchShape &shape)
      : function(function), module(function->getParentOfType<ModuleOp>()), target(target), hierarchy(hierarchy),
        shape(shape), builder(function.getContext()), context{builder, ops, function.getLoc()} {}

  LogicalResult run();

private:
  LogicalResult lower(Block &block);
  LogicalResult lower(Operation &op);
  LogicalResult parallel(tile::ParallelOp op);
  LogicalResult loop(scf::ForOp op);
  LogicalResult loop(scf::WhileOp op);
  LogicalResult branch(scf::IfOp op);
  LogicalResult alloc(tile::AllocOp op);
  LogicalResult copy(tile::CopyOp op);
  LogicalResult wait(tile::WaitOp op);
  LogicalResult load(tile::LoadOp op);
  LogicalResult store(tile::StoreOp op);
  LogicalResult convert(tile::ConvertOp op);
  LogicalResult index(tile::IndexOp op);
  LogicalResult reduce(tile::ReduceOp op);
  LogicalResult plainAccess(Operation &op, Value memref, ValueRange indices, Value stored);

  Value value(Value old) { return values.lookupOrDefault(old); }
  SmallVector<Value> valuesOf(ValueRange old) {
    return llvm::map_to_vector(old, [&](Value each) { return value(each); });
  }
  FailureOr<LaneArray> arrayOf(Operation *op, Value memref);
  /// How a fragment's elements are shared out over the lanes of a subgroup.
  FailureOr<Distribution> distributionOf(Operation *op, tile::FragmentType type);
  ValidExtents extentsOf(std::optional<AffineMap> map, ValueRange operands,
                         std::pair<std::optional<int64_t>, std::optional<int64_t>> constant, tile::FragmentType type);
  VectorType vectorOf(tile::FragmentType type) { return VectorType::get(type.getNumElements(), type.getElementType()); }
  Type typeOf(Type type) {
    auto fragment = dyn_cast<tile::FragmentType>(type);
    return fragment ? Type(vectorOf(fragment)) : type;
  }
  Value constant(Type type, Attribute attribute) {
    return arith::ConstantOp::create(builder, context.loc, type, cast<TypedAttr>(attribute));
  }

  func::FuncOp function;
  ModuleOp module;
  const TargetDescription &target;
  const LaneHierarchy &hierarchy;
  LaunchShape shape;
  OpBuilder builder;
  LaneContext context;
  IRMapping values;
  DenseMap<Value, LaneArray> arrays;
  DenseMap<Value, StagedCopy> staged; // by token
  LaneBarriers barriers;
  Value thread, lane, subgroup, shared;
  int64_t sharedUsed = 0;
};

} // namespace

//===-- Arrays and fragments ----------------------------------------------===//

FailureOr<LaneArray> LaneWriter::arrayOf(Operation *op, Value memref) {
  auto found = arrays.find(memref);
  if (found != arrays.end())
    return found->second;
  op->emitOpError() << "uses an array that a lane cannot reach: neither an argument of the launch nor a tile.alloc in "
                       "the memory \""
                    << hierarchy.scratchpad << "\"";
  return failure();
}

FailureOr<Distribution> LaneWriter::distributionOf(Operation *op, tile::FragmentType type) {
  Layout layout = type.getLayout().getValue();
  Distribution result;
  int64_t lanes = layout.numLanes();
  if (lanes != 1 && lanes != hierarchy.lanes)
    return op->emitOpError() << "has a fragment over " << lanes << " lanes; a \"" << hierarchy.subgroup << "\" of "
                             << target.target() << ":" << target.chip() << " has " << hierarchy.lanes;
  if (lanes != 1) {
    if (!lane)
      return op->emitOpError() << "has a fragment over lanes outside of a tile.parallel of level \"" << hierarchy.block
                               << "\"";
    result.number = lane;
    for (const Position &base : layout.lanes)
      result.bits.push_back({base.row, base.col});
  }
  for (int64_t e = 0; e < layout.numElements(); ++e) {
    Position p = layout.at(0, e);
    result.elements.push_back({p.row, p.col});
  }
  // Positions are sums of bases where no two share a bit.
  for (int64_t l = 0; l < lanes; ++l)
    for (int64_t e = 0; e < layout.numElements(); ++e) {
      Position own = layout.at(l, 0), p = layout.at(l, e), first = layout.at(0, e);
      if (p.row != own.row + first.row || p.col != own.col + first.col)
        return op->emitOpError() << "has a layout whose lanes and elements share bits of a position";
    }
  return result;
}

ValidExtents LaneWriter::extentsOf(std::optional<AffineMap> map, ValueRange operands,
                                   std::pair<std::optional<int64_t>, std::optional<int64_t>> constant,
                                   tile::FragmentType type) {
  ValidExtents extents(2);
  if (!map)
    return extents;
  std::optional<int64_t> known[] = {constant.first, constant.second};
  int64_t full[] = {type.getRows(), type.getCols()};
  SmallVector<Value> mapped = valuesOf(operands);
  for (unsigned d = 0; d < 2; ++d)
    if (!known[d] || *known[d] < full[d])
      extents[d] = affine::expandAffineExpr(builder, context.loc, map->getResult(d),
                                            ValueRange(mapped).take_front(map->getNumDims()),
                                            ValueRange(mapped).drop_front(map->getNumDims()));
  return extents;
}

//===-- Structure ---------------------------------------------------------===//

LogicalResult LaneWriter::run() {
  Block *old = &function.front();
  if (failed(barriers.analyze(function, hierarchy, context.ops.countsGroups())))
    return failure();
  Block *entry = new Block;
  function.getBody().push_front(entry);
  builder.setInsertionPointToStart(entry);
  auto pointer = LLVM::LLVMPointerType::get(function.getContext(), globalSpace);
  for (BlockArgument argument : old->getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      values.map(argument, entry->addArgument(argument.getType(), argument.getLoc()));
      continue;
    }
    if (!type.getLayout().isIdentity())
      return function.emitOpError() << "has an argument with the layout " << type.getLayout()
                                    << "; launches take arrays of identity layout";
    LaneArray array;
    array.type = type;
    array.pointer = entry->addArgument(pointer, argument.getLoc());
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        array.sizes.push_back(entry->addArgument(builder.getIndexType(), argument.getLoc()));
    arrays.try_emplace(argument, array);
  }
  thread = context.ops.threadId(builder, context.loc);
  if (failed(lower(*old)))
    return failure();
  func::ReturnOp::create(builder, context.loc);
  old->dropAllReferences();
  old->erase();
  // Arrays of a launch do not overlap.
  SmallVector<DictionaryAttr> attributes;
  for (Type type : entry->getArgumentTypes())
    attributes.push_back(isa<LLVM::LLVMPointerType>(type)
                             ? builder.getDictionaryAttr(
                                   builder.getNamedAttr(LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr()))
                             : DictionaryAttr());
  function.setType(builder.getFunctionType(entry->getArgumentTypes(), {}));
  function.setAllArgAttrs(attributes);
  return success();
}

LogicalResult LaneWriter::lower(Block &block) {
  for (Operation &op : block.without_terminator()) {
    Location before = context.loc;
    context.loc = op.getLoc();
    if (barriers.needs(&op))
      context.ops.barrier(builder, context.loc);
    if (failed(lower(op)))
      return failure();
    context.loc = before;
  }
  return success();
}

LogicalResult LaneWriter::lower(Operation &op) {
  if (auto each = dyn_cast<tile::ParallelOp>(op))
    return parallel(each);
  if (auto each = dyn_cast<scf::ForOp>(op))
    return loop(each);
  if (auto each = dyn_cast<scf::WhileOp>(op))
    return loop(each);
  if (auto each = dyn_cast<scf::IfOp>(op))
    return branch(each);
  if (auto each = dyn_cast<tile::AllocOp>(op))
    return alloc(each);
  if (auto each = dyn_cast<tile::CopyOp>(op))
    return copy(each);
  if (auto each = dyn_cast<tile::WaitOp>(op))
    return wait(each);
  if (auto each = dyn_cast<tile::LoadOp>(op))
    return load(each);
  if (auto each = dyn_cast<tile::StoreOp>(op))
    return store(each);
  if (auto each = dyn_cast<tile::ConvertOp>(op))
    return convert(each);
  if (auto each = dyn_cast<tile::IndexOp>(op))
    return index(each);
  if (auto each = dyn_cast<tile::ReduceOp>(op))
    return reduce(each);
  if (auto each = dyn_cast<tile::ZeroOp>(op)) {
    VectorType type = vectorOf(each.getType());
    values.map(each.getResult(), constant(type, builder.getZeroAttr(type)));
    return success();
  }
  if (auto each = dyn_cast<tile::BroadcastOp>(op); each && !isa<tile::FragmentType>(each.getSource().getType())) {
    values.map(each.getResult(),
               vector::BroadcastOp::create(builder, op.getLoc(), vectorOf(each.getType()), value(each.getSource())));
    return success();
  }
  if (auto each = dyn_cast<tile::MapOp>(op)) {
    Type first = op.getNumOperands() ? op.getOperand(0).getType() : op.getResult(0).getType();
    SmallVector<Value> results =
        vectorizeRegion(builder, op.getLoc(), each.getBody().front(), valuesOf(each.getInputs()),
                        cast<tile::FragmentType>(first).getNumElements(), values);
    values.map(op.getResults(), results);
    return success();
  }
  if (auto each = dyn_cast<tile::MmaOp>(op)) {
    FailureOr<Value> result =
        callUnit(builder, each, target, module, value(each.getA()), value(each.getB()), value(each.getC()));
    if (failed(result))
      return failure();
    values.map(each.getResult(), *result);
    return success();
  }
  if (auto each = dyn_cast<memref::DimOp>(op)) {
    FailureOr<LaneArray> array = arrayOf(&op, each.getSource());
    std::optional<int64_t> d = each.getConstantIndex();
    if (failed(array))
      return failure();
    if (!d)
      return op.emitOpError() << "asks for a dimension that is not constant";
    if (!array->type.isDynamicDim(*d)) {
      values.map(each.getResult(), context.index(array->type.getDimSize(*d)));
      return success();
    }
    values.map(each.getResult(), array->sizes[array->type.getDynamicDimIndex(*d)]);
    return success();
  }
  if (auto each = dyn_cast<memref::LoadOp>(op))
    return plainAccess(op, each.getMemRef(), each.getIndices(), {});
  if (auto each = dyn_cast<memref::StoreOp>(op))
    return plainAccess(op, each.getMemRef(), each.getIndices(), each.getValueToStore());
  if (isa_and_nonnull<tile::TileDialect, memref::MemRefDialect>(op.getDialect()) || op.getNumRegions() != 0)
    return op.emitOpError() << "cannot be distributed over the lanes of " << target.target() << ":" << target.chip()
                            << " yet";
  builder.clone(op, values);
  return success();
}

LogicalResult LaneWriter::parallel(tile::ParallelOp op) {
  AffineMap bounds = op.getUpperBounds();
  SmallVector<Value> operands = valuesOf(op.getBoundOperands());
  SmallVector<Value> indices;
  OpBuilder::InsertionGuard guard(builder);
  unsigned rank = bounds.getNumResults();
  if (op.getLevel() == hierarchy.grid) {
    if (rank > 3)
      return op.emitOpError() << "has " << rank << " indices; a grid has at most 3";
    for (unsigned i = 0; i < rank; ++i) // the last index is the fastest
      indices.push_back(context.toIndex(context.ops.blockId(builder, context.loc, rank - 1 - i)));
  } else if (op.getLevel() == hierarchy.block || op.getLevel() == hierarchy.subgroup) {
    bool isBlock = op.getLevel() == hierarchy.block;
    SmallVector<int64_t> extents;
    int64_t total = 1;
    for (AffineExpr bound : bounds.getResults()) {
      auto number = dyn_cast<AffineConstantExpr>(bound);
      if (!number)
        return op.emitOpError() << "of level \"" << op.getLevel() << "\" needs constant bounds";
      extents.push_back(number.getValue());
      total *= number.getValue();
    }
    int64_t members = isBlock ? shape.threads / hierarchy.lanes : hierarchy.lanes;
    if (total > members)
      return op.emitOpError() << "has " << total << " iterations for " << members << " members of level \""
                              << op.getLevel() << "\"";
    Value own;
    if (isBlock) {
      lane = arith::AndIOp::create(builder, context.loc, thread, context.i32(hierarchy.lanes - 1));
      own = arith::ShRUIOp::create(builder, context.loc, thread, context.i32(llvm::Log2_64(hierarchy.lanes)));
      subgroup = own;
    } else if (!lane) {
      return op.emitOpError() << "of level \"" << op.getLevel() << "\" must stand inside one of level \""
                              << hierarchy.block << "\"";
    } else {
      own = lane;
    }
    if (total < members) {
      Value works = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::ult, own, context.i32(total));
      builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, works).thenBlock());
    }
    Value number = own;
    SmallVector<Value> reversed;
    for (int64_t i = rank - 1; i >= 0; --i) {
      bool last = i == 0;
      Value digit = last ? number : arith::RemUIOp::create(builder, context.loc, number, context.i32(extents[i]));
      if (!last)
        number = arith::DivUIOp::create(builder, context.loc, number, context.i32(extents[i]));
      reversed.push_back(context.toIndex(digit));
    }
    indices.assign(reversed.rbegin(), reversed.rend());
  } else {
    return op.emitOpError() << "has the level \"" << op.getLevel() << "\", which " << target.target() << ":"
                            << target.chip() << " does not share out over lanes";
  }
  Block &body = op.getBody().front();
  values.map(body.getArguments(), indices);
  Value outerLane = lane;
  LogicalResult result = lower(body);
  if (op.getLevel() == hierarchy.block)
    lane = nullptr;
  else
    lane = outerLane;
  return result;
}

LogicalResult LaneWriter::loop(scf::ForOp op) {
  SmallVector<Value> init;
  SmallVector<unsigned> carried; // tokens are no values
  for (auto [i, argument] : llvm::enumerate(op.getInitArgs()))
    if (!isa<tile::TokenType>(argument.getType())) {
      carried.push_back(i);
      init.push_back(value(argument));
    }
  auto loop = scf::ForOp::create(builder, op.getLoc(), value(op.getLowerBound()), value(op.getUpperBound()),
                                 value(op.getStep()), init);
  OpBuilder::InsertionGuard guard(builder);
  values.map(op.getInductionVar(), loop.getInductionVar());
  for (auto [place, i] : llvm::enumerate(carried))
    values.map(op.getRegionIterArgs()[i], loop.getRegionIterArgs()[place]);
  Block *body = loop.getBody();
  if (init.empty() && !body->empty())
    body->back().erase();
  builder.setInsertionPointToEnd(body);
  if (failed(lower(*op.getBody())))
    return failure();
  SmallVector<Value> yielded;
  for (unsigned i : carried)
    yielded.push_back(value(op.getBody()->getTerminator()->getOperand(i)));
  scf::YieldOp::create(builder, op.getLoc(), yielded);
  for (auto [place, i] : llvm::enumerate(carried))
    values.map(op.getResult(i), loop.getResult(place));
  return success();
}

LogicalResult LaneWriter::loop(scf::WhileOp op) {
  auto loop = scf::WhileOp::create(builder, op.getLoc(), op.getResultTypes(), valuesOf(op.getInits()));
  OpBuilder::InsertionGuard guard(builder);
  for (auto [from, to] : llvm::zip(op->getRegions(), loop->getRegions())) {
    Block &old = from.front();
    Block *body =
        builder.createBlock(&to, {}, old.getArgumentTypes(), SmallVector<Location>(old.getNumArguments(), op.getLoc()));
    values.map(old.getArguments(), body->getArguments());
    if (failed(lower(old)))
      return failure();
    builder.clone(*old.getTerminator(), values);
  }
  values.map(op.getResults(), loop.getResults());
  return success();
}

LogicalResult LaneWriter::branch(scf::IfOp op) {
  SmallVector<Type> types;
  for (Type type : op.getResultTypes()) {
    if (isa<tile::TokenType>(type))
      return op.emitOpError() << "yields a token; lanes await copies where control flow is the same for all";
    types.push_back(typeOf(type));
  }
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(builder, op.getLoc(), types, value(op.getCondition()), hasElse);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [from, to] : {std::pair(op.thenBlock(), branch.thenBlock()),
                          {hasElse ? op.elseBlock() : nullptr, hasElse ? branch.elseBlock() : nullptr}}) {
    if (!from)
      continue;
    if (!to->empty())
      to->back().erase();
    builder.setInsertionPointToEnd(to);
    if (failed(lower(*from)))
      return failure();
    scf::YieldOp::create(builder, op.getLoc(), valuesOf(from->getTerminator()->getOperands()));
  }
  values.map(op.getResults(), branch.getResults());
  return success();
}

//===-- Buffers and copies ------------------------------------------------===//

LogicalResult LaneWriter::alloc(tile::AllocOp op) {
  auto type = cast<MemRefType>(op.getMemref().getType());
  auto memory = dyn_cast_or_null<StringAttr>(type.getMemorySpace());
  if (!memory || memory.getValue() != hierarchy.scratchpad || !type.hasStaticShape())
    return op.emitOpError() << "must have a static shape and the memory space \"" << hierarchy.scratchpad
                            << "\" to be used by lanes";
  LaneArray array;
  array.type = type;
  array.scratchpad = true;
  array.arrangement = op.getArrangementAttr();
  if (array.arrangement && array.arrangement.getGroups() != 1)
    return op.emitOpError() << "has interleaved groups of rows, which lanes do not address";
  int64_t elements = 1;
  for (int64_t extent : type.getShape())
    elements *= extent;
  if (array.arrangement && type.getRank())
    elements += elements / type.getShape().back() * array.arrangement.getPadding();
  int64_t bytes = llvm::alignTo(elements * std::max(1u, type.getElementTypeBitWidth() / 8), 1024);
  if (!shared)
    shared = context.ops.scratchpad(builder, context.loc, module, shape.sharedBytes);
  array.pointer = shared;
  if (sharedUsed)
    array.pointer = LLVM::GEPOp::create(builder, context.loc, shared.getType(), builder.getI8Type(), shared,
                                        ArrayRef<LLVM::GEPArg>{int32_t(sharedUsed)});
  sharedUsed += bytes;
  if (sharedUsed > shape.sharedBytes)
    return op.emitOpError() << "ends at byte " << sharedUsed << " of the scratchpad, but the launch has "
                            << shape.sharedBytes << " bytes";
  arrays.try_emplace(op.getMemref(), array);
  return success();
}

LogicalResult LaneWriter::copy(tile::CopyOp op) {
  FailureOr<LaneArray> source = arrayOf(op, op.getSource()), destination = arrayOf(op, op.getDestination());
  if (failed(source) || failed(destination))
    return failure();
  if (source->scratchpad || !destination->scratchpad)
    return op.emitOpError() << "goes from \"" << (source->scratchpad ? hierarchy.scratchpad : "global") << "\" to \""
                            << (destination->scratchpad ? hierarchy.scratchpad : "global")
                            << "\"; lanes share out copies into the scratchpad";
  CopyRequest request;
  request.op = op;
  request.source = *source;
  request.destination = *destination;
  request.sourceOperands = valuesOf(op.getSourceOperands());
  request.destinationOperands = valuesOf(op.getDestinationOperands());
  request.valid.resize(op.getShape().size());
  if (std::optional<AffineMap> valid = op.getValidMap()) {
    SmallVector<Value> operands = valuesOf(op.getValidOperands());
    for (unsigned d = 0; d < request.valid.size(); ++d) {
      auto known = dyn_cast<AffineConstantExpr>(valid->getResult(d));
      if (!known || known.getValue() < op.getShape()[d])
        request.valid[d] = affine::expandAffineExpr(builder, op.getLoc(), valid->getResult(d),
                                                    ValueRange(operands).take_front(valid->getNumDims()),
                                                    ValueRange(operands).drop_front(valid->getNumDims()));
    }
  }
  request.thread = thread;
  request.threads = shape.threads;
  request.mayStage = barriers.landsAtWait(op);
  bool asynchronous = false;
  FailureOr<std::optional<StagedCopy>> pending = emitCopy(context, request, asynchronous);
  if (failed(pending))
    return failure();
  // A copy that took the synchronous way still closes a group: waits count copies.
  if (asynchronous || context.ops.countsGroups())
    context.ops.commitCopies(builder, op.getLoc());
  if (*pending)
    staged.try_emplace(op.getToken(), **pending);
  return success();
}

LogicalResult LaneWriter::wait(tile::WaitOp op) {
  bool engine = false;
  for (Value token : op.getTokens()) {
    auto pending = staged.find(token);
    if (pending == staged.end()) {
      engine = true;
      continue;
    }
    OpBuilder::InsertionGuard guard(builder);
    if (Value works = pending->second.works)
      builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, works).thenBlock());
    storeElements(context, pending->second.destination, pending->second.distribution, {}, pending->second.elements);
    staged.erase(pending);
  }
  if (engine && context.ops.countsGroups())
    context.ops.waitCopies(builder, op.getLoc(), barriers.pendingAt(op));
  return success();
}

//===-- Fragments ---------------------------------------------------------===//

LogicalResult LaneWriter::load(tile::LoadOp op) {
  FailureOr<LaneArray> array = arrayOf(op, op.getMemref());
  FailureOr<Distribution> distribution = distributionOf(op, op.getType());
  if (failed(array) || failed(distribution))
    return failure();
  auto access =
      LaneAccess::create(context, *array, op.getMap(), valuesOf(op.getMapOperands()), op.getElements(), *distribution);
  if (failed(access))
    return op.emitOpError() << "has an element map that is not linear over the lanes";
  ValidExtents valid = extentsOf(op.getValidMap(), op.getValidOperands(), op.constantValid(), op.getType());
  values.map(op.getResult(), loadElements(context, *access, *distribution, valid, vectorOf(op.getType())));
  return success();
}

LogicalResult LaneWriter::store(tile::StoreOp op) {
  tile::FragmentType type = op.getValue().getType();
  FailureOr<LaneArray> array = arrayOf(op, op.getMemref());
  FailureOr<Distribution> distribution = distributionOf(op, type);
  if (failed(array) || failed(distribution))
    return failure();
  auto access =
      LaneAccess::create(context, *array, op.getMap(), valuesOf(op.getMapOperands()), op.getElements(), *distribution);
  if (failed(access))
    return op.emitOpError() << "has an element map that is not linear over the lanes";
  ValidExtents valid = extentsOf(op.getValidMap(), op.getValidOperands(), op.constantValid(), type);
  // Of lanes that hold the same elements the first writes.
  int64_t same = 0;
  for (auto [b, bit] : llvm::enumerate(distribution->bits))
    if (llvm::all_of(bit, [](int64_t step) { return step == 0; }))
      same |= int64_t(1) << b;
  OpBuilder::InsertionGuard guard(builder);
  if (same) {
    Value number = arith::AndIOp::create(builder, context.loc, distribution->number, context.i32(same));
    Value first = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::eq, number, context.i32(0));
    builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, first).thenBlock());
  }
  storeElements(context, *access, *distribution, valid, value(op.getValue()));
  return success();
}

LogicalResult LaneWriter::convert(tile::ConvertOp op) {
  tile::FragmentType from = op.getSource().getType(), to = op.getType();
  Layout source = from.getLayout().getValue(), result = to.getLayout().getValue();
  SmallVector<int64_t> order;
  auto slots = conversion(source, result, to.getRows(), to.getCols());
  if (!slots)
    return op.emitOpError() << llvm::toString(slots.takeError());
  int64_t count = result.numElements();
  for (int64_t l = 0; l < result.numLanes(); ++l)
    for (int64_t e = 0; e < count; ++e) {
      Slot slot = (*slots)[l * count + e];
      if (l == 0)
        order.push_back(slot.element);
      if ((source.numLanes() != 1 && slot.lane != l) || slot.element != order[e])
        return op.emitOpError() << "moves elements between lanes, which is not lowered yet; go through a scratchpad";
    }
  Value vector = value(op.getSource());
  values.map(op.getResult(), vector::ShuffleOp::create(builder, op.getLoc(), vector, vector, order));
  return success();
}

LogicalResult LaneWriter::index(tile::IndexOp op) {
  FailureOr<Distribution> distribution = distributionOf(op, op.getType());
  if (failed(distribution))
    return failure();
  VectorType type = vectorOf(op.getType());
  unsigned d = op.getDimension();
  SmallVector<Attribute> numbers;
  for (const Point &point : distribution->elements)
    numbers.push_back(builder.getIntegerAttr(type.getElementType(), point[d]));
  Value result = constant(type, DenseElementsAttr::get(type, numbers));
  SmallVector<int64_t> bits;
  for (const Point &bit : distribution->bits)
    bits.push_back(bit[d]);
  if (Value own = distribution->number ? context.fromBits(distribution->number, bits) : Value()) {
    Type element = type.getElementType();
    if (element.isIndex())
      own = context.toIndex(own);
    else if (element.getIntOrFloatBitWidth() > 32)
      own = arith::ExtUIOp::create(builder, op.getLoc(), element, own);
    else if (element.getIntOrFloatBitWidth() < 32)
      own = arith::TruncIOp::create(builder, op.getLoc(), element, own);
    result = arith::AddIOp::create(builder, op.getLoc(), result,
                                   vector::BroadcastOp::create(builder, op.getLoc(), type, own));
  }
  values.map(op.getResult(), result);
  return success();
}

LogicalResult LaneWriter::reduce(tile::ReduceOp op) {
  FailureOr<Distribution> distribution = distributionOf(op, op.getInput().getType());
  if (failed(distribution))
    return failure();
  FailureOr<Value> result = emitReduce(context, op, value(op.getInput()), *distribution, values);
  if (failed(result))
    return failure();
  values.map(op.getResult(), *result);
  return success();
}

/// memref.load (`stored` null) or memref.store of one element.
LogicalResult LaneWriter::plainAccess(Operation &op, Value memref, ValueRange indices, Value stored) {
  FailureOr<LaneArray> array = arrayOf(&op, memref);
  if (failed(array))
    return failure();
  unsigned rank = array->type.getRank();
  Distribution one;
  one.elements.push_back(Point());
  auto access = LaneAccess::create(
      context, *array, builder.getMultiDimIdentityMap(rank), valuesOf(indices),
      AffineMap::get(0, 0, SmallVector<AffineExpr>(rank, builder.getAffineConstantExpr(0)), builder.getContext()), one);
  Value address = access->pointer(0);
  Type element = array->type.getElementType(), carrier = carrierOf(element);
  Location loc = op.getLoc();
  if (!stored) {
    Value result = LLVM::LoadOp::create(builder, loc, carrier, address, access->elementBytes());
    if (carrier != element)
      result = arith::BitcastOp::create(builder, loc, element, result);
    values.map(op.getResult(0), result);
    return success();
  }
  Value written = value(stored);
  if (carrier != element)
    written = arith::BitcastOp::create(builder, loc, carrier, written);
  LLVM::StoreOp::create(builder, loc, written, address, access->elementBytes());
  return success();
}

//===-- Pass --------------------------------------------------------------===//

namespace {
struct DistributeLanes : tilewright::impl::DistributeLanesBase<DistributeLanes> {
  /// The ops of lanes belong to dialects of the targets.
  void getDependentDialects(DialectRegistry &registry) const override {
    DistributeLanesBase::getDependentDialects(registry);
    for (const Target *target : TargetRegistry::get().targets())
      target->registerDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    takeManifests(module);
    SmallVector<func::FuncOp> launches;
    for (auto function : module.getOps<func::FuncOp>())
      if (launchShapeOf(function) && !function.isExternal())
        launches.push_back(function);
    if (launches.empty())
      return;
    auto target = targetOf(module);
    auto ops = target ? laneOpsOf(module) : llvm::Expected<std::unique_ptr<LaneOps>>(target.takeError());
    if (!ops) {
      module.emitError() << llvm::toString(ops.takeError());
      return signalPassFailure();
    }
    FailureOr<LaneHierarchy> hierarchy = requireLanes(module);
    if (failed(hierarchy))
      return signalPassFailure();
    for (func::FuncOp launch : launches)
      if (failed(LaneWriter(launch, **target, *hierarchy, **ops, *launchShapeOf(launch)).run()))
        return signalPassFailure();
  }
};
} // namespace
