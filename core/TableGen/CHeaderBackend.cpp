//===- CHeaderBackend.cpp - Reference intrinsics in C ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `tw-compile -o OUT.c` and `-o OUT.ll` call, in plain C, from the records:
/// units that read a scratchpad, copy engines, vector instructions, and the
/// memories of one core.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/CopyPaths.h"
#include "core/Machine/CoreCommand.h"
#include "core/Machine/IrFunction.h"
#include "core/TableGen/RecordReader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace tilewright;
using namespace tilewright::tablegen;
using llvm::raw_ostream;

/// The C type that holds one element.
static llvm::StringRef typeOf(ElementKind kind) {
  switch (kind) {
  case ElementKind::F64:
    return "double";
  case ElementKind::F32:
  case ElementKind::TF32:
    return "float";
  case ElementKind::F16:
  case ElementKind::BF16:
    return "uint16_t";
  case ElementKind::I32:
    return "int32_t";
  case ElementKind::I16:
    return "int16_t";
  case ElementKind::I8:
    return "int8_t";
  case ElementKind::U8:
    return "uint8_t";
  default:
    return "";
  }
}

/// `text` of type typeOf(kind) as a number that can be multiplied.
static std::string number(ElementKind kind, const std::string &text) {
  if (kind == ElementKind::BF16)
    return "tilewright_bf16(" + text + ")";
  if (kind == ElementKind::F16)
    return "tilewright_f16(" + text + ")";
  return text;
}

/// The parameters of the command `unit`, in the order of the roles in its emission.
static std::string parametersOf(const MatrixUnit &unit) {
  std::vector<std::string> parameters;
  for (llvm::StringRef role : writtenArguments(unit.emit)) {
    std::string letter = role.lower();
    if (role == "A" || role == "B" || role == "C")
      parameters.push_back((role == "C" ? "void *" : "const void *") + letter + ", int64_t " + letter + "_pitch");
    else if (role == "UseC")
      parameters.push_back("bool use_c");
    else if (auto [type, value] = role.split(':'); type.consume_front("i"))
      parameters.push_back((type == "1" ? "bool" : "int" + type.str() + "_t") + " constant_" +
                           std::to_string(parameters.size()));
  }
  return llvm::join(parameters, ", ");
}

static void writeUnit(const MatrixUnit &unit, raw_ostream &os) {
  std::string a = typeOf(unit.a.element).str(), b = typeOf(unit.b.element).str(), c = typeOf(unit.c.element).str();
  bool flag = unit.init == UnitInit::ZeroFlag, adds = unit.init != UnitInit::NoAccumulate;
  os << "\n/* " << unit.name << ": C[" << unit.m << " x " << unit.n << "] " << (adds ? "+" : "") << "= A[" << unit.m
     << " x " << unit.k << "] * B[" << unit.k << " x " << unit.n << "]" << (flag ? ", without C where !use_c" : "")
     << ". Pitches in bytes. */\n"
     << "static inline void " << unit.emit.name << "(" << parametersOf(unit) << ") {\n"
     << "  for (int i = 0; i < " << unit.m << "; ++i) {\n"
     << "    const " << a << " *row = (const " << a << " *)((const char *)a + i * a_pitch);\n"
     << "    " << c << " *sums = (" << c << " *)((char *)c + i * c_pitch);\n"
     << "    for (int j = 0; j < " << unit.n << "; ++j) {\n"
     << "      " << (isFloat(unit.c.element) ? "double" : "int64_t") << " sum = "
     << (flag   ? "use_c ? sums[j] : 0"
         : adds ? "sums[j]"
                : "0")
     << ";\n"
     << "      for (int k = 0; k < " << unit.k << "; ++k)\n"
     << "        sum += " << number(unit.a.element, "row[k]") << " * "
     << number(unit.b.element, "((const " + b + " *)((const char *)b + k * b_pitch))[j]") << ";\n"
     << "      sums[j] = (" << c << ")sum;\n    }\n  }\n}\n";
}

static void writeEngine(const CopyEngine &copy, raw_ostream &os) {
  os << "\n/* " << copy.name << ": `rows` rows of `bytes` from " << copy.from << " to " << copy.to
     << ". Pitches in bytes. */\n"
     << "static inline void " << copy.emit.name << "(void *to, int64_t to_pitch, const void *from, int64_t from_pitch,"
     << " int32_t rows, int32_t bytes) {\n"
     << "  for (int32_t row = 0; row < rows; ++row)\n"
     << "    memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, (size_t)bytes);\n}\n";
}

static void writeTransposition(const CopyEngine &copy, llvm::StringRef name, raw_ostream &os) {
  os << "\n/* " << copy.name << ": `rows` rows of `bytes` from " << copy.from << " to " << copy.to
     << ", where they are columns: element c of row r goes to place r\n * of row c. Pitches in bytes. */\n"
     << "static inline void " << name << "(void *to, int64_t to_pitch, const void *from, int64_t from_pitch,"
     << " int32_t rows, int32_t bytes, int32_t element_bytes) {\n"
     << "  for (int32_t row = 0; row < rows; ++row)\n"
     << "    for (int32_t col = 0; col < bytes / element_bytes; ++col)\n"
     << "      memcpy((char *)to + col * to_pitch + row * element_bytes,\n"
     << "             (const char *)from + row * from_pitch + col * element_bytes, (size_t)element_bytes);\n}\n";
}

