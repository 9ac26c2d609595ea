//===- UnitMatchTest.cpp - Elements of contractions and of units ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What has to happen to an operand so that a unit takes it.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/UnitMatch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

namespace unit_match_test {

using namespace mlir;
using namespace tilewright;

namespace {
struct UnitMatch : testing::Test {
  MLIRContext context;
  Builder b{&context};

  OperandForm form(ElementKind slot, Type element, Type accumulator, bool isUnsigned = false) {
    UnitOperand operand;
    operand.element = slot;
    ContractionOperand given;
    given.element = element;
    given.isUnsigned = isUnsigned;
    return formIn(operand, given, accumulator);
  }
};
} // namespace

TEST_F(UnitMatch, EqualElementsComeAsTheyAre) {
  EXPECT_EQ(form(ElementKind::BF16, b.getBF16Type(), b.getF32Type()), OperandForm::AsItIs);
  EXPECT_EQ(form(ElementKind::I8, b.getI8Type(), b.getI32Type()), OperandForm::AsItIs);
  EXPECT_EQ(form(ElementKind::U8, b.getI8Type(), b.getI32Type(), /*isUnsigned=*/true), OperandForm::AsItIs);
  // Nothing is widened, so that nobody asks for a sign.
  EXPECT_EQ(form(ElementKind::I32, b.getI32Type(), b.getI32Type(), /*isUnsigned=*/true), OperandForm::AsItIs);
}

TEST_F(UnitMatch, OnlySignedIntegersTakeAnOffset) {
  EXPECT_EQ(form(ElementKind::U8, b.getI8Type(), b.getI32Type()), OperandForm::Offset);
  EXPECT_EQ(form(ElementKind::I8, b.getI8Type(), b.getI32Type(), /*isUnsigned=*/true), OperandForm::None);
}

TEST_F(UnitMatch, WiderElementsOfTheSameKindHoldEveryValue) {
  EXPECT_EQ(form(ElementKind::F32, b.getF16Type(), b.getF32Type()), OperandForm::Widened);
  EXPECT_EQ(form(ElementKind::I16, b.getI8Type(), b.getI32Type(), /*isUnsigned=*/true), OperandForm::Widened);
  EXPECT_EQ(form(ElementKind::F16, b.getBF16Type(), b.getF32Type()), OperandForm::None);
  EXPECT_EQ(form(ElementKind::F16, b.getF32Type(), b.getF32Type()), OperandForm::None);
  EXPECT_EQ(form(ElementKind::I32, b.getF16Type(), b.getF32Type()), OperandForm::None);
  EXPECT_EQ(form(ElementKind::F32, b.getI8Type(), b.getF32Type()), OperandForm::None);
  EXPECT_EQ(form(ElementKind::I32, b.getIndexType(), b.getI32Type()), OperandForm::None);
}

TEST_F(UnitMatch, UnitsThatRoundAreForTheFastContractAlone) {
  EXPECT_EQ(form(ElementKind::TF32, b.getF32Type(), b.getF32Type()), OperandForm::Rounded);
  Contraction c;
  c.accumulator = c.a.element = c.b.element = b.getF32Type();
  MatrixUnit unit;
  unit.a.element = unit.b.element = ElementKind::TF32;
  unit.c.element = ElementKind::F32;
  unit.k = 8;
  EXPECT_FALSE(takesElements(unit, c, {}));
  EXPECT_TRUE(takesElements(unit, c, {/*fast=*/true}));
  EXPECT_FALSE(takesElements(unit, c, {/*fast=*/true, /*mayReassociate=*/false}));
}

} // namespace unit_match_test
