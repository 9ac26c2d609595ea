//===- UnitEmissionTest.cpp - Units of lanes become instructions ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One call of each unit whose operands lie in the registers of lanes, through
/// the pass emit-units to the assembly of its chip: the record's emission fits
/// LLVM's signature, the back end selects it, and one instruction stands there.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/Transforms/Passes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tilewright/Compiler.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Target/TargetMachine.h"
#include <gtest/gtest.h>

namespace unit_emission_test {

using namespace tilewright;

namespace {

/// The vector that one lane holds of `operand`.
std::string vectorOf(const UnitOperand &operand) {
  llvm::StringRef element = elementName(operand.element);
  if (operand.element == ElementKind::TF32)
    element = "f32";
  else if (bitWidth(operand.element) <= 8)
    return llvm::formatv("vector<{0}xi{1}>", operand.layout.numElements(), bitWidth(operand.element));
  return llvm::formatv("vector<{0}x{1}>", operand.layout.numElements(), element);
}

bool isOfLanes(const MatrixUnit &unit) {
  for (const UnitOperand *operand : {&unit.a, &unit.b, &unit.c})
    if (operand->residence != Residence::LaneRegisters)
      return false;
  return true;
}

} // namespace

TEST(UnitEmission, EveryUnitOfLanesIsSelectedByItsBackEnd) {
  mlir::MLIRContext &context = test::programContext();
  int emitted = 0;
  for (const Target *target : TargetRegistry::get().targets()) {
    for (const std::string &chip : target->chips()) {
      auto description = llvm::cantFail(target->describe(chip));
      for (const MatrixUnit &unit : description->units()) {
        if (!isOfLanes(unit))
          continue;
        std::string besides, parameters, values; // scales, an index
        for (auto [number, beside] : llvm::enumerate(unit.besides())) {
          besides += ", " + vectorOf(*beside);
          parameters += llvm::formatv(", %s{0}: {1}", number, vectorOf(*beside));
          values += llvm::formatv(", %s{0}", number);
        }
        std::string types =
            llvm::formatv("({0}, {1}, {2}{3}) -> {2}", vectorOf(unit.a), vectorOf(unit.b), vectorOf(unit.c), besides);
        std::string text = llvm::formatv(
            R"(
          module attributes {{tilewright.target = "{0}:{1}"} {{
            llvm.func @tilewright.unit.{2}{3}
            llvm.func @f(%a: {4}, %b: {5}, %c: {6}{7}) -> {6} {{
              %d = llvm.call @tilewright.unit.{2}(%a, %b, %c{8}) : {3}
              llvm.return %d : {6}
            }
          })",
            target->name(), chip, unit.name, types, vectorOf(unit.a), vectorOf(unit.b), vectorOf(unit.c), parameters,
            values);
        auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
        ASSERT_TRUE(module) << text;
        mlir::PassManager pm(&context);
        pm.addPass(createEmitUnits());
        ASSERT_TRUE(mlir::succeeded(pm.run(*module))) << chip << " " << unit.name;
        auto generator = llvm::cantFail(CodeGenerator::create(*module));
        llvm::LLVMContext llvmContext;
        auto code = llvm::cantFail(generator->translate(*module, llvmContext));
        std::string assembly = llvm::cantFail(generator->assembly(*code));
        // "amd.wmma_...": the first word of the record is the instruction's.
        llvm::StringRef word = llvm::StringRef(unit.name).split('.').second.split('_').first;
        word = word.starts_with("fma") ? "fma" : word;
        word = unit.scales ? "v_mfma_scale" : word;
        EXPECT_NE(assembly.find(word), std::string::npos) << chip << " " << unit.name << "\n" << assembly;
        ++emitted;
      }
    }
  }
  EXPECT_GT(emitted, 0);
}

} // namespace unit_emission_test
