//===- Source.cpp - Programs of cores as C or LLVM IR ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Stage 6 for chips whose cores program engines: the module calls the vendor's functions by name already; it is
/// printed as C, or lowered to LLVM IR that any back end of LLVM takes.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/CPrinter.h"
#include "core/Transforms/Passes.h"
#include "tilewright/Compiler.h"
#include "tilewright/Cores.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace tilewright;

/// The program, behind what says how to compile it.
static llvm::Expected<std::string> sourceOf(ModuleOp module, const TargetDescription &chip) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "/* Made by tw-compile for " << chip.target() << ":" << chip.chip() << ". Compile it with the header of its\n"
     << " * intrinsics: -DTILEWRIGHT_INTRINSICS='\"reference.h\"', or your own of the same names. */\n"
     << "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
     << "#ifndef TILEWRIGHT_INTRINSICS\n#define TILEWRIGHT_INTRINSICS \"" << chip.target() << ".h\"\n#endif\n"
     << "#include TILEWRIGHT_INTRINSICS\n";
  if (failed(CPrinter(module, os).print()))
    return llvm::make_error<Reported>();
  return text;
}

/// LLVM IR for the chip's triple, or for none: the vendor's compiler then says what it is for.
static llvm::Expected<std::string> irOf(ModuleOp module, const TargetDescription &chip) {
  PassManager pm(module.getContext());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createLowerToLLVM());
  if (failed(pm.run(module)))
    return llvm::make_error<Reported>();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, "tilewright");
  if (!code)
    return llvm::createStringError("the program cannot be written as LLVM IR");
  if (CodegenTarget target = chip.codegen(); !target.triple.empty())
    code->setTargetTriple(llvm::Triple(target.triple));
  std::string text;
  llvm::raw_string_ostream os(text);
  code->print(os, nullptr);
  return text;
}

/// What `make` makes of a module whose calls have names, as a file.
static llvm::Expected<std::string>
source(ModuleOp module, llvm::function_ref<llvm::Expected<std::string>(ModuleOp, const TargetDescription &)> make) {
  auto chip = targetOf(module);
  if (!chip)
    return chip.takeError();
  if (!(*chip)->graph().threadMemory() || !module->hasAttr(scalarCodeAttr))
    return llvm::createStringError(
        "source is written of launches that are one thread on each core, with a memory of its "
        "own; '" +
        (*chip)->target() + ":" + (*chip)->chip() + "' has none");
  return make(module, **chip);
}

llvm::Expected<std::string> tilewright::sourceInC(ModuleOp module) { return source(module, sourceOf); }
llvm::Expected<std::string> tilewright::sourceInLLVM(ModuleOp module) { return source(module, irOf); }
