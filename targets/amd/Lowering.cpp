//===- Lowering.cpp - Lanes of AMD GPUs ----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operations of a lane in the ROCDL dialect.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "targets/amd/Chips.h"

using namespace mlir;
using namespace tilewright;

namespace {

class AmdLaneOps : public LaneOps {
public:
  Value threadId(OpBuilder &builder, Location loc) const override {
    return ROCDL::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  }

  Value blockId(OpBuilder &builder, Location loc, unsigned dim) const override {
    if (dim == 0)
      return ROCDL::BlockIdXOp::create(builder, loc, builder.getI32Type());
    if (dim == 1)
      return ROCDL::BlockIdYOp::create(builder, loc, builder.getI32Type());
    return ROCDL::BlockIdZOp::create(builder, loc, builder.getI32Type());
  }

  /// Fences of LDS alone: loads from global memory stay under way.
  void barrier(OpBuilder &builder, Location loc) const override {
    Attribute local = LLVM::MMRATagAttr::get(builder.getContext(), "amdgpu-synchronize-as", "local");
    auto fence = [&](LLVM::AtomicOrdering ordering) {
      auto op = LLVM::FenceOp::create(builder, loc, ordering, "workgroup");
      op->setDiscardableAttr(LLVM::LLVMDialect::getMmraAttrName(), local);
    };
    fence(LLVM::AtomicOrdering::release);
    ROCDL::SBarrierOp::create(builder, loc);
    fence(LLVM::AtomicOrdering::acquire);
  }

  Value shuffle(OpBuilder &builder, Location loc, Value value, Value lane) const override {
    Value two = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(2));
    Value address = LLVM::ShlOp::create(builder, loc, lane, two);
    return ROCDL::DsBpermuteOp::create(builder, loc, builder.getI32Type(), address, value);
  }

  Value permuteBytes(OpBuilder &builder, Location loc, Value low, Value high,
                     std::array<unsigned, 4> bytes) const override {
    int64_t selector = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24;
    Type word = builder.getI32Type();
    Value constant = LLVM::ConstantOp::create(builder, loc, word, builder.getI32IntegerAttr(selector));
    return LLVM::CallIntrinsicOp::create(builder, loc, word, builder.getStringAttr("llvm.amdgcn.perm"),
                                         ValueRange{high, low, constant})
        .getResult(0);
  }

  Value scratchpad(OpBuilder &builder, Location loc, ModuleOp module, int64_t bytes) const override {
    std::string name = "tilewright_shared_" + std::to_string(bytes);
    if (!module.lookupSymbol(name)) {
      OpBuilder global = OpBuilder::atBlockBegin(module.getBody());
      auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
      LLVM::GlobalOp::create(global, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
                             LLVM::UndefAttr::get(builder.getContext()), /*alignment=*/1024, scratchpadSpace);
    }
    return LLVM::AddressOfOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), scratchpadSpace),
                                     name);
  }

  void finishLaunch(LLVM::LLVMFuncOp function, const LaunchShape &shape) const override {
    Builder builder(function.getContext());
    std::string size = std::to_string(shape.threads);
    function->setAttr("rocdl.kernel", builder.getUnitAttr());
    function->setAttr("rocdl.reqd_work_group_size", builder.getDenseI32ArrayAttr({int32_t(shape.threads), 1, 1}));
    function->setAttr("rocdl.flat_work_group_size", builder.getStringAttr(size + "," + size));
  }
};

} // namespace

std::unique_ptr<LaneOps> amd::laneOps(const TargetDescription &) { return std::make_unique<AmdLaneOps>(); }
