//===- ProgramText.cpp - MLIR text of a case ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Types, generics and conversions as text.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/ProgramText.h"

#include <algorithm>

using namespace tilewright;
using namespace tilewright::conformance;

std::vector<int64_t> conformance::sizesOf(const Dims &dims) {
  std::vector<int64_t> sizes;
  for (const Dim &dim : dims)
    sizes.push_back(dim.size);
  return sizes;
}

std::string conformance::shapeName(const Dims &dims) {
  std::string name;
  for (const Dim &dim : dims)
    name += (name.empty() ? "" : "x") + std::to_string(dim.size) + (dim.name.empty() ? "" : "?");
  return name.empty() ? "scalar" : name;
}

static bool isUnsigned(ElementType type) { return type >= ElementType::U8 && type <= ElementType::U64; }

std::string conformance::mlirName(ElementType type) {
  if (type == ElementType::Bool)
    return "i1";
  if (isUnsigned(type))
    return "i" + std::to_string(8 * sizeOf(type));
  return nameOf(type);
}

std::string conformance::tensorType(ElementType type, const Dims &dims) {
  std::string text = "tensor<";
  for (const Dim &dim : dims)
    text += (dim.name.empty() ? std::to_string(dim.size) : "?") + "x";
  return text + mlirName(type) + ">";
}

std::string ProgramText::input(ElementType type, const Dims &dims, const std::string &attributes) {
  std::string name = "%a" + std::to_string(arguments++);
  parameters += (parameters.empty() ? "" : ", ") + name + ": " + tensorType(type, dims);
  parameters += attributes.empty() ? "" : " {" + attributes + "}";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].name.empty() || sizes.count(dims[i].name))
      continue;
    std::string index = add("arith.constant " + std::to_string(i) + " : index");
    sizes[dims[i].name] = add("tensor.dim " + name + ", " + index + " : " + tensorType(type, dims));
  }
  return name;
}

std::string ProgramText::add(const std::string &text) {
  std::string name = fresh();
  body += "  " + name + " = " + text + "\n";
  return name;
}

std::string ProgramText::empty(ElementType type, const Dims &dims) {
  std::string list;
  for (const Dim &dim : dims)
    if (!dim.name.empty())
      list += (list.empty() ? "" : ", ") + sizes.at(dim.name);
  return add("tensor.empty(" + list + ") : " + tensorType(type, dims));
}

std::string ProgramText::constant(ElementType type, const std::string &constant) {
  return add("arith.constant " + constant + " : " + mlirName(type));
}

std::string ProgramText::filled(ElementType type, const Dims &dims, const std::string &value) {
  std::string scalar = constant(type, value), target = empty(type, dims);
  return add("linalg.fill ins(" + scalar + " : " + mlirName(type) + ") outs(" + target + " : " +
             tensorType(type, dims) + ") -> " + tensorType(type, dims));
}

std::string ProgramText::convert(const std::string &value, ElementType from, ElementType to) {
  if (mlirName(from) == mlirName(to))
    return value;
  std::string op;
  if (isFloat(from) && isFloat(to))
    op = sizeOf(to) > sizeOf(from) ? "arith.extf " : "arith.truncf ";
  else if (isFloat(to))
    op = isUnsigned(from) ? "arith.uitofp " : "arith.sitofp ";
  else if (isFloat(from))
    op = isUnsigned(to) ? "arith.fptoui " : "arith.fptosi ";
  else if (sizeOf(to) < sizeOf(from))
    op = "arith.trunci ";
  else
    op = isUnsigned(from) || from == ElementType::Bool ? "arith.extui " : "arith.extsi ";
  return add(op + value + " : " + mlirName(from) + " to " + mlirName(to));
}

std::string ProgramText::generic(int loops, int reductions, const std::vector<Operand> &inputs, const Operand &output,
                                 const std::function<std::string(const std::vector<std::string> &)> &block) {
  std::string dims, kinds, maps, values, types, arguments;
  for (int i = 0; i < loops; ++i) {
    dims += (i ? ", d" : "d") + std::to_string(i);
    kinds += std::string(i ? ", " : "") + (i < loops - reductions ? "\"parallel\"" : "\"reduction\"");
  }
  std::vector<std::string> names;
  auto describe = [&](const Operand &operand) {
    maps += (maps.empty() ? "" : ", ") + ("affine_map<(" + dims + ") -> (" + operand.indices + ")>");
    names.push_back(fresh());
    arguments += (arguments.empty() ? "" : ", ") + names.back() + ": " + mlirName(operand.type);
  };
  for (const Operand &operand : inputs) {
    describe(operand);
    values += (values.empty() ? "" : ", ") + operand.value;
    types += (types.empty() ? "" : ", ") + tensorType(operand.type, operand.dims);
  }
  describe(output);
  std::string name = fresh(), result = tensorType(output.type, output.dims);
  body += "  " + name + " = linalg.generic {indexing_maps = [" + maps + "], iterator_types = [" + kinds + "]}\n" +
          (inputs.empty() ? "" : "      ins(" + values + " : " + types + ")") + " outs(" + output.value + " : " +
          result + ") {\n  ^bb0(" + arguments + "):\n";
  std::string yielded = block(names);
  body += "  linalg.yield " + yielded + " : " + mlirName(output.type) + "\n  } -> " + result + "\n";
  return name;
}

std::string ProgramText::finish(const std::string &result, ElementType type, const Dims &dims) {
  return "func.func @f(" + parameters + ") -> " + tensorType(type, dims) + " {\n" + body + "  return " + result +
         " : " + tensorType(type, dims) + "\n}\n";
}
