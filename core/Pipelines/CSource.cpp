//===- CSource.cpp - Programs of cores as C -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prints the structured scalar IR that the C form of stage 5 leaves: each value
/// is a variable, loops stay loops, commands are calls of the vendor's names.
/// MLIR's own translation to C takes arrays of constant sizes alone.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Compiler.h"
#include "tilewright/Cores.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;
using llvm::formatv;

namespace {
class Printer {
public:
  Printer(ModuleOp module, const TargetDescription &chip, const CoreHierarchy &cores, llvm::raw_ostream &os)
      : module(module), chip(chip), cores(cores), os(os) {}
  LogicalResult print();

private:
  /// An array: its first element, and its extents.
  struct Array {
    std::string pointer;
    SmallVector<std::string> extents;
  };
  LogicalResult function(func::FuncOp function);
  LogicalResult block(Block &block, ArrayRef<std::string> results);
  LogicalResult op(Operation &op);
  LogicalResult loop(scf::ForOp loop);
  LogicalResult branch(scf::IfOp branch);
  LogicalResult call(func::CallOp call);
  LogicalResult host(const llvm::json::Object &manifest);
  FailureOr<std::string> type(Operation *op, Type type);
  std::string name(Value value) { return names.lookup(value); }
  std::string fresh() { return "v" + std::to_string(count++); }
  llvm::raw_ostream &line() { return os.indent(2 * depth); }
  /// T vN = TEXT;
  LogicalResult define(Operation *op, const std::string &text);
  std::string element(Value memref, ValueRange indices);
  std::optional<Array> descriptor(Value aggregate);

  ModuleOp module;
  const TargetDescription &chip;
  const CoreHierarchy &cores;
  llvm::raw_ostream &os;
  llvm::DenseMap<Value, std::string> names;
  llvm::DenseMap<Value, Array> arrays;
  unsigned count = 0, depth = 0;
};
} // namespace

//===-- Types and values --------------------------------------------------===//

FailureOr<std::string> Printer::type(Operation *op, Type type) {
  if (type.isIndex() || type.isInteger(64))
    return std::string("int64_t");
  if (type.isInteger(1))
    return std::string("bool");
  if (type.isF32())
    return std::string("float");
  if (type.isF64())
    return std::string("double");
  if (type.isBF16() || type.isF16()) // bit patterns
    return std::string("uint16_t");
  if (type.isInteger(8) || type.isInteger(16) || type.isInteger(32))
    return "int" + std::to_string(type.getIntOrFloatBitWidth()) + "_t";
  if (isa<LLVM::LLVMPointerType>(type))
    return std::string("char *");
  return op->emitError() << "'" << op->getName() << "' has a value of type " << type << ", which C code does not have";
}

LogicalResult Printer::define(Operation *op, const std::string &text) {
  FailureOr<std::string> word = type(op, op->getResult(0).getType());
  if (failed(word))
    return failure();
  std::string variable = fresh();
  names[op->getResult(0)] = variable;
  line() << *word << (StringRef(*word).ends_with("*") ? "" : " ") << variable << " = " << text << ";\n";
  return success();
}

std::string Printer::element(Value memref, ValueRange indices) {
  const Array &array = arrays[memref];
  std::string sum;
  for (auto [d, index] : llvm::enumerate(indices)) {
    sum = sum.empty() ? name(index) : "(" + sum + ") * " + array.extents[d] + " + " + name(index);
  }
  return array.pointer + "[" + (sum.empty() ? "0" : sum) + "]";
}

/// What a descriptor that was put together from a pointer and sizes describes.
std::optional<Printer::Array> Printer::descriptor(Value aggregate) {
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
      .Case("math.fma", "fma")
      .Default("");
}

