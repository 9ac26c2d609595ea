//===- Kernels.cpp - Micro-benchmarks of a core with engines --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Text of the LLVM dialect.
///
//===----------------------------------------------------------------------===//

#include "core/Calibrate/Kernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using namespace tilewright::calibrate;
using llvm::formatv;

/// Bytes of the scratchpad between what a kernel reads and writes, so that nothing overlaps.
static constexpr int64_t secondHalf = 65536;

void KernelWriter::begin(llvm::StringRef name) {
  if (!names.empty())
    text += "  llvm.return\n}\n";
  names.push_back(name.str());
  text += formatv("llvm.func @{0}(%array: !llvm.ptr) attributes {{tilewright.kernel} {{\n"
                  "  %scratchpad = llvm.mlir.addressof @tilewright_scratchpad : !llvm.ptr<3>\n"
                  "  %accumulator = llvm.mlir.addressof @tilewright_accumulator : !llvm.ptr<3>\n",
                  name);
  number = offset = 0;
}

std::string KernelWriter::constant(int64_t value, int bits) {
  std::string name = fresh();
  text += formatv("  {0} = llvm.mlir.constant({1} : i{2}) : i{2}\n", name, value, bits);
  return name;
}

std::string KernelWriter::address(llvm::StringRef base, int64_t bytes, int space) {
  std::string name = fresh(), type = space ? formatv("!llvm.ptr<{0}>", space).str() : "!llvm.ptr";
  text += formatv("  {0} = llvm.getelementptr %{1}[{2}] : ({3}) -> {3}, i8\n", name, base, bytes, type);
  return name;
}

void KernelWriter::copy(bool in, int64_t rows, int64_t rowBytes) {
  std::string far = address("array", in ? 0 : arrayBytes / 2, 0), near = address("scratchpad", 0, 3);
  std::string pitch = constant(rowBytes, 64), count = constant(rows, 32), bytes = constant(rowBytes, 32);
  if (in)
    text += formatv("  llvm.call @tilewright.primitive.copy_2d({0}, {2}, {1}, {2}, {3}, {4}) : "
                    "(!llvm.ptr<3>, i64, !llvm.ptr, i64, i32, i32) -> ()\n",
                    near, far, pitch, count, bytes);
  else
    text += formatv("  llvm.call @tilewright.primitive.store_2d({1}, {2}, {0}, {2}, {3}, {4}) : "
                    "(!llvm.ptr, i64, !llvm.ptr<3>, i64, i32, i32) -> ()\n",
                    near, far, pitch, count, bytes);
}

void KernelWriter::await(Engine engine) {
  static constexpr const char *words[] = {"copy", "store", "unit"};
  const char *word = words[static_cast<int>(engine)];
  std::string none = constant(0, 32);
  text += formatv("  llvm.call @tilewright.primitive.commit_{0}() : () -> ()\n"
                  "  llvm.call @tilewright.primitive.wait_{0}({1}) : (i32) -> ()\n",
                  word, none);
}

void KernelWriter::access(bool isLoad, bool inGlobal, int64_t bytes) {
  const int space = inGlobal ? 0 : 3;
  std::string type = bytes <= 8 ? formatv("i{0}", 8 * bytes).str() : formatv("vector<{0}xi8>", bytes).str();
  std::string pointer = inGlobal ? "!llvm.ptr" : "!llvm.ptr<3>";
  std::string at = address(inGlobal ? "array" : "scratchpad", secondHalf + offset, space);
  offset = (offset + 64) % 4096;
  if (isLoad) {
    text += formatv("  {0} = llvm.load volatile {1} {{alignment = 1 : i64} : {2} -> {3}\n", fresh(), at, pointer, type);
    return;
  }
  std::string zero = fresh();
  text += formatv("  {0} = llvm.mlir.zero : {1}\n", zero, type);
  text += formatv("  llvm.store volatile {0}, {1} {{alignment = 1 : i64} : {2}, {3}\n", zero, at, type, pointer);
}

