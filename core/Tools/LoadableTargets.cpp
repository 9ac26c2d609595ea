//===- LoadableTargets.cpp - The linked targets as a library --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For programs that have libTilewright alone (tilewright_compiler.h): the targets
/// that the commands are linked with, registered by one call.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Target.h"

extern "C" __attribute__((visibility("default"))) void tilewrightRegisterLinkedTargets() {
  tilewright::registerLinkedTargets();
}
