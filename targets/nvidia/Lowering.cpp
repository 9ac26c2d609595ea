//===- Lowering.cpp - Lanes of NVIDIA GPUs --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operations of a lane in the NVVM dialect that are more than one
/// instruction: the others are records of Chips.td.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "targets/nvidia/Chips.h"
#include "tilewright/BlockAccumulators.h"
#include "tilewright/IndexedUnits.h"
#include "tilewright/Residency.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tilewright;

namespace {

class NvidiaLaneOps : public LaneOps, public BlockAccumulators, public BlockScales, public IndexedUnits {
public:
  explicit NvidiaLaneOps(const TargetDescription &chip)
      : LaneOps(chip),
        copies(llvm::any_of(chip.copies(), [](const CopyEngine &engine) { return engine.name == "CpAsync"; })),
        hasTensorMemory(llvm::any_of(chip.copies(), [](const CopyEngine &e) { return e.name == "TensorLoad"; })) {}

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

  Value permuteBytes(OpBuilder &builder, Location loc, Value low, Value high,
                     std::array<unsigned, 4> bytes) const override {
    int64_t selector = bytes[0] | bytes[1] << 4 | bytes[2] << 8 | bytes[3] << 12;
    return NVVM::PermuteOp::create(builder, loc, builder.getI32Type(), low, high, i32(builder, loc, selector),
                                   NVVM::PermuteMode::DEFAULT);
  }

  //===-- Phases are mbarriers, tiles come by tensor copies -----------------===//

  void arrivePhase(OpBuilder &builder, Location loc, Value address, int64_t bytes, Value rank) const override {
    if (rank) {
      auto cluster = LLVM::LLVMPointerType::get(builder.getContext(), clusterSpace);
      Value remote = NVVM::MapaOp::create(builder, loc, cluster, address, rank);
      // Of the block's scope: it says that this block has read a stage, and publishes no writes. A release to the
      // cluster waits for all memory accesses of the chip, in each step (measured on an H200: half the speed of
      // products).
      NVVM::MBarrierArriveOp::create(builder, loc, Type(), remote, Value(), NVVM::MemScopeKind::CTA);
    } else if (bytes)
      NVVM::MBarrierArriveExpectTxOp::create(builder, loc, Type(), address, i32(builder, loc, bytes),
                                             NVVM::MemScopeKind::CTA, false, Value());
    else
      NVVM::MBarrierArriveOp::create(builder, loc, builder.getI64Type(), address, Value());
  }
  void awaitPhase(OpBuilder &builder, Location loc, Value address, Value parity) const override {
    constexpr int64_t nanoseconds = 10000000; // the hardware may return earlier; the op tries again
    NVVM::MBarrierTryWaitParityOp::create(builder, loc, address, parity, i32(builder, loc, nanoseconds));
  }
  bool copyTile(OpBuilder &builder, Location loc, Value destination, Value map, ValueRange coordinates, Value phase,
                int64_t blocks) const override {
    Value multicast;
    if (blocks)
      multicast = LLVM::ConstantOp::create(builder, loc, builder.getI16Type(), builder.getI16IntegerAttr(blocks));
    auto cluster = LLVM::LLVMPointerType::get(builder.getContext(), clusterSpace);
    Value to = LLVM::AddrSpaceCastOp::create(builder, loc, cluster, destination);
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(builder, loc, to, map, coordinates, phase, ValueRange(),
                                                           multicast, Value(), NVVM::TMALoadMode::TILE, false,
                                                           NVVM::CTAGroupKindAttr(), Value());
    return true;
  }
  bool storeTile(OpBuilder &builder, Location loc, Value source, Value map, ValueRange coordinates) const override {
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(builder, loc, map, source, coordinates, Value(),
                                                       NVVM::TMAStoreMode::TILE, Value());
    return true;
  }
  void groupBarrier(OpBuilder &builder, Location loc, Value number, int64_t lanes) const override {
    NVVM::BarrierOp::create(builder, loc, Type(), number, i32(builder, loc, lanes), NVVM::BarrierReductionAttr(),
                            Value());
  }

  //===-- wgmma -------------------------------------------------------------===//

