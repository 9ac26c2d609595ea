//===- Compiler.cpp - Reading programs and running the stages -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MLIR's part of the compiler: parse, choose the function, run the stages in
/// order and guarded, dump what each leaves.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Compiler.h"
#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Explain/WorkCounter.h"
#include "core/CostModel/Schedules/KnownPlans.h"
#include "core/Pipelines/Guard.h"
#include "core/Pipelines/KernelModules.h"
#include "core/Pipelines/LargeLiterals.h"
#include "core/Pipelines/Lowering.h"
#include "core/Pipelines/PassObserver.h"
#include "core/Pipelines/ProgramGlobals.h"
#include "core/Pipelines/WorkerPool.h"
#include "core/Transforms/Lower/Vectors/TraceKernels.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/FusionGroups.h"
#include "tilewright/Cores.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tilewright;

char Reported::ID = 0;
void Reported::log(llvm::raw_ostream &os) const { os << "the program could not be compiled"; }
std::error_code Reported::convertToErrorCode() const { return std::make_error_code(std::errc::invalid_argument); }

llvm::StringRef tilewright::stageName(unsigned stage) {
  static constexpr const char *names[] = {"input", "import", "affine", "optimise", "map", "lower"};
  return stage < std::size(names) ? names[stage] : "emit";
}

static InFlightDiagnostic fileError(MLIRContext &context, llvm::StringRef path) {
  return emitError(FileLineColLoc::get(&context, path, 0, 0));
}

static bool isBytecode(llvm::StringRef text) { return text.starts_with("ML\xefR"); }

OwningOpRef<ModuleOp> tilewright::parseProgram(llvm::StringRef path, llvm::SourceMgr &sources, MLIRContext &context) {
  bool isDirectory = false;
  if (path != "-" && !llvm::sys::fs::is_directory(path, isDirectory) && isDirectory) {
    fileError(context, path) << "is a directory; expected a file of MLIR text";
    return {};
  }
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer) {
    fileError(context, path) << "cannot be read: " << buffer.getError().message();
    return {};
  }
  return parseProgram(std::move(*buffer), sources, context);
}

/// Says of an operation of another dialect what would be right, where MLIR's parser lists the dialects that it has
/// read.
static LogicalResult explainUnknown(Diagnostic &diagnostic) {
  const std::string message = diagnostic.str();
  static const llvm::Regex custom("^Dialect `[^']*' not found for custom op '([^']*)'");
  SmallVector<llvm::StringRef> parts;
  if (!custom.match(message, &parts))
    return failure();
  const std::string name = parts[1].str();
  InFlightDiagnostic error =
      emitError(diagnostic.getLocation(), "unsupported operation: '")
      << name << "'; programs are made of func, linalg, tensor, arith, math, scf and tosa operations, or of "
      << "affine loops on memrefs: convert operations of other dialects first";
  if (llvm::StringRef(name).contains("scan"))
    error << " (a scan is an scf.for that carries the sum)";
  return success();
}

/// Parses bytecode, or text without its large literals.
static OwningOpRef<ModuleOp> parse(std::unique_ptr<llvm::MemoryBuffer> buffer, LargeLiterals &literals,
                                   llvm::SourceMgr &sources, MLIRContext &context) {
  const std::string path = buffer->getBufferIdentifier().str();
  llvm::StringRef text = buffer->getBuffer();
  if (!isBytecode(text) && text.trim().empty()) {
    fileError(context, path) << "is empty; expected MLIR text with a function";
    return {};
  }
  if (!isBytecode(text) && text.contains('\0')) {
    fileError(context, path) << "is binary; expected MLIR text or MLIR bytecode";
    return {};
  }
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  // Resources of bytecode stay where they are: the caller keeps `sources`.
  std::shared_ptr<llvm::SourceMgr> kept(&sources, [](llvm::SourceMgr *) {});
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(&context, explainUnknown);
    module = parseSourceFile<ModuleOp>(kept, &context);
  }
  if (module && (failed(literals.bind(*module)) || failed(inlineProgramGlobals(*module))))
    return {};
  if (module && module->getBody()->empty()) {
    fileError(context, path) << "has no function; expected at least one public func.func";
    return {};
  }
  return module;
}

