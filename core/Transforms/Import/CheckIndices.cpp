//===- CheckIndices.cpp - Indices made of data, kept inside ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An index that is made of data may be anything. With `--check-indices` it is clamped to its array, so that nothing
/// else is touched, and one that was outside ends the call with an error that names it:
///
///   %x = tensor.extract %t[%i]        ->    %k = max(min(%i, n - 1), 0); %x = tensor.extract %t[%k]
///                                           code = %i is inside ? 0 : %i < 0 ? %i : %i + 1
///
/// The largest code of all iterations, as an unsigned number, is 0 where all indices were inside; else it is that of
/// the least negative index, or of the largest one. In the body of a linalg.generic a reduction in front of it finds it
/// out; in control flow an element of an array of codes collects it. Where n is dynamic and may be 0 no index is
/// inside, and the code is compared before anything is touched.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Import/CheckIndices.h"
#include "core/Analysis/IndexCasts.h"
#include "core/Analysis/IndexChecks.h"
#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;

namespace {

/// One index of an access.
struct Site {
  Operation *op;
  OpOperand *index;
  Value array;
  int64_t dimension;
  int64_t elements = 1; // that begin at the index: of a slice
};

/// Tells numbers that are made of data from those that count iterations and sizes.
class DataFlow {
public:
  bool isOfData(Value value);

private:
  bool compute(Value value);
  DenseMap<Value, bool> known;
};

/// The sites of one function.
class IndexChecker {
public:
  explicit IndexChecker(func::FuncOp function) : function(function), rewriter(function.getContext()) {}
  LogicalResult run();

private:
  void collect();
  void add(Operation *op, OpOperand &index, Value array, int64_t dimension, int64_t elements);
  LogicalResult checkInBody(const Site &site, linalg::GenericOp generic);
  LogicalResult checkInFlow(const Site &site);
  bool isInFlow(Operation *op);
  Value reduceCodes(const Site &site, linalg::GenericOp generic, Value extent);
  linalg::GenericOp shrink(linalg::GenericOp check);
  Value handOut(Value code, Block *body);
  Value codeOf(Location loc, Value index, Value bound);
  Value boundOf(const Site &site);
  void clamp(const Site &site);
  void require(const Site &site, Value code, Operation *before);
  bool isDeferred(const Site &site) {
    auto type = cast<ShapedType>(site.array.getType());
    return !type.isDynamicDim(site.dimension) && type.getDimSize(site.dimension) >= site.elements;
  }
  Value constant(Location loc, int64_t value) { return arith::ConstantIndexOp::create(rewriter, loc, value); }

  func::FuncOp function;
  IRRewriter rewriter;
  SmallVector<Site> sites;
  Value codes; // of deferred sites in control flow
  SmallVector<std::pair<Site, int64_t>> places;
  DenseMap<std::pair<Value, int64_t>, Value> clamped; // by index and last index
};

} // namespace

//===-- What is an index of data ------------------------------------------===//

bool DataFlow::isOfData(Value value) {
  auto [place, isNew] = known.try_emplace(value, false);
  if (!isNew)
    return place->second;
  bool result = compute(value);
  known[value] = result;
  return result;
}

bool DataFlow::compute(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<LoopLikeOpInterface>(owner)) {
      auto counters = loop.getLoopInductionVars();
      if (!counters || !llvm::is_contained(*counters, value))
        return true; // what loops carry
      auto isBoundOfData = [&](std::optional<SmallVector<OpFoldResult>> bounds) {
        return bounds && llvm::any_of(*bounds, [&](OpFoldResult bound) {
                 auto number = dyn_cast<Value>(bound);
                 return number && isOfData(number);
               });
      };
      return isBoundOfData(loop.getLoopLowerBounds()) || isBoundOfData(loop.getLoopUpperBounds());
    }
    return true; // elements, and scalars of the caller
  }
  Operation *op = value.getDefiningOp();
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<linalg::IndexOp, tensor::DimOp, memref::DimOp>(op))
    return false;
  if (!isPure(op) || op->getNumRegions() > 0 || isa<tensor::ExtractOp>(op))
    return true;
  return llvm::any_of(op->getOperands(), [&](Value operand) { return isOfData(operand); });
}

