//===- ChipPage.h - A chip as a page ----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Drawing, tables and unit layouts of one description, for tw-targets --html.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PAGES_CHIPPAGE_H
#define TILEWRIGHT_CORE_PAGES_CHIPPAGE_H

#include "tilewright/TargetDescription.h"

namespace tilewright::html {

std::string chipPage(const TargetDescription &chip);

} // namespace tilewright::html

#endif // TILEWRIGHT_CORE_PAGES_CHIPPAGE_H