OwningOpRef<ModuleOp> tilewright::parseProgram(std::unique_ptr<llvm::MemoryBuffer> buffer, llvm::SourceMgr &sources,
                                               MLIRContext &context) {
  LargeLiterals literals;
  const bool isMapped = buffer->getBufferKind() == llvm::MemoryBuffer::MemoryBuffer_MMap;
  if (auto text = literals.take(buffer->getBuffer(), isMapped))
    buffer = llvm::MemoryBuffer::getMemBufferCopy(*text, buffer->getBufferIdentifier());
  return parse(std::move(buffer), literals, sources, context);
}

OwningOpRef<ModuleOp> tilewright::parseProgramText(llvm::StringRef text, llvm::StringRef name, llvm::SourceMgr &sources,
                                                   MLIRContext &context) {
  LargeLiterals literals;
  if (auto rest = literals.take(text, /*isMapped=*/false))
    return parse(llvm::MemoryBuffer::getMemBufferCopy(*rest, name), literals, sources, context);
  // Bytecode aligns what it has by the beginning of its memory.
  auto copy = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(text.size(), name, llvm::Align(64));
  llvm::copy(text, copy->getBufferStart());
  return parse(std::move(copy), literals, sources, context);
}

FailureOr<std::string> tilewright::selectFunction(ModuleOp module, llvm::StringRef name) {
  SmallVector<func::FuncOp> functions = publicFunctions(module);
  std::vector<std::string> names;
  for (func::FuncOp function : functions)
    names.push_back(function.getName().str());
  if (functions.empty())
    return module.emitError("has no public function with a body");
  if (name.empty()) {
    if (functions.size() == 1)
      return names.front();
    return module.emitError("has ") << functions.size() << " public functions (" << llvm::join(names, ", ")
                                    << "); name one with --function";
  }
  if (!llvm::is_contained(names, name.str()))
    return module.emitError(llvm::toString(unknownName("function", name, names)));
  for (func::FuncOp function : functions)
    if (function.getName() != name)
      function.setPrivate();
  return name.str();
}

/// The text of a reproducer: the stage's input, and the passes to run as `tw-opt --run-reproducer` reads them.
static std::string reproducerText(ModuleOp input, PassManager &pm) {
  std::string text, passes;
  llvm::raw_string_ostream os(text), pipeline(passes);
  input.print(os, OpPrintingFlags().enableDebugInfo(false));
  pm.printAsTextualPipeline(pipeline, /*pretty=*/false);
  os << "\n{-#\n  external_resources: {\n    mlir_reproducer: {\n      pipeline: \"";
  llvm::printEscapedString(passes, os);
  os << "\",\n      disable_threading: true,\n      verify_each: false\n    }\n  }\n#-}\n";
  return text;
}

/// Operations of a program that is worth other threads in a stage: less takes them a few milliseconds.
static constexpr int64_t worthOtherThreads = 500;

namespace {
/// What passes share while it lives: plans of products, since networks repeat them and several passes plan the same
/// one, and threads for functions.
class SharedWork {
public:
  SharedWork(MLIRContext *context, bool isParallel) : context(context) {
    if (!isParallel)
      return;
    auto around = [this](llvm::function_ref<void()> task) {
      KnownPlans::Shared here(plans);
      task();
    };
    pool = std::make_unique<WorkerPool>(processors(), around);
    context->setThreadPool(*pool);
  }
  ~SharedWork() {
    if (pool)
      context->disableMultithreading();
  }
  SharedWork(const SharedWork &) = delete;
  SharedWork &operator=(const SharedWork &) = delete;

private:
  MLIRContext *context;
  KnownPlans plans;
  std::unique_ptr<WorkerPool> pool;
};

/// Passes of a stage, which is checked as a whole.
class StagePasses : public PassManager {
public:
  StagePasses(MLIRContext *context, unsigned stage)
      : PassManager(context, ModuleOp::getOperationName(), PassManager::Nesting::Implicit) {
    enableVerifier(false); // once, behind the last one
    timePasses(*this);
    observePasses(*this, stage);
  }
};

/// What `buildLowerPipeline` has for functions, kernels side by side.
class FunctionLowering {
public:
  FunctionLowering(MLIRContext *context, const LoweringOptions &options)
      : interfaces(context, 5), bodies(context, 5), options(options) {}

