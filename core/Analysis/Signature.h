//===- Signature.h - What a caller passes to a program ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interface of one public function in terms of sizes, inputs and outputs,
/// read from the function after stage 2 (arrays are memrefs, results
/// out-parameters) and the attributes that `name-sizes` left at stage 1:
///
///   func.func @f(tensor<?x?xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
///     tilewright.shapes = [()[s0, s1] -> (s0, s1), ()[s0, s1] -> (s1, 4), ()[s0, s1] -> (s0, 4)]
///   int f(int64_t n0, int64_t n1, const float *in0, const float *in1, float *out0);
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_SIGNATURE_H
#define TILEWRIGHT_CORE_ANALYSIS_SIGNATURE_H

#include "core/Analysis/ElementType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IntegerSet.h"

namespace tilewright {

/// Attribute names of a public function.
inline constexpr const char *shapesAttr = "tilewright.shapes";           // array of affine maps ()[sizes] -> (dims)
inline constexpr const char *constraintsAttr = "tilewright.constraints"; // integer set ()[sizes]: else sizes disagree
inline constexpr const char *roundingsAttr = "tilewright.roundings"; // sum of products of maps ()[sizes] -> (factors)
inline constexpr const char *arrayResultsAttr = "tilewright.array_results"; // bool a result: array (else scalar)
inline constexpr const char *workspaceAttr = "tilewright.workspace";        // function that computes the arena's bytes
inline constexpr const char *writtenAttr = "tilewright.written";            // bool an argument, once the body is gone
inline constexpr const char *boundsAttr = "tilewright.bounds";              // by argument, the one of its bounds
inline constexpr const char *bodyAttr = "tilewright.body";                  // private body of a public function

/// In a product of `roundingsAttr`: the longest extent of all arguments.
inline constexpr int64_t unknownExtent = -1;

/// One array or scalar of a signature. Scalars are arrays of rank 0: all are passed by pointer.
struct SignatureArgument {
  mlir::Type elementType;
  mlir::AffineMap shape; // ()[sizes] -> (dims)
  bool isScalar = false; // a scalar in the function, by pointer in C
  bool isWritten = false;
  bool isResult = false; // a result of the program (a function on memrefs has none)
  bool isBound = false;  // what a function of its own makes of constant arguments (bind-constants)
  /// Position among the arguments of the function, or among its results for a scalar result.
  unsigned position = 0;
};

struct Signature {
  std::string name;
  unsigned numSizes = 0;
  std::vector<SignatureArgument> arguments; // in the order of C
  mlir::IntegerSet constraints;             // over the sizes; null = none
  std::vector<mlir::AffineMap> roundings;   // their products' sum: see `roundingsAt`
  bool isCounted = false;                   // whether `roundings` are known
  /// Of a function that fills the bound argument of another one: the name of that, and which of its arguments the
  /// inputs of this one are; that one reads none of `bindReleases` itself.
  std::string binds;
  std::vector<int64_t> bindInputs, bindReleases;

  /// The signature of a public function whose arrays are memrefs; an error at the function names what has no
  /// counterpart in C (unranked or strided arrays, other types).
  static mlir::FailureOr<Signature> of(mlir::func::FuncOp function);
  /// Whether neither the inputs' shapes nor an equality determine size `size`: the program makes it of its data.
  bool followsFromData(unsigned size) const;
  /// At most so many floating-point operations has an element of a result passed through one after the other (the pass
  /// `count-roundings`); where nobody counted, the longest extent of all arguments.
  double roundingsAt(llvm::ArrayRef<int64_t> sizes) const;
  /// The dimensions of an argument for given sizes.
  static std::vector<int64_t> evaluate(mlir::AffineMap shape, llvm::ArrayRef<int64_t> sizes);
};

/// The public functions with a body, in order.
llvm::SmallVector<mlir::func::FuncOp> publicFunctions(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_SIGNATURE_H
