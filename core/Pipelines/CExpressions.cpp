//===- CExpressions.cpp - Operations as C ---------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One variable for each value. Integers wrap around, as they do in the IR, so that they are computed without sign.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/CPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;
using llvm::formatv;

//===-- Types and values --------------------------------------------------===//

FailureOr<std::string> CPrinter::type(Operation *op, Type type) {
  if (type.isIndex() || type.isInteger(64))
    return std::string("int64_t");
  if (type.isInteger(1))
    return std::string("bool");
  if (type.isF32())
    return std::string("float");
  if (type.isF64())
    return std::string("double");
  if (isa<FloatType>(type)) // bit patterns
    return "uint" + std::to_string(type.getIntOrFloatBitWidth()) + "_t";
  if (type.isInteger(8) || type.isInteger(16) || type.isInteger(32))
    return "int" + std::to_string(type.getIntOrFloatBitWidth()) + "_t";
  if (isa<LLVM::LLVMPointerType>(type))
    return std::string("char *");
  return op->emitError() << "'" << op->getName() << "' has a value of type " << type << ", which C code does not have";
}

LogicalResult CPrinter::define(Operation *op, const std::string &text) {
  FailureOr<std::string> word = type(op, op->getResult(0).getType());
  if (failed(word))
    return failure();
  std::string variable = fresh();
  names[op->getResult(0)] = variable;
  line() << *word << (StringRef(*word).ends_with("*") ? "" : " ") << variable << " = " << text << ";\n";
  return success();
}

std::string CPrinter::element(Value memref, ValueRange indices) {
  const Array &array = arrays[memref];
  std::string sum;
  for (auto [d, index] : llvm::enumerate(indices)) {
    sum = sum.empty() ? name(index) : "(" + sum + ") * " + array.extents[d] + " + " + name(index);
  }
  return array.pointer + "[" + (sum.empty() ? "0" : sum) + "]";
}

/// What a descriptor that was put together from a pointer and sizes describes.
std::optional<CPrinter::Array> CPrinter::descriptor(Value aggregate) {
  Array array;
  llvm::SmallDenseMap<int64_t, std::string> extents;
  for (auto insert = aggregate.getDefiningOp<LLVM::InsertValueOp>(); insert;
       insert = insert.getContainer().getDefiningOp<LLVM::InsertValueOp>()) {
    ArrayRef<int64_t> place = insert.getPosition();
    if (place.size() == 1 && place[0] == 1 && array.pointer.empty())
      array.pointer = name(insert.getValue());
    if (place.size() == 2 && place[0] == 3)
      extents.try_emplace(place[1], name(insert.getValue()));
  }
  for (int64_t d = 0, rank = extents.size(); d < rank; ++d)
    array.extents.push_back(extents[d]);
  return array.pointer.empty() ? std::nullopt : std::optional(array);
}

//===-- Arrays ------------------------------------------------------------===//

/// An array of the function: a core has a stack, and nothing that a call would leave behind.
LogicalResult CPrinter::alloc(Operation *op) {
  auto memref = ::cast<MemRefType>(op->getResult(0).getType());
  FailureOr<std::string> word = type(op, memref.getElementType());
  if (failed(word))
    return failure();
  std::string variable = fresh();
  if (auto alignment = op->getAttrOfType<IntegerAttr>("alignment"))
    line() << "_Alignas(" << alignment.getInt() << ") ";
  else
    line();
  os << *word << " " << variable << "[" << std::max<int64_t>(1, memref.getNumElements()) << "];\n";
  Array array{variable, {}};
  for (int64_t extent : memref.getShape())
    array.extents.push_back(std::to_string(extent));
  arrays[op->getResult(0)] = array;
  return success();
}

/// From a descriptor to the memref that it describes, or back.
LogicalResult CPrinter::cast(UnrealizedConversionCastOp op) {
  auto memref = dyn_cast<MemRefType>(op.getResult(0).getType());
  if (!memref) { // back: only its pointer is asked for (extractvalue)
    auto found = arrays.find(op.getInputs().front());
    if (found == arrays.end())
      return op.emitError("C code cannot be made of this conversion");
    arrays[op.getResult(0)] = Array(found->second);
    return success();
  }
  std::optional<Array> array = descriptor(op.getInputs().front());
  if (!array)
    return op.emitError("C code cannot be made of this conversion");
  FailureOr<std::string> word = type(op, memref.getElementType());
  if (failed(word))
    return failure();
  // One of which only extents are asked for needs no pointer of its type.
  if (!llvm::all_of(op.getResult(0).getUsers(), llvm::IsaPred<memref::DimOp>)) {
    std::string variable = fresh();
    line() << *word << " *" << variable << " = (" << *word << " *)" << array->pointer << ";\n";
    array->pointer = variable;
  }
  arrays[op.getResult(0)] = *array;
  return success();
}

