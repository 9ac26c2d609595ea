//===- Lowering.cpp - Lanes of AMD GPUs ----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operations of a lane in the ROCDL dialect that are more than one
/// instruction: the others are records of Chips.td.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "targets/amd/Chips.h"
#include "tilewright/PointerOffset.h"
#include "tilewright/TargetDescription.h"

using namespace mlir;
using namespace tilewright;

namespace {

class AmdLaneOps : public LaneOps {
public:
  explicit AmdLaneOps(const TargetDescription &chip)
      : LaneOps(chip), rdna(chip.levels()[2].count == 32),
        alignment(int64_t(chip.number(Number::LoadAlignment).value_or(16))) {
    for (const CopyEngine &engine : chip.copies()) {
      direct |= engine.name == "LoadToLds";
      columns |= engine.name == "DsReadTr";
    }
  }

  /// Fences of LDS alone: loads from global memory stay under way. LLVM waits for all copies past the registers before
  /// one of a workgroup releases, also for those that shall stay under way; so a chip that has them waits for accesses
  /// to LDS itself, and the fences only keep LLVM from moving accesses.
  void barrier(OpBuilder &builder, Location loc) const override {
    Attribute local = LLVM::MMRATagAttr::get(builder.getContext(), "amdgpu-synchronize-as", "local");
    auto fence = [&](LLVM::AtomicOrdering ordering) {
      auto op = LLVM::FenceOp::create(builder, loc, ordering, direct ? "wavefront" : "workgroup");
      op->setDiscardableAttr(LLVM::LLVMDialect::getMmraAttrName(), local);
    };
    fence(LLVM::AtomicOrdering::release);
    if (direct)
      ROCDL::SWaitcntOp::create(builder, loc, fragmentsArrived);
    ROCDL::SBarrierOp::create(builder, loc);
    fence(LLVM::AtomicOrdering::acquire);
  }

  /// A buffer instruction adds base, scalar and lane's offset itself.
  Value loadPlace(OpBuilder &builder, Location loc, const ArrayPlace &place, int64_t bytes) const override {
    Type type = builder.getIntegerType(unsigned(std::min<int64_t>(bytes, 4)) * 8);
    if (bytes > 4)
      type = VectorType::get(bytes / 4, type);
    return ROCDL::RawPtrBufferLoadOp::create(builder, loc, type, resource(builder, loc, place),
                                             laneOffset(builder, loc, place),
                                             place.uniform ? place.uniform : i32(builder, loc, 0), i32(builder, loc, 0),
                                             ArrayAttr(), ArrayAttr(), ArrayAttr());
  }

  bool zerosBeyond() const override { return true; }
  int64_t placeAlignment() const override { return alignment; }

