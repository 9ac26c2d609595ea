//===- ShareSizes.cpp - One value for sizes that are equal ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `name-sizes` found out about a public function's arguments, brought to
/// the kernels that it calls: sizes that every call makes equal get the same
/// value, so that passes see that loops over them run equally often.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/SymbolUsers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/SymbolTable.h"

namespace tilewright {
#define GEN_PASS_DEF_SHARESIZES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

/// What a caller calls a size: an expression over its own sizes, else a value. Equal names are equal sizes.
using Name = std::pair<AffineExpr, Value>;

/// The names of one caller. Its shapes are in `shapesAttr`, where it is public.
class Caller {
public:
  explicit Caller(func::FuncOp function) : shapes(function->getAttrOfType<ArrayAttr>(shapesAttr)) {
    auto constraints = function->getAttrOfType<IntegerSetAttr>(constraintsAttr);
    if (!constraints)
      return;
    // Sizes that the check at the beginning of the call makes constants.
    IntegerSet set = constraints.getValue();
    for (auto [index, equality] : llvm::enumerate(set.getConstraints()))
      for (unsigned symbol = 0; set.isEq(index) && symbol < set.getNumSymbols(); ++symbol) {
        AffineExpr self = getAffineSymbolExpr(symbol, set.getContext());
        AffineExpr value = simplifyAffineExpr(self - equality, 0, set.getNumSymbols());
        if (isa<AffineConstantExpr>(value))
          constants.try_emplace(self, value);
      }
  }

  Name nameOf(Value size) const {
    if (auto dim = size.getDefiningOp<memref::DimOp>())
      if (std::optional<int64_t> index = dim.getConstantIndex())
        if (Name name = nameOf(dim.getSource(), *index); name != Name())
          return name;
    if (std::optional<int64_t> constant = getConstantIntValue(size))
      return {getAffineConstantExpr(*constant, size.getContext()), Value()};
    if (auto product = size.getDefiningOp<arith::MulIOp>())
      if (Name name = productOf({nameOf(product.getLhs()), nameOf(product.getRhs())}); name != Name())
        return name;
    return {AffineExpr(), size};
  }

  /// Dimension `dim` of `array`; none if nothing is known about it.
  Name nameOf(Value array, int64_t dim) const {
    auto type = dyn_cast<MemRefType>(array.getType());
    if (!type || dim < 0 || dim >= type.getRank())
      return {};
    if (!type.isDynamicDim(dim))
      return {getAffineConstantExpr(type.getDimSize(dim), array.getContext()), Value()};
    if (auto alloc = array.getDefiningOp<memref::AllocOp>())
      return nameOf(alloc.getDynamicSizes()[type.getDynamicDimIndex(dim)]);
    if (auto view = array.getDefiningOp<memref::ExpandShapeOp>())
      return nameOf(cast<Value>(view.getMixedOutputShape()[dim]));
    if (auto view = array.getDefiningOp<memref::CollapseShapeOp>()) {
      SmallVector<Name> factors;
      const SmallVector<ReassociationIndices, 4> groups = view.getReassociationIndices(); // outlives the loop
      for (int64_t of : groups[dim])
        factors.push_back(nameOf(view.getSrc(), of));
      return productOf(std::move(factors));
    }
    auto argument = dyn_cast<BlockArgument>(array);
    if (!argument || !shapes || !isa<func::FuncOp>(argument.getOwner()->getParentOp()) ||
        argument.getArgNumber() >= shapes.size())
      return {};
    AffineMap shape = cast<AffineMapAttr>(shapes[argument.getArgNumber()]).getValue();
    if (dim >= int64_t(shape.getNumResults()))
      return {};
    AffineExpr name = shape.getResult(dim);
    if (auto constant = constants.find(name); constant != constants.end())
      name = constant->second;
    return {name, Value()};
  }

private:
  /// The product of sizes whose names are expressions; of one size, its own name.
  static Name productOf(SmallVector<Name> factors) {
    if (factors.size() == 1)
      return factors.front();
    SmallVector<AffineExpr> all;
    int64_t number = 1;
    for (auto [name, value] : factors) {
      SmallVector<AffineExpr> rest{name};
      while (!rest.empty()) {
        AffineExpr each = rest.pop_back_val();
        if (auto constant = dyn_cast_or_null<AffineConstantExpr>(each)) {
          number *= constant.getValue();
        } else if (each && each.getKind() == AffineExprKind::Mul) {
          rest.push_back(cast<AffineBinaryOpExpr>(each).getLHS());
          rest.push_back(cast<AffineBinaryOpExpr>(each).getRHS());
        } else if (isa_and_nonnull<AffineSymbolExpr>(each)) {
          all.push_back(each);
        } else {
          return {};
        }
      }
    }
    llvm::sort(all, [](AffineExpr a, AffineExpr b) {
      return cast<AffineSymbolExpr>(a).getPosition() < cast<AffineSymbolExpr>(b).getPosition();
    });
    AffineExpr product = getAffineConstantExpr(number, factors.front().first.getContext());
    for (AffineExpr each : all)
      product = product * each;
    return {product, Value()};
  }

