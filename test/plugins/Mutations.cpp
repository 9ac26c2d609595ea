//===- Mutations.cpp - All places at which a program can be made wrong ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Places are found in tile programs (after stage 4) and in kernels of the LLVM
/// dialect (after stage 5), in the order of the program.
///
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include <functional>
#include <utility>
#include <vector>

using namespace mlir;

namespace {

struct Site {
  llvm::StringRef kind;
  Operation *op;
  std::function<void()> change;
};

class Sites {
public:
  explicit Sites(Operation *root) {
    root->walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
  }
  std::vector<Site> all;

private:
  void add(llvm::StringRef kind, Operation *op, std::function<void()> change) {
    all.push_back({kind, op, std::move(change)});
  }
  void visit(Operation *op);
  void visitOrder(Operation *op);
  void visitMaps(Operation *op);
  void visitConstant(arith::ConstantOp constant);
};

} // namespace

/// `map` with `by` added to its results, or to the last one alone.
static AffineMap shifted(AffineMap map, int64_t by, bool isLast) {
  SmallVector<AffineExpr> results(map.getResults());
  for (AffineExpr &each : MutableArrayRef(results).drop_front(isLast ? results.size() - 1 : 0))
    each = each + by;
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, map.getContext());
}

/// The extents `map` of `op` with one more element, or null where that lets nothing pass that did not: no element at
/// all, the whole tile already, or rows that all lie at one address.
static AffineMap enlarged(Operation *op, AffineMap map) {
  auto elements = op->getAttrOfType<AffineMapAttr>("elements");
  if (!elements)
    elements = op->getAttrOfType<AffineMapAttr>("sourceElements");
  auto shape = op->getAttrOfType<DenseI64ArrayAttr>("shape");
  SmallVector<AffineExpr> results(map.getResults());
  bool changes = false;
  for (auto [d, each] : llvm::enumerate(results)) {
    auto constant = dyn_cast<AffineConstantExpr>(each);
    if (constant && constant.getValue() < 0)
      return {};
    bool isWhole = constant && (!shape || constant.getValue() >= shape[d]);
    if (isWhole || (elements && !elements.getValue().isFunctionOfDim(d)))
      continue;
    each = each + 1;
    changes = true;
  }
  return changes ? AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, map.getContext()) : AffineMap();
}

/// Erases `op`; registers that it carries go past it.
static void erase(Operation *op) {
  if (op->getNumResults() && !op->getResult(0).use_empty()) {
    OpBuilder builder(op);
    Value result = LLVM::UndefOp::create(builder, op->getLoc(), op->getResult(0).getType());
    if (isa<LLVM::LLVMStructType>(result.getType()))
      for (auto [i, value] : llvm::enumerate(op->getOperands()))
        result = LLVM::InsertValueOp::create(builder, op->getLoc(), result, value, int64_t(i));
    op->getResult(0).replaceAllUsesWith(result);
  }
  op->erase();
}

/// Whether a wait by count orders no access, so that nothing can miss it: LLVM waits by itself before it uses registers
/// that a load gives. LaunchMutationTest.cpp has the same rule.
static bool isHint(Operation *op) {
  auto isNamed = [](Operation *op, llvm::StringRef name) { return op && op->getName().getStringRef() == name; };
  auto field = op->getAttrOfType<IntegerAttr>("bitfield");
  if (!isNamed(op, "rocdl.s.waitcnt") || !field)
    return false;
  constexpr int64_t loads = 0xc00f, scratchpad = 0x0f00; // the bits that count them
  if ((field.getInt() & scratchpad) != scratchpad)
    return isNamed(op->getPrevNode(), "rocdl.sched.barrier") && isNamed(op->getNextNode(), "rocdl.sched.barrier");
  bool copies = false;
  op->getParentOp()->walk([&](Operation *other) { copies |= isNamed(other, "rocdl.raw.ptr.buffer.load.lds"); });
  return (field.getInt() & loads) == loads || !copies;
}

void Sites::visitOrder(Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  auto has = [&](std::initializer_list<llvm::StringRef> parts) {
    return llvm::any_of(parts, [&](llvm::StringRef part) { return name.contains(part); });
  };
  auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
  if (has({"sched"}) || isHint(op))
    return;
  if (has({"fence"}))
    add("fence", op, [op] { erase(op); });
  else if (has({"wait", "commit"}) || (assembly && assembly.getAsmString().contains("wait")))
    add("wait", op, [op] { erase(op); });
  else if (has({"nvvm.barrier", "s.barrier", "gpu.barrier", "cluster.arrive"}))
    add("barrier", op, [op] { erase(op); });
}

