//===- LaneBarriers.cpp - Where lanes wait for each other -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One walk over the program, loop bodies twice, with the accesses that no
/// barrier has closed yet; and the ages of tokens that loops carry.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Lanes/LaneBarriers.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;

LogicalResult LaneBarriers::analyze(func::FuncOp launch, const LaneHierarchy &levels, bool hasEngine) {
  hierarchy = &levels;
  engine = hasEngine;
  before.clear();
  behind.clear();
  open.clear();
  scratchpads.clear();
  return visit(launch.front(), false);
}

/// The wait for `token`, and how many iterations of the loops around it later that is; null: none is found.
static std::pair<Operation *, int64_t> awaitedAt(Value token) {
  for (int64_t age = 0; age < 64;) {
    Value next;
    for (OpOperand &use : token.getUses()) {
      if (isa<tile::WaitOp>(use.getOwner()))
        return {use.getOwner(), age};
      if (auto loop = dyn_cast<scf::ForOp>(use.getOwner())) {
        next = loop.getTiedLoopRegionIterArg(&use);
      } else if (auto loop = dyn_cast<scf::ForOp>(use.getOwner()->getParentOp());
                 loop && isa<scf::YieldOp>(use.getOwner())) {
        next = loop.getRegionIterArg(use.getOperandNumber());
        ++age;
      }
    }
    if (!next)
      break;
    token = next;
  }
  return {nullptr, 0};
}

bool LaneBarriers::isScratchpad(Value buffer) {
  auto [known, isNew] = scratchpads.try_emplace(buffer);
  if (isNew)
    known->second = buffer.getDefiningOp<tile::AllocOp>() && llvm::none_of(buffer.getUsers(), [](Operation *user) {
                      auto copy = dyn_cast<tile::CopyOp>(user);
                      return copy && copy->hasAttr(engineAttr); // phases of a multi-stage buffer order its accesses
                    });
  return known->second;
}

/// Its wait, and nothing else that uses its token, stands in the same block.
static bool hasWaitInBlock(tile::CopyOp copy) {
  if (!copy.getToken().hasOneUse())
    return false;
  Operation *wait = *copy.getToken().user_begin();
  return isa<tile::WaitOp>(wait) && wait->getBlock() == copy->getBlock();
}

bool LaneBarriers::isHeld(tile::CopyOp copy) { return copy->hasAttr(heldAttr) && hasWaitInBlock(copy); }

bool LaneBarriers::landsAtWait(tile::CopyOp copy) const {
  return engine ? isHeld(copy) : hasWaitInBlock(copy) && !copy->hasAttr(directAttr);
}

bool LaneBarriers::isDirect(tile::CopyOp copy) const {
  return copy->hasAttr(directAttr) && !engine && awaitedAt(copy.getToken()).first;
}

tile::CopyOp LaneBarriers::firstCopy(Value token) {
  llvm::DenseSet<Value> seen;
  while (seen.insert(token).second) {
    if (auto copy = token.getDefiningOp<tile::CopyOp>())
      return copy;
    auto argument = dyn_cast<BlockArgument>(token);
    auto around = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
    if (around && argument.getArgNumber() > 0)
      token = around.getInitArgs()[argument.getArgNumber() - 1];
    else if (auto loop = token.getDefiningOp<scf::ForOp>())
      token = loop.getBody()->getTerminator()->getOperand(cast<OpResult>(token).getResultNumber());
  }
  return {};
}

//===-- Hazards -----------------------------------------------------------===//