bool tilewright::isClamped(Value index, int64_t last) {
  index = withoutCasts(index);
  auto below = [&](Operation *op) {
    return isa_and_nonnull<arith::MinSIOp>(op) && llvm::any_of(op->getOperands(), [&](Value each) {
             std::optional<int64_t> number = getConstantIntValue(each);
             return number && *number >= 0 && *number <= last;
           });
  };
  auto above = [&](Operation *op) {
    return isa_and_nonnull<arith::MaxSIOp>(op) && llvm::any_of(op->getOperands(), [&](Value each) {
             std::optional<int64_t> number = getConstantIntValue(each);
             return number && *number >= 0 && *number <= last;
           });
  };
  Operation *outer = index.getDefiningOp();
  auto inner = [&](auto holds) {
    return llvm::any_of(outer->getOperands(), [&](Value each) { return holds(each.getDefiningOp()); });
  };
  return (above(outer) && inner(below)) || (below(outer) && inner(above));
}

void IndexChecker::add(Operation *op, OpOperand &index, Value array, int64_t dimension, int64_t elements) {
  auto type = cast<ShapedType>(array.getType());
  if (type.isDynamicDim(dimension) || !isClamped(index.get(), type.getDimSize(dimension) - elements))
    sites.push_back({op, &index, array, dimension, elements});
}

void IndexChecker::collect() {
  DataFlow flow;
  auto access = [&](Operation *op, Value array, MutableOperandRange indices) {
    for (auto [dimension, index] : llvm::enumerate(indices))
      if (flow.isOfData(index.get()))
        add(op, index, array, dimension, 1);
  };
  function.walk([&](Operation *op) {
    if (auto read = dyn_cast<tensor::ExtractOp>(op))
      access(op, read.getTensor(), read.getIndicesMutable());
    else if (auto write = dyn_cast<tensor::InsertOp>(op))
      access(op, write.getDest(), write.getIndicesMutable());
    else if (auto load = dyn_cast<memref::LoadOp>(op))
      access(op, load.getMemref(), load.getIndicesMutable());
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      access(op, store.getMemref(), store.getIndicesMutable());
    auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op);
    if (!slice || !isa<tensor::ExtractSliceOp, tensor::InsertSliceOp, memref::SubViewOp>(op))
      return;
    auto insert = dyn_cast<tensor::InsertSliceOp>(op);
    Value array = insert ? insert.getDest() : op->getOperand(0);
    for (unsigned d = 0, rank = slice.getStaticOffsets().size(); d < rank; ++d)
      if (slice.isDynamicOffset(d) && !slice.isDynamicSize(d) && slice.getStaticSize(d) > 0 &&
          !slice.isDynamicStride(d) && slice.getStaticStride(d) == 1 && flow.isOfData(slice.getDynamicOffset(d)))
        add(op, op->getOpOperand(slice.getIndexOfDynamicOffset(d)), array, d, slice.getStaticSize(d));
  });
}

//===-- Codes and what becomes of them ------------------------------------===//

/// How many values an index may have: the extent, less what a slice goes on for.
Value IndexChecker::boundOf(const Site &site) {
  Location loc = site.op->getLoc();
  auto type = cast<ShapedType>(site.array.getType());
  if (!type.isDynamicDim(site.dimension))
    return constant(loc, type.getDimSize(site.dimension) - site.elements + 1);
  Value extent = isa<MemRefType>(type) ? rewriter.createOrFold<memref::DimOp>(loc, site.array, site.dimension)
                                       : rewriter.createOrFold<tensor::DimOp>(loc, site.array, site.dimension);
  return site.elements == 1
             ? extent
             : arith::SubIOp::create(rewriter, loc, extent, constant(loc, site.elements - 1)).getResult();
}

/// The code of an index as i64. The largest of all has no code above it and is told as the one before.
Value IndexChecker::codeOf(Location loc, Value index, Value bound) {
  using arith::CmpIPredicate;
  Value zero = constant(loc, 0), largest = constant(loc, std::numeric_limits<int64_t>::max() - 1);
  Value isNegative = arith::CmpIOp::create(rewriter, loc, CmpIPredicate::slt, index, zero);
  Value isBeyond = arith::CmpIOp::create(rewriter, loc, CmpIPredicate::sge, index, bound);
  Value next =
      arith::AddIOp::create(rewriter, loc, arith::MinSIOp::create(rewriter, loc, index, largest), constant(loc, 1));
  Value code = arith::SelectOp::create(rewriter, loc, isBeyond, next, zero);
  code = arith::SelectOp::create(rewriter, loc, isNegative, index, code);
  return arith::IndexCastOp::create(rewriter, loc, rewriter.getI64Type(), code);
}

