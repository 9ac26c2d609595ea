//===- NameSizes.cpp - Which dynamic sizes are equal ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Groups dimensions of tensors that must be equal for the program to mean
/// anything (one loop of a linalg operation, an element-wise operation, a cast),
/// and writes each public function's dimensions as maps of its distinct sizes;
/// sizes inside that are affine functions of them become equalities.
///
///   linalg.matmul ins(%A : tensor<?x?xf32>, %B : tensor<?x?xf32>) outs(%C : tensor<?x?xf32>)
///     A = (s0, s1), B = (s1, s2), C = (s0, s2)
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Signature.h"
#include "core/Analysis/SizeGroups.h"
#include "core/Transforms/Passes.h"

namespace tilewright {
#define GEN_PASS_DEF_NAMESIZES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using tilewright::Dimension;
using tilewright::SizeGroups;

namespace {

struct NameSizes : tilewright::impl::NameSizesBase<NameSizes> {
  void runOnOperation() override;
};

/// Assigns the sizes of one function and writes its attributes.
class Namer {
public:
  explicit Namer(func::FuncOp function)
      : function(function), context(function.getContext()), builder(context), groups(function) {}

  void run() {
    for (BlockArgument argument : function.getArguments())
      addShape(argument);
    Operation *end = function.front().getTerminator();
    SmallVector<bool> arrays;
    for (Value result : end->getOperands()) {
      addShape(result);
      arrays.push_back(isa<ShapedType>(result.getType()));
    }
    std::vector<AffineMap> maps;
    for (auto &shape : shapes)
      maps.push_back(AffineMap::get(0, leaders.size(), shape, context));
    function->setAttr(tilewright::shapesAttr, builder.getAffineMapArrayAttr(maps));
    function->setAttr(tilewright::arrayResultsAttr, builder.getDenseBoolArrayAttr(arrays));
    for (auto [size, symbol] : results)
      tie(size, symbol, maps);
    for (const tilewright::SizeDemand &demand : groups.demands())
      for (Dimension side : {demand.a, demand.b})
        if (auto known = llvm::find(leaders, groups.find(side));
            known != leaders.end() && seen.insert(groups.findDefined(side)).second && !groups.constantDefined(side))
          tie(side, known - leaders.begin(), maps);
    for (auto [index, leader] : llvm::enumerate(leaders))
      if (std::optional<int64_t> constant = groups.constantOf(leader))
        equalities.push_back(getAffineSymbolExpr(index, context) - *constant);
    if (!equalities.empty())
      function->setAttr(tilewright::constraintsAttr,
                        IntegerSetAttr::get(IntegerSet::get(0, leaders.size(), equalities,
                                                            SmallVector<bool>(equalities.size(), true))));
  }

private:
  void addShape(Value value) {
    SmallVector<AffineExpr> &shape = shapes.emplace_back();
    auto type = dyn_cast<ShapedType>(value.getType());
    if (!type || !type.hasRank())
      return;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d)) {
        shape.push_back(getAffineConstantExpr(type.getDimSize(d), context));
        continue;
      }
      Dimension leader = groups.find({value, d});
      auto known = llvm::find(leaders, leader);
      unsigned symbol = known - leaders.begin();
      if (known == leaders.end()) {
        leaders.push_back(leader);
        if (!isa<BlockArgument>(value))
          results.push_back({{value, d}, symbol});
      }
      shape.push_back(getAffineSymbolExpr(symbol, context));
    }
  }

  /// A size of a result, or inside, that is an affine function of the arguments' sizes becomes an equality.
  void tie(Dimension size, unsigned symbol, ArrayRef<AffineMap> maps) {
    ValueBoundsConstraintSet::Variable variable = size.second < 0
                                                      ? ValueBoundsConstraintSet::Variable(size.first)
                                                      : ValueBoundsConstraintSet::Variable(size.first, size.second);
    std::optional<AffineExpr> expr = tilewright::sizeOfArguments(variable, function, maps);
    if (!expr)
      return;
    AffineExpr zero = getAffineSymbolExpr(symbol, context) - *expr;
    if (simplifyAffineExpr(zero, 0, leaders.size()) != 0 && !llvm::is_contained(equalities, zero))
      equalities.push_back(zero);
  }

  struct ResultSize {
    Dimension size;
    unsigned symbol;
  };
  func::FuncOp function;
  MLIRContext *context;
  Builder builder;
  SizeGroups groups;
  SmallVector<Dimension> leaders; // one a symbol
  SmallVector<SmallVector<AffineExpr>> shapes;
  SmallVector<ResultSize> results;
  DenseSet<Dimension> seen; // groups of definitions
  SmallVector<AffineExpr> equalities;
};

} // namespace

void NameSizes::runOnOperation() {
  for (func::FuncOp function : tilewright::publicFunctions(getOperation()))
    if (function.getBody().hasOneBlock())
      Namer(function).run();
}
