//===- SignatureManifest.cpp - A signature as data ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arguments, constraints and roundings over the sizes.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/SignatureManifest.h"
#include "core/Analysis/ElementType.h"
#include "core/Transforms/Host/HostExpressions.h"

using namespace mlir;
using namespace tilewright;
using Json = llvm::json::Value;
using llvm::json::Array;
using llvm::json::Object;

static Array argumentsOf(const Signature &signature) {
  Array list;
  for (const SignatureArgument &argument : signature.arguments) {
    std::string type;
    llvm::raw_string_ostream(type) << argument.elementType;
    Array shape;
    for (AffineExpr extent : argument.shape.getResults())
      shape.push_back(HostExpressions::ofSizes(extent));
    Object facts{{"type", type},
                 {"bytes", elementBytes(argument.elementType)},
                 {"shape", std::move(shape)},
                 {"written", argument.isWritten},
                 {"result", argument.isResult}};
    if (argument.isBound)
      facts["bound"] = true;
    list.push_back(std::move(facts));
  }
  return list;
}

/// `Signature::roundingsAt` as an expression of the manifest; null where nobody counted.
static Json roundingsOf(const Signature &signature) {
  if (!signature.isCounted)
    return nullptr;
  Json longest = 1;
  for (const SignatureArgument &argument : signature.arguments)
    for (AffineExpr extent : argument.isBound ? ArrayRef<AffineExpr>() : argument.shape.getResults()) {
      Json next = HostExpressions::ofSizes(extent);
      std::optional<int64_t> x = longest.getAsInteger(), y = next.getAsInteger();
      longest = x && y ? Json(std::max(*x, *y)) : Json(Array{"max", std::move(longest), std::move(next)});
    }
  Json sum = 0;
  for (AffineMap map : signature.roundings) {
    Json product = 1;
    for (AffineExpr factor : map.getResults()) {
      Json next =
          factor == getAffineConstantExpr(unknownExtent, map.getContext()) ? longest : HostExpressions::ofSizes(factor);
      product = hostBinary("*", std::move(product), std::move(next));
    }
    sum = hostBinary("+", std::move(sum), std::move(product));
  }
  return sum;
}

llvm::json::Object tilewright::signatureManifest(const Signature &signature, StringRef target) {
  Array constraints, made;
  if (IntegerSet set = signature.constraints)
    for (unsigned i = 0; i < set.getNumConstraints(); ++i)
      constraints.push_back(
          Object{{set.isEq(i) ? "zero" : "nonnegative", HostExpressions::ofSizes(set.getConstraint(i))}});
  for (unsigned i = 0; i < signature.numSizes; ++i)
    if (signature.followsFromData(i))
      made.push_back(int64_t(i));
  Object manifest{{"format", 2},
                  {"entry", signature.name},
                  {"target", target.str()},
                  {"sizes", int64_t(signature.numSizes)},
                  {"variables", 0},
                  {"buffers", int64_t(signature.arguments.size())},
                  {"arguments", argumentsOf(signature)},
                  {"constants", Array()},
                  {"temporaries", Array()},
                  {"constraints", std::move(constraints)},
                  {"steps", Array()}};
  if (!made.empty())
    manifest["made"] = std::move(made);
  if (Json roundings = roundingsOf(signature); roundings != nullptr)
    manifest["roundings"] = std::move(roundings);
  return manifest;
}