  LogicalResult run(ModuleOp module) {
    lowerInterfaces(interfaces, options);
    if (failed(interfaces.run(module)))
      return failure();
    const bool areApart = splitKernels(module);
    lowerBodies(areApart ? bodies.nest<ModuleOp>() : bodies, options);
    if (failed(bodies.run(module)))
      return failure();
    return areApart ? joinKernels(module) : success();
  }

private:
  StagePasses interfaces, bodies;
  LoweringOptions options;
};
} // namespace

/// Whether functions of `module` are worked on side by side: there are several, and none is most of the program, since
/// a context in use by several threads looks up types, attributes and affine maps a fifth slower. What passes say of
/// their decisions, steps and counts comes in the order of one thread; where somebody listens there are no others.
static bool isWorkedOnSideBySide(ModuleOp module) {
  if (processors() == 1 || DecisionLog::of(module.getContext()) || arePassesObserved() || isWorkCounted() ||
      module->hasAttr(tracedAttr)) // numbers kernels in the order of their module
    return false;
  int64_t all = 0, longest = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    int64_t length = 0;
    function.walk([&](Operation *) { ++length; });
    all += length;
    longest = std::max(longest, length);
  }
  return all > worthOtherThreads && 4 * longest < 3 * all;
}

/// Runs a stage, which `pm` has the passes of, so that a crash inside becomes a diagnostic with a reproducer.
static LogicalResult runGuarded(ModuleOp module, PassManager &pm, unsigned stage, const CompileOptions &options,
                                llvm::function_ref<LogicalResult()> runPasses) {
  if (options.reproducer.empty())
    return runPasses();
  OwningOpRef<ModuleOp> before;
  LogicalResult result = failure();
  // Copying and printing are guarded too: what the stage before left may be what crashes.
  auto run = [&] {
    before = module.clone();
    result = runPasses();
  };
  if (finishes(run))
    return result;
  std::string note, text;
  if (before)
    (void)finishes([&] { text = reproducerText(*before, pm); });
  if (llvm::Error error = writeFile(options.reproducer, text))
    note = "no reproducer could be written: " + llvm::toString(std::move(error));
  else
    note = "'tw-opt --run-reproducer " + options.reproducer +
           "' runs it again on its input; please report it with this file";
  return emitError(UnknownLoc::get(module.getContext()))
         << "stage " << stage << " (" << stageName(stage) << ") of the compiler crashed; " << note;
}

/// Adds the passes that the target has for the end of a stage.
static LogicalResult extendStage(PassManager &pm, unsigned stage, const CompileOptions &options, ModuleOp module) {
  static constexpr PipelineSlot slots[] = {PipelineSlot::AfterImport, PipelineSlot::AfterAffine,
                                           PipelineSlot::AfterOptimize, PipelineSlot::AfterMap};
  if (stage > std::size(slots) || stage > options.targetStages)
    return success();
  TargetRegistry &registry = TargetRegistry::get();
  llvm::Expected<const Target *> target = registry.targetOf(options.target);
  if (!target)
    return module.emitError(llvm::toString(target.takeError()));
  auto chip = registry.describe(options.target);
  if (!chip)
    return module.emitError(llvm::toString(chip.takeError()));
  (*target)->extendPipeline(slots[stage - 1], pm, **chip);
  return success();
}