  /// The offset in the instruction moves both sides, so that copies of neighbouring pieces share M0.
  bool copyPlace(OpBuilder &builder, Location loc, Value destination, int64_t behind, const ArrayPlace &place,
                 int64_t bytes, Value inside) const override {
    constexpr int64_t instructionOffsets = 4096;
    if (!direct)
      return false;
    ArrayPlace moved = place;
    int64_t shared = behind % instructionOffsets;
    if (shared > place.constant)
      shared = 0;
    moved.constant -= shared;
    if (behind != shared)
      destination = elementBehind(builder, loc, destination, builder.getI8Type(), behind - shared);
    Value offset = laneOffset(builder, loc, moved);
    if (inside) // what lies behind the range is zero
      offset = LLVM::SelectOp::create(builder, loc, inside, offset, i32(builder, loc, place.range));
    Value zero = i32(builder, loc, 0);
    ROCDL::RawPtrBufferLoadLdsOp::create(builder, loc, resource(builder, loc, place), destination,
                                         i32(builder, loc, bytes), offset, place.uniform ? place.uniform : zero,
                                         i32(builder, loc, shared), zero, ArrayAttr(), ArrayAttr(), ArrayAttr());
    return true;
  }
  /// Bits 0-3 and 14-15 vmcnt, 4-6 expcnt, 8-11 lgkmcnt; RDNA counts otherwise, there LLVM waits before each use.
  void waitCopies(OpBuilder &builder, Location loc, int64_t pending) const override {
    constexpr int64_t most = 63;     // that the counter tells apart
    constexpr uint32_t products = 8; // may go across, what uses the loads may not
    pending = std::min(pending, most);
    ROCDL::SWaitcntOp::create(builder, loc, 0x0f70 | (pending & 0xf) | (pending >> 4) << 14);
    ROCDL::SchedBarrier::create(builder, loc, products);
  }
  void awaitPlaces(OpBuilder &builder, Location loc) const override {
    if (!rdna)
      waitCopies(builder, loc, 0);
  }
  void awaitFragments(OpBuilder &builder, Location loc) const override {
    if (rdna)
      return;
    ROCDL::SchedBarrier::create(builder, loc, 0);
    ROCDL::SWaitcntOp::create(builder, loc, fragmentsArrived);
    ROCDL::SchedBarrier::create(builder, loc, 0);
  }
  Value loadColumns(OpBuilder &builder, Location loc, Value address, int64_t elementBytes) const override {
    if (!columns)
      return {};
    auto type = VectorType::get(2, builder.getI32Type());
    if (elementBytes == 1)
      return ROCDL::ds_read_tr8_b64::create(builder, loc, type, address, ArrayAttr(), ArrayAttr(), ArrayAttr());
    auto halves = VectorType::get(4, builder.getI16Type());
    Value loaded =
        ROCDL::ds_read_tr16_b64::create(builder, loc, halves, address, ArrayAttr(), ArrayAttr(), ArrayAttr());
    return LLVM::BitcastOp::create(builder, loc, type, loaded);
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

  void finishLaunch(LLVM::LLVMFuncOp function, const LaunchShape &shape) const override {
    Builder builder(function.getContext());
    std::string size = std::to_string(shape.threads);
    function->setAttr("rocdl.kernel", builder.getUnitAttr());
    function->setAttr("rocdl.reqd_work_group_size", builder.getDenseI32ArrayAttr({int32_t(shape.threads), 1, 1}));
    function->setAttr("rocdl.flat_work_group_size", builder.getStringAttr(size + "," + size));
    // Accesses reach 64 KiB behind a register. LLVM would add constants up and keep a register for each sum.
    constexpr int32_t reach = 65536;
    function.walk([&](LLVM::GEPOp op) {
      ArrayRef<int32_t> indices = op.getRawConstantIndices();
      if (!op.getBase().getDefiningOp<LLVM::AddressOfOp>() || indices.size() != 1 || indices[0] < reach)
        return;
      OpBuilder b(function.getContext());
      b.setInsertionPointAfter(op);
      auto held =
          LLVM::InlineAsmOp::create(b, op.getLoc(), op.getType(), op.getResult(), amd::heldBase, "=s,0",
                                    /*has_side_effects=*/false, /*is_align_stack=*/false,
                                    LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
      op.getResult().replaceAllUsesExcept(held.getResult(0), held);
    });
    amd::dropIdleReleases(function, fragmentsArrived);
    tellCopiesApart(function);
    constexpr int64_t simds = 4, lanes = 64; // of one wavefront each, all registers are a lane's
    if (!rdna && shape.threads <= simds * lanes)
      keepSums(function);
  }

private:
  /// Registers beyond 256 are for sums alone. Where those that a loop carries are more than half of that half, they
  /// take it; LLVM else moves them to and fro. So do those of few steps, without a loop. It splits what begins as a
  /// constant into its elements: it shall not know that.
  static void keepSums(LLVM::LLVMFuncOp function) {
    constexpr int64_t half = 256, words = 4;
    auto wordsOf = [](Value value) -> int64_t {
      auto type = dyn_cast<VectorType>(value.getType());
      int64_t count = type && type.getElementTypeBitWidth() >= 32 ? type.getNumElements() : 0;
      count *= count ? type.getElementTypeBitWidth() / 32 : 0;
      return count >= words ? count : 0;
    };
    auto hold = [&](Operation *user, OpOperand &constant) {
      OpBuilder b(user);
      Value value = constant.get();
      auto held =
          LLVM::InlineAsmOp::create(b, user->getLoc(), value.getType(), value, amd::heldBase, "=a,0",
                                    /*has_side_effects=*/false, /*is_align_stack=*/false,
                                    LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
      constant.set(held.getResult(0));
    };
    Builder builder(function.getContext());
    auto allocate = [&] {
      function.setPassthroughAttr(builder.getArrayAttr(builder.getStrArrayAttr({"amdgpu-agpr-alloc", "256"})));
    };
    // A sum of few steps has no loop: its first products begin with constants.
    for (Block &block : function.getBody()) {
      SmallVector<OpOperand *> begins;
      int64_t words = 0;
      for (auto unit : block.getOps<LLVM::CallOp>())
        for (OpOperand &operand : unit->getOpOperands())
          if (unit.getNumResults() && operand.get().getType() == unit.getResult().getType() &&
              matchPattern(operand.get(), m_Constant()) && wordsOf(operand.get())) {
            begins.push_back(&operand);
            words += wordsOf(operand.get());
          }
      if (2 * words <= half)
        continue;
      allocate();
      for (OpOperand *operand : begins)
        hold(operand->getOwner(), *operand);
    }
    for (Block &block : function.getBody()) {
      int64_t carried = 0;
      for (Value argument : block.getArguments())
        carried += wordsOf(argument);
      if (block.hasNoPredecessors() || block.getSinglePredecessor() || 2 * carried <= half)
        continue;
      allocate();
      for (Block *from : block.getPredecessors()) {
        auto branch = cast<BranchOpInterface>(from->getTerminator());
        for (unsigned i = 0; i < branch->getNumSuccessors(); ++i) {
          if (branch->getSuccessor(i) != &block)
            continue;
          SuccessorOperands passed = branch.getSuccessorOperands(i);
          for (unsigned j = 0; j < passed.size(); ++j) {
            Value value = passed[j];
            if (!value || !wordsOf(value) || !matchPattern(value, m_Constant()))
              continue;
            hold(branch, branch->getOpOperand(passed.getOperandIndex(j)));
          }
        }
      }
    }
  }
  static Value i32(OpBuilder &builder, Location loc, int64_t number) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(int32_t(number)));
  }
  static Value laneOffset(OpBuilder &builder, Location loc, const ArrayPlace &place) {
    Value constant = i32(builder, loc, place.constant);
    return place.lane ? LLVM::AddOp::create(builder, loc, place.lane, constant).getResult() : constant;
  }
  /// The descriptor of a raw buffer: elements of 32 bits; on RDNA also bit 24, and offsets are compared with the size.
  /// It stands where the base does: what meets behind branches of lanes would be in their registers, and each load a
  /// loop over the lanes' descriptors.
  Value resource(OpBuilder &builder, Location loc, const ArrayPlace &place) const {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(place.base);
    auto type = LLVM::LLVMPointerType::get(builder.getContext(), amd::resourceSpace);
    int64_t flags = 7 << 12 | 4 << 15 | (rdna ? 1 << 24 | 3 << 28 : 0);
    auto constant = [&](unsigned width, int64_t value) -> Value {
      Type number = builder.getIntegerType(width);
      return LLVM::ConstantOp::create(builder, loc, number, builder.getIntegerAttr(number, value));
    };
    return ROCDL::MakeBufferRsrcOp::create(builder, loc, type, place.base, constant(16, 0), constant(64, place.range),
                                           constant(32, flags));
  }

  /// LLVM waits for all copies past the registers before any access to LDS that is not known to be another. Ours are
  /// ordered by waits and barriers, so no access meets a copy that is under way.
  static void tellCopiesApart(LLVM::LLVMFuncOp function) {
    Builder b(function.getContext());
    auto isCopy = [](Operation *op) { return isa<ROCDL::RawPtrBufferLoadLdsOp>(op); };
    if (!function.walk([&](Operation *op) { return isCopy(op) ? WalkResult::interrupt() : WalkResult::advance(); })
             .wasInterrupted())
      return;
    auto unique = [&] { return DistinctAttr::create(b.getUnitAttr()); };
    auto domain = LLVM::AliasScopeDomainAttr::get(b.getContext(), unique(), b.getStringAttr("lds"));
    auto scope = [&](StringRef name) {
      return b.getArrayAttr(LLVM::AliasScopeAttr::get(b.getContext(), unique(), domain, b.getStringAttr(name)));
    };
    ArrayAttr copies = scope("copies"), lanes = scope("lanes");
    function.walk([&](LLVM::AliasAnalysisOpInterface op) {
      if (llvm::none_of(op.getAccessedOperands(), [](Value accessed) {
            return cast<LLVM::LLVMPointerType>(accessed.getType()).getAddressSpace() == scratchpadSpace;
          }))
        return;
      op.setAliasScopes(isCopy(op) ? copies : lanes);
      op.setNoAliasScopes(isCopy(op) ? lanes : copies);
    });
  }

  static constexpr uint32_t fragmentsArrived = 0xc07f; // lgkmcnt 0, the others as they are
  bool rdna, direct = false, columns = false;
  int64_t alignment;
};

} // namespace

std::unique_ptr<LaneOps> amd::laneOps(const TargetDescription &chip) { return std::make_unique<AmdLaneOps>(chip); }
