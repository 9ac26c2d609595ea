//===- Finish.cpp - A program as a pass left it, made to run --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is left to do follows from what the module holds, and in stage 5 from the passes that have run.
///
//===----------------------------------------------------------------------===//

#include "core/Bisect/Finish.h"
#include "core/Analysis/Settings.h"
#include "core/Machine/NativeCode.h"
#include "core/Pipelines/Bufferization.h"
#include "core/Pipelines/HostCheck.h"
#include "core/Pipelines/Lowering.h"
#include "core/Pipelines/TensorCanonicalization.h"
#include "core/Transforms/Passes.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::bisect;

/// Whether a value of `module`, or an argument or result of its functions, has a type that `is` holds for.
static bool anyType(ModuleOp module, llvm::function_ref<bool(Type)> is) {
  return module
      .walk([&](Operation *op) {
        bool found = llvm::any_of(op->getOperandTypes(), is) || llvm::any_of(op->getResultTypes(), is);
        if (auto function = dyn_cast<FunctionOpInterface>(op))
          found |= llvm::any_of(function.getArgumentTypes(), is) || llvm::any_of(function.getResultTypes(), is);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Copies that nothing waits for
//===----------------------------------------------------------------------===//

/// Whether a wait takes `token`, perhaps in a later iteration of a loop that carries it.
static bool isAwaited(Value token, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(token).second)
    return false;
  for (OpOperand &use : token.getUses()) {
    Operation *user = use.getOwner();
    if (isa<tile::WaitOp>(user))
      return true;
    if (auto loop = dyn_cast<LoopLikeOpInterface>(user)) {
      if (BlockArgument carried = loop.getTiedLoopRegionIterArg(&use); carried && isAwaited(carried, seen))
        return true;
      if (OpResult result = loop.getTiedLoopResult(&use); result && isAwaited(result, seen))
        return true;
    } else if (auto loop = dyn_cast<LoopLikeOpInterface>(user->getParentOp());
               loop && user->hasTrait<OpTrait::IsTerminator>()) {
      unsigned number = use.getOperandNumber();
      if (number < loop.getRegionIterArgs().size() && isAwaited(loop.getRegionIterArgs()[number], seen))
        return true;
      if (auto results = loop.getLoopResults();
          results && number < results->size() && isAwaited((*results)[number], seen))
        return true;
    }
  }
  return false;
}

std::string tilewright::bisect::unawaitedCopy(ModuleOp module) {
  std::string found;
  module.walk([&](tile::CopyOp copy) {
    auto token = copy.getResult();
    llvm::DenseSet<Value> seen;
    if (!token || isAwaited(token, seen))
      return WalkResult::advance();
    llvm::raw_string_ostream(found) << "nothing waits for the copy at " << copy.getLoc();
    return WalkResult::interrupt();
  });
  return found;
}

//===----------------------------------------------------------------------===//
// Tensors to memrefs
//===----------------------------------------------------------------------===//

/// Inputs stay as they are, whoever bufferizes.
static void protectInputs(ModuleOp module) {
  auto writable = bufferization::BufferizationDialect::kWritableAttrName;
  Builder builder(module.getContext());
  for (func::FuncOp function : publicFunctions(module))
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (isa<TensorType>(type))
        function.setArgAttr(index, writable, builder.getBoolAttr(false));
}

static LogicalResult bufferize(ModuleOp module, const Reached &reached, unsigned way) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName(), OpPassManager::Nesting::Implicit);
  if (reached.stage == 1) {
    if (anyType(module, [](Type type) { return isa<TensorType>(type); }) && !reached.done.contains("tosa-to-tensor")) {
      pm.addNestedPass<func::FuncOp>(createSeparateScales());
      convertTosa(pm);
    }
    pm.addPass(createTensorInliner());
    pm.addPass(createSymbolDCEPass());
    pm.addPass(createNameSizes());
  }
  if (way == 0) {
    protectInputs(module);
    pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
    addBufferization(pm);
    addOutParameters(pm);
  } else {
    buildReferencePipeline(pm);
  }
  return pm.run(module);
}

//===----------------------------------------------------------------------===//
// Memrefs to code of this machine
//===----------------------------------------------------------------------===//

/// One memory, one thread, and the code generator of this machine: what runs is the meaning of the program.
static void moveToHost(ModuleOp module, llvm::StringRef target) {
  Builder builder(module.getContext());
  AttrTypeReplacer oneMemory;
  oneMemory.addReplacement([](MemRefType type) -> Type {
    return type.getMemorySpace() ? MemRefType::get(type.getShape(), type.getElementType(), type.getLayout()) : type;
  });
  oneMemory.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  module->setAttr(threadsAttr, builder.getI64IntegerAttr(1));
  module->setAttr(referenceAttr, builder.getStringAttr("values"));
  if (llvm::Error error = checkRunsHere(target)) {
    llvm::consumeError(std::move(error));
    module->setAttr(nativeCodeAttr, builder.getUnitAttr());
  }
}

