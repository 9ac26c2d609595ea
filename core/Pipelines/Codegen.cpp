//===- Codegen.cpp - LLVM's optimiser and object files --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM dialect -> LLVM IR -> -O3 for the chip -> object file.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Explain/WorkCounter.h"
#include "core/Machine/NativeCode.h"
#include "core/Pipelines/HalfConversions.h"
#include "core/Pipelines/LargeConstants.h"
#include "core/Pipelines/MaskedAccesses.h"
#include "core/Pipelines/ModuleParts.h"
#include "core/Pipelines/SinkLoads.h"
#include "tilewright/Compiler.h"
#include "tilewright/TargetDescription.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetLoweringObjectFile.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"
#include <mutex>

using namespace tilewright;

CodeGenerator::CodeGenerator() = default;
CodeGenerator::~CodeGenerator() = default;

llvm::Expected<std::unique_ptr<CodeGenerator>> CodeGenerator::create(mlir::ModuleOp module) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
  });
  auto description = targetOf(module);
  if (!description)
    return description.takeError();
  CodegenTarget code = module->hasAttr(nativeCodeAttr) ? hostCodegen() : (*description)->codegen();
  if (code.triple.empty())
    return llvm::createStringError("'%s:%s' is a chip whose code is not generated through LLVM",
                                   (*description)->target().str().c_str(), (*description)->chip().str().c_str());
  std::string error;
  llvm::Triple triple(code.triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError("this LLVM has no back end for '%s': %s", code.triple.c_str(), error.c_str());

  llvm::TargetOptions options;
  options.UseInitArray = true; // loaders run .init_array; they know no .ctors
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<CodeGenerator> generator(new CodeGenerator());
  generator->targetMachine.reset(target->createTargetMachine(
      triple, code.cpu, code.features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!generator->targetMachine)
    return llvm::createStringError("LLVM cannot generate code for '%s'", code.triple.c_str());
  generator->vectorBytes = (*description)->vectorRegisters().second;
  return generator;
}

std::unique_ptr<llvm::TargetMachine> CodeGenerator::newMachine() const {
  const llvm::TargetMachine &known = *targetMachine;
  return std::unique_ptr<llvm::TargetMachine>(known.getTarget().createTargetMachine(
      known.getTargetTriple(), known.getTargetCPU(), known.getTargetFeatureString(), known.Options,
      known.getRelocationModel(), std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Most instructions of a loop that LLVM may unroll, those of loops inside of it included. It allows 512 operations for
/// chips with the largest loop buffers: two iterations, each with a third as many again for addresses. More, up to 1200
/// at -O3, it takes where iterations are few and most of their instructions fold; nests that were mapped to vectors
/// have none of these. It asks for the cost of each instruction of a loop before it finds that out, and for those of
/// the innermost loop once more for each loop around it.
static constexpr unsigned mostUnrolled = 180;
/// Most loops in an outermost one whose shorter loops it may unroll. A loop over rows may hold hundreds of loops over
/// one row: unrolled they would be code that no instruction cache holds, and for each loop that is unrolled LLVM
/// forgets what it knows of the values in all others and finds it out again. Nests of contractions and stencils have
/// fewer.
static constexpr size_t mostLoopsOfNest = 128;

static void keepLongLoops(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.getInstructionCount() <= mostUnrolled)
      continue;
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    for (llvm::Loop *nest : loops) {
      auto ofNest = nest->getLoopsInPreorder();
      for (llvm::Loop *loop : ofNest) {
        size_t instructions = 0;
        for (llvm::BasicBlock *block : loop->blocks())
          instructions += block->size();
        if (ofNest.size() > mostLoopsOfNest || instructions > mostUnrolled)
          loop->setLoopAlreadyUnrolled();
      }
    }
  }
}

/// For code that runs once: what is linear in its size. A fragment's loops are thousands, and the passes that count
/// turns take seconds for them.
static void optimiseOnce(llvm::Module &module, llvm::ModuleAnalysisManager &analyses) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, analyses);
}

/// Whether `function` computes with scalars: it stores them, computes floats one by one, or puts them into a vector
/// behind its first element. Nests that were mapped to vectors read scalars to repeat them only.
static bool hasScalars(const llvm::Function &function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction &instruction) {
    if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      return !store->getValueOperand()->getType()->isVectorTy();
    if (llvm::isa<llvm::InsertElementInst>(instruction)) {
      auto *index = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(2));
      return !index || !index->isZero();
    }
    return instruction.getType()->isFloatingPointTy() && !llvm::isa<llvm::LoadInst>(instruction);
  });
}

