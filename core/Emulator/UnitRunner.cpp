//===- UnitRunner.cpp - Matrix units at the emulator's speed --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decodes, multiplies in float64 and rounds once, as UnitModel.cpp does.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/UnitRunner.h"
#include "core/Machine/PackedElements.h"
#include "core/Machine/UnitOperands.h"
#include "core/Runtime/Array.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

using namespace tilewright;

/// Element `index` of packed data.
template <typename T> static T load(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T> static void store(char *data, int64_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

/// A half as a double: the exponent is moved by a multiplication, which is exact, also for denormals; that of
/// infinities and NaNs is all ones again afterwards. Without a branch.
static double half(uint16_t bits) {
  float magnitude = llvm::bit_cast<float>(uint32_t(bits & 0x7fff) << 13) * 0x1p112f;
  uint32_t special = (bits & 0x7c00) == 0x7c00 ? 0x7f800000 : 0, sign = uint32_t(bits & 0x8000) << 16;
  return llvm::bit_cast<float>(llvm::bit_cast<uint32_t>(magnitude) | special | sign);
}

/// The same of N halves side by side.
template <int N> static void decodeHalves(const char *data, double *values) {
  typedef uint16_t Halves __attribute__((vector_size(2 * N)));
  typedef uint32_t Words __attribute__((vector_size(4 * N)));
  typedef float Floats __attribute__((vector_size(4 * N)));
  typedef double Doubles __attribute__((vector_size(8 * N)));
  Halves halves;
  std::memcpy(&halves, data, sizeof(halves));
  Words bits = __builtin_convertvector(halves, Words);
  Floats magnitudes = (Floats)((bits & 0x7fff) << 13) * 0x1p112f;
  Words special = (Words)((bits & 0x7c00) == 0x7c00) & 0x7f800000, signs = (bits & 0x8000) << 16;
  Doubles decoded = __builtin_convertvector((Floats)((Words)magnitudes | special | signs), Doubles);
  std::memcpy(values, &decoded, sizeof(decoded));
}

/// Calls `body(decode)` with the function that decodes elements of `kind`.
template <typename Body> static void withDecoder(ElementKind kind, Body body) {
  switch (kind) {
  case ElementKind::F16:
    return body([](const char *data, int64_t i) { return half(load<uint16_t>(data, i)); });
  case ElementKind::BF16:
    return body([](const char *data, int64_t i) -> double {
      return llvm::bit_cast<float>(uint32_t(load<uint16_t>(data, i)) << 16);
    });
  case ElementKind::F32:
    return body([](const char *data, int64_t i) -> double { return load<float>(data, i); });
  case ElementKind::F64:
    return body([](const char *data, int64_t i) { return load<double>(data, i); });
  case ElementKind::I8:
    return body([](const char *data, int64_t i) -> double { return load<int8_t>(data, i); });
  case ElementKind::U8:
    return body([](const char *data, int64_t i) -> double { return load<uint8_t>(data, i); });
  case ElementKind::I32:
    return body([](const char *data, int64_t i) -> double { return load<int32_t>(data, i); });
  default:
    return body([kind](const char *data, int64_t i) { return readElement(kind, data, i); });
  }
}

template <typename Body> static void withEncoder(ElementKind kind, Body body) {
  switch (kind) {
  case ElementKind::F16:
    return body([](char *data, int64_t i, double value) { store(data, i, doubleToHalf(value)); });
  case ElementKind::F32:
    return body([](char *data, int64_t i, double value) { store(data, i, static_cast<float>(value)); });
  case ElementKind::F64:
    return body([](char *data, int64_t i, double value) { store(data, i, value); });
  case ElementKind::I32:
    return body(
        [](char *data, int64_t i, double value) { store(data, i, static_cast<int32_t>(static_cast<int64_t>(value))); });
  default:
    return body([kind](char *data, int64_t i, double value) { writeElement(kind, data, i, value); });
  }
}

UnitRunner::UnitRunner(const MatrixUnit &unit) : unit(unit) {
  int64_t offset = 0;
  for (int i = 0; i < operands(); ++i) {
    const UnitOperand &o = operand(i);
    offsets[i] = offset;
    memories[i] = o.residence == Residence::Scratchpad || o.residence == Residence::Accumulator;
    if (memories[i] && (i < 2 || !accumulatesInBlock(unit)))
      continue;
    slots[i].resize(o.rows * o.cols);
    for (int64_t lane = o.layout.numLanes() - 1; memories[i] && lane >= 0; --lane)
      for (int64_t element = o.layout.numElements() - 1; element >= 0; --element) {
        Position p = o.layout.at(lane, element);
        slots[i][p.row * o.cols + p.col] = {static_cast<uint16_t>(lane), static_cast<uint16_t>(element)};
      }
    if (memories[i])
      continue;
    lanes = std::max(lanes, o.layout.numLanes());
    bytes[i] = llvm::divideCeil(o.layout.numElements() * bitWidth(o.element), 8);
    offset = llvm::alignTo(offset + bytes[i], 16);
    for (int64_t lane = o.layout.numLanes() - 1; lane >= 0; --lane) {
      for (int64_t element = o.layout.numElements() - 1; element >= 0; --element) {
        Position p = o.layout.at(lane, element);
        slots[i][p.row * o.cols + p.col] = {static_cast<uint16_t>(lane), static_cast<uint16_t>(element)};
        positions[i].push_back(p.row * o.cols + p.col);
      }
    }
    std::reverse(positions[i].begin(), positions[i].end());
  }
  memory = offset;
  if (!memories[0] && !memories[1] && !memories[2] && unit.besides().empty())
    findLocal();
}

void UnitRunner::findLocal() {
  // The element of `o` in `lane` that holds a position, or -1.
  auto elementAt = [](const UnitOperand &o, int64_t lane, Position position) -> int64_t {
    for (int64_t element = 0; element < o.layout.numElements(); ++element) {
      if (o.layout.at(lane % o.layout.numLanes(), element) == position)
        return element;
    }
    return -1;
  };
  for (int64_t lane = 0; lane < unit.c.layout.numLanes(); ++lane) {
    for (int64_t element = 0; element < unit.c.layout.numElements(); ++element) {
      Position p = unit.c.layout.at(lane, element);
      for (int64_t k = 0; k < unit.k; ++k) {
        int64_t a = elementAt(unit.a, lane, {p.row, k}), b = elementAt(unit.b, lane, {k, p.col});
        if (a < 0 || b < 0) {
          local.clear();
          return;
        }
        local.push_back({static_cast<uint16_t>(a), static_cast<uint16_t>(b)});
      }
    }
  }
}

void UnitRunner::runLane(int64_t lane, char *frame) const {
  int64_t elements = unit.c.layout.numElements();
  const auto *pair = local.data() + lane * elements * unit.k;
  char *a = frame + offsets[0], *b = frame + offsets[1], *c = frame + offsets[2];
  withDecoder(unit.a.element, [&](auto decodeA) {
    withDecoder(unit.b.element, [&](auto decodeB) {
      for (int64_t element = 0; element < elements; ++element) {
        double sum = 0;
        if (unit.init != UnitInit::NoAccumulate)
          withDecoder(unit.c.element, [&](auto decode) { sum = decode(c, element); });
        // Products of narrower floats are exact in f64; those of f64 are fused, as in the units.
        for (int64_t k = 0; k < unit.k; ++k, ++pair) {
          const double x = decodeA(a, pair->first), y = decodeB(b, pair->second);
          sum = unit.a.element == ElementKind::F64 ? std::fma(x, y, sum) : sum + x * y;
        }
        withEncoder(unit.c.element, [&](auto encode) { encode(c, element, sum); });
      }
    });
  });
}

void UnitRunner::read(int index, llvm::ArrayRef<char *> frames, AddressOf addressOf, double *matrix) const {
  const UnitOperand &o = operand(index);
  withDecoder(o.element, [&](auto decode) {
    if (inMemory(index)) {
      const int64_t packed = std::max<int64_t>(1, packedElements(o));
      for (int64_t row = 0; row < o.rows; ++row) {
        for (int64_t col = 0; col < o.cols; ++col)
          matrix[row * o.cols + col] = decode(addressOf(index, row, col), (index == 0 ? col : row) % packed);
      }
      if (isUnsignedScale(o)) // what the unit makes of a sign is not known
        std::replace_if(
            matrix, matrix + o.rows * o.cols, [](double scale) { return std::signbit(scale); },
            std::numeric_limits<double>::quiet_NaN());
      return;
    }
    if (positions[index].size() == slots[index].size()) { // each element in one place: lane after lane
      const uint32_t *position = positions[index].data();
      int64_t elements = o.layout.numElements();
      for (int64_t lane = 0, count = o.layout.numLanes(); lane < count; ++lane, position += elements) {
        const char *registers = frames[lane] + offsets[index];
        auto several = [&](auto count) { // at once: decoded as a vector
          double values[count];
          if (o.element == ElementKind::F16)
            decodeHalves<count>(registers, values);
          else
            for (int element = 0; element < count; ++element)
              values[element] = decode(registers, element);
          for (int element = 0; element < count; ++element)
            matrix[position[element]] = values[element];
        };
        if (elements == 8) {
          several(std::integral_constant<int, 8>());
        } else if (elements == 4) {
          several(std::integral_constant<int, 4>());
        } else {
          for (int64_t element = 0; element < elements; ++element)
            matrix[position[element]] = decode(registers, element);
        }
      }
      return;
    }
    const Place *slot = slots[index].data();
    for (int64_t i = 0, end = o.rows * o.cols; i < end; ++i)
      matrix[i] = decode(frames[slot[i].lane] + offsets[index], slot[i].element);
  });
}

/// Multiplies blocks of the rows of A and of the columns of B by their scales.
void UnitRunner::scale(llvm::ArrayRef<char *> frames, AddressOf addressOf, double *a, double *b) const {
  const int64_t blocks = unit.k / unit.scales->block;
  llvm::SmallVector<double, 64> ofA(unit.m * blocks), ofB(blocks * unit.n);
  if (unit.scales->hasA())
    read(3, frames, addressOf, ofA.data());
  if (unit.scales->hasB())
    read(3 + unit.scales->hasA(), frames, addressOf, ofB.data());
  applyScales(unit, ofA.data(), ofB.data(), a, b);
}

/// c[m x n] += a[m x k] * b[k x n], rounded alike on all hosts; N > 0: n is known, else it is 512 at most. `rows`: of
/// b, that a's elements are multiplied by; null: those of their number.
template <int N>
static void addProduct(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c,
                       const int32_t *rows) {
#pragma clang fp contract(off)
  if (N)
    n = N;
  for (int64_t i = 0; i < m; ++i) {
    double row[N ? N : 512];
    for (int64_t j = 0; j < n; ++j)
      row[j] = c[i * n + j];
    for (int64_t kk = 0; kk < k; ++kk) {
      double scale = a[i * k + kk];
      const double *of = b + (rows ? rows[i * k + kk] : kk) * n;
      for (int64_t j = 0; j < n; ++j)
        row[j] += scale * of[j];
    }
    for (int64_t j = 0; j < n; ++j)
      c[i * n + j] = row[j];
  }
}

/// The same for f64, whose products are fused, as in the units; those of narrower floats are exact.
static void addFusedProduct(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c,
                            const int32_t *rows) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t kk = 0; kk < k; ++kk) {
      const double *of = b + (rows ? rows[i * k + kk] : kk) * n;
      for (int64_t j = 0; j < n; ++j)
        c[i * n + j] = std::fma(a[i * k + kk], of[j], c[i * n + j]);
    }
}

