//===- Assembler.cpp - Object files from assembly -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM's assembler in this process: where a target gives both the text and the
/// object file of a program, its code is generated once.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Explain/Stopwatch.h"
#include "tilewright/Compiler.h"

#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"

using namespace tilewright;

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> CodeGenerator::assemble(llvm::StringRef text) const {
  Stopwatch stopwatch("assembly");
  const llvm::Triple &triple = targetMachine->getTargetTriple();
  const llvm::Target &target = targetMachine->getTarget();
  const llvm::MCTargetOptions &options = targetMachine->Options.MCOptions;
  std::string messages;
  llvm::SourceMgr sources;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *to) {
        llvm::raw_string_ostream os(*static_cast<std::string *>(to));
        diagnostic.print(nullptr, os, /*ShowColors=*/false);
      },
      &messages);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, "code.s", /*RequiresNullTerminator=*/false),
                             llvm::SMLoc());
  std::unique_ptr<llvm::MCRegisterInfo> registers(target.createMCRegInfo(triple));
  std::unique_ptr<llvm::MCAsmInfo> syntax(target.createMCAsmInfo(*registers, triple, options));
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target.createMCSubtargetInfo(triple, targetMachine->getTargetCPU(), targetMachine->getTargetFeatureString()));
  std::unique_ptr<llvm::MCInstrInfo> instructions(target.createMCInstrInfo());
  llvm::MCContext context(triple, syntax.get(), registers.get(), subtarget.get(), &sources, &options);
  std::unique_ptr<llvm::MCObjectFileInfo> sections(
      target.createMCObjectFileInfo(context, targetMachine->isPositionIndependent()));
  context.setObjectFileInfo(sections.get());

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(target.createMCCodeEmitter(*instructions, context));
  std::unique_ptr<llvm::MCAsmBackend> backend(target.createMCAsmBackend(*subtarget, *registers, options));
  if (!emitter || !backend)
    return llvm::createStringError("LLVM has no assembler for '%s'", triple.str().c_str());
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(os);
  std::unique_ptr<llvm::MCStreamer> streamer(target.createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, *streamer, *syntax));
  std::unique_ptr<llvm::MCTargetAsmParser> statements(
      target.createMCAsmParser(*subtarget, *parser, *instructions, options));
  if (!statements)
    return llvm::createStringError("LLVM has no assembler for '%s'", triple.str().c_str());
  parser->setTargetParser(*statements);
  if (parser->Run(/*NoInitialTextSection=*/false) || context.hadError())
    return llvm::createStringError("the code cannot be assembled: %s", llvm::StringRef(messages).trim().str().c_str());
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "tilewright.o",
                                                         /*RequiresNullTerminator=*/false);
}