/// A number as C reads it back exactly.
static std::string literal(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    APFloat value = number.getValue();
    if (number.getType().isBF16() || number.getType().isF16())
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

LogicalResult Printer::op(Operation &op) {
  if (auto each = dyn_cast<scf::ForOp>(op))
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
      .Case<arith::ConstantOp, LLVM::ConstantOp>(
          [&](auto constant) { return define(&op, literal(constant.getValue())); })
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
      .Case<arith::NegFOp>([&](auto) { return define(&op, "-" + in[0]); })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, arith::SIToFPOp, arith::FPToSIOp, LLVM::PtrToIntOp>(
          [&](auto each) {
            // The one bit of an i1 is a sign.
            bool bit = each->getOperand(0).getType().isInteger(1) && !isa<arith::SIToFPOp>(op);
            return converted(bit                                      ? "-" + in[0]
                             : op.getResult(0).getType().isInteger(1) ? "(" + in[0] + " & 1)"
                                                                      : in[0]);
          })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto each) {
        auto isStored = [](Type type) { return type.isBF16() || type.isF16(); };
        if (isStored(each->getOperand(0).getType()) || isStored(op.getResult(0).getType()))
          return LogicalResult(op.emitError("a 16-bit float is converted, which C code does by its bits"));
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
        if (from.getIntOrFloatBitWidth() == 16)
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
      .Case<memref::AllocOp, memref::AllocaOp>([&](auto alloc) {
        MemRefType memref = alloc.getType();
        FailureOr<std::string> word = type(&op, memref.getElementType());
        if (failed(word) || !memref.hasStaticShape())
          return failed(word) ? LogicalResult(failure())
                              : LogicalResult(op.emitError("has no constant size, as an array of a core must have"));
        std::string variable = fresh();
        line() << *word << " " << variable << "[" << std::max<int64_t>(1, memref.getNumElements()) << "];\n";
        Array array{variable, {}};
        for (int64_t extent : memref.getShape())
          array.extents.push_back(std::to_string(extent));
        arrays[alloc.getResult()] = array;
        return LogicalResult(success());
      })
      .Case<memref::DeallocOp, LLVM::PoisonOp, LLVM::InsertValueOp>([](auto) { return success(); })
      .Case<memref::DimOp>([&](memref::DimOp dim) {
        std::optional<int64_t> index = dim.getConstantIndex();
        return index ? define(&op, arrays[dim.getSource()].extents[*index])
                     : LogicalResult(op.emitError("asks for a dimension that is not constant"));
      })
      .Case<UnrealizedConversionCastOp>([&](UnrealizedConversionCastOp each) {
        auto memref = dyn_cast<MemRefType>(each.getResult(0).getType());
        std::optional<Array> array = memref ? descriptor(each.getInputs().front()) : std::nullopt;
        FailureOr<std::string> word =
            memref ? type(&op, memref.getElementType()) : FailureOr<std::string>(std::string());
        if (!array || failed(word)) {
          // Back to a descriptor: only its pointer is asked for (extractvalue).
          auto found = arrays.find(each.getInputs().front());
          if (memref || found == arrays.end())
            return LogicalResult(op.emitError("C code cannot be made of this conversion"));
          arrays[each.getResult(0)] = found->second;
          return LogicalResult(success());
        }
        std::string variable = fresh();
        line() << *word << " *" << variable << " = (" << *word << " *)" << array->pointer << ";\n";
        array->pointer = variable;
        arrays[each.getResult(0)] = *array;
        return LogicalResult(success());
      })
      .Case<LLVM::ExtractValueOp>([&](LLVM::ExtractValueOp extract) {
        auto found = arrays.find(extract.getContainer());
        std::optional<Array> array =
            found != arrays.end() ? std::optional(found->second) : descriptor(extract.getContainer());
        if (!array || extract.getPosition() != ArrayRef<int64_t>{1})
          return LogicalResult(op.emitError("C code cannot be made of this part of a descriptor"));
        return define(&op, "(char *)" + array->pointer);
      })
      .Case<LLVM::AddressOfOp>([&](LLVM::AddressOfOp address) {
        bool accumulators = cores.accumulator && address.getGlobalName() == "tilewright_" + cores.accumulator->name;
        return define(&op,
                      chip.target().str() + "_" + (accumulators ? cores.accumulator : cores.scratchpad)->name + "()");
      })
      .Case<LLVM::AddrSpaceCastOp>([&](auto) { return define(&op, in[0]); })
      .Case<LLVM::GEPOp>([&](LLVM::GEPOp gep) {
        auto index = gep.getIndices()[0];
        auto constant = dyn_cast<IntegerAttr>(index);
        return define(&op, in[0] + " + " + (constant ? std::to_string(constant.getInt()) : name(cast<Value>(index))));
      })
      .Case<LLVM::AllocaOp>([&](LLVM::AllocaOp) {
        std::string variable = fresh();
        line() << "int32_t " << variable << ";\n";
        names[op.getResult(0)] = variable;
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

//===-- Structure ---------------------------------------------------------===//

/// The ops of `block`; what its terminator yields goes to `results`.
LogicalResult Printer::block(Block &block, ArrayRef<std::string> results) {
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

LogicalResult Printer::loop(scf::ForOp loop) {
  SmallVector<std::string> carried;
  for (auto [init, argument, result] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    FailureOr<std::string> word = type(loop, init.getType());
    if (failed(word))
      return failure();
    carried.push_back(fresh());
    line() << *word << " " << carried.back() << " = " << name(init) << ";\n";
    names[argument] = names[result] = carried.back();
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

LogicalResult Printer::branch(scf::IfOp branch) {
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

/// Primitives get the names of the chip's header, units and engines those of their records.
LogicalResult Printer::call(func::CallOp call) {
  StringRef callee = call.getCallee();
  SmallVector<std::string> in;
  for (Value operand : call.getOperands())
    in.push_back(name(operand));
  std::string target;
  if (callee.consume_front("tilewright.unit.")) {
    const MatrixUnit *unit = chip.unit(callee);
    target = unit ? unit->emit.name : "";
  } else if (callee.consume_front("tilewright.primitive.")) {
    if (callee == "block_x") {
      names[call.getResult(0)] = "core";
      return success();
    }
    target = callee == "copy_2d"    ? cores.in->emit.name
             : callee == "store_2d" ? cores.out->emit.name
                                    : chip.target().str() + "_" + callee.str();
  }
  if (target.empty())
    return call.emitError() << "'" << call.getCallee() << "' has no name in C code";
  line() << target << "(" << llvm::join(in, ", ") << ");\n";
  return success();
}

LogicalResult Printer::function(func::FuncOp function) {
  names.clear();
  arrays.clear();
  count = 0;
  os << "\nstatic void " << function.getName() << "(int32_t core";
  for (BlockArgument argument : function.getArguments()) {
    FailureOr<std::string> word = type(function, argument.getType());
    if (failed(word))
      return failure();
    names[argument] = fresh();
    os << ", " << *word << " " << names[argument];
  }
  os << ") {\n";
  if (failed(block(function.front(), {})))
    return failure();
  os << "}\n";
  return success();
}

//===-- The host's part ---------------------------------------------------===//

/// An expression of sizes as C.
static std::string sizeText(const llvm::json::Value &expression) {
  if (auto number = expression.getAsInteger())
    return std::to_string(*number);
  if (const llvm::json::Object *object = expression.getAsObject())
    return "n" + std::to_string(object->getInteger("size").value_or(0));
  const llvm::json::Array &parts = *expression.getAsArray();
  std::string a = sizeText(parts[1]), b = sizeText(parts[2]);
  StringRef sign = *parts[0].getAsString();
  if (sign == "max" || sign == "min")
    return formatv("({0} {1} {2} ? {0} : {2})", a, sign == "max" ? ">" : "<", b).str();
  if (sign == "ceildiv") // sizes are not negative
    return formatv("(({0} + {1} - 1) / {1})", a, b).str();
  return formatv("({0} {1} {2})", a, sign == "floordiv" ? "/" : sign == "mod" ? "%" : sign, b).str();
}

/// The public function: constants, temporaries, and each launch on all of its cores, one after the other.
LogicalResult Printer::host(const llvm::json::Object &manifest) {
  auto refuse = [&](const llvm::Twine &what) {
    return LogicalResult(module.emitError() << "C code of this program needs " << what << ", which is not written yet");
  };
  const llvm::json::Array *arguments = manifest.getArray("arguments"), *temporaries = manifest.getArray("temporaries"),
                          *constants = manifest.getArray("constants"), *steps = manifest.getArray("steps");
  auto entry = manifest.getString("entry");
  if (!entry || !arguments || !temporaries || !constants || !steps)
    return refuse("a manifest with 'entry', 'arguments', 'constants', 'temporaries' and 'steps'");
  if (!constants->empty())
    return refuse("constant arrays");
  os << "\nint " << *entry << "(";
  std::string separator;
  for (int64_t i = 0, sizes = manifest.getInteger("sizes").value_or(0); i < sizes; ++i, separator = ", ")
    os << separator << "int64_t n" << i;
  for (size_t i = 0; i < arguments->size(); ++i, separator = ", ") {
    bool written = (*arguments)[i].getAsObject()->getBoolean("written").value_or(true);
    os << separator << (written ? "" : "const ") << "void *b" << i;
  }
  os << ") {\n";
  std::string missing, release;
  for (const llvm::json::Value &temporary : *temporaries) {
    const llvm::json::Object *object = temporary.getAsObject();
    const llvm::json::Value *bytes = object ? object->get("bytes") : nullptr;
    std::optional<int64_t> buffer = object ? object->getInteger("buffer") : std::nullopt;
    if (!bytes || !buffer)
      return refuse("a manifest whose temporaries have 'buffer' and 'bytes'");
    os << "  void *b" << *buffer << " = malloc(" << sizeText(*bytes) << " + 1);\n";
    missing += (missing.empty() ? "!b" : " || !b") + std::to_string(*buffer);
    release += "  free(b" + std::to_string(*buffer) + ");\n";
  }
  if (!missing.empty())
    os << "  if (" << missing << ") {\n" << release << "  return 2;\n  }\n";
  for (const llvm::json::Value &one : *steps) {
    const llvm::json::Object *launch = one.getAsObject();
    const llvm::json::Array *grid = launch ? launch->getArray("grid") : nullptr;
    const llvm::json::Array *passed = launch ? launch->getArray("arguments") : nullptr;
    if (!grid || !passed || grid->empty() || !launch->getString("launch"))
      return refuse("branches, loops or scalars between launches");
    os << "  for (int32_t core = 0; core < " << sizeText((*grid)[0]) << "; ++core)\n    "
       << *launch->getString("launch") << "(core";
    for (const llvm::json::Value &argument : *passed) {
      const llvm::json::Object *value = argument.getAsObject();
      if (auto buffer = value ? value->getInteger("buffer") : std::nullopt)
        os << ", (char *)b" << *buffer;
      else if (const llvm::json::Value *number = value ? value->get("value") : nullptr)
        os << ", " << sizeText(*number);
      else
        return refuse("a manifest whose launches take buffers and values");
    }
    os << ");\n";
  }
  os << release << "  return 0;\n}\n";
  return success();
}

LogicalResult Printer::print() {
  auto manifests = module->getAttrOfType<ArrayAttr>(manifestsAttr);
  if (!manifests || !cores.in || !cores.out)
    return module.emitError()
           << "C code is made of programs of launches, for chips with engines in and out of the scratchpad";
  os << "/* Made by tw-compile for " << chip.target() << ":" << chip.chip() << ". Compile it with the header of its\n"
     << " * intrinsics: -DTILEWRIGHT_INTRINSICS='\"reference.h\"', or your own of the same names. */\n"
     << "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
     << "#ifndef TILEWRIGHT_INTRINSICS\n#define TILEWRIGHT_INTRINSICS \"" << chip.target() << ".h\"\n#endif\n"
     << "#include TILEWRIGHT_INTRINSICS\n";
  for (auto launch : module.getOps<func::FuncOp>())
    if (!launch.isExternal() && launchShapeOf(launch) && failed(function(launch)))
      return failure();
  for (Attribute manifest : manifests) {
    auto parsed = llvm::json::parse(cast<StringAttr>(manifest).getValue());
    if (!parsed || !parsed->getAsObject())
      return module.emitError() << "the manifest of the program cannot be read";
    if (failed(host(*parsed->getAsObject())))
      return failure();
  }
  return success();
}

llvm::Error tilewright::writeC(ModuleOp module, StringRef path) {
  auto chip = targetOf(module);
  if (!chip)
    return chip.takeError();
  std::optional<CoreHierarchy> cores = coreHierarchy(**chip);
  if (!cores)
    return llvm::createStringError("C code is made for chips whose cores program engines; '" + (*chip)->target() + ":" +
                                   (*chip)->chip() + "' is of another kind");
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(Printer(module, **chip, *cores, os).print()))
    return llvm::make_error<Reported>();
  return writeFile(path, text);
}
