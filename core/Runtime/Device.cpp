//===- Device.cpp - Where kernels run -------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The common base of devices.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Device.h"

using namespace tilewright;

Device::~Device() = default;