LaneBarriers::Event LaneBarriers::eventOf(Value buffer, AffineMap map, ValueRange operands, AffineMap elements,
                                          bool write) {
  Event event;
  event.buffer = buffer;
  event.write = write;
  // The first index is a stage if all elements of the access have the same.
  if (map && map.getNumResults() > 1 && isa<AffineConstantExpr>(elements.getResult(0)) &&
      cast<AffineConstantExpr>(elements.getResult(0)).getValue() == 0) {
    event.stage = map.getResult(0);
    // Symbols as further dimensions, so that two maps can be compared.
    SmallVector<AffineExpr> symbols;
    for (unsigned i = 0; i < map.getNumSymbols(); ++i)
      symbols.push_back(getAffineDimExpr(map.getNumDims() + i, map.getContext()));
    event.stage = event.stage.replaceSymbols(symbols);
    event.operands = llvm::to_vector(operands);
  }
  return event;
}

/// Whether `buffer` lies where others of the scratchpad do.
static bool overlays(Value buffer) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  return alloc && alloc.getOverlays();
}

bool LaneBarriers::conflict(const Event &a, const Event &b) {
  if (a.buffer != b.buffer)
    return overlays(a.buffer) || overlays(b.buffer);
  if (!a.stage || !b.stage)
    return true;
  auto c = dyn_cast<AffineConstantExpr>(a.stage), d = dyn_cast<AffineConstantExpr>(b.stage);
  if (c && d)
    return c == d;
  if (a.earlier || b.earlier)
    return true; // the operands have changed
  // Both over one list of operands.
  SmallVector<Value> operands(a.operands);
  SmallVector<AffineExpr> places;
  MLIRContext *context = a.stage.getContext();
  for (Value operand : b.operands) {
    auto found = llvm::find(operands, operand);
    places.push_back(getAffineDimExpr(found - operands.begin(), context));
    if (found == operands.end())
      operands.push_back(operand);
  }
  AffineExpr x = a.stage, y = b.stage.replaceDims(places);
  auto difference = [&](AffineExpr p, AffineExpr q) -> std::optional<int64_t> {
    auto constant = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(p - q, operands.size(), 0));
    return constant ? std::optional(constant.getValue()) : std::nullopt;
  };
  auto modulus = [&](AffineExpr expr) -> std::pair<AffineExpr, int64_t> {
    // Simplification writes (e mod c) as e - (e floordiv c) * c where e is a sum.
    std::pair<AffineExpr, int64_t> written{expr, 0};
    expr.walk([&](AffineExpr part) {
      auto quotient = dyn_cast<AffineBinaryOpExpr>(part);
      if (!quotient || quotient.getKind() != AffineExprKind::FloorDiv || !isa<AffineConstantExpr>(quotient.getRHS()))
        return;
      int64_t divisor = cast<AffineConstantExpr>(quotient.getRHS()).getValue();
      if (difference(expr + part * divisor, quotient.getLHS()) == 0)
        written = {quotient.getLHS(), divisor};
    });
    if (written.second)
      return written;
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary || binary.getKind() != AffineExprKind::Mod || !isa<AffineConstantExpr>(binary.getRHS()))
      return {expr, 0};
    return {binary.getLHS(), cast<AffineConstantExpr>(binary.getRHS()).getValue()};
  };
  auto [p, s] = modulus(x);
  auto [q, t] = modulus(y);
  if (s > 0 && s == t) {
    std::optional<int64_t> apart = difference(p, q);
    return !apart || *apart % s == 0;
  }
  std::optional<int64_t> apart = difference(x, y);
  return !apart || *apart == 0;
}

LogicalResult LaneBarriers::meet(Operation *op, Event event, bool diverges) {
  if (!isScratchpad(event.buffer))
    return success();
  // Copies of one wait write together: what one of them wrote stays open after the barrier before the wait.
  auto isOwn = [&](const Event &other) { return other.op == op && !other.earlier; };
  auto isInBranch = [&](const Event &other) { return branch && other.op && branch->isProperAncestor(other.op); };
  bool meets = false, meetsInBranch = false;
  for (const Event &other : open)
    if (!isOwn(other) && (event.write || other.write) && conflict(event, other)) {
      meets = true;
      meetsInBranch |= isInBranch(other);
    }
  // What stands in a branch that some lanes take, and conflicts with accesses before it alone, needs the barrier before
  // it.
  Operation *place = diverges && branch && !meetsInBranch ? branch : op;
  if (meets && place == op && diverges && !before.contains(op))
    return op->emitOpError() << "needs a barrier, but stands in control flow that the lanes of a block do not share";
  if (meets) {
    before.insert(place);
    llvm::erase_if(open, [&](const Event &other) { return !isOwn(other) && (place == op || !isInBranch(other)); });
  }
  event.op = op;
  add(std::move(event));
  return success();
}

