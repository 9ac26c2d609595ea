//===- Faults.cpp - Targets that are wrong in one place -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each chip of the target `faults` is a sound chip with one mistake, as a vendor
/// makes them: in a record, in the operations of a lane, in a pass. What executes
/// the code knows nothing of it: the processor for records of the host's chip,
/// the emulator of the sound chip for the others (`tilewright-emulated-device`
/// where the record is wrong, since the emulator takes units from the record).
/// tw-conformance must find each one: test/integration/test_conformance_faults.py.
///
//===----------------------------------------------------------------------===//

#include "tilewright/BlockAccumulators.h"
#include "tilewright/Emulation.h"
#include "tilewright/IndexedUnits.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"
#include "tilewright/TargetDescription.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"
#include <unistd.h>

using namespace mlir;
using namespace tilewright;

//===----------------------------------------------------------------------===//
// Wrong records
//===----------------------------------------------------------------------===//

namespace {

using Change = void (*)(std::vector<MatrixUnit> &);

/// Leaves only the units that `keep` names, so that programs take them.
void keepOnly(std::vector<MatrixUnit> &units, llvm::function_ref<bool(const MatrixUnit &)> keep) {
  llvm::erase_if(units, [&](const MatrixUnit &unit) { return !keep(unit); });
}

/// The pairs of k lie side by side in a register; here columns do.
void layoutBasis(std::vector<MatrixUnit> &units) {
  for (MatrixUnit &unit : units)
    if (unit.k == 2 && unit.b.residence == Residence::VectorRegister && unit.b.layout.elements.size() > 1)
      std::swap(unit.b.layout.elements[0], unit.b.layout.elements[1]);
}

/// a * c + b.
void swappedOperands(std::vector<MatrixUnit> &units) {
  for (MatrixUnit &unit : units)
    if (unit.emit.arguments == std::vector<std::string>{"A", "B", "C"})
      unit.emit.arguments = {"A", "C", "B"};
}

/// A sum that is kept in f16 between two instructions, under a record that says f32.
void narrowAccumulator(std::vector<MatrixUnit> &units) {
  for (MatrixUnit &unit : units)
    if (unit.c.element == ElementKind::F32 && unit.a.element == ElementKind::F32 && unit.n == 8) {
      unit.emit.kind = EmissionKind::InlineAsm;
      unit.emit.name = "vmovaps $1, $0\n\tvfmadd231ps $3, $2, $0\n\tvcvtps2ph $$0, $0, %xmm15\n\tvcvtph2ps %xmm15, $0";
      unit.emit.arguments = {"C", "A", "B", "constraints:=&x,x,x,x,~{xmm15}"};
    }
  keepOnly(units, [](const MatrixUnit &unit) { return unit.n == 8; });
}

/// Rows for columns.
void transposedC(std::vector<MatrixUnit> &units) {
  for (MatrixUnit &unit : units)
    if (unit.m == unit.n && unit.a.residence == Residence::LaneRegisters && unit.k > 1)
      unit.c.layout = transpose(unit.c.layout);
}

/// A takes its k in another order than B.
void orderOfK(std::vector<MatrixUnit> &units) {
  for (MatrixUnit &unit : units) {
    auto flip = [&](Position &p) {
      if (p.row == 0 && (p.col == 1 || p.col == 2))
        p.col = 3 - p.col;
    };
    if (unit.a.residence != Residence::LaneRegisters || unit.k < 4)
      continue;
    llvm::for_each(unit.a.layout.lanes, flip);
    llvm::for_each(unit.a.layout.elements, flip);
  }
}

/// An instruction for unsigned bytes, described as one for signed bytes.
void wrongSignedness(std::vector<MatrixUnit> &units) {
  auto isUnsigned = [](const MatrixUnit &unit) { return unit.a.element == ElementKind::U8; };
  keepOnly(units, [&](const MatrixUnit &unit) { return isUnsigned(unit) || isFloat(unit.a.element); });
  for (MatrixUnit &unit : units)
    if (isUnsigned(unit))
      unit.a.element = unit.b.element = ElementKind::I8;
}

/// Places of a sparse A from the rows of other lanes.
void wrongIndex(std::vector<MatrixUnit> &units) {
  for (MatrixUnit &unit : units)
    if (unit.sparsity)
      std::swap(unit.sparsity->index.layout.lanes[2], unit.sparsity->index.layout.lanes[3]);
}

} // namespace

//===----------------------------------------------------------------------===//
// Wrong operations of a lane
//===----------------------------------------------------------------------===//