  ArrayAttr shapes; // null: none
  llvm::DenseMap<AffineExpr, AffineExpr> constants;
};

/// Gives the sizes of one kernel that are equal in each of its calls one value.
class Sharer {
public:
  Sharer(func::FuncOp kernel, SmallVector<func::CallOp> calls) : kernel(kernel), calls(std::move(calls)) {
    for (func::CallOp call : this->calls)
      callers.emplace_back(call->getParentOfType<func::FuncOp>());
  }

  void run() {
    for (auto dim : llvm::to_vector(kernel.getOps<memref::DimOp>()))
      if (Value size = sizeInView(dim)) {
        dim.replaceAllUsesWith(size);
        dim.erase();
      }
    for (BlockArgument argument : kernel.getArguments())
      if (isa<IndexType>(argument.getType()))
        share(argument, namesOf([&](const Caller &caller, func::CallOp call) {
                return caller.nameOf(call.getOperand(argument.getArgNumber()));
              }));
    // The first of a name stands before the others, which are of the same block.
    for (auto dim : llvm::to_vector(kernel.getOps<memref::DimOp>())) {
      auto argument = dyn_cast<BlockArgument>(dim.getSource());
      std::optional<int64_t> index = dim.getConstantIndex();
      if (!argument || !index)
        continue;
      share(dim.getResult(), namesOf([&](const Caller &caller, func::CallOp call) {
              return caller.nameOf(call.getOperand(argument.getArgNumber()), *index);
            }));
      if (dim->use_empty())
        dim.erase();
    }
  }

private:
  /// The value that gives the dimension of an expanded array its size; null if it is not dynamic, or of another array.
  static Value sizeInView(memref::DimOp dim) {
    auto view = dim.getSource().getDefiningOp<memref::ExpandShapeOp>();
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!view || !index || *index >= view.getResultType().getRank())
      return {};
    return dyn_cast<Value>(view.getMixedOutputShape()[*index]);
  }

  /// A name for each call; empty if one has none.
  SmallVector<Name> namesOf(function_ref<Name(const Caller &, func::CallOp)> nameIn) const {
    SmallVector<Name> names;
    for (auto [caller, call] : llvm::zip(callers, calls)) {
      names.push_back(nameIn(caller, call));
      if (names.back() == Name())
        return {};
    }
    return names;
  }

  /// A constant, if all names are the same one.
  static std::optional<int64_t> constantOf(ArrayRef<Name> names) {
    auto constant = dyn_cast_or_null<AffineConstantExpr>(names.front().first);
    return constant && llvm::all_equal(names) ? std::optional(constant.getValue()) : std::nullopt;
  }

  void share(Value size, const SmallVector<Name> &names) {
    if (names.empty())
      return;
    if (std::optional<int64_t> constant = constantOf(names)) {
      auto builder = OpBuilder::atBlockBegin(&kernel.front());
      size.replaceAllUsesWith(arith::ConstantIndexOp::create(builder, size.getLoc(), *constant));
      return;
    }
    auto known = llvm::find_if(values, [&](const auto &each) { return each.first == names; });
    if (known == values.end())
      values.emplace_back(names, size);
    else if (known->second != size)
      size.replaceAllUsesWith(known->second);
  }

  func::FuncOp kernel;
  SmallVector<func::CallOp> calls;
  SmallVector<Caller> callers;
  SmallVector<std::pair<SmallVector<Name>, Value>> values;
};

struct ShareSizes : tilewright::impl::ShareSizesBase<ShareSizes> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    const SymbolUsers users(module);
    for (auto kernel : module.getOps<func::FuncOp>()) {
      ArrayRef<Operation *> uses = users.getUsers(kernel);
      if (!isKernel(kernel) || uses.empty())
        continue;
      SmallVector<func::CallOp> calls;
      for (Operation *use : uses)
        if (auto call = dyn_cast<func::CallOp>(use); call && call->getParentOfType<func::FuncOp>())
          calls.push_back(call);
      if (calls.size() == uses.size())
        Sharer(kernel, std::move(calls)).run();
    }
  }
};

} // namespace
