//===- NearestNames.cpp - What a mistyped name may be ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Edit distances; a name that holds the whole of the other one is near.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/NearestNames.h"
#include "llvm/ADT/StringExtras.h"
#include <vector>

std::string tilewright::nearestNames(llvm::StringRef name, llvm::ArrayRef<std::string> known) {
  unsigned nearest = ~0u;
  std::vector<std::string> offered;
  for (const std::string &candidate : known) {
    unsigned distance = name.edit_distance_insensitive(candidate);
    if (llvm::StringRef(candidate).contains_insensitive(name) && !name.empty())
      distance = std::min(distance, 1u);
    if (distance > std::max<size_t>(2, name.size() / 2))
      continue;
    if (distance < nearest)
      offered.clear();
    nearest = std::min(nearest, distance);
    if (distance == nearest)
      offered.push_back("'" + candidate + "'");
  }
  return offered.empty() ? "" : "; did you mean " + llvm::join(offered, " or ") + "?";
}