void IndexChecker::clamp(const Site &site) {
  Location loc = site.op->getLoc();
  rewriter.setInsertionPoint(site.op);
  auto type = cast<ShapedType>(site.array.getType());
  bool isDynamic = type.isDynamicDim(site.dimension);
  Value index = site.index->get(), none;
  // Accesses to one place keep one index: what reads and writes the same slice is done in place.
  Value &known = isDynamic ? none : clamped[{index, type.getDimSize(site.dimension) - site.elements}];
  if (!known || known.getParentBlock() != site.op->getBlock()) {
    Value last = isDynamic ? arith::SubIOp::create(rewriter, loc, boundOf(site), constant(loc, 1)).getResult()
                           : constant(loc, type.getDimSize(site.dimension) - site.elements);
    Value inside = arith::MinSIOp::create(rewriter, loc, index, last);
    known = arith::MaxSIOp::create(rewriter, loc, inside, constant(loc, 0));
  }
  site.index->set(known);
}

/// The place of `loc` as a reader of the program finds it; empty if it has none.
static std::string placeText(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  return file ? llvm::formatv("{0}:{1}:{2}", file.getFilename().getValue(), file.getLine(), file.getColumn()).str()
              : std::string();
}

static std::string arrayText(Value array, func::FuncOp function) {
  std::string type;
  llvm::raw_string_ostream(type) << array.getType();
  auto argument = dyn_cast<BlockArgument>(array);
  while (argument) { // what a loop carries is named by what it begins with
    auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
    OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
    if (!init)
      break;
    array = init->get();
    argument = dyn_cast<BlockArgument>(array);
  }
  if (argument && argument.getOwner() == &function.front()) {
    auto named = argument.getLoc()->findInstanceOf<NameLoc>();
    std::string name = named ? ("'" + named.getName().getValue() + "', ").str() : std::string();
    return "argument " + std::to_string(argument.getArgNumber()) + " (" + name + type + ")";
  }
  std::string place = placeText(array.getLoc());
  return "the " + type + (place.empty() ? "" : " of " + place);
}

static std::string messageOf(const Site &site, func::FuncOp function) {
  std::string place = placeText(site.op->getLoc());
  std::string text = place.empty() ? "" : place + ": ";
  text += site.elements == 1 ? "index {index} is outside of"
                             : llvm::formatv("{0} elements from index {{index} on leave", site.elements).str();
  text += llvm::formatv(" dimension {0} of ", site.dimension).str() + arrayText(site.array, function);
  return text + ", whose extent is {extent}";
}

/// Compares a code with 0.
void IndexChecker::require(const Site &site, Value code, Operation *before) {
  Location loc = site.op->getLoc();
  rewriter.setInsertionPoint(before);
  Value number = arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(), code);
  auto type = cast<ShapedType>(site.array.getType());
  Value extent;
  if (!type.isDynamicDim(site.dimension))
    extent = constant(loc, type.getDimSize(site.dimension));
  else if (isa<MemRefType>(type))
    extent = rewriter.createOrFold<memref::DimOp>(loc, site.array, site.dimension);
  else
    extent = rewriter.createOrFold<tensor::DimOp>(loc, site.array, site.dimension);
  auto check = tile::RequireSizeOp::create(rewriter, loc, number, extent, IntegerAttr(), IntegerAttr());
  check->setAttr(badIndexAttr, rewriter.getUnitAttr());
  check->setAttr(messageAttr, rewriter.getStringAttr(messageOf(site, function)));
}

/// Whether a call can be ended where `op` stands.
bool IndexChecker::isInFlow(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent != function; parent = parent->getParentOp())
    if (!isa<scf::IfOp, scf::ForOp, scf::WhileOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>(parent)) {
      op->emitError("unsupported operation: --check-indices finds an index made of data inside of '")
          << parent->getName()
          << "', from which a call cannot be left; use tensor.extract in a linalg.generic, or loops";
      return false;
    }
  return true;
}

//===-- In bodies of linalg.generic ---------------------------------------===//