/// Whether `function` computes with vectors of several elements, and not only loads and stores them.
static bool hasVectors(const llvm::Function &function) {
  auto hasSeveral = [](const llvm::Type *type) {
    auto *vector = llvm::dyn_cast<llvm::VectorType>(type);
    return vector && vector->getElementCount() != llvm::ElementCount::getFixed(1);
  };
  return llvm::any_of(llvm::instructions(function), [&](const llvm::Instruction &instruction) {
    if (llvm::isa<llvm::LoadInst, llvm::InsertElementInst, llvm::PHINode>(instruction))
      return false;
    return hasSeveral(instruction.getType()) ||
           (llvm::isa<llvm::CastInst>(instruction) && hasSeveral(instruction.getOperand(0)->getType()));
  });
}

namespace {
/// Runs of passes of -O3 that find nothing in nests, and take a third of its time:
/// 1. Everywhere: what follows constants into internal functions, and conditions and values through stores. MLIR's
///    passes have done so, and nests have few other conditions than those of loops.
/// 2. Where there are no scalars: what joins them, or hands them to a loop's next iteration.
/// 3. Where there are no scalars: the combination of instructions, but for twice before the passes on loops, after
///    values are numbered, and where a function grew by a quarter, as unrolled loops do.
/// 4. Of lanes that compute without vectors: what rewrites these. For each load it looks through the operations before
///    it, which are thousands where steps are unrolled.
class LeftOutPasses {
public:
  explicit LeftOutPasses(const llvm::TargetMachine &machine) : machine(machine) {}

  bool isLeftOut(llvm::StringRef pass, const llvm::Function *function) {
    if (everywhere.contains(pass))
      return true;
    if (!function)
      return false;
    if (pass == "GVNPass")
      combinations[function].isNumbered = true;
    if (pass == "InstCombinePass")
      return isCombined(*function);
    if (pass == "VectorCombinePass")
      return machine.getTargetTransformInfo(*function).hasBranchDivergence(function) && !hasVectors(*function);
    return withoutScalars.contains(pass) && !hasScalars(*function);
  }

private:
  struct Combinations {
    unsigned times = 0, length = 0; // instructions at the last one
    bool isNumbered = false;        // since then
  };

  bool isCombined(const llvm::Function &function) {
    Combinations &known = combinations[&function];
    const unsigned length = function.getInstructionCount();
    const bool isWorthIt = known.times < 2 || known.isNumbered || 4 * length > 5 * known.length;
    if (!isWorthIt && !hasScalars(function))
      return true;
    known = {known.times + 1, length, false};
    return false;
  }

  const llvm::TargetMachine &machine;
  const llvm::StringSet<> everywhere{"IPSCCPPass",
                                     "CalledValuePropagationPass",
                                     "SCCPPass",
                                     "JumpThreadingPass",
                                     "CorrelatedValuePropagationPass",
                                     "ConstraintEliminationPass",
                                     "DSEPass"},
      withoutScalars{"SLPVectorizerPass", "LoopLoadEliminationPass"};
  llvm::DenseMap<const llvm::Function *, Combinations> combinations;
};
} // namespace

