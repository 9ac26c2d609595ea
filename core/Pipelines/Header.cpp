//===- Header.cpp - C headers of compiled programs ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes declarations with shapes and rules beside them.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Header.h"
#include "core/Analysis/ElementType.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tilewright;

/// The C type of one element. Floats of 16 and 8 bits are bit patterns: not every C compiler has types for them.
static std::string cType(Type type) {
  if (type.isF64())
    return "double";
  if (type.isF32())
    return "float";
  if (isa<FloatType>(type))
    return "uint" + std::to_string(8 * elementBytes(type)) + "_t";
  if (type.isInteger(1))
    return "uint8_t";
  std::string prefix = type.isUnsignedInteger() ? "uint" : "int";
  return prefix + std::to_string(8 * elementBytes(type)) + "_t";
}

/// "n0 - 2" for an affine expression of the sizes.
static std::string sizeText(AffineExpr expr, unsigned numSizes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  expr.print(os);
  for (unsigned i = numSizes; i-- > 0;) {
    std::string from = "s" + std::to_string(i), to = "n" + std::to_string(i);
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  }
  return text;
}

static std::string shapeText(const SignatureArgument &argument, unsigned numSizes) {
  if (argument.shape.getNumResults() == 0)
    return "one element";
  std::string text;
  for (AffineExpr dim : argument.shape.getResults())
    text += (text.empty() ? "[" : ", ") + sizeText(dim, numSizes);
  return text + "]";
}

/// Words of C and C++ that no function can be called.
static bool isWordOfC(StringRef name) {
  static const llvm::StringSet<> words = {
      "alignas",  "alignof",  "and",     "and_eq",   "asm",       "auto",     "bitand",       "bitor",  "bool",
      "break",    "case",     "catch",   "char",     "class",     "compl",    "concept",      "const",  "constexpr",
      "continue", "decltype", "default", "delete",   "do",        "double",   "dynamic_cast", "else",   "enum",
      "explicit", "export",   "extern",  "false",    "float",     "for",      "friend",       "goto",   "if",
      "inline",   "int",      "long",    "mutable",  "namespace", "new",      "noexcept",     "not",    "not_eq",
      "nullptr",  "operator", "or",      "or_eq",    "private",   "register", "protected",    "public", "requires",
      "restrict", "return",   "short",   "signed",   "sizeof",    "static",   "struct",       "switch", "template",
      "this",     "throw",    "true",    "try",      "typedef",   "typeid",   "typename",     "union",  "unsigned",
      "using",    "virtual",  "void",    "volatile", "wchar_t",   "while",    "xor",          "xor_eq"};
  return words.contains(name);
}

llvm::Error tilewright::checkNamesInC(ArrayRef<Signature> signatures) {
  for (const Signature &signature : signatures) {
    StringRef name = signature.name;
    bool isIdentifier = !name.empty() && !llvm::isDigit(name.front()) &&
                        llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!isIdentifier || isWordOfC(name))
      return llvm::createStringError(
          llvm::formatv("'{0}' cannot be declared in C: its name is {1}; rename the function", name,
                        isIdentifier ? "a word of C or C++" : "no identifier"));
  }
  return llvm::Error::success();
}

std::string tilewright::cHeader(ArrayRef<Signature> signatures, StringRef name, StringRef target, bool isSource,
                                const HeaderChecks &checks) {
  std::string guard = "TILEWRIGHT_" + name.upper() + "_INCLUDED";
  for (char &c : guard)
    if (!llvm::isAlnum(c))
      c = '_';
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "/* " << name << ": made by tw-compile for " << target << ".\n"
     << " *\n"
     << " * Arrays are dense and row-major, of any alignment; a bool is one byte, f16 and bf16 are bit patterns in\n"
     << " * uint16_t, 8-bit floats in uint8_t. Outputs overlap nothing else. "
     << (isSource ? "Cores run one after the other, in one thread.\n * All return 0, 1 = sizes disagree, 2 = out of "
                    "memory.\n"
                  : "Functions may run in several threads at once.\n"
                    " * All return 0, 1 = sizes disagree, 2 = out of memory, 3 = device error.\n")
     << (checks.indices ? " * 9 = an index lies outside of its array.\n" : "") << " */\n"
     << "#ifndef " << guard << "\n#define " << guard << "\n\n#include <stdint.h>\n\n"
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  for (const Signature &signature : signatures) {
    std::string sizes, parameters, pointers;
    for (unsigned i = 0; i < signature.numSizes; ++i)
      sizes += (i ? ", " : "") + ("int64_t n" + std::to_string(i));
    os << "\n/* " << signature.name << "\n";
    unsigned in = 0, out = 0;
    for (const SignatureArgument &argument : signature.arguments) {
      std::string label = argument.isResult ? "out" + std::to_string(out++) : "in" + std::to_string(in++);
      std::string element;
      llvm::raw_string_ostream(element) << argument.elementType;
      os << " *   " << label << ": " << element << " " << shapeText(argument, signature.numSizes)
         << (argument.isResult    ? ", written"
             : argument.isWritten ? ", read and written"
             : argument.isBound   ? ", filled by " + signature.name + "_bind"
                                  : "")
         << "\n";
      pointers += (pointers.empty() ? "" : ", ") + std::string(argument.isWritten ? "" : "const ") +
                  cType(argument.elementType) + " *" + label;
    }
    if (IntegerSet constraints = signature.constraints)
      for (auto [index, constraint] : llvm::enumerate(constraints.getConstraints()))
        os << " *   requires " << sizeText(constraint, signature.numSizes)
           << (constraints.isEq(index) ? " == 0\n" : " >= 0\n");
    for (unsigned i = 0; i < signature.numSizes; ++i)
      if (signature.followsFromData(i))
        os << " *   requires n" << i << " to be what the program makes of its data\n";
    if (!signature.binds.empty())
      os << " * " << signature.name << " is called before the first call of " << signature.binds
         << ", and after a change of what it reads.\n";
    parameters = sizes + (sizes.empty() || pointers.empty() ? "" : ", ") + pointers;
    if (isSource) {
      os << " */\nint " << signature.name << "(" << (parameters.empty() ? "void" : parameters) << ");\n";
      continue;
    }
    os << " * " << signature.name << " keeps its temporary memory per thread; " << signature.name
       << "_in takes it from the caller:\n * " << signature.name
       << "_workspace() bytes, aligned to 64, not shared by concurrent calls. " << signature.name << "_packed\n * is "
       << signature.name << " with an 8-byte slot for each argument: sizes, then addresses. */\n";
    os << "int " << signature.name << "(" << (parameters.empty() ? "void" : parameters) << ");\n"
       << "int64_t " << signature.name << "_workspace(" << (sizes.empty() ? "void" : sizes) << ");\n"
       << "int " << signature.name << "_in(" << parameters << (parameters.empty() ? "" : ", ") << "void *workspace);\n"
       << "int " << signature.name << "_packed(const int64_t *slots);\n";
    if (checks.reporting.contains(signature.name))
      os << "/* After a call of this thread that returned 1 or 9: a message or null, in which {index} stands for "
            "found[0]\n"
            " * (one less where it is above 0) and {extent} for found[1]. */\n"
            "const char *"
         << signature.name << "_failure(int64_t found[2]);\n";
  }
  os << "\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
  return text;
}
