//===- CPrinter.cpp - Functions, loops and branches as C ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The structure of a program; expressions are in CExpressions.cpp.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/CPrinter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;
using llvm::formatv;

/// The ops of `block`; what its terminator yields goes to `results`.
LogicalResult CPrinter::block(Block &block, ArrayRef<std::string> results) {
  ++depth;
  for (Operation &each : block.without_terminator())
    if (failed(op(each)))
      return failure();
  SmallVector<std::string> values;
  for (Value value : block.getTerminator()->getOperands())
    values.push_back(name(value));
  // All at once: a result may be another one's value.
  if (results.size() > 1)
    for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
      FailureOr<std::string> word = type(block.getTerminator(), value.getType());
      if (failed(word))
        return failure();
      std::string variable = fresh();
      line() << *word << " " << variable << " = " << values[i] << ";\n";
      values[i] = variable;
    }
  for (auto [result, value] : llvm::zip(results, values))
    line() << result << " = " << value << ";\n";
  --depth;
  return success();
}

LogicalResult CPrinter::loop(scf::ForOp loop) {
  SmallVector<std::string> carried;
  for (auto [init, argument, result] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    FailureOr<std::string> word = type(loop, init.getType());
    if (failed(word))
      return failure();
    carried.push_back(fresh());
    line() << *word << " " << carried.back() << " = " << name(init) << ";\n";
    for (Value each : {Value(argument), Value(result)})
      names[each] = carried.back();
  }
  std::string index = fresh();
  names[loop.getInductionVar()] = index;
  line() << formatv("for (int64_t {0} = {1}; {0} < {2}; {0} += {3}) {{\n", index, name(loop.getLowerBound()),
                    name(loop.getUpperBound()), name(loop.getStep()));
  if (failed(block(*loop.getBody(), carried)))
    return failure();
  line() << "}\n";
  return success();
}

LogicalResult CPrinter::branch(scf::IfOp branch) {
  SmallVector<std::string> results;
  for (Value result : branch.getResults()) {
    FailureOr<std::string> word = type(branch, result.getType());
    if (failed(word))
      return failure();
    results.push_back(fresh());
    names[result] = results.back();
    line() << *word << " " << results.back() << ";\n";
  }
  line() << "if (" << name(branch.getCondition()) << ") {\n";
  if (failed(block(*branch.thenBlock(), results)))
    return failure();
  if (branch.elseBlock()) {
    line() << "} else {\n";
    if (failed(block(*branch.elseBlock(), results)))
      return failure();
  }
  line() << "}\n";
  return success();
}

LogicalResult CPrinter::loop(scf::WhileOp loop) {
  if (loop.getNumResults() > 0 || !loop.getInits().empty())
    return loop.emitError("carries values, which C code of a loop with a condition does not");
  line() << "for (;;) {\n";
  ++depth;
  for (Operation &each : loop.getBeforeBody()->without_terminator())
    if (failed(op(each)))
      return failure();
  line() << "if (!" << name(loop.getConditionOp().getCondition()) << ")\n";
  line() << "  break;\n";
  --depth;
  if (failed(block(*loop.getAfterBody(), {})))
    return failure();
  line() << "}\n";
  return success();
}

LogicalResult CPrinter::call(func::CallOp call) {
  SmallVector<std::string> in;
  for (Value operand : call.getOperands())
    in.push_back(name(operand));
  std::string text = call.getCallee().str() + "(" + llvm::join(in, ", ") + ")";
  if (call.getNumResults() > 0)
    return define(call, text);
  line() << text << ";\n";
  return success();
}

/// The bytes of a constant, or those with which a program's state begins.
LogicalResult CPrinter::global(LLVM::GlobalOp global) {
  auto bytes = dyn_cast_or_null<StringAttr>(global.getValueOrNull());
  if (!bytes)
    return global.emitError("is no array of bytes, which alone has a form in C code");
  os << "\nstatic " << (global.getConstant() ? "const " : "") << "_Alignas(64) unsigned char " << global.getSymName()
     << "[" << std::max<size_t>(1, bytes.size()) << "] = {";
  for (auto [i, byte] : llvm::enumerate(bytes.getValue()))
    os << (i % 32 ? "" : "\n  ") << unsigned(static_cast<unsigned char>(byte)) << ",";
  os << (bytes.size() ? "" : "0") << "\n};\n";
  return success();
}

LogicalResult CPrinter::function(func::FuncOp function) {
  names.clear();
  arrays.clear();
  count = 0;
  bool isPublic = function.isPublic();
  os << "\n"
     << (isPublic ? "" : "static ") << (function.getNumResults() ? "int " : "void ") << function.getName() << "(";
  std::string casts, separator;
  for (BlockArgument argument : function.getArguments()) {
    FailureOr<std::string> word = type(function, argument.getType());
    if (failed(word))
      return failure();
    names[argument] = fresh();
    os << separator;
    separator = ", ";
    if (!isPublic || !isa<LLVM::LLVMPointerType>(argument.getType())) {
      os << *word << (StringRef(*word).ends_with("*") ? "" : " ") << names[argument];
      continue;
    }
    // Callers give arrays of all types.
    bool isRead = bool(function.getArgAttr(argument.getArgNumber(), LLVM::LLVMDialect::getReadonlyAttrName()));
    std::string given = "array" + std::to_string(argument.getArgNumber());
    os << (isRead ? "const void *" : "void *") << given;
    if (!argument.use_empty())
      casts += "  " + *word + names[argument] + " = (char *)" + given + ";\n";
  }
  os << (separator.empty() ? "void" : "") << ") {\n" << casts;
  if (failed(block(function.front(), {})))
    return failure();
  if (function.getNumResults())
    os << "  return " << name(function.front().getTerminator()->getOperand(0)) << ";\n";
  os << "}\n";
  return success();
}

LogicalResult CPrinter::print() {
  for (auto each : module.getOps<LLVM::GlobalOp>())
    if (failed(global(each)))
      return failure();
  for (auto each : module.getOps<func::FuncOp>())
    if (!each.isExternal() && each.isPrivate() && failed(function(each)))
      return failure();
  for (auto each : module.getOps<func::FuncOp>())
    if (each.isPublic() && !each.isExternal() && failed(function(each)))
      return failure();
  return success();
}
