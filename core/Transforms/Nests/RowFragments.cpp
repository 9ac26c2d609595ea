//===- RowFragments.cpp - Rows in the registers of a subgroup -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Their types, and the ops that combine them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Nests/RowFragments.h"
#include "core/Transforms/Utils/NestBody.h"

using namespace mlir;
using namespace tilewright;

Layout RowFragments::layout(int64_t elements, int64_t vector) const {
  Layout layout;
  for (int64_t lane = 1; lane < lanes; lane *= 2)
    layout.lanes.push_back({0, lane * vector});
  for (int64_t each = 1; each < elements; each *= 2)
    layout.elements.push_back({0, each < vector ? each : each * lanes});
  return layout;
}

tile::FragmentType RowFragments::row(Type element, int64_t elements, int64_t vector) const {
  return tile::FragmentType::get(1, lanes * elements, element, layout(elements, vector));
}

tile::FragmentType RowFragments::one(Type element) const {
  Layout layout;
  layout.lanes.assign(llvm::Log2_64(lanes), Position());
  return tile::FragmentType::get(1, 1, element, layout);
}

Value RowFragments::reduced(OpBuilder &builder, Location loc, const RowSum &sum, Value fragment) const {
  return tile::ReduceOp::create(builder, loc, one(sum.type()), fragment, 1,
                                [&](OpBuilder &inside, Location loc, ValueRange pair) {
                                  tile::YieldOp::create(inside, loc, combined(inside, sum, pair[0], pair[1]));
                                });
}

Value tilewright::combined(OpBuilder &builder, const RowSum &sum, Value a, Value b) {
  return cloneOf(builder, sum.combine, {a, b});
}