/// LLVM's passes over IR. `forSpeed`: all of -O3; else the program runs once.
static void optimise(llvm::Module &module, llvm::TargetMachine &machine, bool forSpeed) {
  countWork("instructions", module.getInstructionCount());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  // Loops over the elements of fragments have short constant trips: unrolled, one product of 16 x 16 x 64 is 16384
  // statements, and a program of them takes minutes. They run once, for their results.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = forSpeed;
  tuning.SLPVectorization = forSpeed;
  tuning.LoopInterleaving = forSpeed;
  tuning.LoopUnrolling = forSpeed;
  LeftOutPasses leftOut(machine);
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback([&](llvm::StringRef pass, llvm::Any unit) {
    auto *function = llvm::any_cast<const llvm::Function *>(&unit);
    return !leftOut.isLeftOut(pass, function ? *function : nullptr);
  });
  llvm::PassBuilder builder(&machine, tuning, /*PGOOpt=*/std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  if (forSpeed) {
    keepLongLoops(module);
    builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
  } else {
    optimiseOnce(module, modules);
  }
  writeMaskedAccesses(module, machine);
}

/// Large constants as arrays of bytes over the same memory: LLVM copies these as a whole into the object file, and
/// numbers one by one.
static void constantsAsBytes(mlir::ModuleOp module, const llvm::TargetMachine &machine) {
  // Code that is written as text would have a number for each byte.
  if (!machine.getTargetTriple().isOSBinFormatELF() || !machine.getTargetTriple().isLittleEndian() ||
      !llvm::sys::IsLittleEndianHost)
    return;
  mlir::Type byte = mlir::IntegerType::get(module.getContext(), 8);
  unsigned count = 0;
  for (auto global : module.getOps<mlir::LLVM::GlobalOp>()) {
    llvm::ArrayRef<char> bytes = largeConstant(global);
    if (bytes.empty())
      continue;
    const int64_t size = bytes.size();
    mlir::Type element = llvm::cast<mlir::ElementsAttr>(*global.getValue()).getElementType();
    const uint64_t alignment =
        std::max<uint64_t>(global.getAlignment().value_or(0), element.getIntOrFloatBitWidth() / 8);
    auto type = mlir::RankedTensorType::get({size}, byte);
    mlir::AsmResourceBlob blob =
        mlir::UnmanagedAsmResourceBlob::allocateInferAlign(bytes); // the context keeps the memory
    global.setValueAttr(mlir::DenseResourceElementsAttr::get(type, "bytes" + std::to_string(count++), std::move(blob)));
    global.setGlobalType(mlir::LLVM::LLVMArrayType::get(byte, size));
    global.setAlignment(alignment);
  }
}

/// LLVM IR of a module after stage 5 as it is translated, with what LLVM has to know of the chip.
llvm::Expected<std::unique_ptr<llvm::Module>> CodeGenerator::plainTranslation(mlir::ModuleOp source,
                                                                              llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> module;
  {
    Stopwatch stopwatch("translation to LLVM IR");
    constantsAsBytes(source, *targetMachine);
    module = mlir::translateModuleToLLVMIR(source, context, "tilewright");
  }
  if (!module)
    return llvm::createStringError("the program cannot be written as LLVM IR");
  module->setDataLayout(targetMachine->createDataLayout());
  module->setTargetTriple(targetMachine->getTargetTriple());
  std::string width = std::to_string(vectorBytes * 8);
  // LLVM aligns a frame for vectors that it spills only where it knew before allocating registers that there would be
  // some. Unaligned ones cross cache lines, and whether they do depends on where a thread's stack happens to begin: a
  // convolution of 2.09 ms took 2.67 in half of the processes.
  const llvm::MaybeAlign stack = module->getDataLayout().getStackAlignment();
  const bool realigns = stack && vectorBytes > int64_t(stack->value());
  for (llvm::Function &function : *module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", targetMachine->getTargetCPU());
    function.addFnAttr("target-features", targetMachine->getTargetFeatureString());
    if (vectorBytes > 0)
      function.addFnAttr("prefer-vector-width", width);
    if (realigns)
      function.addFnAttr("stackrealign");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    // Copies and fills are vectorised already; as calls they would need a C library.
    for (llvm::StringRef name : {"memcpy", "memset", "memmove"})
      function.addFnAttr(("no-builtin-" + name).str());
  }
  return module;
}

static llvm::CodeGenOptLevel codegenLevel(mlir::ModuleOp source) {
  switch (referenceOf(source)) {
  case Reference::None:
    return llvm::CodeGenOptLevel::Aggressive;
  case Reference::Values:
    return llvm::CodeGenOptLevel::None;
  case Reference::Bounds: // arrays may be large: registers for what is in a loop
    return llvm::CodeGenOptLevel::Less;
  }
  llvm_unreachable("all kinds of references have a level");
}

llvm::Error CodeGenerator::optimiseParts(mlir::ModuleOp source, ModuleParts &parts) const {
  mlir::TimingScope *timing = Stopwatch::running();
  return parts.forEach([&](llvm::Module &part) -> llvm::Error {
    Stopwatch stopwatch("LLVM optimisation", timing);
    std::unique_ptr<llvm::TargetMachine> machine = newMachine();
    optimise(part, *machine, referenceOf(source) == Reference::None);
    return llvm::Error::success();
  });
}

llvm::Expected<std::unique_ptr<llvm::Module>> CodeGenerator::translate(mlir::ModuleOp source,
                                                                       llvm::LLVMContext &context) {
  auto module = plainTranslation(source, context);
  if (!module)
    return module.takeError();
  ModuleParts parts(**module);
  llvm::Error error = optimiseParts(source, parts);
  if (!error)
    error = parts.join();
  if (error)
    return error;
  targetMachine->setOptLevel(codegenLevel(source));
  return module;
}

/// LLVM's code generation without the scheduler before register allocation: the register tile of a contraction takes
/// nearly all vector registers in an order that the emitter chose, and that scheduler moves loads of later steps of k
/// up, so that accumulators spill in the innermost loop (seen: 34 accesses of the stack beside 54 dot products).
/// Instruction selection puts loads together, with the same effect: each goes back to what takes it.
static bool addCodegenPasses(llvm::TargetMachine &machine, llvm::legacy::PassManager &passes,
                             llvm::raw_pwrite_stream &os, unsigned vectorBytes) {
  auto *information = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  config->disablePass(&llvm::MachineSchedulerID);
  if (vectorBytes > 0)
    config->insertPass(&llvm::PeepholeOptimizerLegacyID, createSinkLoads(vectorBytes));
  const llvm::TargetOptions &options = machine.Options;
  passes.add(new llvm::RuntimeLibraryInfoWrapper(machine.getTargetTriple(), options.ExceptionModel,
                                                 options.FloatABIType, options.EABIVersion, options.MCOptions.ABIName,
                                                 options.VecLib));
  passes.add(config);
  passes.add(information);
  if (config->addISelPasses())
    return true;
  config->addMachinePasses();
  config->setInitialized();
  machine.getObjFileLowering()->Initialize(information->getMMI().getContext(), machine);
  if (machine.addAsmPrinter(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile, information->getMMI().getContext()))
    return true;
  passes.add(llvm::createFreeMachineFunctionPass());
  return false;
}

/// An object file of a module, by a machine of one thread.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> objectOf(llvm::Module &module, llvm::TargetMachine &machine,
                                                                    unsigned vectorBytes) {
  countWork("instructions", module.getInstructionCount());
  llvm::SmallVector<char, 0> bytes;
  auto generate = [&](llvm::Module &source) -> llvm::Error {
    bytes.clear();
    llvm::raw_svector_ostream os(bytes);
    llvm::legacy::PassManager passes;
    if (addCodegenPasses(machine, passes, os, vectorBytes))
      return llvm::createStringError("LLVM cannot write object files for '%s'",
                                     machine.getTargetTriple().str().c_str());
    passes.run(source);
    return llvm::Error::success();
  };
  // Only the code shows whether conversions of f16 became calls; generating it consumes the module.
  std::unique_ptr<llvm::Module> again = usesHalf(module) ? llvm::CloneModule(module) : nullptr;
  if (llvm::Error error = generate(module))
    return error;
  if (again && callsHalfConversions({llvm::StringRef(bytes.data(), bytes.size()), "tilewright.o"})) {
    if (llvm::Error error = addHalfConversions(*again))
      return error;
    if (llvm::Error error = generate(*again))
      return error;
  }
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "tilewright.o",
                                                         /*RequiresNullTerminator=*/false);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> CodeGenerator::object(llvm::Module &module) {
  Stopwatch stopwatch("LLVM code generation");
  return objectOf(module, *targetMachine, vectorBytes);
}

llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>> CodeGenerator::objects(mlir::ModuleOp source) {
  // Constants may be hundreds of megabytes: each form of the program goes when the next one is there.
  llvm::LLVMContext context;
  auto module = plainTranslation(source, context);
  if (!module)
    return module.takeError();
  ModuleParts parts(**module);
  mlir::TimingScope *timing = Stopwatch::running();
  // A part goes from its IR to its object in one thread: nothing waits for the longest of the others in between, and
  // what is optimised need not be written as bitcode once more.
  return parts.mapEach([&](llvm::Module &part) {
    std::unique_ptr<llvm::TargetMachine> machine = newMachine();
    {
      Stopwatch stopwatch("LLVM optimisation", timing);
      optimise(part, *machine, referenceOf(source) == Reference::None);
    }
    Stopwatch stopwatch("LLVM code generation", timing);
    machine->setOptLevel(codegenLevel(source));
    return objectOf(part, *machine, vectorBytes);
  });
}

llvm::Expected<std::string> CodeGenerator::assembly(llvm::Module &module) {
  std::string program;
  llvm::raw_string_ostream(program) << module;
  if (program == lastModule)
    return lastText;
  Stopwatch stopwatch("LLVM code generation");
  countWork("instructions", module.getInstructionCount());
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  if (targetMachine->addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("LLVM cannot write assembly for '%s'",
                                   targetMachine->getTargetTriple().str().c_str());
  passes.run(module);
  lastModule = std::move(program);
  lastText = text.str().str();
  return lastText;
}

bool tilewright::needsThreads(mlir::ModuleOp module) {
  return module.lookupSymbol("omp_get_thread_num") || module
                                                          .walk([](mlir::Operation *op) {
                                                            return op->getName().getDialectNamespace() == "omp"
                                                                       ? mlir::WalkResult::interrupt()
                                                                       : mlir::WalkResult::advance();
                                                          })
                                                          .wasInterrupted();
}
