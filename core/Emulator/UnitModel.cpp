//===- UnitModel.cpp - Matrix units executed on the host -------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads, multiplies and writes fragments as their layouts say.
///
//===----------------------------------------------------------------------===//

#include "tilewright/UnitModel.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace tilewright;

static const llvm::fltSemantics &semantics(ElementKind kind) {
  switch (kind) {
  case ElementKind::F64:
    return llvm::APFloat::IEEEdouble();
  case ElementKind::F16:
    return llvm::APFloat::IEEEhalf();
  case ElementKind::BF16:
    return llvm::APFloat::BFloat();
  case ElementKind::F8E4M3:
    return llvm::APFloat::Float8E4M3FN();
  case ElementKind::F8E5M2:
    return llvm::APFloat::Float8E5M2();
  case ElementKind::F8E4M3FNUZ:
    return llvm::APFloat::Float8E4M3FNUZ();
  case ElementKind::F8E5M2FNUZ:
    return llvm::APFloat::Float8E5M2FNUZ();
  case ElementKind::F8E8M0:
    return llvm::APFloat::Float8E8M0FNU();
  case ElementKind::F6E2M3:
    return llvm::APFloat::Float6E2M3FN();
  case ElementKind::F6E3M2:
    return llvm::APFloat::Float6E3M2FN();
  case ElementKind::F4E2M1:
    return llvm::APFloat::Float4E2M1FN();
  default:
    return llvm::APFloat::IEEEsingle();
  }
}

int64_t tilewright::fragmentBytes(const UnitOperand &operand) {
  int64_t bits = operand.layout.numLanes() * operand.layout.numElements() * bitWidth(operand.element);
  return (bits + 7) / 8;
}

/// The bits of element `index`.
static uint64_t readBits(unsigned width, const void *data, int64_t index) {
  const auto *bytes = static_cast<const unsigned char *>(data);
  uint64_t bits = 0;
  if (width < 8) { // of one byte or of two
    int64_t position = index * width;
    unsigned both = bytes[position / 8];
    if (position % 8 + width > 8)
      both |= unsigned(bytes[position / 8 + 1]) << 8;
    return (both >> (position % 8)) & ((1u << width) - 1);
  }
  std::memcpy(&bits, bytes + index * (width / 8), width / 8);
  return bits;
}

static void writeBits(unsigned width, void *data, int64_t index, uint64_t bits) {
  auto *bytes = static_cast<unsigned char *>(data);
  if (width < 8) {
    int64_t position = index * width;
    unsigned mask = ((1u << width) - 1) << (position % 8), moved = unsigned(bits << (position % 8)) & mask;
    for (int64_t i = 0; i < (mask > 0xff ? 2 : 1); ++i)
      bytes[position / 8 + i] = (bytes[position / 8 + i] & ~(mask >> 8 * i)) | (moved >> 8 * i);
    return;
  }
  std::memcpy(bytes + index * (width / 8), &bits, width / 8);
}

double tilewright::readElement(ElementKind kind, const void *data, int64_t index) {
  unsigned width = bitWidth(kind);
  uint64_t bits = readBits(width, data, index);
  if (!isFloat(kind))
    return isSigned(kind) ? double(llvm::SignExtend64(bits, width)) : double(bits);
  llvm::APFloat value(semantics(kind), llvm::APInt(width, bits));
  if (value.isNaN()) // the one of f8e8m0 has no significand that a conversion could keep
    return std::numeric_limits<double>::quiet_NaN();
  bool inexact;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  double result = value.convertToDouble();
  if (kind != ElementKind::TF32)
    return result;
  // 10 bits of mantissa: the low 13 of the float are ignored.
  float single = static_cast<float>(result);
  uint32_t word;
  std::memcpy(&word, &single, sizeof(word));
  word &= ~uint32_t(0x1fff);
  std::memcpy(&single, &word, sizeof(word));
  return single;
}

void tilewright::writeElement(ElementKind kind, void *data, int64_t index, double value) {
  unsigned width = bitWidth(kind);
  if (!isFloat(kind)) {
    writeBits(width, data, index, static_cast<uint64_t>(static_cast<int64_t>(value)));
    return;
  }
  llvm::APFloat number(value);
  bool inexact;
  number.convert(semantics(kind), llvm::APFloat::rmNearestTiesToEven, &inexact);
  writeBits(width, data, index, number.bitcastToAPInt().getZExtValue());
}

