//===- HaloModel.h - Is a stencil computed where it is read? ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two stencils in a row either hand their elements on through memory, or the
/// second computes the elements of the first that it reads, some of them again.
///
///   apart: max(in + between, work of the first) + max(between + out, work of the second)
///   fused: max(in + out, recompute * work of the first + work of the second)
///   slid:  max(in + out, work of both, what goes through the circular buffer)
///
/// Bytes cost what the memory costs that holds what a pass touches. `recompute`
/// counts the elements of the first that R rows of the second need together,
/// over R: rows that are computed at once share them.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_HALOMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_HALOMODEL_H

#include "core/CostModel/Machine/PassModel.h"

namespace tilewright {

/// The work of one element of a stencil, in vector instructions of a vector of elements.
struct StencilWork {
  double arithmetic = 0; // a multiplication whose product is added counts as one with the addition
  double loads = 0;      // of the arrays that only this stencil reads; one that crosses a line counts twice
};

struct HaloQuestion {
  double bytesIn = 0, bytesBetween = 0, bytesOut = 0;
  double elements = 0;  // of the second stencil
  double between = 0;   // elements of the first
  double recompute = 1; // elements of the first that are computed for one of the second
  double reads = 1;     // elements of the first that one of the second reads
  double ringBytes = 0; // of the rows of the first that one row of the second reads; 0: there is no such window
  int64_t lanes = 1;
  StencilWork first, second;
};

struct HaloAnswer {
  double apart = 0, fused = 0, slid = 0; // seconds
};

HaloAnswer compareHalo(const HaloQuestion &question, const PassModel &model);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_HALOMODEL_H