/// Of reads of one stage outside of branches one stands for all: nothing tells them apart.
void LaneBarriers::add(Event event) {
  auto isSame = [&](const Event &other) {
    return !other.write && !other.earlier && other.op && other.buffer == event.buffer && other.stage == event.stage &&
           other.operands == event.operands;
  };
  if (event.write || branch || llvm::none_of(open, isSame))
    open.push_back(std::move(event));
}

LogicalResult LaneBarriers::visit(Block &block, bool diverges) {
  for (Operation &op : block) {
    if (before.contains(&op))
      open.clear();
    LogicalResult result = success();
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      result = meet(&op, eventOf(load.getMemref(), load.getMap(), load.getMapOperands(), load.getElements(), false),
                    diverges);
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      result = meet(&op, eventOf(store.getMemref(), store.getMap(), store.getMapOperands(), store.getElements(), true),
                    diverges);
    } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
      result = meet(&op, eventOf(load.getMemRef(), {}, {}, {}, false), diverges);
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      result = meet(&op, eventOf(store.getMemRef(), {}, {}, {}, true), diverges);
    } else if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      Event event = eventOf(copy.getDestination(), copy.getDestinationMap(), copy.getDestinationOperands(),
                            copy.getDestinationElements(), true);
      if (landsAtWait(copy)) {
        // its write is an event of the wait
      } else if (engine || isDirect(copy)) { // writes from now on, can be read after the wait
        result = meet(&op, event, diverges);
        if (succeeded(result) && isScratchpad(event.buffer))
          open.pop_back();
      } else {
        result = meet(&op, event, diverges);
      }
    } else if (auto wait = dyn_cast<tile::WaitOp>(op)) {
      bool direct = false;
      for (Value token : wait.getTokens()) {
        auto copy = engine ? token.getDefiningOp<tile::CopyOp>() : firstCopy(token);
        direct |= copy && isDirect(copy);
        if (copy && landsAtWait(copy) && succeeded(result))
          result = meet(&op,
                        eventOf(copy.getDestination(), copy.getDestinationMap(), copy.getDestinationOperands(),
                                copy.getDestinationElements(), true),
                        diverges);
        if (!engine || (copy && landsAtWait(copy)))
          continue;
        // Which stage has landed a loop-carried token does not say: any of the buffer that it belongs to.
        SmallVector<Value> chain{token};
        llvm::DenseSet<Value> seen;
        while (!chain.empty()) {
          Value each = chain.pop_back_val();
          if (!seen.insert(each).second)
            continue;
          if (auto made = each.getDefiningOp<tile::CopyOp>()) {
            Event event = eventOf(made.getDestination(), {}, {}, {}, true);
            open.push_back(event);
          } else if (auto argument = dyn_cast<BlockArgument>(each)) {
            if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())) {
              unsigned i = argument.getArgNumber() - 1;
              chain.push_back(loop.getInitArgs()[i]);
              chain.push_back(loop.getBody()->getTerminator()->getOperand(i));
            }
          } else if (auto loop = each.getDefiningOp<scf::ForOp>()) {
            unsigned i = cast<OpResult>(each).getResultNumber();
            chain.push_back(loop.getInitArgs()[i]);
            chain.push_back(loop.getBody()->getTerminator()->getOperand(i));
          }
        }
      }
      if (direct && diverges)
        return op.emitOpError() << "needs a barrier, but stands in control flow that the lanes of a block do not share";
      if (direct) {
        behind.insert(&op);
        open.clear();
      }
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      std::vector<Event> untouched = open; // no iteration
      result = visit(*loop.getBody(), diverges);
      for (Event &event : open)
        event.earlier = true;
      if (succeeded(result))
        result = visit(*loop.getBody(), diverges);
      for (Event &event : open)
        event.earlier = true;
      open.insert(open.end(), untouched.begin(), untouched.end());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      std::vector<Event> start = open, joined;
      bool outermost = !this->branch;
      if (outermost)
        this->branch = branch;
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
        open = before.contains(branch) ? std::vector<Event>() : start;
        if (!region->empty() && succeeded(result))
          result = visit(region->front(), true);
        joined.insert(joined.end(), open.begin(), open.end());
      }
      open = std::move(joined);
      if (outermost)
        this->branch = nullptr;
    } else {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (succeeded(result))
            result = visit(inner, diverges);
    }
    if (failed(result))
      return failure();
  }
  return success();
}