/// Hands `code` out of branches and loops to `body`; null where something else stands around it.
Value IndexChecker::handOut(Value code, Block *body) {
  while (code.getParentBlock() != body) {
    Block *block = code.getParentBlock();
    Operation *parent = block->getParentOp();
    Location loc = parent->getLoc();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      rewriter.setInsertionPoint(loop);
      Value zero = arith::ConstantIntOp::create(rewriter, loc, rewriter.getI64Type(), 0);
      auto larger = [&](OpBuilder &inner, Location, ArrayRef<BlockArgument> held) -> SmallVector<Value> {
        return {arith::MaxUIOp::create(inner, loc, held.front(), code)};
      };
      auto replaced = loop.replaceWithAdditionalYields(rewriter, zero, /*replaceInitOperandUsesInLoop=*/false, larger);
      if (failed(replaced))
        return {};
      code = replaced->getOperation()->getResults().back();
      continue;
    }
    auto branch = dyn_cast<scf::IfOp>(parent);
    if (!branch)
      return {};
    rewriter.setInsertionPoint(branch);
    Value zero = arith::ConstantIntOp::create(rewriter, loc, rewriter.getI64Type(), 0);
    SmallVector<Type> types(branch.getResultTypes());
    types.push_back(rewriter.getI64Type());
    auto wider = scf::IfOp::create(rewriter, loc, types, branch.getCondition(), /*addThenBlock=*/false,
                                   /*addElseBlock=*/false);
    wider.getThenRegion().takeBody(branch.getThenRegion());
    wider.getElseRegion().takeBody(branch.getElseRegion());
    if (wider.getElseRegion().empty()) {
      rewriter.createBlock(&wider.getElseRegion());
      scf::YieldOp::create(rewriter, loc, ValueRange());
    }
    for (Block *side : {wider.thenBlock(), wider.elseBlock()})
      side->getTerminator()->insertOperands(side->getTerminator()->getNumOperands(), side == block ? code : zero);
    rewriter.replaceOp(branch, wider.getResults().drop_back());
    code = wider.getResults().back();
  }
  return code;
}

/// Leaves out the operands that no code depends on, and the loops that nothing counts any more.
linalg::GenericOp IndexChecker::shrink(linalg::GenericOp check) {
  Block *body = check.getBody();
  unsigned inputs = check.getNumDpsInputs(), loops = check.getNumLoops();
  SmallVector<unsigned> kept;
  SmallVector<AffineMap> maps;
  llvm::SmallBitVector counted(loops);
  body->walk([&](linalg::IndexOp op) { counted.set(op.getDim()); });
  for (unsigned i = 0; i < inputs; ++i)
    if (!body->getArgument(i).use_empty()) {
      kept.push_back(i);
      maps.push_back(check.getIndexingMapsArray()[i]);
      for (unsigned d = 0; d < loops; ++d)
        if (maps.back().isFunctionOfDim(d))
          counted.set(d);
    }
  MLIRContext *context = check.getContext();
  SmallVector<AffineExpr> dims(loops, getAffineConstantExpr(0, context));
  SmallVector<unsigned> number(loops, 0);
  unsigned count = 0;
  for (unsigned d : counted.set_bits()) {
    number[d] = count;
    dims[d] = getAffineDimExpr(count++, context);
  }
  for (AffineMap &map : maps)
    map = map.replaceDimsAndSymbols(dims, {}, count, 0);
  if (count > 0 && (maps.empty() || !inversePermutation(concatAffineMaps(maps, context))))
    return check;
  body->walk([&](linalg::IndexOp op) { op.setDim(number[op.getDim()]); });
  maps.push_back(AffineMap::get(count, 0, context));
  SmallVector<Value> operands;
  for (unsigned i : kept)
    operands.push_back(check.getDpsInputs()[i]);
  rewriter.setInsertionPoint(check);
  SmallVector<utils::IteratorType> kinds(count, utils::IteratorType::reduction);
  auto smaller = linalg::GenericOp::create(rewriter, check.getLoc(), check.getResultTypes(), operands,
                                           check.getOutputs(), maps, kinds);
  for (unsigned i = inputs; i-- > 0;)
    if (!llvm::is_contained(kept, i))
      body->eraseArgument(i);
  smaller.getRegion().takeBody(check.getRegion());
  rewriter.replaceOp(check, smaller.getResults());
  return smaller;
}