void UnitRunner::run(llvm::ArrayRef<char *> frames, AddressOf addressOf, bool useC) const {
  int64_t m = unit.m, n = unit.n, k = unit.k;
  llvm::SmallVector<double, 1024> storage;
  storage.resize_for_overwrite(m * k + k * n + m * n); // of a sparse A a part of m x k
  double *a = storage.data(), *b = a + m * k, *c = b + k * n;
  read(0, frames, addressOf, a);
  read(1, frames, addressOf, b);
  if (unit.scales)
    scale(frames, addressOf, a, b);
  if (useC && unit.init != UnitInit::NoAccumulate)
    read(2, frames, addressOf, c);
  else
    std::fill_n(c, m * n, 0.0);
  const bool isFused = unit.a.element == ElementKind::F64;
  const int64_t depth = unit.depthOfA();
  std::vector<int32_t> chosen;
  if (unit.sparsity) {
    llvm::SmallVector<double, 256> index(m * depth);
    read(operands() - 1, frames, addressOf, index.data());
    chosen = rowsOfB(unit, index.data());
  }
  const int32_t *rows = unit.sparsity ? chosen.data() : nullptr;
  switch (isFused ? 0 : n) {
  case 8:
    addProduct<8>(m, n, depth, a, b, c, rows);
    break;
  case 16:
    addProduct<16>(m, n, depth, a, b, c, rows);
    break;
  case 32:
    addProduct<32>(m, n, depth, a, b, c, rows);
    break;
  default:
    (isFused ? addFusedProduct : addProduct<0>)(m, n, depth, a, b, c, rows);
    break;
  }
  if (unit.saturates && !isFloat(unit.c.element)) {
    double range = std::ldexp(1.0, bitWidth(unit.c.element) - (isSigned(unit.c.element) ? 1 : 0));
    double low = isSigned(unit.c.element) ? -range : 0.0;
    for (int64_t i = 0; i < m * n; ++i)
      c[i] = std::min(std::max(c[i], low), range - 1);
  }
  withEncoder(unit.c.element, [&](auto encode) {
    if (inMemory(2)) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j)
          encode(addressOf(2, i, j), 0, c[i * n + j]);
      }
      return;
    }
    int64_t elements = unit.c.layout.numElements();
    const uint32_t *position = positions[2].data();
    for (int64_t lane = 0; lane < unit.c.layout.numLanes(); ++lane) {
      for (int64_t element = 0; element < elements; ++element)
        encode(frames[lane] + offsets[2], element, c[*position++]);
    }
  });
}
