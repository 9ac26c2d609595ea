//===- ElementType.cpp - MLIR types of element kinds -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where kinds of records become types.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"

using namespace mlir;

namespace tilewright {

Type elementType(ElementKind kind, MLIRContext *context) {
  switch (kind) {
  case ElementKind::F64:
    return Float64Type::get(context);
  case ElementKind::F32:
  case ElementKind::TF32:
    return Float32Type::get(context);
  case ElementKind::F16:
    return Float16Type::get(context);
  case ElementKind::BF16:
    return BFloat16Type::get(context);
  case ElementKind::F8E4M3:
    return Float8E4M3FNType::get(context);
  case ElementKind::F8E5M2:
    return Float8E5M2Type::get(context);
  case ElementKind::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case ElementKind::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case ElementKind::F8E8M0:
    return Float8E8M0FNUType::get(context);
  case ElementKind::F6E2M3:
    return Float6E2M3FNType::get(context);
  case ElementKind::F6E3M2:
    return Float6E3M2FNType::get(context);
  case ElementKind::F4E2M1:
    return Float4E2M1FNType::get(context);
  default:
    return IntegerType::get(context, bitWidth(kind));
  }
}

int64_t elementBytes(Type type) {
  if (type.isIndex())
    return 8;
  // Integers of odd widths lie at distances of a power of two, as LLVM lays them out: i24 in 4 bytes.
  return static_cast<int64_t>(
      llvm::PowerOf2Ceil(std::max<uint64_t>(1, llvm::divideCeil(type.getIntOrFloatBitWidth(), 8))));
}

bool isFloat8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type, Float8E4M3FNUZType, Float8E5M2FNUZType, Float8E8M0FNUType>(type);
}

bool isSubByteFloat(Type type) { return isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(type); }

Type storedType(Type type) { return isSubByteFloat(type) ? IntegerType::get(type.getContext(), 8) : type; }

} // namespace tilewright
