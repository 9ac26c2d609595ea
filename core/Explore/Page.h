//===- Page.h - An exploration as a page ------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EXPLORE_PAGE_H
#define TILEWRIGHT_CORE_EXPLORE_PAGE_H

#include "core/Explore/Explorer.h"

namespace tilewright::explore {

/// What `tw-explore --html` writes: the front, how much each field matters, what binds, bytes by edge, a roofline for
/// each design of the front, and the fastest designs. No scripts, nothing loaded.
std::string toHtml(const Exploration &exploration);

} // namespace tilewright::explore

#endif // TILEWRIGHT_CORE_EXPLORE_PAGE_H