//===-- Ages of tokens ----------------------------------------------------===//

bool LaneBarriers::closesGroup(tile::CopyOp copy) {
  if (isHeld(copy))
    return false;
  for (Operation *op = copy->getNextNode(); op && !isa<tile::WaitOp>(op) && op->getNumRegions() == 0;
       op = op->getNextNode())
    if (auto next = dyn_cast<tile::CopyOp>(op); next && !isHeld(next)) {
      auto own = awaitedAt(copy.getToken());
      return !own.first || awaitedAt(next.getToken()) != own;
    }
  return true;
}

/// Groups that copies of `block` close behind the group of the copy `from` (null: its start) and before `to` (null: its
/// end). Those in inner loops do not count: fewer is safe, it makes a wait wait for more.
static int64_t groupsBetween(Block *block, Operation *from, Operation *to) {
  int64_t count = 0;
  auto closes = [](Operation *op) {
    auto copy = dyn_cast<tile::CopyOp>(op);
    return copy && LaneBarriers::closesGroup(copy);
  };
  while (from && !closes(from))
    from = from->getNextNode();
  for (Operation *op = from ? from->getNextNode() : &block->front(); op && op != to; op = op->getNextNode())
    count += closes(op);
  return count;
}

/// Groups closed after that of the copy that `token` stands for, before `at`, at least.
static int64_t younger(Value token, Operation *at) {
  if (auto copy = token.getDefiningOp<tile::CopyOp>()) {
    Operation *ancestor = copy->getBlock()->findAncestorOpInBlock(*at);
    return ancestor ? groupsBetween(copy->getBlock(), copy, ancestor) : 0;
  }
  auto argument = dyn_cast<BlockArgument>(token);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop)
    return 0;
  Block *body = loop.getBody();
  int64_t here = groupsBetween(body, nullptr, body->findAncestorOpInBlock(*at));
  int64_t step = groupsBetween(body, nullptr, nullptr), least = std::numeric_limits<int64_t>::max();
  unsigned i = argument.getArgNumber() - 1;
  for (int64_t age = 0; age < 64; ++age) {
    least = std::min(least, younger(loop.getInitArgs()[i], loop) + age * step + here);
    Value next = body->getTerminator()->getOperand(i);
    if (auto copy = next.getDefiningOp<tile::CopyOp>(); copy && copy->getBlock() == body)
      return std::min(least, groupsBetween(body, copy, nullptr) + age * step + here);
    auto carried = dyn_cast<BlockArgument>(next);
    if (!carried || carried.getOwner() != body)
      return 0;
    i = carried.getArgNumber() - 1;
  }
  return 0;
}

int64_t LaneBarriers::pendingAt(tile::WaitOp wait) const {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (Value token : wait.getTokens())
    if (auto copy = token.getDefiningOp<tile::CopyOp>(); !copy || !isHeld(copy))
      least = std::min(least, younger(token, wait));
  return least == std::numeric_limits<int64_t>::max() ? 0 : least;
}