  /// Bits 0-13 address / 16, 16-29 from block to block / 16, 32-45 from group to group / 16, 62-63 swizzle. Of tcgen05
  /// bits 61-63 are the swizzle, of which these values have no bit 61, and bit 46 is 1 (PTX ISA 8.7, "Shared memory
  /// descriptor").
  Value describeTile(OpBuilder &builder, Location loc, Value base, Value offset, int64_t constant,
                     const ScratchpadTile &tile) const override {
    auto i64 = [&](uint64_t number) -> Value {
      return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(int64_t(number)));
    };
    uint64_t mode = tile.lineBytes == 128 ? 1 : tile.lineBytes == 64 ? 2 : tile.lineBytes == 32 ? 3 : 0;
    uint64_t fields = mode << 62 | uint64_t(hasTensorMemory) << 46 | uint64_t(tile.groupBytes >> 4) << 32 |
                      uint64_t(tile.blockBytes >> 4) << 16;
    Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), base);
    address = LLVM::AndOp::create(builder, loc, address, i32(builder, loc, 0x3ffff));
    address = LLVM::LShrOp::create(builder, loc, address, i32(builder, loc, 4));
    Value start = LLVM::ZExtOp::create(builder, loc, builder.getI64Type(), address);
    Value result = LLVM::OrOp::create(builder, loc, start, i64(fields));
    if (offset) {
      Value steps = LLVM::LShrOp::create(builder, loc, offset, i32(builder, loc, 4));
      result =
          LLVM::AddOp::create(builder, loc, result, LLVM::ZExtOp::create(builder, loc, builder.getI64Type(), steps));
    }
    return constant ? LLVM::AddOp::create(builder, loc, result, i64(constant >> 4)).getResult() : result;
  }
  SmallVector<Value> waitUnits(OpBuilder &builder, Location loc, int64_t pending,
                               ValueRange accumulators) const override {
    SmallVector<Value> scalars;
    for (Value accumulator : accumulators)
      for (int64_t i = 0, end = cast<VectorType>(accumulator.getType()).getNumElements(); i < end; ++i)
        scalars.push_back(LLVM::ExtractElementOp::create(builder, loc, accumulator, i32(builder, loc, i)));
    std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
    Value joined = tiedAssembly(builder, loc, text, scalars);
    SmallVector<Value> results;
    int64_t next = 0;
    for (Value accumulator : accumulators)
      results.push_back(vectorOf(builder, loc, joined, cast<VectorType>(accumulator.getType()), next));
    return results;
  }

  Value emitUnit(OpBuilder &builder, Location loc, const MatrixUnit &unit, Value a, bool aKInner, Value b, bool bKInner,
                 Value c) const override {
    MLIRContext *context = builder.getContext();
    auto vector = cast<VectorType>(c.getType());
    const bool readsC = takeSums(builder, loc, c);
    if (isa<VectorType>(a.getType()))
      return emitOfRegisters(builder, loc, unit, a, b, bKInner, c, readsC);
    auto type =
        LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(vector.getNumElements(), vector.getElementType()));
    Value registers = LLVM::PoisonOp::create(builder, loc, type);
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      registers = LLVM::InsertValueOp::create(builder, loc, registers,
                                              LLVM::ExtractElementOp::create(builder, loc, c, i32(builder, loc, i)), i);
    auto typeOf = [&](ElementKind kind) {
      switch (kind) {
      case ElementKind::F16:
        return NVVM::WGMMATypes::f16;
      case ElementKind::BF16:
        return NVVM::WGMMATypes::bf16;
      case ElementKind::TF32:
        return NVVM::WGMMATypes::tf32;
      case ElementKind::I8:
        return NVVM::WGMMATypes::s8;
      case ElementKind::U8:
        return NVVM::WGMMATypes::u8;
      case ElementKind::F8E4M3:
        return NVVM::WGMMATypes::e4m3;
      case ElementKind::F8E5M2:
        return NVVM::WGMMATypes::e5m2;
      case ElementKind::I32:
        return NVVM::WGMMATypes::s32;
      default:
        return NVVM::WGMMATypes::f32;
      }
    };
    // The op's words: `row` of A and `col` of B are lines along k.
    auto layout = [&](bool isRow) {
      return NVVM::MMALayoutAttr::get(context, isRow ? NVVM::MMALayout::row : NVVM::MMALayout::col);
    };
    auto element = [&](const UnitOperand &operand) {
      return NVVM::WGMMATypesAttr::get(context, typeOf(operand.element));
    };
    auto one = NVVM::WGMMAScaleInAttr::get(context, NVVM::WGMMAScaleIn::one);
    NVVM::MMAIntOverflowAttr overflow;
    if (unit.c.element == ElementKind::I32)
      overflow = NVVM::MMAIntOverflowAttr::get(context, unit.saturates ? NVVM::MMAIntOverflow::satfinite
                                                                       : NVVM::MMAIntOverflow::wrapped);
    Value result = NVVM::WgmmaMmaAsyncOp::create(
        builder, loc, type, registers, a, b, NVVM::MMAShapeAttr::get(context, unit.m, unit.n, unit.k), element(unit.a),
        element(unit.b), element(unit.c),
        NVVM::WGMMAScaleOutAttr::get(context, readsC ? NVVM::WGMMAScaleOut::one : NVVM::WGMMAScaleOut::zero), one, one,
        layout(aKInner), layout(!bKInner), overflow);
    int64_t next = 0;
    return vectorOf(builder, loc, result, vector, next);
  }

  /// The dialect has no op for it. Of elements with two orders in the scratchpad the text says which, of floats the
  /// factors of A and B, 1.
  Value emitIndexedUnit(OpBuilder &builder, Location loc, const MatrixUnit &unit, Value a, bool aKInner, Value b,
                        bool bKInner, Value c, Value index) const override {
    if (!a.getType().isInteger(64) || !index.getType().isInteger(32))
      return {};
    const bool readsC = takeSums(builder, loc, c);
    std::string last;
    if (isFloat(unit.a.element))
      last = ", 1, 1";
    if (bitWidth(unit.a.element) == 16)
      last += std::string(aKInner ? ", 0" : ", 1") + (bKInner ? ", 0" : ", 1");
    auto nameOf = [](ElementKind element) -> const char * {
      switch (element) {
      case ElementKind::F16:
        return "f16";
      case ElementKind::BF16:
        return "bf16";
      case ElementKind::I8:
        return "s8";
      case ElementKind::U8:
        return "u8";
      case ElementKind::F8E4M3:
        return "e4m3";
      case ElementKind::F8E5M2:
        return "e5m2";
      case ElementKind::I32:
        return "s32";
      default:
        return "f32";
      }
    };
    constexpr const char *selector = ", 0"; // all lanes hold what those that it names hold
    return multiplyByAssembly(
        builder, loc, unit, "wgmma.mma_async.sp",
        (Twine(nameOf(unit.c.element)) + "." + nameOf(unit.a.element) + "." + nameOf(unit.b.element)).str(),
        {{a}, {b}, {index}}, selector, readsC, last, c);
  }

  //===-- tcgen05 -----------------------------------------------------------===//

  void takeAccumulators(OpBuilder &builder, Location loc, Value place, int64_t entries) const override {
    NVVM::Tcgen05AllocOp::create(builder, loc, place, i32(builder, loc, entries));
    NVVM::Tcgen05RelinquishAllocPermitOp::create(builder, loc);
  }
  void freeAccumulators(OpBuilder &builder, Location loc, Value address, int64_t entries) const override {
    NVVM::Tcgen05DeallocOp::create(builder, loc, tensorPointer(builder, loc, address), i32(builder, loc, entries));
  }
  void commitUnitsTo(OpBuilder &builder, Location loc, Value phase) const override {
    NVVM::Tcgen05CommitOp::create(builder, loc, phase, Value());
  }
  void endAccesses(OpBuilder &builder, Location loc) const override {
    NVVM::Tcgen05FenceOp::create(builder, loc, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  }
  void beginAccesses(OpBuilder &builder, Location loc) const override {
    NVVM::Tcgen05FenceOp::create(builder, loc, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  }
  /// Bits 16-31 of an address are a row, bits 0-15 a column.
  SmallVector<Value> readAccumulators(OpBuilder &builder, Location loc, Value address, Value row, int64_t first,
                                      int64_t count) const override {
    Value place = LLVM::ShlOp::create(builder, loc, row, i32(builder, loc, 16));
    place = LLVM::AddOp::create(builder, loc, address, place);
    SmallVector<Value> words;
    constexpr int64_t most = 32; // registers at a time
    for (int64_t done = 0; done < count;) {
      const auto some = int64_t(llvm::bit_floor(uint64_t(std::min(count - done, most))));
      Value from = LLVM::AddOp::create(builder, loc, place, i32(builder, loc, first + done));
      Type word = builder.getI32Type(), type = some == 1 ? word : Type(VectorType::get(some, word));
      Value read = NVVM::Tcgen05LdOp::create(builder, loc, type, /*pack=*/false, NVVM::Tcgen05LdStShape::SHAPE_32X32B,
                                             tensorPointer(builder, loc, from), Value());
      for (int64_t i = 0; i < some; ++i)
        words.push_back(
            some == 1 ? read : LLVM::ExtractElementOp::create(builder, loc, read, i32(builder, loc, i)).getResult());
      done += some;
    }
    return words;
  }
  SmallVector<Value> awaitReads(OpBuilder &builder, Location loc, ValueRange words) const override {
    Value joined = tiedAssembly(builder, loc, "tcgen05.wait::ld.sync.aligned;", words);
    SmallVector<Value> results;
    for (size_t i = 0; i < words.size(); ++i)
      results.push_back(LLVM::ExtractValueOp::create(builder, loc, joined, int64_t(i)));
    return results;
  }
  bool copyScales(OpBuilder &builder, Location loc, Value described, Value address, int64_t rows,
                  int64_t bytes) const override {
    const bool toAllWarps = rows == 32;
    if (!hasTensorMemory || (!toAllWarps && rows != 128) || bytes != 16)
      return false;
    NVVM::Tcgen05CpOp::create(
        builder, loc, toAllWarps ? NVVM::Tcgen05CpShape::SHAPE_32x128b : NVVM::Tcgen05CpShape::SHAPE_128x128b,
        NVVM::CTAGroupKind::CTA_1, toAllWarps ? NVVM::Tcgen05CpMulticast::WARPX4 : NVVM::Tcgen05CpMulticast::NONE,
        NVVM::Tcgen05CpSrcFormatAttr(), tensorPointer(builder, loc, address), described);
    return true;
  }
  /// Bits 7-9 and 10-12 types of A and B, 15 and 16 lines of A and B along the free dimension, 17-22 n / 8, 24-28 m /
  /// 16 (PTX ISA 8.7, "Instruction descriptor").
  static int64_t fieldsOf(const MatrixUnit &unit, bool aKInner, bool bKInner) {
    auto formatOf = [&](ElementKind element) -> int64_t {
      switch (element) {
      case ElementKind::BF16:
      case ElementKind::F8E5M2:
      case ElementKind::I8:
        return 1;
      case ElementKind::TF32:
        return 2;
      case ElementKind::F6E2M3:
        return 3;
      case ElementKind::F6E3M2:
        return 4;
      case ElementKind::F4E2M1: // the kinds of this type alone have a number of their own for it
        return StringRef(unit.emit.name).contains("mxf8f6f4") ? 5 : 1;
      default:
        return 0; // f16, e4m3, u8
      }
    };
    return formatOf(unit.a.element) << 7 | formatOf(unit.b.element) << 10 | int64_t(!aKInner) << 15 |
           int64_t(!bKInner) << 16 | unit.n / 8 << 17 | unit.m / 16 << 24;
  }
  /// Beside these, bits 4-5 type of the accumulators.
  bool emitUnitInto(OpBuilder &builder, Location loc, const MatrixUnit &unit, Value a, bool aKInner, Value b,
                    bool bKInner, Value address, Value accumulates) const override {
    NVVM::Tcgen05MMAKind kind;
    switch (unit.a.element) {
    case ElementKind::F16:
    case ElementKind::BF16:
      kind = NVVM::Tcgen05MMAKind::F16;
      break;
    case ElementKind::TF32:
      kind = NVVM::Tcgen05MMAKind::TF32;
      break;
    case ElementKind::I8:
    case ElementKind::U8:
      kind = NVVM::Tcgen05MMAKind::I8;
      break;
    default:
      kind = NVVM::Tcgen05MMAKind::F8F6F4;
      break;
    }
    const int64_t fields = fieldsOf(unit, aKInner, bKInner) | int64_t(unit.c.element == ElementKind::I32 ? 2 : 1) << 4;
    NVVM::Tcgen05MMAOp::create(builder, loc, kind, NVVM::CTAGroupKind::CTA_1, NVVM::Tcgen05MMACollectorOp::DISCARD,
                               /*aShift=*/false, tensorPointer(builder, loc, address), a, b, i32(builder, loc, fields),
                               accumulates, Value(), Value());
    return true;
  }
  /// The dialect's op for it has no constant selector. Beside the fields of all, bits 0-1 which of two columns the
  /// index begins in, where that is one alone ("Sparsity selector"; its address is even), bit 2: A is sparse, bits 4-5
  /// type of the accumulators.
  static bool emitSparse(OpBuilder &builder, Location loc, const MatrixUnit &unit, Value a, bool aKInner, Value b,
                         bool bKInner, Value address, Value accumulates, const ScalesInBlock &index) {
    const int64_t fields = fieldsOf(unit, aKInner, bKInner) | index.first % 2 | 1 << 2 |
                           int64_t(unit.c.element == ElementKind::I32 ? 2 : 1) << 4;
    Value column = LLVM::AddOp::create(builder, loc, index.address, i32(builder, loc, index.first / 2 * 2));
    LLVM::InlineAsmOp::create(builder, loc, TypeRange(),
                              ValueRange{address, a, b, column, i32(builder, loc, fields), accumulates},
                              unit.emit.name + " [$0], $1, $2, [$3], $4, $5;", "r,l,l,r,r,b,~{memory}",
                              /*has_side_effects=*/true, /*is_align_stack=*/false,
                              LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    return true;
  }
  /// Beside these, bits 4-5 and 29-30 the first byte of a word that scales of B and of A stand in, and bit 23: they are
  /// powers of two (else e4m3).
  bool emitScaledUnitInto(OpBuilder &builder, Location loc, const MatrixUnit &unit, Value a, bool aKInner, Value b,
                          bool bKInner, Value address, Value accumulates,
                          ArrayRef<ScalesInBlock> scales) const override {
    if (unit.sparsity)
      return scales.size() == 1 &&
             emitSparse(builder, loc, unit, a, aKInner, b, bKInner, address, accumulates, scales.front());
    if (scales.size() != 2)
      return false;
    const bool arePowers = unit.scales->a.element == ElementKind::F8E8M0;
    const int64_t fields =
        fieldsOf(unit, aKInner, bKInner) | scales[1].first << 4 | int64_t(arePowers) << 23 | scales[0].first << 29;
    // The dialect's op names no size of the scales, which PTX knows from 8.8 on.
    const std::string text = unit.emit.name + " [$0], $1, $2, $3, [$4], [$5], $6;";
    LLVM::InlineAsmOp::create(
        builder, loc, TypeRange(),
        ValueRange{address, a, b, i32(builder, loc, fields), scales[0].address, scales[1].address, accumulates}, text,
        "r,l,l,r,r,r,b,~{memory}", /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    return true;
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
    // Where tiles were planned for the registers, ptxas shall take what it needs: by itself it keeps them few for lanes
    // that will never come, and by a larger number it would keep to that at the price of spills. Roles share out all
    // registers of a multiprocessor.
    if (function->hasAttr(residencyAttr) || shape.copiers)
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(1));
    if (shape.cluster > 1)
      function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                        builder.getDenseI32ArrayAttr({int32_t(shape.cluster), 1, 1}));
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, LLVM::LLVMDialect::getByValAttrName()))
        function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
  }