/// Requantisation of one vector: as many elements as the instruction has lanes.
static void writeRequantisation(const VectorOp &op, raw_ostream &os) {
  std::string from = typeOf(op.from).str(), to = typeOf(op.to).str();
  int64_t bits = bitWidth(op.to);
  int64_t least = isSigned(op.to) ? -(int64_t(1) << (bits - 1)) : 0;
  int64_t most = (int64_t(1) << (bits - (isSigned(op.to) ? 1 : 0))) - 1;
  llvm::StringRef round = op.rounding == "nearest-even" ? "rintf" : op.rounding == "nearest-away" ? "roundf" : "floorf";
  os << "\n/* " << op.name << ": " << op.lanes << " elements of " << elementName(op.from) << " to "
     << elementName(op.to) << (op.scale ? ", scaled" : "") << ", rounded (" << op.rounding << ")"
     << (op.zeroPoint ? ", zero point added" : "") << (op.saturates ? ", saturated" : "") << ". */\n"
     << "static inline void " << op.emit.name << "(void *to, const void *from"
     << (op.scale ? ", const void *scale" : "") << (op.zeroPoint ? ", const void *zero_point" : "") << ") {\n"
     << "  for (int i = 0; i < " << op.lanes << "; ++i) {\n"
     << "    float value = (float)" << number(op.from, "((const " + from + " *)from)[i]") << ";\n";
  if (op.scale)
    os << "    value *= ((const float *)scale)[i];\n";
  os << "    value = " << round << "(value);\n";
  if (op.zeroPoint)
    os << "    value += ((const float *)zero_point)[i];\n";
  if (op.saturates)
    os << "    value = fminf(fmaxf(value, " << least << "), " << most << ");\n";
  os << "    ((" << to << " *)to)[i] = (" << to << ")value;\n  }\n}\n";
}

void tablegen::writeCHeader(const Records &records, llvm::StringRef target, raw_ostream &os) {
  std::string guard = "TILEWRIGHT_" + target.upper() + "_REFERENCE_H";
  os << "/* Reference intrinsics of target " << target << ", generated from its records; do not edit.\n"
     << " * Engines do their work when they are called, so that waits are nothing. One core at a time. */\n"
     << "#ifndef " << guard << "\n#define " << guard << "\n\n"
     << "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <string.h>\n\n"
     << "static inline float tilewright_bf16(uint16_t bits) {\n  uint32_t wide = (uint32_t)bits << 16;\n  float "
        "value;\n"
     << "  memcpy(&value, &wide, sizeof value);\n  return value;\n}\n"
     << "static inline float tilewright_f16(uint16_t bits) {\n"
     << "  int exponent = bits >> 10 & 31, mantissa = bits & 1023;\n"
     << "  float value = exponent == 31 ? (mantissa ? NAN : INFINITY)\n"
     << "                : exponent     ? ldexpf((float)(mantissa | 1024), exponent - 25)\n"
     << "                               : ldexpf((float)mantissa, -24);\n"
     << "  return bits & 0x8000 ? -value : value;\n}\n";
  llvm::StringSet<> done;
  for (const ChipTable &chip : records.chips) {
    for (const Memory &memory : chip.memories)
      if ((memory.kind == MemoryKind::Scratchpad || memory.kind == MemoryKind::Accumulator) &&
          done.insert(memory.name).second)
        os << "\n/* The memory `" << memory.name << "` of one " << memory.level << ". */\n"
           << "static inline char *" << target << "_" << memory.name << "(void) {\n"
           << "  static _Alignas(4096) char bytes[" << memory.bytes << "];\n  return bytes;\n}\n";
    for (const CopyEngine &copy : chip.copies)
      if (copy.asynchronous && copy.emit.kind == EmissionKind::ExternalCall) {
        CopyPath path = copyPath(chip.copies, copy.from, copy.to);
        std::string turned = transposedCall(path);
        if (&copy == path.transposed && done.insert(turned).second)
          writeTransposition(copy, turned, os);
        if (turned != copy.emit.name && done.insert(copy.emit.name).second)
          writeEngine(copy, os);
      }
    for (const VectorOp &op : chip.vectorOps)
      if (op.kind == "requantize" && op.emit.kind == EmissionKind::ExternalCall && !typeOf(op.from).empty() &&
          bitWidth(op.to) <= 16 && !isFloat(op.to) && !typeOf(op.to).empty() && done.insert(op.emit.name).second)
        writeRequantisation(op, os);
  }
  for (const MatrixUnit &unit : records.units)
    if (isCoreCommand(unit) && unit.emit.kind == EmissionKind::ExternalCall && !typeOf(unit.a.element).empty() &&
        !typeOf(unit.b.element).empty() && !typeOf(unit.c.element).empty() && done.insert(unit.emit.name).second)
      writeUnit(unit, os);
  os << "\n/* A group of commands ends; all but `groups` groups have finished. */\n";
  for (const char *engine : {"copy", "unit", "store"})
    os << "static inline void " << target << "_commit_" << engine << "(void) {}\n"
       << "static inline void " << target << "_wait_" << engine << "(int32_t groups) { (void)groups; }\n";
  os << "\n#endif /* " << guard << " */\n";
}