namespace {

enum class LaneFault {
  None,
  ZeroFill,
  Wait,
  Barrier,
  BarrierMapping,
  BlockIndex,
  Matrices,
  EngineFence,
  // of accumulators in a memory of the block
  EarlyCommit,
  ReadWait,
  BeginAccesses,
  EndAccesses,
  Free,
  ScaleCopy
};

/// What the lanes of "wrong-barrier-mapping" call for a barrier of the block.
constexpr llvm::StringLiteral barrierText = "faults.barrier";

class FaultyLaneOps : public LaneOps, public BlockAccumulators, public BlockScales, public IndexedUnits {
public:
  FaultyLaneOps(std::unique_ptr<LaneOps> sound, LaneFault fault) : sound(std::move(sound)), fault(fault) {}

  Value threadId(OpBuilder &b, Location loc) const override { return sound->threadId(b, loc); }
  Value blockId(OpBuilder &b, Location loc, unsigned dim) const override {
    return sound->blockId(b, loc, fault == LaneFault::BlockIndex && dim < 2 ? 1 - dim : dim);
  }
  void barrier(OpBuilder &b, Location loc) const override {
    if (fault == LaneFault::BarrierMapping)
      LLVM::InlineAsmOp::create(b, loc, TypeRange(), ValueRange(), barrierText, "", /*has_side_effects=*/true,
                                /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                LLVM::AsmDialectAttr(), ArrayAttr());
    else if (fault != LaneFault::Barrier)
      sound->barrier(b, loc);
  }
  bool asyncCopy(OpBuilder &b, Location loc, Value destination, Value source, int64_t bytes,
                 Value valid) const override {
    return sound->asyncCopy(b, loc, destination, source, bytes, fault == LaneFault::ZeroFill ? Value() : valid);
  }
  Value loadPlace(OpBuilder &b, Location loc, const ArrayPlace &place, int64_t bytes) const override {
    return sound->loadPlace(b, loc, place, bytes);
  }
  bool zerosBeyond() const override { return sound->zerosBeyond(); }
  int64_t placeAlignment() const override { return sound->placeAlignment(); }
  bool countsGroups() const override { return sound->countsGroups(); }
  void commitCopies(OpBuilder &b, Location loc) const override { sound->commitCopies(b, loc); }
  void waitCopies(OpBuilder &b, Location loc, int64_t pending) const override {
    if (fault != LaneFault::Wait)
      sound->waitCopies(b, loc, pending);
  }
  llvm::SmallVector<Value> loadMatrices(OpBuilder &b, Location loc, Value address, unsigned count,
                                        bool transposed) const override {
    return sound->loadMatrices(b, loc, address, count, transposed && fault != LaneFault::Matrices);
  }
  Value shuffle(OpBuilder &b, Location loc, Value value, Value lane) const override {
    return sound->shuffle(b, loc, value, lane);
  }
  void makePhase(OpBuilder &b, Location loc, Value address, int64_t arrivals) const override {
    sound->makePhase(b, loc, address, arrivals);
  }
  void arrivePhase(OpBuilder &b, Location loc, Value address, int64_t bytes, Value rank) const override {
    sound->arrivePhase(b, loc, address, bytes, rank);
  }
  void awaitPhase(OpBuilder &b, Location loc, Value address, Value parity) const override {
    sound->awaitPhase(b, loc, address, parity);
  }
  bool copyTile(OpBuilder &b, Location loc, Value destination, Value map, ValueRange coordinates, Value phase,
                int64_t blocks) const override {
    return sound->copyTile(b, loc, destination, map, coordinates, phase, blocks);
  }
  bool storeTile(OpBuilder &b, Location loc, Value source, Value map, ValueRange coordinates) const override {
    return sound->storeTile(b, loc, source, map, coordinates);
  }
  void commitStores(OpBuilder &b, Location loc) const override { sound->commitStores(b, loc); }
  void waitStores(OpBuilder &b, Location loc, int64_t pending) const override { sound->waitStores(b, loc, pending); }
  void fenceEngines(OpBuilder &b, Location loc) const override {
    if (fault != LaneFault::EngineFence)
      sound->fenceEngines(b, loc);
  }
  void groupBarrier(OpBuilder &b, Location loc, Value number, int64_t lanes) const override {
    sound->groupBarrier(b, loc, number, lanes);
  }
  Value clusterRank(OpBuilder &b, Location loc) const override { return sound->clusterRank(b, loc); }
  void clusterBarrier(OpBuilder &b, Location loc) const override { sound->clusterBarrier(b, loc); }
  void resizeRegisters(OpBuilder &b, Location loc, int64_t registers, bool grows) const override {
    sound->resizeRegisters(b, loc, registers, grows);
  }
  Value describeTile(OpBuilder &b, Location loc, Value base, Value offset, int64_t constant,
                     const ScratchpadTile &tile) const override {
    return sound->describeTile(b, loc, base, offset, constant, tile);
  }
  void beginUnits(OpBuilder &b, Location loc) const override { sound->beginUnits(b, loc); }
  void commitUnits(OpBuilder &b, Location loc) const override { sound->commitUnits(b, loc); }
  llvm::SmallVector<Value> waitUnits(OpBuilder &b, Location loc, int64_t pending,
                                     ValueRange accumulators) const override {
    return sound->waitUnits(b, loc, pending, accumulators);
  }
  Value emitUnit(OpBuilder &b, Location loc, const MatrixUnit &unit, Value a, bool aKInner, Value second, bool bKInner,
                 Value c) const override {
    return sound->emitUnit(b, loc, unit, a, aKInner, second, bKInner, c);
  }
  Value emitIndexedUnit(OpBuilder &b, Location loc, const MatrixUnit &unit, Value a, bool aKInner, Value second,
                        bool bKInner, Value c, Value index) const override {
    return indexedUnits(*sound)->emitIndexedUnit(b, loc, unit, a, aKInner, second, bKInner, c, index);
  }
  Value scratchpad(OpBuilder &b, Location loc, ModuleOp module, int64_t bytes) const override {
    return sound->scratchpad(b, loc, module, bytes);
  }
  bool dynamicScratchpad() const override { return sound->dynamicScratchpad(); }
  void finishLaunch(LLVM::LLVMFuncOp function, const LaunchShape &shape) const override {
    sound->finishLaunch(function, shape);
  }

