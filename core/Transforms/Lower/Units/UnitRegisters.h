//===- UnitRegisters.h - Register classes and states of units ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fragments in tile or accumulator registers, and the states of their units,
/// between stage 5 and the instructions. Stage 5 makes calls
///
///   @tilewright.register.<class>.zero(number)
///   @tilewright.register.<class>.fill.<element>(number, ptr, stride)    from memory, rows `stride` bytes apart
///   @tilewright.register.<class>.store.<element>(number, ptr, stride)
///   @tilewright.state.<state>.enter() .leave() .check()
///
/// which emit-units replaces by the emissions of the records. `number` is that
/// of a numbered register; registers of other banks are values of the class's
/// type: what `zero` and `fill` give and `store` takes.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_UNITREGISTERS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_UNITREGISTERS_H

#include "core/Machine/ExternalCall.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// The register class of that name among the operands of the chip's units; null if there is none.
const OpaqueRegister *findRegisterClass(const TargetDescription &target, llvm::StringRef name);
/// The state of that name among those of the chip's units; null if there is none.
const State *findState(const TargetDescription &target, llvm::StringRef name);
/// The states of the units that have an operand in registers of class `name`.
llvm::SmallVector<const State *> statesOfRegisters(const TargetDescription &target, llvm::StringRef name);

/// A call of the function `name`, which is declared if the module lacks it.
mlir::func::CallOp callByName(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module, llvm::StringRef name,
                              mlir::ValueRange operands, mlir::TypeRange results);

/// What a fragment in registers becomes in loops: a value of the class's type, or for a numbered register an i32 that
/// nothing depends on. Null with an error at `loc` if the chip has no such class or its type is none.
mlir::Type registerValueType(mlir::Location loc, tile::FragmentType type, const TargetDescription &target);

/// Lowerings of the ops that move such fragments; errors at the op say which access is none that a register can make.
mlir::FailureOr<mlir::Value> lowerRegisterZero(mlir::OpBuilder &builder, tile::ZeroOp op,
                                               const TargetDescription &target, mlir::ModuleOp module);
mlir::FailureOr<mlir::Value> lowerRegisterLoad(mlir::OpBuilder &builder, tile::LoadOp op,
                                               const TargetDescription &target, mlir::ModuleOp module);
mlir::LogicalResult lowerRegisterStore(mlir::OpBuilder &builder, tile::StoreOp op, mlir::Value value,
                                       const TargetDescription &target, mlir::ModuleOp module);

/// A function `() -> i1` that tells whether all checks of the states that the module's units need hold; after the first
/// success it does not check again. Null if no state has a check.
mlir::func::FuncOp makeStateCheck(mlir::ModuleOp module, const TargetDescription &target);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_UNITREGISTERS_H