LogicalResult tilewright::runStages(ModuleOp module, unsigned first, unsigned last, const CompileOptions &options) {
  MLIRContext *context = module.getContext();
  Builder builder(context);
  module->setAttr(targetAttr, builder.getStringAttr(options.target));
  module->setAttr(contractAttr, builder.getStringAttr(options.fp));
  module->setAttr(threadsAttr, builder.getI64IntegerAttr(options.threads));
  if (options.tileLoops || options.bounded)
    module->setAttr(referenceAttr, builder.getStringAttr(options.tileLoops ? "values" : "bounds"));
  auto chip = TargetRegistry::get().describe(options.target);
  if (!chip)
    return emitError(UnknownLoc::get(context), llvm::toString(chip.takeError()));
  const MachineGraph &graph = (*chip)->graph();
  bool scalar = module->hasAttr(scalarCodeAttr);
  if (graph.startsLaunches() && graph.threadMemory()) // all cores work on one program
    module->setAttr(threadsAttr, builder.getI64IntegerAttr(graph.parallelLevel()->count));
  llvm::StringMap<llvm::json::Array> statements; // of each kernel
  for (unsigned stage = first; stage <= last; ++stage) {
    Stopwatch stopwatch(stageName(stage));
    StagePasses pm(context, stage);
    const LoweringOptions lowering{
        .packedCall = options.packedCall, .tileLoops = options.tileLoops, .libm = options.bounded, .source = scalar};
    switch (stage) {
    case 1:
      buildImportPipeline(pm, graph.lanesAreThreads());
      pm.addPass(createNameSizes());
      pm.addPass(createCountRoundings());
      pm.addPass(createCheckOperandSizes());
      if (graph.lanesAreThreads())
        pm.addNestedPass<func::FuncOp>(createDelaySums());
      break;
    case 2:
      if (options.referenceAffine)
        buildReferencePipeline(pm);
      else
        buildAffinePipeline(pm);
      if (options.bounded)
        pm.addPass(createBoundErrors({options.operandSpacing}));
      break;
    case 3:
      if (graph.startsLaunches() || !options.plain) // the plain path of `--verify`, of functions, has no optimisation
        buildOptimizePipeline(pm, graph, !scalar);
      break;
    case 4:
      buildMapPipeline(pm, graph);
      break;
    default:
      buildLowerPipeline(pm, graph, lowering);
      break;
    }
    // Asked in this thread, which knows who listens.
    const bool isParallel = stage > 1 && !graph.startsLaunches() && isWorkedOnSideBySide(module);
    std::optional<FunctionLowering> functions;
    if (stage == 5 && isParallel)
      functions.emplace(context, lowering);
    TimingScope *timing = Stopwatch::running();
    auto runPasses = [&] {
      SharedWork shared(context, isParallel);
      if (failed(functions ? functions->run(module) : pm.run(module)))
        return failure();
      if (stage < last)
        return success();
      Stopwatch verification("verify", timing);
      return verify(module);
    };
    if (failed(extendStage(pm, stage, options, module)) || failed(runGuarded(module, pm, stage, options, runPasses)))
      return failure();
    if (stage == 2 && DecisionLog::of(context))
      statements = statementsOf(module);
    if (stage == 3 && DecisionLog::of(context))
      explainFusionGroups(module, statements);
    if (!options.dumpDirectory.empty()) {
      std::string text;
      llvm::raw_string_ostream os(text);
      module.print(os);
      llvm::SmallString<128> path(options.dumpDirectory);
      llvm::sys::path::append(path, llvm::Twine(stage) + "-" + stageName(stage) + ".mlir");
      std::error_code created = llvm::sys::fs::create_directories(options.dumpDirectory);
      llvm::Error error = created ? llvm::createStringError(created, "cannot create '%s': %s",
                                                            options.dumpDirectory.c_str(), created.message().c_str())
                                  : writeFile(path, text);
      if (error)
        return emitError(module.getLoc(), llvm::toString(std::move(error)));
    }
    if (options.afterStage)
      options.afterStage(stage, module);
  }
  return success();
}