  // Called for units that only targets with these operations have.
  void takeAccumulators(OpBuilder &b, Location loc, Value place, int64_t entries) const override {
    inBlock().takeAccumulators(b, loc, place, entries);
  }
  void freeAccumulators(OpBuilder &b, Location loc, Value address, int64_t entries) const override {
    if (fault != LaneFault::Free)
      inBlock().freeAccumulators(b, loc, address, entries);
  }
  void commitUnitsTo(OpBuilder &b, Location loc, Value phase) const override {
    if (fault == LaneFault::EarlyCommit)
      sound->arrivePhase(b, loc, phase, 0, {});
    else
      inBlock().commitUnitsTo(b, loc, phase);
  }
  void endAccesses(OpBuilder &b, Location loc) const override {
    if (fault != LaneFault::EndAccesses)
      inBlock().endAccesses(b, loc);
  }
  void beginAccesses(OpBuilder &b, Location loc) const override {
    if (fault != LaneFault::BeginAccesses)
      inBlock().beginAccesses(b, loc);
  }
  llvm::SmallVector<Value> readAccumulators(OpBuilder &b, Location loc, Value address, Value row, int64_t first,
                                            int64_t count) const override {
    return inBlock().readAccumulators(b, loc, address, row, first, count);
  }
  llvm::SmallVector<Value> awaitReads(OpBuilder &b, Location loc, ValueRange words) const override {
    return fault == LaneFault::ReadWait ? llvm::to_vector(words) : inBlock().awaitReads(b, loc, words);
  }
  bool emitUnitInto(OpBuilder &b, Location loc, const MatrixUnit &unit, Value a, bool aKInner, Value second,
                    bool bKInner, Value address, Value accumulates) const override {
    return inBlock().emitUnitInto(b, loc, unit, a, aKInner, second, bKInner, address, accumulates);
  }
  bool copyScales(OpBuilder &b, Location loc, Value described, Value address, int64_t rows,
                  int64_t bytes) const override {
    return fault == LaneFault::ScaleCopy || blockScales(*sound)->copyScales(b, loc, described, address, rows, bytes);
  }
  bool emitScaledUnitInto(OpBuilder &b, Location loc, const MatrixUnit &unit, Value a, bool aKInner, Value second,
                          bool bKInner, Value address, Value accumulates,
                          ArrayRef<ScalesInBlock> scales) const override {
    return blockScales(*sound)->emitScaledUnitInto(b, loc, unit, a, aKInner, second, bKInner, address, accumulates,
                                                   scales);
  }

private:
  const BlockAccumulators &inBlock() const { return *blockAccumulators(*sound); }