/// The matrix that a fragment holds, row by row; a position held several times is read from its first slot.
static std::vector<double> unpack(const UnitOperand &operand, const void *data) {
  std::vector<double> matrix(operand.rows * operand.cols);
  int64_t elements = operand.layout.numElements();
  for (int64_t lane = operand.layout.numLanes() - 1; lane >= 0; --lane) {
    for (int64_t element = elements - 1; element >= 0; --element) {
      Position p = operand.layout.at(lane, element);
      matrix[p.row * operand.cols + p.col] = readElement(operand.element, data, lane * elements + element);
    }
  }
  return matrix;
}

/// Limits of an integer type, for units that saturate.
static double clamp(ElementKind kind, double value) {
  double range = std::ldexp(1.0, bitWidth(kind) - (isSigned(kind) ? 1 : 0));
  return std::min(std::max(value, isSigned(kind) ? -range : 0.0), range - 1);
}

void tilewright::applyScales(const MatrixUnit &unit, const double *ofA, const double *ofB, double *a, double *b) {
  const int64_t block = unit.scales->block, blocks = unit.k / block;
  for (int64_t i = 0; unit.scales->hasA() && i < unit.m; ++i)
    for (int64_t k = 0; k < unit.k; ++k)
      a[i * unit.k + k] *= ofA[i * blocks + k / block];
  for (int64_t k = 0; unit.scales->hasB() && k < unit.k; ++k)
    for (int64_t j = 0; j < unit.n; ++j)
      b[k * unit.n + j] *= ofB[k / block * unit.n + j];
}

std::vector<int32_t> tilewright::rowsOfB(const MatrixUnit &unit, const double *index) {
  const UnitSparsity &sparsity = *unit.sparsity;
  const int64_t depth = unit.depthOfA();
  std::vector<int32_t> rows(unit.m * depth);
  for (int64_t i = 0; i < unit.m * depth; ++i) {
    const int64_t place = static_cast<int64_t>(index[i]) & (sparsity.group - 1);
    rows[i] = static_cast<int32_t>(i % depth / sparsity.kept * sparsity.group + place);
  }
  return rows;
}

void tilewright::runUnit(const MatrixUnit &unit, const void *a, const void *b, void *c, const void *scaleA,
                         const void *scaleB, const void *indexA) {
  std::vector<double> matrixA = unpack(unit.a, a), matrixB = unpack(unit.b, b);
  if (unit.scales) {
    std::vector<double> ofA, ofB;
    if (unit.scales->hasA())
      ofA = unpack(unit.scales->a, scaleA);
    if (unit.scales->hasB())
      ofB = unpack(unit.scales->b, scaleB);
    applyScales(unit, ofA.data(), ofB.data(), matrixA.data(), matrixB.data());
  }
  const int64_t depth = unit.depthOfA();
  std::vector<int32_t> rows;
  if (unit.sparsity)
    rows = rowsOfB(unit, unpack(unit.sparsity->index, indexA).data());
  std::vector<double> result(unit.m * unit.n, 0.0);
  if (unit.init != UnitInit::NoAccumulate)
    result = unpack(unit.c, c);
  for (int64_t i = 0; i < unit.m; ++i) {
    for (int64_t j = 0; j < unit.n; ++j) {
      double sum = result[i * unit.n + j]; // int8 and int16 products of one instruction stay far below 2^53
      // Products of narrower floats are exact in f64; those of f64 are fused, as in the units.
      for (int64_t e = 0; e < depth; ++e) {
        const int64_t k = unit.sparsity ? rows[i * depth + e] : e;
        const double x = matrixA[i * depth + e], y = matrixB[k * unit.n + j];
        sum = unit.a.element == ElementKind::F64 ? std::fma(x, y, sum) : sum + x * y;
      }
      result[i * unit.n + j] = unit.saturates && !isFloat(unit.c.element) ? clamp(unit.c.element, sum) : sum;
    }
  }
  int64_t elements = unit.c.layout.numElements();
  for (int64_t lane = 0; lane < unit.c.layout.numLanes(); ++lane) {
    for (int64_t element = 0; element < elements; ++element) {
      Position p = unit.c.layout.at(lane, element);
      writeElement(unit.c.element, c, lane * elements + element, result[p.row * unit.n + p.col]);
    }
  }
}