void Sites::visitMaps(Operation *op) {
  for (NamedAttribute attribute : llvm::to_vector(op->getAttrs())) {
    auto map = dyn_cast<AffineMapAttr>(attribute.getValue());
    llvm::StringRef name = attribute.getName();
    if (!map || map.getValue().getNumResults() == 0)
      continue;
    bool isScale =
        name == "map" && llvm::any_of(op->getUsers(), [&](Operation *user) {
          auto product = dyn_cast<tilewright::tile::MmaOp>(user);
          return product && llvm::any_of(product.getScales(), [&](Value each) { return each.getDefiningOp() == op; });
        });
    if (isScale) { // its first index is the row or the column
      SmallVector<AffineExpr> results(map.getValue().getResults());
      results.front() = results.front() + 1;
      AffineMap next =
          AffineMap::get(map.getValue().getNumDims(), map.getValue().getNumSymbols(), results, op->getContext());
      add("scale-lane", op, [=] { op->setAttr(name, AffineMapAttr::get(next)); });
    }
    bool isIndex = name == "map" || name == "sourceMap" || name == "destinationMap";
    if (isIndex)
      add("offset", op, [=] { op->setAttr(name, AffineMapAttr::get(shifted(map.getValue(), 1, true))); });
    else if (AffineMap more = name == "validMap" ? enlarged(op, map.getValue()) : AffineMap())
      add("bound", op, [=] { op->setAttr(name, AffineMapAttr::get(more)); });
  }
}

void Sites::visitConstant(arith::ConstantOp constant) {
  auto splat = dyn_cast<DenseElementsAttr>(constant.getValue());
  Attribute attribute = splat && splat.isSplat() ? splat.getSplatValue<Attribute>() : constant.getValue();
  auto number = dyn_cast<FloatAttr>(attribute);
  if (!number || !number.getValue().isFinite() || number.getValueAsDouble() == 1)
    return;
  bool isZero = number.getValueAsDouble() == 0;
  auto other = FloatAttr::get(number.getType(), isZero ? 1.0 : 2 * number.getValueAsDouble());
  add(isZero ? "zero-fill" : "scale", constant, [=]() mutable {
    constant.setValueAttr(splat ? TypedAttr(DenseElementsAttr::get(splat.getType(), Attribute(other))) : other);
  });
}

void Sites::visit(Operation *op) {
  visitOrder(op);
  if (op->getName().getDialectNamespace() == "tile" || op->getName().getDialectNamespace() == "affine")
    if (!isa<affine::AffineForOp, affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp,
             affine::AffinePrefetchOp>(op))
      visitMaps(op);
  OpBuilder builder(op);
  if (auto loop = dyn_cast<affine::AffineForOp>(op)) {
    add("bound", op, [=]() mutable { loop.setUpperBoundMap(shifted(loop.getUpperBoundMap(), 1, false)); });
  } else if (auto loop = dyn_cast<scf::ForOp>(op); loop && loop.getUpperBound().getType().isIndex()) {
    add("bound", op, [=]() mutable {
      Value one = arith::ConstantIndexOp::create(builder, loop.getLoc(), 1);
      loop.getUpperBoundMutable().assign(arith::AddIOp::create(builder, loop.getLoc(), loop.getUpperBound(), one));
    });
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    add("bound", op, [=]() mutable {
      branch.getConditionMutable().assign(arith::ConstantIntOp::create(builder, branch.getLoc(), 1, 1));
    });
  } else if (auto mask = dyn_cast<vector::CreateMaskOp>(op)) {
    add("bound", op, [=]() mutable {
      Value last = mask->getOperands().back(), one = arith::ConstantIndexOp::create(builder, mask.getLoc(), 1);
      mask->setOperand(mask->getNumOperands() - 1, arith::AddIOp::create(builder, mask.getLoc(), last, one));
    });
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    visitConstant(constant);
  } else if (auto bits = dyn_cast<LLVM::XOrOp>(op)) {
    if (APInt number;
        matchPattern(bits.getRhs(), m_ConstantInt(&number)) && !number.isAllOnes() && number.getBitWidth() > 1)
      add("swizzle", op, [=]() mutable {
        bits.replaceAllUsesWith(bits.getLhs());
        bits.erase();
      });
  }
}

void mutate(Operation *root, unsigned number) {
  static size_t before = 0; // places of functions that the pass left before this one
  Sites sites(root);
  size_t first = std::exchange(before, before + sites.all.size());
  if (number < first || number >= before) {
    llvm::errs() << "mutation " << number << " of " << before << ": none\n";
    return;
  }
  Site &site = sites.all[number - first];
  llvm::errs() << "mutation " << number << " of " << before << ": " << site.kind << ": " << site.op->getName()
               << " at ";
  site.op->getLoc().print(llvm::errs());
  llvm::errs() << "\n";
  site.change();
}