private:
  /// Address space of pointers to the scratchpads of a cluster.
  static constexpr unsigned clusterSpace = 7;

  static Value i32(OpBuilder &builder, Location loc, int64_t number) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(int32_t(number)));
  }
  static Value tensorPointer(OpBuilder &builder, Location loc, Value address) {
    constexpr unsigned tensorSpace = 6;
    return LLVM::IntToPtrOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), tensorSpace),
                                    address);
  }
  /// A wait: assembly whose operands are tied to its results, a structure. Nothing that uses them can move up across
  /// it.
  static Value tiedAssembly(OpBuilder &builder, Location loc, StringRef text, ValueRange scalars) {
    std::string constraints, ties;
    SmallVector<Type> types;
    for (auto [i, scalar] : llvm::enumerate(scalars)) {
      constraints += scalar.getType().isF32() ? "=f," : "=r,";
      ties += (i ? "," : "") + std::to_string(i);
      types.push_back(scalar.getType());
    }
    Type type = LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
    return LLVM::InlineAsmOp::create(builder, loc, TypeRange(type), scalars, text, constraints + ties,
                                     /*has_side_effects=*/true, /*is_align_stack=*/false,
                                     LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
        .getResult(0);
  }
  /// Fields `next`.. of a structure as a vector.
  static Value vectorOf(OpBuilder &builder, Location loc, Value fields, VectorType type, int64_t &next) {
    Value result = LLVM::PoisonOp::create(builder, loc, type);
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      result = LLVM::InsertElementOp::create(
          builder, loc, result, LLVM::ExtractValueOp::create(builder, loc, fields, next++), i32(builder, loc, i));
    return result;
  }

  /// Whether a unit reads what `c` holds; else that is made undefined: registers need not be cleared.
  static bool takeSums(OpBuilder &builder, Location loc, Value &c) {
    const bool readsC = !matchPattern(c, m_AnyZeroFloat()) && !matchPattern(c, m_Zero());
    if (!readsC)
      c = LLVM::PoisonOp::create(builder, loc, c.getType());
    return readsC;
  }

  /// An instruction `name`.sync.aligned.SHAPE.`types` that the dialect has no op for: its sums, then `operands`, each
  /// one register or a list of them; then the text `middle`, whether it reads its sums, and the text `last`.
  static Value multiplyByAssembly(OpBuilder &builder, Location loc, const MatrixUnit &unit, StringRef name,
                                  StringRef types, ArrayRef<SmallVector<Value>> operands, StringRef middle, bool readsC,
                                  StringRef last, Value c) {
    auto sums = cast<VectorType>(c.getType());
    const int64_t count = sums.getNumElements();
    SmallVector<Value> all;
    std::string results, constraints, ties, given;
    for (int64_t i = 0; i < count; ++i) {
      all.push_back(LLVM::ExtractElementOp::create(builder, loc, c, i32(builder, loc, i)));
      results += (i ? ",$" : "$") + std::to_string(i);
      constraints += sums.getElementType().isF32() ? "=f," : "=r,";
      ties += (i ? "," : "") + std::to_string(i);
    }
    for (const SmallVector<Value> &operand : operands) {
      const bool isList = operand.size() > 1;
      given += isList ? ", {" : ", ";
      for (auto [i, word] : llvm::enumerate(operand)) {
        given += (i ? ",$" : "$") + std::to_string(count + all.size());
        ties += word.getType().isInteger(64) ? ",l" : ",r";
        all.push_back(word);
      }
      given += isList ? "}" : "";
    }
    std::string shape = "m" + std::to_string(unit.m) + "n" + std::to_string(unit.n) + "k" + std::to_string(unit.k);
    std::string text =
        (Twine("{ .reg .pred p; setp.ne.b32 p, ") + (readsC ? "1" : "0") + ", 0; " + name + ".sync.aligned." + shape +
         "." + types + " {" + results + "}" + given + middle + ", p" + last + "; }")
            .str();
    Type type = LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(count, sums.getElementType()));
    Value result =
        LLVM::InlineAsmOp::create(builder, loc, TypeRange(type), all, text, constraints + ties,
                                  /*has_side_effects=*/true, /*is_align_stack=*/false,
                                  LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
            .getResult(0);
    int64_t next = 0;
    return vectorOf(builder, loc, result, sums, next);
  }

  /// A from registers.
  static Value emitOfRegisters(OpBuilder &builder, Location loc, const MatrixUnit &unit, Value a, Value b, bool bKInner,
                               Value c, bool readsC) {
    auto own = cast<VectorType>(a.getType());
    const int64_t words = own.getNumElements() * own.getElementTypeBitWidth() / 32;
    Value packed = LLVM::BitcastOp::create(builder, loc, VectorType::get(words, builder.getI32Type()), a);
    SmallVector<Value> registers;
    for (int64_t i = 0; i < words; ++i)
      registers.push_back(LLVM::ExtractElementOp::create(builder, loc, packed, i32(builder, loc, i)));
    const std::string element = unit.a.element == ElementKind::F16 ? "f16" : "bf16";
    return multiplyByAssembly(builder, loc, unit, "wgmma.mma_async", "f32." + element + "." + element, {registers, {b}},
                              "", readsC, std::string(", 1, 1, ") + (bKInner ? "0" : "1"), c);
  }

  bool copies, hasTensorMemory;
};

} // namespace

std::unique_ptr<LaneOps> nvidia::laneOps(const TargetDescription &chip) {
  return std::make_unique<NvidiaLaneOps>(chip);
}