//===-- Operations --------------------------------------------------------===//

/// The C operator of a binary operation; empty for others.
static StringRef operatorOf(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Cases({"arith.addi", "arith.addf", "llvm.add"}, "+")
      .Cases({"arith.subi", "arith.subf", "llvm.sub"}, "-")
      .Cases({"arith.muli", "arith.mulf", "llvm.mul"}, "*")
      .Cases({"arith.divsi", "arith.divf"}, "/")
      .Case("arith.remsi", "%")
      .Case("arith.andi", "&")
      .Case("arith.ori", "|")
      .Case("arith.xori", "^")
      .Case("arith.shli", "<<")
      .Case("arith.shrsi", ">>")
      .Default("");
}
static StringRef unsignedOperatorOf(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case("arith.divui", "/")
      .Case("arith.remui", "%")
      .Case("arith.shrui", ">>")
      .Default("");
}
static StringRef functionOf(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case("math.exp", "exp")
      .Case("math.exp2", "exp2")
      .Case("math.log", "log")
      .Case("math.sqrt", "sqrt")
      .Case("math.tanh", "tanh")
      .Case("math.erf", "erf")
      .Case("math.absf", "fabs")
      .Case("math.floor", "floor")
      .Case("math.ceil", "ceil")
      .Case("math.round", "round")
      .Case("math.roundeven", "rint")
      .Case("math.trunc", "trunc")
      .Case("math.powf", "pow")
      .Case("math.sin", "sin")
      .Case("math.cos", "cos")
      .Case("math.tan", "tan")
      .Case("math.sinh", "sinh")
      .Case("math.cosh", "cosh")
      .Case("math.asin", "asin")
      .Case("math.acos", "acos")
      .Case("math.atan", "atan")
      .Case("math.atan2", "atan2")
      .Case("math.asinh", "asinh")
      .Case("math.acosh", "acosh")
      .Case("math.atanh", "atanh")
      .Case("math.cbrt", "cbrt")
      .Case("math.erfc", "erfc")
      .Case("math.expm1", "expm1")
      .Case("math.log1p", "log1p")
      .Case("math.log2", "log2")
      .Case("math.log10", "log10")
      .Case("math.copysign", "copysign")
      .Case("arith.remf", "fmod")
      .Case("arith.maxnumf", "fmax")
      .Case("arith.minnumf", "fmin")
      .Case("math.fma", "fma")
      .Default("");
}

/// A number as C reads it back exactly.
static std::string literal(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    APFloat value = number.getValue();
    if (number.getType().getIntOrFloatBitWidth() <= 16)
      return std::to_string(value.bitcastToAPInt().getZExtValue());
    std::string suffix = number.getType().isF32() ? "f" : "";
    if (value.isInfinity())
      return value.isNegative() ? "-INFINITY" : "INFINITY";
    if (value.isNaN())
      return "NAN";
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%a", value.convertToDouble());
    return text + suffix;
  }
  auto integer = cast<IntegerAttr>(attribute);
  if (integer.getType().isInteger(1))
    return integer.getValue().isZero() ? "false" : "true";
  int64_t value = integer.getType().isIndex() ? integer.getInt() : integer.getValue().getSExtValue();
  return value == std::numeric_limits<int64_t>::min() ? "INT64_MIN" : std::to_string(value);
}

/// "a < b" for a comparison.
static std::string comparison(arith::CmpIPredicate predicate, const std::string &a, const std::string &b,
                              const std::string &unsignedType) {
  static constexpr const char *signs[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
  if (predicate < arith::CmpIPredicate::ult)
    return a + " " + signs[int(predicate)] + " " + b;
  return "(" + unsignedType + ")" + a + " " + signs[int(predicate)] + " (" + unsignedType + ")" + b;
}

/// Whether nothing that is printed asks for the results of `op`: strides of descriptors, counters that are only
/// written.
static bool isUnused(Operation *op) {
  if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    Operation *variable = store.getAddr().getDefiningOp();
    return isa_and_nonnull<LLVM::AllocaOp>(variable) && isUnused(variable);
  }
  if (isa<LLVM::AllocaOp>(op))
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      auto store = dyn_cast<LLVM::StoreOp>(user);
      return store && store.getValue() != op->getResult(0);
    });
  if (op->getNumResults() != 1 || !isPure(op))
    return false;
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    auto insert = dyn_cast<LLVM::InsertValueOp>(user);
    if (!insert)
      return isUnused(user);
    // Pointer and sizes count, the outermost size only for those who ask.
    ArrayRef<int64_t> place = insert.getPosition();
    if (place == ArrayRef<int64_t>{3, 0})
      return !op->getParentOfType<func::FuncOp>()
                  .walk([](memref::DimOp) { return WalkResult::interrupt(); })
                  .wasInterrupted();
    return place[0] != 1 && place[0] != 3;
  });
}

