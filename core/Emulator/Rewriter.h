//===- Rewriter.h - Kernels become functions of the host --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Turns the functions of a kernel module into functions of the host, in place:
///
///   llvm.func @k(%a: !llvm.ptr<1>) attributes {x.kernel} {     llvm.func @k(%lane: !llvm.ptr, %a: !llvm.ptr<1>) {
///     %i = x.lane : i32                                          %i = llvm.load %lane[fact]
///     %v = llvm.load %p : !llvm.ptr<1> -> f32              ->    %q = llvm.call @tw_emulator_access(%lane, %site, %p)
///     x.barrier                                                  %v = llvm.load %q
///   }                                                            llvm.call @tw_emulator_barrier(%lane, %site, ...)
///
/// and makes an entry `k.emulated(%lane, %arguments)` for each kernel: a function
/// with an attribute whose name ends in "kernel".
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_REWRITER_H
#define TILEWRIGHT_CORE_EMULATOR_REWRITER_H

#include "core/Emulator/Kernels.h"
#include "core/Machine/ExternalCall.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tilewright {

/// Suffix of the entry that the machine calls.
inline constexpr llvm::StringLiteral kernelEntrySuffix = ".emulated";
/// Prefix of the functions of the runtime that rewritten kernels call (Symbols.cpp).
inline constexpr llvm::StringLiteral runtimePrefix = "tw_emulator_";
/// On loads and stores of the emulation itself, which are not accesses of the kernel.
inline constexpr llvm::StringLiteral internalAccess = "tilewright.internal";

/// What rules share while a module is rewritten.
class EmulationBuilder::Impl {
public:
  Impl(mlir::ModuleOp module, EmulatedKernels::Impl &kernels) : module(module), kernels(kernels) {}
  mlir::ModuleOp module;
  EmulatedKernels::Impl &kernels;

  /// A new site for what `op` does; returns its number.
  uint32_t site(mlir::Operation *op, AccessKind kind = AccessKind::Read, Space space = Space::Generic,
                uint32_t bytes = 0, uint32_t align = 1, bool asynchronous = false);
  /// Narrows the granules of shadow memory to accesses of `bytes` aligned to `align`, and widens its lines to such
  /// accesses, or to those of `whole` bytes, which many of them are.
  void narrow(Space space, uint64_t bytes, uint64_t align, uint64_t whole = 0);
  /// The external function `name`, declared with the types of `operands` at its first use.
  mlir::Value call(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name, mlir::Type result,
                   mlir::ValueRange operands);
  /// The number of a unit, which is made known to the runtime; -1 if the chip has none of that name.
  int unit(llvm::StringRef record);
  mlir::Value lane(mlir::Operation *op);

private:
  llvm::StringMap<int> unitNumbers;
};

/// The space that the type of `pointer` says.
Space spaceOf(const EmulationTable &table, mlir::Value pointer);

class KernelRewriter {
public:
  KernelRewriter(mlir::ModuleOp module, EmulatedKernels::Impl &kernels)
      : module(module), kernels(kernels), shared(module, kernels) {}
  mlir::LogicalResult run();

private:
  mlir::LogicalResult placeGlobals();
  void countInstructions(mlir::LLVM::LLVMFuncOp function);
  mlir::LogicalResult takeLane(mlir::LLVM::LLVMFuncOp function);
  mlir::LogicalResult rewriteOp(mlir::Operation *op);
  mlir::LogicalResult rewriteCall(mlir::LLVM::CallOp call);
  mlir::LogicalResult applyRule(mlir::Operation *op, llvm::StringRef name);
  mlir::LogicalResult checkAccess(mlir::Operation *op);
  void checkMasked(mlir::OpOperand &address, mlir::Value mask, mlir::Type type, AccessKind kind, uint64_t align);
  mlir::LogicalResult rewriteVectorOp(mlir::LLVM::CallOp call, llvm::StringRef name);
  void makeEntry(mlir::LLVM::LLVMFuncOp function);
  void countBlocks(mlir::LLVM::LLVMFuncOp function);

  mlir::ModuleOp module;
  EmulatedKernels::Impl &kernels;
  EmulationBuilder::Impl shared;
  llvm::StringMap<uint64_t> scratchpadOffsets; // of globals
  llvm::DenseMap<mlir::Block *, uint32_t> blockNumbers;
};

/// A module of kernels as functions of the host, and what the machine has to know of them.
struct RewrittenKernels {
  std::unique_ptr<EmulatedKernels::Impl> impl;
  mlir::OwningOpRef<mlir::ModuleOp> module; // flat; `source` stays as it is
};
/// Rewrites the functions and globals of `source` and of all modules inside it; a diagnostic where an op is unknown.
llvm::FailureOr<RewrittenKernels> rewriteKernels(mlir::ModuleOp source, std::shared_ptr<const TargetDescription> chip,
                                                 const EmulationTable &table);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_REWRITER_H