/// Writes the reduction of the codes of `site` in front of `generic`; the code, null after a diagnostic.
Value IndexChecker::reduceCodes(const Site &site, linalg::GenericOp generic, Value bound) {
  Location loc = site.op->getLoc();
  bool isTensor = generic.hasPureTensorSemantics();
  auto hasEffects = [](Operation *op) {
    bool isRead = isMemoryEffectFree(op) || isa<memref::LoadOp>(op);
    return isRead || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ? WalkResult::advance()
                                                                        : WalkResult::interrupt();
  };
  if (generic.getBody()->walk(hasEffects).wasInterrupted())
    return {};
  Value zero = arith::ConstantIntOp::create(rewriter, loc, rewriter.getI64Type(), 0), start;
  if (isTensor) {
    start = tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>{}, rewriter.getI64Type());
    start = linalg::FillOp::create(rewriter, loc, zero, start).getResult(0);
  } else {
    start = memref::AllocOp::create(rewriter, loc, MemRefType::get({}, rewriter.getI64Type()));
    linalg::FillOp::create(rewriter, loc, zero, start);
  }
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  maps.push_back(AffineMap::get(generic.getNumLoops(), 0, rewriter.getContext()));
  SmallVector<utils::IteratorType> kinds(generic.getNumLoops(), utils::IteratorType::reduction);
  SmallVector<Type> types;
  if (isTensor)
    types.push_back(start.getType());
  SmallVector<Value> operands(generic->getOperands());
  auto check = linalg::GenericOp::create(rewriter, loc, types, operands, start, maps, kinds);
  Block *body = rewriter.createBlock(&check.getRegion());
  IRMapping mapping;
  for (BlockArgument argument : generic.getBody()->getArguments())
    mapping.map(argument, body->addArgument(argument.getType(), loc));
  BlockArgument held = body->addArgument(rewriter.getI64Type(), loc);
  for (Operation &op : generic.getBody()->without_terminator())
    rewriter.clone(op, mapping);
  rewriter.setInsertionPoint(mapping.lookup(site.op));
  Value index = mapping.lookupOrDefault(site.index->get());
  Value code = handOut(codeOf(loc, index, bound), body);
  if (!code)
    return {};
  rewriter.setInsertionPointToEnd(body);
  linalg::YieldOp::create(rewriter, loc, arith::MaxUIOp::create(rewriter, loc, held, code).getResult());
  (void)runRegionDCE(rewriter, check->getRegions());
  check = shrink(check);
  rewriter.setInsertionPointAfter(check);
  return isTensor ? tensor::ExtractOp::create(rewriter, loc, check.getResult(0), ValueRange{}).getResult()
                  : memref::LoadOp::create(rewriter, loc, start, ValueRange{}).getResult();
}

LogicalResult IndexChecker::checkInBody(const Site &site, linalg::GenericOp generic) {
  if (!isInFlow(generic))
    return failure();
  rewriter.setInsertionPoint(generic);
  Value code;
  if (Value array = site.array; array.getParentRegion()->isProperAncestor(&generic.getRegion()))
    code = reduceCodes(site, generic, boundOf(site));
  if (!code)
    return site.op->emitError("unsupported operation: --check-indices cannot tell the indices of '")
           << site.op->getName() << "' before the body of 'linalg.generic' runs, which stores to memory, or in which "
           << "something else than a branch or a loop is around it";
  clamp(site);
  require(site, code, isDeferred(site) ? generic->getBlock()->getTerminator() : generic);
  return success();
}

//===-- In control flow ---------------------------------------------------===//

LogicalResult IndexChecker::checkInFlow(const Site &site) {
  if (!isInFlow(site.op))
    return failure();
  Location loc = site.op->getLoc();
  rewriter.setInsertionPoint(site.op);
  Value code = codeOf(loc, site.index->get(), boundOf(site));
  clamp(site);
  if (!isDeferred(site)) {
    require(site, code, site.op);
    return success();
  }
  Value place = constant(loc, places.size());
  Value held = memref::LoadOp::create(rewriter, loc, codes, place);
  memref::StoreOp::create(rewriter, loc, arith::MaxUIOp::create(rewriter, loc, held, code), codes, place);
  places.push_back({site, places.size()});
  return success();
}

LogicalResult IndexChecker::run() {
  collect();
  auto bodyOf = [](const Site &site) { return site.op->getParentOfType<linalg::GenericOp>(); };
  int64_t inFlow = llvm::count_if(sites, [&](const Site &site) { return !bodyOf(site) && isDeferred(site); });
  if (inFlow > 0) {
    Location loc = function.getLoc();
    rewriter.setInsertionPointToStart(&function.front());
    codes = memref::AllocOp::create(rewriter, loc, MemRefType::get({inFlow}, rewriter.getI64Type()));
    Value zero = arith::ConstantIntOp::create(rewriter, loc, rewriter.getI64Type(), 0);
    linalg::FillOp::create(rewriter, loc, zero, codes);
  }
  for (const Site &site : sites) {
    linalg::GenericOp generic = bodyOf(site);
    if (failed(generic ? checkInBody(site, generic) : checkInFlow(site)))
      return failure();
  }
  Operation *end = function.front().getTerminator();
  for (auto &[site, number] : places) {
    rewriter.setInsertionPoint(end);
    Value place = constant(site.op->getLoc(), number);
    require(site, memref::LoadOp::create(rewriter, site.op->getLoc(), codes, place), end);
  }
  return success();
}

LogicalResult tilewright::checkIndices(func::FuncOp function) { return IndexChecker(function).run(); }
