//===- ErrorWriter.h - Bounds beside values ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What bound-errors writes: for each operation of the reference the arithmetic of its bound. Values keep their
/// identity where they can; those that are made anew are remembered with what they stand for, since ErrorFlow knows
/// the program as it was.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_ERRORWRITER_H
#define TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_ERRORWRITER_H

#include "core/Transforms/Bufferize/ErrorFlow.h"
#include "core/Transforms/Bufferize/ErrorRules.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tilewright {

/// Whether scalars of `type` become f64.
bool isNarrowFloat(mlir::Type type);
llvm::SmallVector<mlir::Value> extentsOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array);
/// All elements of an array of these extents, one loop a dimension; a loop of one iteration holds an array of rank 0.
/// `body` writes with the same builder, which stands in the innermost loop meanwhile.
void forAllElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange extents,
                    llvm::function_ref<void(mlir::ValueRange)> body);

/// Writes the bounds beside the values of a module.
class ErrorWriter {
public:
  ErrorWriter(mlir::ModuleOp module, double operandSpacing)
      : module(module), flow(module), builder(module.getContext()), rules(builder, operandSpacing),
        wide(builder.getF64Type()) {
    module.walk([&](mlir::Operation *op) {
      for (mlir::Value result : op->getResults())
        note(result);
      for (mlir::Region &region : op->getRegions())
        for (mlir::Block &block : region)
          for (mlir::Value argument : block.getArguments())
            note(argument);
    });
  }

  mlir::LogicalResult run();

private:
  /// What the program computes or stores `value` in.
  void note(mlir::Value value) {
    mlir::Type type = value.getType();
    if (auto array = mlir::dyn_cast<mlir::MemRefType>(type))
      type = array.getElementType();
    if (auto floating = mlir::dyn_cast<mlir::FloatType>(type))
      types[value] = floating;
  }
  mlir::FloatType typeOf(mlir::Value value) {
    mlir::FloatType type = types.lookup(value);
    return type ? type : mlir::cast<mlir::FloatType>(builder.getF64Type());
  }
  bool carries(mlir::Value value) { return flow.carries(origin(value)); }
  /// The value of the program that `value` took the place of.
  mlir::Value origin(mlir::Value value) {
    auto at = origins.find(value);
    return at == origins.end() ? value : at->second;
  }
  /// The number of companions that a carrying value has where it is handed on.
  unsigned companions(mlir::Value value) { return !carries(value) ? 0 : flow.sums(origin(value)) ? 4 : 2; }
  /// The same where no sum goes on growing: scalars are handed on finished.
  unsigned finishedCompanions(mlir::Value value) {
    unsigned count = companions(value);
    return mlir::isa<mlir::BaseMemRefType>(value.getType()) ? count : std::min(count, 2u);
  }
  mlir::Type companionType(mlir::Type type) {
    auto array = mlir::dyn_cast<mlir::MemRefType>(type);
    return array ? mlir::Type(mlir::MemRefType::get(array.getShape(), wide, array.getLayout(), array.getMemorySpace()))
                 : wide;
  }
  static Twin twinOf(mlir::ValueRange values) {
    Twin twin{values[0], values[1], {}, {}};
    if (values.size() == 4)
      twin.magnitude = values[2], twin.count = values[3];
    return twin;
  }
  static llvm::SmallVector<mlir::Value> valuesOf(Twin twin) {
    if (twin.isExact())
      return {};
    if (twin.isSum())
      return {twin.bound, twin.spread, twin.magnitude, twin.count};
    return {twin.bound, twin.spread};
  }
  Twin finished(mlir::Value value) { return rules.finished(value, twins.lookup(value), typeOf(value)); }
  /// The companions of `value` in the form that `target`, which takes its place, has.
  llvm::SmallVector<mlir::Value> handed(mlir::Value value, unsigned count) {
    if (count == 0)
      return {};
    if (mlir::isa<mlir::BaseMemRefType>(value.getType()))
      return valuesOf(twins.lookup(value));
    Twin twin = count == 4 ? rules.growing(value, twins.lookup(value)) : finished(value);
    if (twin.isExact())
      return {rules.number(0), rules.number(0)};
    return valuesOf(twin);
  }

  mlir::Value widen(mlir::Value value);
  void widenInPlace(mlir::Value value);
  mlir::LogicalResult visitBlock(mlir::Block &block);
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitAccess(mlir::Operation *op, const ArrayAccess &access);
  mlir::LogicalResult visitArithmetic(mlir::Operation *op);
  mlir::LogicalResult visitTruncation(mlir::arith::TruncFOp op);
  mlir::LogicalResult visitBitcast(mlir::arith::BitcastOp op);
  mlir::LogicalResult visitLoop(mlir::LoopLikeOpInterface loop);
  mlir::LogicalResult visitWhile(mlir::scf::WhileOp loop);
  mlir::LogicalResult visitBranch(mlir::Operation *op);
  void visitGlobal(mlir::memref::GetGlobalOp op);
  void visitAllocation(mlir::Operation *op);
  void visitArrayChoice(mlir::arith::SelectOp op);
  void visitCall(mlir::func::CallOp op);
  void suspect(mlir::Value value);
  mlir::Operation *rebuild(mlir::Operation *op, mlir::ValueRange operands, mlir::TypeRange results);
  void replace(mlir::Operation *op, mlir::Operation *with);
  void prepare(mlir::func::FuncOp function);
  mlir::LogicalResult finish(mlir::func::FuncOp function);
  void nameShapes(mlir::func::FuncOp function, llvm::ArrayRef<int32_t> bounds);

  mlir::ModuleOp module;
  ErrorFlow flow;
  mlir::OpBuilder builder;
  ErrorRules rules;
  mlir::Type wide;
  llvm::DenseMap<mlir::Value, Twin> twins;
  llvm::DenseMap<mlir::Value, mlir::FloatType> types;
  llvm::DenseMap<mlir::Value, mlir::Value> origins;
  mlir::memref::GlobalOp unsure;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int32_t>> boundsOf; // by argument of a public function
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_ERRORWRITER_H
