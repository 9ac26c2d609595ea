//===- Lowering.cpp - Lanes of NVIDIA GPUs --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operations of a lane in the NVVM dialect.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "targets/nvidia/Chips.h"
#include "tilewright/TargetDescription.h"

using namespace mlir;
using namespace tilewright;

namespace {

class NvidiaLaneOps : public LaneOps {
public:
  /// `copies`: the chip has cp.async.
  explicit NvidiaLaneOps(bool copies) : copies(copies) {}

  Value threadId(OpBuilder &builder, Location loc) const override {
    return NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  }

  Value blockId(OpBuilder &builder, Location loc, unsigned dim) const override {
    if (dim == 0)
      return NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
    if (dim == 1)
      return NVVM::BlockIdYOp::create(builder, loc, builder.getI32Type());
    return NVVM::BlockIdZOp::create(builder, loc, builder.getI32Type());
  }

  void barrier(OpBuilder &builder, Location loc) const override { NVVM::Barrier0Op::create(builder, loc); }

  bool asyncCopy(OpBuilder &builder, Location loc, Value destination, Value source, int64_t bytes,
                 Value valid) const override {
    if (!copies)
      return false;
    // 16 bytes go past L1: each is read by one lane only.
    auto kind = bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
    NVVM::CpAsyncOp::create(builder, loc, destination, source, uint32_t(bytes), kind, valid);
    return true;
  }
  bool countsGroups() const override { return copies; }
  void commitCopies(OpBuilder &builder, Location loc) const override {
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);
  }
  void waitCopies(OpBuilder &builder, Location loc, int64_t pending) const override {
    NVVM::CpAsyncWaitGroupOp::create(builder, loc, uint32_t(pending));
  }

  SmallVector<Value> loadMatrices(OpBuilder &builder, Location loc, Value address, unsigned count,
                                  bool transposed) const override {
    Type word = builder.getI32Type(), type = word;
    if (count > 1)
      type = LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(count, word));
    auto shape = NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8);
    Value loaded = NVVM::LdMatrixOp::create(builder, loc, type, address, uint32_t(count),
                                            transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row, shape,
                                            NVVM::LdStMatrixEltType::B16);
    SmallVector<Value> words;
    for (unsigned i = 0; i < count && count > 1; ++i)
      words.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
    return count > 1 ? words : SmallVector<Value>{loaded};
  }

  Value shuffle(OpBuilder &builder, Location loc, Value value, Value lane) const override {
    auto constant = [&](int64_t number) -> Value {
      return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(number));
    };
    return NVVM::ShflOp::create(builder, loc, value.getType(), constant(-1), value, lane, constant(31),
                                NVVM::ShflKind::idx, UnitAttr());
  }

  /// Dynamic shared memory, whose size the launch gives: static arrays end at 48 KiB.
  Value scratchpad(OpBuilder &builder, Location loc, ModuleOp module, int64_t bytes) const override {
    constexpr StringLiteral name = "tilewright_shared";
    if (!module.lookupSymbol(name)) {
      OpBuilder global = OpBuilder::atBlockBegin(module.getBody());
      auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
      LLVM::GlobalOp::create(global, loc, type, /*isConstant=*/false, LLVM::Linkage::External, name, Attribute(),
                             /*alignment=*/1024, scratchpadSpace);
    }
    return LLVM::AddressOfOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), scratchpadSpace),
                                     name);
  }

  bool dynamicScratchpad() const override { return true; }

  void finishLaunch(LLVM::LLVMFuncOp function, const LaunchShape &shape) const override {
    Builder builder(function.getContext());
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), builder.getDenseI32ArrayAttr({int32_t(shape.threads)}));
  }

private:
  bool copies;
};

} // namespace

std::unique_ptr<LaneOps> nvidia::laneOps(const TargetDescription &chip) {
  bool copies = llvm::any_of(chip.copies(), [](const CopyEngine &engine) { return engine.name == "CpAsync"; });
  return std::make_unique<NvidiaLaneOps>(copies);
}