static void addNests(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createForallToForLoopPass());
  pm.addPass(memref::createExpandReallocPass());
  pm.addNestedPass<func::FuncOp>(createLowerVectorAccesses());
  pm.addNestedPass<func::FuncOp>(createExpandCopies());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createLowerTileParallel());
}

static void addPlainLowering(OpPassManager &pm, const Reached &reached) {
  auto isDone = [&](llvm::StringRef pass) { return reached.stage == 5 && reached.done.contains(pass); };
  if (!isDone("plan-workspace"))
    pm.addPass(createPlanWorkspace());
  if (!isDone("make-c-interface")) {
    MakeCInterfaceOptions interface;
    interface.packedCall = true;
    pm.addPass(createMakeCInterface(interface));
  }
  if (!isDone("flatten-signatures"))
    pm.addPass(createFlattenSignatures());
  pm.addNestedPass<func::FuncOp>(createLowerReshapes());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addNestedPass<func::FuncOp>(createLowerTileToLoops());
  pm.addPass(createLowerParallel());
  pm.addPass(createEnterStates());
  expandArithmetic(pm);
  pm.addPass(createSCFToControlFlowPass());
  tilewright::LowerToLLVMOptions toLLVM;
  toLLVM.fuseBfloatsInSingle = true;
  pm.addPass(createLowerToLLVM(toLLVM));
  pm.addPass(createEmitUnits());
}

//===----------------------------------------------------------------------===//
// Code of lanes and cores
//===----------------------------------------------------------------------===//

static void addLaunchLowering(OpPassManager &pm, bool lanes, const Reached &reached) {
  if (!lanes) {
    pm.addPass(createLowerTileToVector());
    if (!reached.done.contains("flatten-signatures"))
      pm.addPass(createFlattenSignatures());
    pm.addPass(memref::createExpandStridedMetadataPass());
    pm.addPass(createLowerAffinePass());
  }
  pm.addPass(createExpandMath());
  lanes ? expandArithmetic(pm) : emulateFloats(pm);
  pm.addPass(createSCFToControlFlowPass());
  tilewright::LowerToLLVMOptions toLLVM;
  toLLVM.fuseBfloatsInSingle = !lanes;
  pm.addPass(createLowerToLLVM(toLLVM));
  if (!lanes)
    pm.addPass(createMem2Reg());
  if (!reached.done.contains("finish-launches"))
    pm.addPass(createFinishLaunches());
}

static llvm::Expected<std::unique_ptr<Executable>> finishLaunches(ModuleOp module, const Reached &reached,
                                                                  const Place &place, const MachineGraph &graph) {
  bool lanes = graph.lanesAreThreads();
  if (!reached.done.contains(lanes ? "distribute-lanes" : "lower-tile-to-engines") || !reached.signature)
    return llvm::createStringError("nothing runs launches whose code is not written yet");
  PassManager pm(module.getContext(), ModuleOp::getOperationName(), OpPassManager::Nesting::Implicit);
  addLaunchLowering(pm, lanes, reached);
  if (failed(pm.run(module)))
    return llvm::make_error<Reported>();
  return Executable::load(module, *reached.signature, place);
}

llvm::Expected<std::unique_ptr<Executable>> tilewright::bisect::finish(ModuleOp module, const Reached &reached,
                                                                       unsigned way, const Place &place) {
  auto name = module->getAttrOfType<StringAttr>(targetAttr);
  auto chip = TargetRegistry::get().describe(name ? name.getValue() : "");
  if (!chip)
    return chip.takeError();
  const MachineGraph &graph = (*chip)->graph();
  if (graph.startsLaunches() && (reached.stage == 5 || reached.done.contains("outline-launches")))
    return finishLaunches(module, reached, place, graph);

  const bool onTensors = anyType(module, [](Type type) { return isa<TensorType>(type); });
  if (way > 0 && !onTensors)
    return llvm::createStringError("there is one way to finish nests");
  if (onTensors && failed(bufferize(module, reached, way)))
    return llvm::make_error<Reported>();
  moveToHost(module, name.getValue());
  std::optional<Signature> signature = reached.signature;
  PassManager nests(module.getContext(), ModuleOp::getOperationName(), OpPassManager::Nesting::Implicit);
  if (llvm::any_of(publicFunctions(module),
                   [](func::FuncOp each) { return llvm::any_of(each.getResultTypes(), llvm::IsaPred<MemRefType>); }))
    addOutParameters(nests);
  addNests(nests);
  if (failed(nests.run(module)))
    return llvm::make_error<Reported>();
  if (!signature) {
    SmallVector<func::FuncOp> functions = publicFunctions(module);
    if (functions.size() != 1)
      return llvm::createStringError("expected one public function, found %zu", functions.size());
    FailureOr<Signature> found = Signature::of(functions.front());
    if (failed(found))
      return llvm::make_error<Reported>();
    signature = *found;
  }
  PassManager lowering(module.getContext(), ModuleOp::getOperationName(), OpPassManager::Nesting::Implicit);
  addPlainLowering(lowering, reached);
  if (failed(lowering.run(module)))
    return llvm::make_error<Reported>();
  module->removeAttr(LLVM::LLVMDialect::getModuleLevelAsmAttrName());
  return Executable::load(module, *signature, Place());
}