  std::unique_ptr<LaneOps> sound;
  LaneFault fault;
};

} // namespace

//===----------------------------------------------------------------------===//
// Wrong passes
//===----------------------------------------------------------------------===//

namespace {

enum class PassFault { None, Bound, Rounding, Hang, Crash };

struct SpoilPass : PassWrapper<SpoilPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SpoilPass)
  explicit SpoilPass(PassFault fault = PassFault::None) : fault(fault) {}
  SpoilPass(const SpoilPass &other) : PassWrapper(other), fault(other.fault) {}
  llvm::StringRef getArgument() const final { return "faults-test-pass"; }
  llvm::StringRef getDescription() const final { return "Makes one mistake in every program"; }

  void runOnOperation() final {
    if (fault == PassFault::Hang)
      for (;;)
        pause();
    if (fault == PassFault::Crash)
      *static_cast<volatile int *>(nullptr) = 0;
    if (fault == PassFault::Bound) // the last iteration of a loop is left out
      getOperation().walk([](affine::AffineForOp loop) {
        if (!loop.hasConstantUpperBound() || loop.getConstantUpperBound() < 2)
          return WalkResult::advance();
        loop.setConstantUpperBound(loop.getConstantUpperBound() - 1);
        return WalkResult::interrupt();
      });
    if (fault == PassFault::Rounding)
      getOperation().walk([](arith::TruncFOp op) { cutOff(op); });
  }

  /// f32 to bf16 by its upper half.
  static void cutOff(arith::TruncFOp op) {
    if (!op.getType().isBF16() || !op.getIn().getType().isF32())
      return;
    OpBuilder b(op);
    Location loc = op.getLoc();
    Value word = arith::BitcastOp::create(b, loc, b.getI32Type(), op.getIn());
    Value sixteen = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(16));
    Value high = arith::TruncIOp::create(b, loc, b.getI16Type(), arith::ShRUIOp::create(b, loc, word, sixteen));
    op.replaceAllUsesWith(arith::BitcastOp::create(b, loc, op.getType(), high).getResult());
    op.erase();
  }

  PassFault fault;
};

} // namespace

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

namespace {

struct Fault {
  const char *chip, *base;
  Change record = nullptr;
  LaneFault lane = LaneFault::None;
  PassFault pass = PassFault::None;
};

const Fault faults[] = {
    {"sound", "cpu:host"},
    {"sound-a100", "nvidia:A100"},
    {"sound-h100", "nvidia:H100"},
    {"sound-b200", "nvidia:B200"},
    {"sound-mi300x", "amd:MI300X"},
    {"layout-basis", "cpu:host", layoutBasis},
    {"swapped-operands", "cpu:host", swappedOperands},
    {"narrow-accumulator", "cpu:host", narrowAccumulator},
    {"transposed-c", "amd:MI300X", transposedC},
    {"order-of-k", "nvidia:A100", orderOfK},
    {"wrong-signedness", "nvidia:A100", wrongSignedness},
    {"wrong-index", "nvidia:H100", wrongIndex},
    {"wrong-index-in-block", "nvidia:B200", wrongIndex},
    {"missing-zero-fill", "nvidia:A100", nullptr, LaneFault::ZeroFill},
    {"missing-wait", "nvidia:A100", nullptr, LaneFault::Wait},
    {"missing-barrier", "amd:MI300X", nullptr, LaneFault::Barrier},
    {"wrong-barrier-mapping", "nvidia:A100", nullptr, LaneFault::BarrierMapping},
    {"block-index", "amd:MI300X", nullptr, LaneFault::BlockIndex},
    {"untransposed-matrices", "nvidia:A100", nullptr, LaneFault::Matrices},
    {"missing-engine-fence", "nvidia:H100", nullptr, LaneFault::EngineFence},
    {"early-unit-commit", "nvidia:B200", nullptr, LaneFault::EarlyCommit},
    {"missing-read-wait", "nvidia:B200", nullptr, LaneFault::ReadWait},
    {"missing-accesses-begin", "nvidia:B200", nullptr, LaneFault::BeginAccesses},
    {"missing-accesses-end", "nvidia:B200", nullptr, LaneFault::EndAccesses},
    {"missing-free", "nvidia:B200", nullptr, LaneFault::Free},
    {"missing-scale-copy", "nvidia:B200", nullptr, LaneFault::ScaleCopy},
    {"bound", "cpu:host", nullptr, LaneFault::None, PassFault::Bound},
    {"rounding", "cpu:host", nullptr, LaneFault::None, PassFault::Rounding},
    {"hang", "cpu:host", nullptr, LaneFault::None, PassFault::Hang},
    {"crash", "cpu:host", nullptr, LaneFault::None, PassFault::Crash},
};

const Fault *faultOf(llvm::StringRef chip) {
  auto *found = llvm::find_if(faults, [&](const Fault &fault) { return chip == fault.chip; });
  return found == std::end(faults) ? nullptr : found;
}

/// The sound chip under another name, with changed units.
class FaultyDescription : public TargetDescription {
public:
  FaultyDescription(const Fault &fault, std::shared_ptr<const TargetDescription> sound)
      : name(fault.chip), sound(std::move(sound)), changed(this->sound->units()) {
    if (fault.record)
      fault.record(changed);
  }
  const TargetDescription &base() const { return *sound; }

