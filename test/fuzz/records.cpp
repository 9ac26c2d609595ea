//===- records.cpp - Fuzzes the checks of matrix units --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The input is taken apart into the fields of a record. The checks must answer
/// whatever the fields hold; of a layout that passes, the algebra must hold.
///
//===----------------------------------------------------------------------===//

#include "tilewright/TargetDescription.h"

#include <cstdlib>
#include <fuzzer/FuzzedDataProvider.h>

using namespace tilewright;

static void require(bool holds) {
  if (!holds)
    std::abort();
}

/// Mostly small numbers, as records have them, sometimes any.
static int64_t number(FuzzedDataProvider &input) {
  return input.ConsumeIntegralInRange<int>(0, 15) ? input.ConsumeIntegralInRange<int64_t>(-2, 64)
                                                  : input.ConsumeIntegral<int64_t>();
}

static Layout layout(FuzzedDataProvider &input) {
  Layout result;
  for (std::vector<Position> *bases : {&result.lanes, &result.elements})
    for (int i = input.ConsumeIntegralInRange<int>(0, 8); i-- > 0;)
      bases->push_back({number(input), number(input)});
  for (int i = input.ConsumeIntegralInRange<int>(0, 3); i-- > 0;)
    result.repeats.push_back({number(input), number(input), number(input)});
  return result;
}

static UnitOperand operand(FuzzedDataProvider &input) {
  UnitOperand result;
  result.element =
      static_cast<ElementKind>(input.ConsumeIntegralInRange<int>(0, static_cast<int>(ElementKind::F8E5M2FNUZ)));
  result.residence =
      static_cast<Residence>(input.ConsumeIntegralInRange<int>(0, static_cast<int>(Residence::Accumulator)));
  result.rows = number(input);
  result.cols = number(input);
  result.layout = layout(input);
  return result;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  FuzzedDataProvider input(data, size);
  MatrixUnit unit;
  unit.name = "acme.unit";
  unit.m = number(input);
  unit.n = number(input);
  unit.k = number(input);
  unit.a = operand(input);
  unit.b = operand(input);
  unit.c = operand(input);
  unit.source = "Guess";
  unit.scopeLevel = input.ConsumeBool() ? "lane" : "";
  unit.emit = {EmissionKind::LlvmIntrinsic, "llvm.acme", {"A", "B", "C"}};
  if (!checkUnit(unit).empty())
    return 0;
  for (const UnitOperand *operand : {&unit.a, &unit.b, &unit.c}) {
    const Layout &layout = operand->layout;
    auto slots = invert(layout, operand->rows, operand->cols);
    for (int64_t index = 0; index < operand->rows * operand->cols; ++index)
      for (const Slot &slot : slots[index])
        require(layout.at(slot.lane, slot.element) == Position{index / operand->cols, index % operand->cols});
    require(transpose(transpose(layout)) == layout);
    require(contiguousElements(layout) >= 1);
    auto same = conversion(layout, layout, operand->rows, operand->cols);
    require(static_cast<bool>(same));
  }
  return 0;
}
