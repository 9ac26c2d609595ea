//===- BfloatBits.cpp - bf16 values as their bits -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// On a chip without bf16 instructions LLVM keeps bf16 values in f32 registers
/// and narrows them again wherever they are moved by other means than a plain
/// load or store (masked accesses, selects, branches), by calls of a function that
/// the system's libraries lack. Integers of 16 bits move as they are everywhere.
///
///   %v = llvm.intr.masked.load ... -> vector<16xbf16>        -> vector<16xi16>
///   %s = llvm.select %m, %nan, %v : ..., vector<16xbf16>     -> vector<16xi16>
///   %r = llvm.call @tilewright.unit.x(%v, ...)               %b = llvm.bitcast %v; llvm.call @...(%b, ...)
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Math/BfloatBits.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace {

/// Which types hold bf16. A walk of a type takes far longer than looking up what the last one found.
class BfloatTypes {
public:
  bool holds(Type type) {
    auto [found, isNew] = known.try_emplace(type);
    if (isNew)
      found->second = type.walk([](BFloat16Type) { return WalkResult::interrupt(); }).wasInterrupted();
    return found->second;
  }

  /// Whether a value, a function, a global or an address is of such a type.
  bool isIn(ModuleOp module) {
    auto hold = [&](auto types) { return llvm::any_of(types, [&](Type type) { return holds(type); }); };
    return module
        .walk([&](Operation *op) {
          Type named;
          if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
            named = function.getFunctionType();
          else if (auto global = dyn_cast<LLVM::GlobalOp>(op))
            named = global.getGlobalType();
          else if (auto alloca = dyn_cast<LLVM::AllocaOp>(op))
            named = alloca.getElemType();
          else if (auto address = dyn_cast<LLVM::GEPOp>(op))
            named = address.getElemType();
          bool found = (named && holds(named)) || hold(op->getResultTypes());
          for (Region &region : op->getRegions())
            for (Block &block : region)
              found |= hold(block.getArgumentTypes());
          return found ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

private:
  llvm::DenseMap<Type, bool> known;
};

/// Whether the operation moves its operands without looking at their values, so that integers of the same width may
/// stand for them.
bool moves(Operation *op) {
  if (auto call = dyn_cast<LLVM::CallOp>(op)) {
    // Bodies in this module change their types with their callers; those of others do not.
    auto callee = call.getCalleeAttr();
    auto function = callee ? SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(op, callee) : LLVM::LLVMFuncOp();
    return function && !function.isExternal();
  }
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
    return !function.isExternal();
  return op->getNumRegions() > 0 ||
         isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::MaskedLoadOp, LLVM::MaskedStoreOp, LLVM::masked_gather,
             LLVM::masked_scatter, LLVM::masked_expandload, LLVM::masked_compressstore, LLVM::SelectOp, LLVM::BitcastOp,
             LLVM::FreezeOp, LLVM::ExtractElementOp, LLVM::InsertElementOp, LLVM::ShuffleVectorOp, LLVM::ExtractValueOp,
             LLVM::InsertValueOp, LLVM::vector_extract, LLVM::vector_insert, LLVM::vector_interleave2,
             LLVM::vector_deinterleave2, LLVM::ConstantOp, LLVM::UndefOp, LLVM::PoisonOp, LLVM::ZeroOp, LLVM::GEPOp,
             LLVM::AllocaOp, LLVM::BrOp, LLVM::CondBrOp, LLVM::SwitchOp, LLVM::ReturnOp>(op);
}

/// Replaces bf16 by i16 in types and in constants.
AttrTypeReplacer makeReplacer(MLIRContext *context) {
  Type bits = IntegerType::get(context, 16);
  AttrTypeReplacer replacer;
  replacer.addReplacement([bits](BFloat16Type) { return bits; });
  replacer.addReplacement([bits](FloatAttr value) -> std::optional<std::pair<Attribute, WalkResult>> {
    if (!value.getType().isBF16())
      return std::nullopt;
    return std::pair<Attribute, WalkResult>(IntegerAttr::get(bits, value.getValue().bitcastToAPInt()),
                                            WalkResult::skip());
  });
  replacer.addReplacement([bits](DenseElementsAttr values) -> std::optional<std::pair<Attribute, WalkResult>> {
    if (!values.getElementType().isBF16())
      return std::nullopt;
    return std::pair<Attribute, WalkResult>(values.bitcast(bits), WalkResult::skip());
  });
  return replacer;
}

} // namespace

void tilewright::moveBfloatsAsBits(ModuleOp module) {
  BfloatTypes types;
  if (!types.isIn(module))
    return;
  auto holdsBfloat = [&](Type type) { return types.holds(type); };
  SmallVector<Operation *> moving, computing;
  module.walk([&](Operation *op) {
    if (moves(op))
      moving.push_back(op);
    else if (llvm::any_of(
                 llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())),
                 holdsBfloat))
      computing.push_back(op);
  });

  OpBuilder builder(module.getContext());
  for (Operation *op : computing) {
    // Casts of bf16 to itself first; those behind results then become casts to i16 with all that moves, those before
    // operands stay as they are and so become casts from i16.
    builder.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands())
      if (Type type = operand.get().getType(); holdsBfloat(type))
        operand.set(LLVM::BitcastOp::create(builder, op->getLoc(), type, operand.get()));
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults())
      if (holdsBfloat(result.getType())) {
        auto cast = LLVM::BitcastOp::create(builder, op->getLoc(), result.getType(), result);
        result.replaceAllUsesExcept(cast, cast);
        moving.push_back(cast);
      }
  }
  AttrTypeReplacer replacer = makeReplacer(module.getContext());
  for (Operation *op : moving)
    replacer.replaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
}