void KernelWriter::gather(int64_t elements, int64_t elementBytes) {
  std::string element = formatv("i{0}", 8 * elementBytes), type = formatv("vector<{0}x{1}>", elements, element);
  std::string pointers = formatv("vector<{0}x!llvm.ptr>", elements), mask = fresh(), list = fresh(), plain = fresh();
  text += formatv("  {0} = llvm.mlir.constant(dense<true> : vector<{1}xi1>) : vector<{1}xi1>\n", mask, elements);
  text += formatv("  {0} = llvm.mlir.constant(dense<0> : vector<{1}xi64>) : vector<{1}xi64>\n", list, elements);
  text += formatv("  {0} = llvm.addrspacecast %scratchpad : !llvm.ptr<3> to !llvm.ptr\n", plain);
  std::string at = fresh(), nothing = fresh(), result = fresh(), first = fresh();
  text += formatv("  {0} = llvm.getelementptr {4}[{1}] : (!llvm.ptr, vector<{2}xi64>) -> {3}, i8\n", at, list, elements,
                  pointers, plain);
  text += formatv("  {0} = llvm.mlir.zero : {1}\n", nothing, type);
  text += formatv("  {0} = llvm.intr.masked.gather {1}, {2}, {3} {{alignment = 1 : i32} : ({4}, vector<{5}xi1>, {6}) "
                  "-> {6}\n",
                  result, at, mask, nothing, pointers, elements, type);
  // A store keeps the gather alive; both of two kernels have as many for each gather.
  std::string place = address("scratchpad", secondHalf, 3);
  text += formatv("  llvm.store volatile {0}, {1} {{alignment = 1 : i64} : {2}, !llvm.ptr<3>\n", result, place, type);
}

void KernelWriter::multiply(const MatrixUnit &unit, int64_t pitchA, int64_t pitchB, int64_t tile) {
  std::string a = address("scratchpad", 0, 3), b = address("scratchpad", secondHalf + tile * secondHalf, 3);
  std::string c = address("accumulator", 0, 3);
  std::string pa = constant(pitchA, 64), pb = constant(pitchB, 64),
              pc = constant(unit.n * bitWidth(unit.c.element) / 8, 64);
  std::string flag = unit.init == UnitInit::ZeroFlag ? ", " + constant(0, 1) : "";
  std::string flagType = flag.empty() ? "" : ", i1";
  std::string type = "(!llvm.ptr<3>, i64, !llvm.ptr<3>, i64, !llvm.ptr<3>, i64" + flagType + ")";
  if (!llvm::is_contained(declared, unit.name)) {
    declared.push_back(unit.name);
    units += formatv("llvm.func @tilewright.unit.{0}{1}\n", unit.name, type);
  }
  text += formatv("  llvm.call @tilewright.unit.{0}({1}, {2}, {3}, {4}, {5}, {6}{7}) : {8} -> ()\n", unit.name, a, pa,
                  b, pb, c, pc, flag, type);
}

std::string KernelWriter::module() const {
  auto global = [](llvm::StringRef name, int64_t bytes) {
    return formatv("llvm.mlir.global external @tilewright_{0}() {{addr_space = 3 : i32, alignment = 64 : i64} : "
                   "!llvm.array<{1} x i8>\n",
                   name, bytes)
        .str();
  };
  std::string whole =
      global("scratchpad", std::min<int64_t>(cores.scratchpad->bytes, 4 * secondHalf)) +
      global("accumulator", cores.accumulator ? std::min<int64_t>(cores.accumulator->bytes, 65536) : 64);
  whole += R"(llvm.func @tilewright.primitive.copy_2d(!llvm.ptr<3>, i64, !llvm.ptr, i64, i32, i32)
llvm.func @tilewright.primitive.store_2d(!llvm.ptr, i64, !llvm.ptr<3>, i64, i32, i32)
)";
  for (const char *word : {"copy", "store", "unit"})
    whole +=
        formatv("llvm.func @tilewright.primitive.commit_{0}()\nllvm.func @tilewright.primitive.wait_{0}(i32)\n", word);
  return whole + units + text + (names.empty() ? "" : "  llvm.return\n}\n");
}
