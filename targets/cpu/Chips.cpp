//===- Chips.cpp - Tables of the CPU chips -------------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tables that tw-tblgen makes of Chips.td.
///
//===----------------------------------------------------------------------===//

#include "targets/cpu/Chips.h"

#include "Chips.inc"
