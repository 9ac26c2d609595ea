//===- CheckSupported.cpp - Refuse what no stage compiles ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The first pass of the compiler: one diagnostic, with its location, for a
/// type or an operation that no stage has a meaning for.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright {
#define GEN_PASS_DEF_CHECKSUPPORTED
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

/// What is wrong with `type` and what would be right, or an empty string.
std::string objection(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    if (!shaped.hasRank())
      return "has no rank; give every tensor its rank (dynamic sizes are fine: tensor<?x?xf32>)";
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getEncoding())
      return "has an encoding; sparse and otherwise encoded tensors are not compiled: use a dense tensor";
    if (isa<VectorType>(type))
      return {};
    return objection(shaped.getElementType());
  }
  if (isa<ComplexType>(type))
    return "is complex; use two tensors of floats, one for the real and one for the imaginary parts";
  if (isa<quant::QuantizedType>(type))
    return "is a quantised type; use its storage type (i8, i32) and explicit scales";
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (integer.getWidth() > 64)
      return "is wider than 64 bits; use i64 or narrower";
    return {};
  }
  if (auto real = dyn_cast<FloatType>(type)) {
    if (!real.isF64() && !real.isF32() && !real.isF16() && !real.isBF16() && !tilewright::isFloat8(real) &&
        !tilewright::isSubByteFloat(real))
      return "is a float type that is not compiled; use f64, f32, bf16, f16, or of the short floats f8E4M3FN, f8E5M2, "
             "f8E4M3FNUZ, f8E5M2FNUZ, f8E8M0FNU, f6E2M3FN, f6E3M2FN or f4E2M1FN";
    return {};
  }
  return {};
}

/// What is wrong with `type` as an argument or result of a public function, which the C interface passes as an array.
std::string objectionAtBoundary(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  Type element = shaped ? shaped.getElementType() : type;
  if (isa<VectorType>(type) || !element.isIntOrIndexOrFloat())
    return "is no array of numbers; the C interface passes tensors, memrefs and single values of integers, index and "
           "floats";
  if (auto memref = dyn_cast<MemRefType>(type); memref && (!memref.getLayout().isIdentity() || memref.getMemorySpace()))
    return "has a layout or a memory space; arrays of callers are dense and row-major: take the whole array and "
           "memref.subview of it";
  return {};
}

/// What would be right instead of an operation of TOSA that has no conversion to linalg, tensor, arith or scf; an empty
/// string for one that has.
llvm::StringRef insteadOfTosa(llvm::StringRef name) {
  if (!name.consume_front("tosa."))
    return {};
  if (name == "custom")
    return "it has no meaning here: write out what it computes";
  if (name.starts_with("variable"))
    return "programs keep nothing between calls: make the variable an argument and a result";
  if (name == "dim" || (name.ends_with("_shape") && name != "const_shape"))
    return "shapes of TOSA are constants: use tosa.const_shape, or tensor.dim and tensor.reshape";
  return {};
}

struct CheckSupported : tilewright::impl::CheckSupportedBase<CheckSupported> {
  /// Reports `type` at `loc` if it is refused.
  static LogicalResult check(Type type, Location loc, llvm::StringRef what, bool atBoundary = false) {
    std::string why = objection(type);
    if (why.empty() && atBoundary)
      why = objectionAtBoundary(type);
    if (why.empty())
      return success();
    // The element type is what matters in tensor<4xcomplex<f32>>: name the whole type, explain the part.
    return emitError(loc) << "unsupported type: " << what << " of type " << type << ", which " << why;
  }

  void runOnOperation() override {
    static const llvm::StringSet<> dialects = {"builtin", "func", "linalg", "tensor",        "arith",  "math",
                                               "scf",     "tosa", "affine", "bufferization", "memref", "index",
                                               "ub",      "tile", "cf",     "vector",        "llvm",   "omp"};
    WalkResult result = getOperation().walk<WalkOrder::PreOrder>([](Operation *op) {
      auto bad = [](LogicalResult r) { return failed(r); };
      if (!dialects.contains(op->getName().getDialectNamespace())) {
        op->emitError("unsupported operation: '")
            << op->getName()
            << "'; programs are made of func, linalg, tensor, arith, math, scf and tosa operations, or "
            << "of affine loops on memrefs";
        return WalkResult::interrupt();
      }
      if (isa<vector::PrintOp>(op)) {
        op->emitError("unsupported operation: 'vector.print'; compiled code prints nothing: return the value");
        return WalkResult::interrupt();
      }
      if (llvm::StringRef instead = insteadOfTosa(op->getName().getStringRef()); !instead.empty()) {
        op->emitError("unsupported operation: '") << op->getName() << "'; " << instead;
        return WalkResult::interrupt();
      }
      if (auto function = dyn_cast<func::FuncOp>(op)) {
        for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
          Location loc = function.isExternal() ? function.getLoc() : function.getArgument(index).getLoc();
          if (bad(check(type, loc, "argument " + std::to_string(index) + " of '" + function.getName().str() + "'",
                        function.isPublic())))
            return WalkResult::interrupt();
        }
        for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
          if (bad(check(type, function.getLoc(),
                        "result " + std::to_string(index) + " of '" + function.getName().str() + "'",
                        function.isPublic())))
            return WalkResult::interrupt();
        return WalkResult::advance();
      }
      if (auto call = dyn_cast<func::CallOp>(op)) {
        auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, call.getCalleeAttr());
        if (callee && callee.isExternal()) {
          op->emitError("unsupported operation: '")
              << op->getName() << "' of '" << call.getCallee() << "', which has no body; give it one in this module";
          return WalkResult::interrupt();
        }
      }
      // Upstream calls it undefined; its analyses of sizes take it for a dimension that is there.
      if (auto dim = dyn_cast<ShapedDimOpInterface>(op))
        if (auto type = dyn_cast<ShapedType>(dim.getShapedValue().getType()); type && type.hasRank())
          if (auto index = getConstantIntValue(dim.getDimension()); index && (*index < 0 || *index >= type.getRank())) {
            op->emitError("there is no dimension ") << *index << " of " << type << "; its rank is " << type.getRank();
            return WalkResult::interrupt();
          }
      for (Value value : op->getResults())
        if (bad(check(value.getType(), op->getLoc(), "result of '" + op->getName().getStringRef().str() + "'")))
          return WalkResult::interrupt();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            if (bad(check(argument.getType(), argument.getLoc(), "block argument")))
              return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