LogicalResult CPrinter::op(Operation &op) {
  if (isUnused(&op))
    return success();
  if (auto each = dyn_cast<scf::ForOp>(op))
    return loop(each);
  if (auto each = dyn_cast<scf::WhileOp>(op))
    return loop(each);
  if (auto each = dyn_cast<scf::IfOp>(op))
    return branch(each);
  if (auto each = dyn_cast<func::CallOp>(op))
    return call(each);
  SmallVector<std::string> in;
  for (Value operand : op.getOperands())
    in.push_back(name(operand));
  auto unsignedOf = [&](Type type) {
    return type.isIndex() ? std::string("uint64_t")
                          : "uint" + std::to_string(std::max(8u, type.getIntOrFloatBitWidth())) + "_t";
  };
  auto converted = [&](const std::string &text) {
    FailureOr<std::string> word = type(&op, op.getResult(0).getType());
    return failed(word) ? LogicalResult(failure()) : define(&op, "(" + *word + ")" + text);
  };
  if (StringRef sign = operatorOf(&op); !sign.empty()) {
    Type result = op.getResult(0).getType();
    // Integers wrap around: computed without sign.
    if (result.isIntOrIndex() && !result.isInteger(1) && sign != "/" && sign != "%" && sign != ">>")
      return converted(formatv("(({0}){1} {2} ({0}){3})", unsignedOf(result), in[0], sign, in[1]).str());
    return define(&op, in[0] + " " + sign.str() + " " + in[1]);
  }
  if (StringRef sign = unsignedOperatorOf(&op); !sign.empty())
    return converted(
        formatv("(({0}){1} {2} ({0}){3})", unsignedOf(op.getResult(0).getType()), in[0], sign, in[1]).str());
  if (StringRef function = functionOf(&op); !function.empty())
    return define(&op, function.str() + (op.getResult(0).getType().isF32() ? "f(" : "(") + llvm::join(in, ", ") + ")");
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<arith::ConstantOp, LLVM::ConstantOp>([&](auto constant) {
        std::string text = literal(constant.getValue());
        names[op.getResult(0)] = text.front() == '-' ? "(" + text + ")" : text;
        return success();
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp compare) {
        return define(&op, comparison(compare.getPredicate(), in[0], in[1], unsignedOf(compare.getLhs().getType())));
      })
      .Case<arith::CmpFOp>([&](arith::CmpFOp compare) {
        static constexpr const char *ordered[] = {"==", ">", ">=", "<", "<=", "!="};
        using P = arith::CmpFPredicate;
        P predicate = compare.getPredicate();
        std::string unordered = "(" + in[0] + " != " + in[0] + " || " + in[1] + " != " + in[1] + ")";
        if (predicate == P::ORD || predicate == P::UNO)
          return define(&op, (predicate == P::ORD ? "!" : "") + unordered);
        if (predicate == P::AlwaysFalse || predicate == P::AlwaysTrue)
          return define(&op, predicate == P::AlwaysTrue ? "true" : "false");
        bool isOrdered = predicate >= P::OEQ && predicate <= P::ONE;
        const char *sign = ordered[int(predicate) - int(isOrdered ? P::OEQ : P::UEQ)];
        std::string text = in[0] + " " + sign + " " + in[1];
        return define(&op, isOrdered ? "!" + unordered + " && " + text : unordered + " || " + text);
      })
      .Case<arith::SelectOp>([&](arith::SelectOp) { return define(&op, in[0] + " ? " + in[1] + " : " + in[2]); })
      .Case<arith::MaxSIOp>([&](auto) { return define(&op, formatv("{0} > {1} ? {0} : {1}", in[0], in[1]).str()); })
      .Case<arith::MinSIOp>([&](auto) { return define(&op, formatv("{0} < {1} ? {0} : {1}", in[0], in[1]).str()); })
      .Case<arith::MaxUIOp, arith::MinUIOp>([&](auto each) {
        const char *sign = isa<arith::MaxUIOp>(op) ? ">" : "<";
        return define(&op,
                      formatv("({0}){1} {3} ({0}){2} ? {1} : {2}", unsignedOf(each.getType()), in[0], in[1], sign));
      })
      .Case<math::RsqrtOp>([&](math::RsqrtOp each) {
        return define(&op, each.getType().isF32() ? "1.0f / sqrtf(" + in[0] + ")" : "1.0 / sqrt(" + in[0] + ")");
      })
      .Case<arith::NegFOp>([&](auto) { return define(&op, "-" + in[0]); })
      .Case<arith::IndexCastOp>([&](arith::IndexCastOp each) {
        if (!each.getIn().getType().isInteger(64) && !each.getType().isInteger(64)) // 64 bits both ways
          return converted(in[0]);
        names[each.getResult()] = in[0];
        return LogicalResult(success());
      })
      .Case<arith::ExtSIOp, arith::TruncIOp, arith::SIToFPOp, arith::FPToSIOp, LLVM::PtrToIntOp, LLVM::IntToPtrOp>(
          [&](auto each) {
            // The one bit of an i1 is a sign.
            bool bit = each->getOperand(0).getType().isInteger(1) && !isa<arith::SIToFPOp>(op);
            return converted(bit                                      ? "-" + in[0]
                             : op.getResult(0).getType().isInteger(1) ? "(" + in[0] + " & 1)"
                                                                      : in[0]);
          })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto each) {
        auto isStored = [](Type type) { return type.getIntOrFloatBitWidth() <= 16; };
        if (isStored(each->getOperand(0).getType()) || isStored(op.getResult(0).getType()))
          return LogicalResult(op.emitError("a float of 16 or 8 bits is converted, which C code does by its bits"));
        return converted(in[0]);
      })
      .Case<arith::ExtUIOp, arith::UIToFPOp, arith::IndexCastUIOp>(
          [&](auto each) { return converted("(" + unsignedOf(each->getOperand(0).getType()) + ")" + in[0]); })
      .Case<arith::BitcastOp>([&](arith::BitcastOp each) {
        FailureOr<std::string> word = type(&op, each.getType());
        Type from = each.getIn().getType();
        if (failed(word))
          return LogicalResult(failure());
        // Between a pattern and an integer of its size the value stays; else the bytes do.
        if (from.getIntOrFloatBitWidth() <= 16)
          return converted(in[0]);
        std::string variable = fresh();
        names[each.getResult()] = variable;
        line() << *word << " " << variable << ";\n";
        line() << formatv("memcpy(&{0}, &{1}, sizeof {0});\n", variable, in[0]);
        return LogicalResult(success());
      })
      .Case<memref::LoadOp>(
          [&](memref::LoadOp load) { return define(&op, element(load.getMemRef(), load.getIndices())); })
      .Case<memref::StoreOp>([&](memref::StoreOp store) {
        line() << element(store.getMemRef(), store.getIndices()) << " = " << name(store.getValueToStore()) << ";\n";
        return LogicalResult(success());
      })
      .Case<memref::AllocaOp>([&](auto) { return alloc(&op); })
      .Case<LLVM::PoisonOp, LLVM::InsertValueOp>([](auto) { return success(); })
      .Case<memref::DimOp>([&](memref::DimOp dim) {
        std::optional<int64_t> index = dim.getConstantIndex();
        return index ? define(&op, arrays[dim.getSource()].extents[*index])
                     : LogicalResult(op.emitError("asks for a dimension that is not constant"));
      })
      .Case<UnrealizedConversionCastOp>([&](UnrealizedConversionCastOp each) { return cast(each); })
      .Case<LLVM::ExtractValueOp>([&](LLVM::ExtractValueOp extract) {
        auto found = arrays.find(extract.getContainer());
        std::optional<Array> array =
            found != arrays.end() ? std::optional(found->second) : descriptor(extract.getContainer());
        if (!array || extract.getPosition() != ArrayRef<int64_t>{1})
          return LogicalResult(op.emitError("C code cannot be made of this part of a descriptor"));
        return define(&op, "(char *)" + array->pointer);
      })
      .Case<LLVM::AddressOfOp>(
          [&](LLVM::AddressOfOp address) { return define(&op, "(char *)" + address.getGlobalName().str()); })
      .Case<LLVM::GEPOp>([&](LLVM::GEPOp gep) {
        auto index = gep.getIndices()[0];
        auto constant = dyn_cast<IntegerAttr>(index);
        return define(&op, in[0] + " + " + (constant ? std::to_string(constant.getInt()) : name(cast<Value>(index))));
      })
      .Case<LLVM::AllocaOp>([&](LLVM::AllocaOp variable) {
        FailureOr<std::string> word = type(&op, variable.getElemType());
        if (failed(word))
          return LogicalResult(failure());
        names[variable] = fresh();
        line() << *word << " " << names[variable] << ";\n";
        return LogicalResult(success());
      })
      .Case<LLVM::LoadOp>([&](auto) { return define(&op, in[0]); })
      .Case<LLVM::StoreOp>([&](auto) {
        line() << in[1] << " = " << in[0] << ";\n";
        return LogicalResult(success());
      })
      .Default([&](Operation *) {
        return LogicalResult(op.emitError() << "'" << op.getName() << "' has no form in C code yet");
      });
}