  llvm::StringRef target() const override { return "faults"; }
  llvm::StringRef chip() const override { return name; }
  double clockMHz() const override { return sound->clockMHz(); }
  llvm::ArrayRef<Level> levels() const override { return sound->levels(); }
  llvm::ArrayRef<Memory> memories() const override { return sound->memories(); }
  llvm::ArrayRef<MatrixUnit> units() const override { return changed; }
  llvm::ArrayRef<CopyEngine> copies() const override { return sound->copies(); }
  llvm::ArrayRef<VectorOp> vectorOps() const override { return sound->vectorOps(); }
  llvm::ArrayRef<LaneInstruction> laneInstructions() const override { return sound->laneInstructions(); }
  llvm::ArrayRef<Fact> numbers() const override { return sound->numbers(); }
  bool hasFeature(llvm::StringRef feature) const override { return sound->hasFeature(feature); }
  CodegenTarget codegen() const override { return sound->codegen(); }

private:
  std::string name;
  std::shared_ptr<const TargetDescription> sound;
  std::vector<MatrixUnit> changed;
};

class FaultsTarget : public Target {
public:
  llvm::StringRef name() const override { return "faults"; }
  std::vector<std::string> chips() const override {
    std::vector<std::string> names;
    for (const Fault &fault : faults)
      names.push_back(fault.chip);
    return names;
  }
  llvm::Expected<std::shared_ptr<const TargetDescription>> describe(llvm::StringRef chip) const override {
    const Fault *fault = faultOf(chip);
    if (!fault)
      return unknownName("chip of target 'faults'", chip, chips());
    auto sound = TargetRegistry::get().describe(fault->base);
    if (!sound)
      return sound.takeError();
    return std::make_shared<FaultyDescription>(*fault, std::move(*sound));
  }
  void registerDialects(DialectRegistry &registry) const override {
    for (llvm::StringRef base : {"cpu", "nvidia", "amd"})
      soundTarget(base).registerDialects(registry);
  }
  void extendPipeline(PipelineSlot slot, OpPassManager &pm, const TargetDescription &chip) const override {
    const Fault &fault = *faultOf(chip.chip());
    soundTarget(fault.base).extendPipeline(slot, pm, baseOf(chip));
    if (fault.pass != PassFault::None && slot == PipelineSlot::AfterAffine)
      pm.addPass(std::make_unique<SpoilPass>(fault.pass));
  }
  /// What ops mean, from the sound targets: one table for both, whose ops have names of their own.
  void emulate(EmulationTable &table) const override {
    soundTarget("nvidia").emulate(table);
    soundTarget("amd").emulate(table);
    // The instruction of wrong-barrier-mapping: lanes of one subgroup meet, not those of the block.
    table.on(("asm:" + barrierText).str(), [](Operation *, EmulationBuilder &b) {
      b.subgroupBarrier();
      return success();
    });
  }
  std::unique_ptr<LaneOps> laneOps(const TargetDescription &chip) const override {
    const Fault &fault = *faultOf(chip.chip());
    auto sound = soundTarget(fault.base).laneOps(baseOf(chip));
    return sound ? std::make_unique<FaultyLaneOps>(std::move(sound), fault.lane) : nullptr;
  }

private:
  static const Target &soundTarget(llvm::StringRef base) {
    return *llvm::cantFail(TargetRegistry::get().target(base.split(':').first));
  }
  static const TargetDescription &baseOf(const TargetDescription &chip) {
    return static_cast<const FaultyDescription &>(chip).base();
  }
};

} // namespace

TILEWRIGHT_TARGET_PLUGIN(faults, "1.0", FaultsTarget)
