//===- WriteHostProgram.cpp - Manifests as functions ---------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks a manifest (LaunchManifest.h) and writes what a loader would do as one
/// function that calls the launches, core by core.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Descriptor.h"
#include "core/Transforms/EngineCommands.h"
#include "core/Transforms/LaunchManifest.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/Base64.h"

namespace tilewright {
#define GEN_PASS_DEF_WRITEHOSTPROGRAM
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;
using Json = llvm::json::Value;
using llvm::json::Array;
using llvm::json::Object;

namespace {
class HostWriter {
public:
  HostWriter(ModuleOp module, const Object &manifest)
      : module(module), manifest(manifest), b(module.getLoc(), module.getBodyRegion()) {}
  LogicalResult write();

private:
  LogicalResult refuse(const llvm::Twine &what) {
    return module.emitError() << "a program that is given out as source needs " << what
                              << ", which it cannot have; run it by its manifest (tw-run, tw-launch)";
  }
  Value i64(int64_t value) { return arith::ConstantIntOp::create(b, value, 64); }
  Value status(int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }
  Value index(Value i64) { return arith::IndexCastOp::create(b, b.getIndexType(), i64); }
  Value place(int64_t number) { return arith::ConstantIndexOp::create(b, number); }
  Value call(StringRef name, Type result, ValueRange operands) {
    return EngineWriter::call(b, function, name, result, operands);
  }
  Value expression(const Json &json);
  Value isTrue(const Json &json) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, expression(json), i64(0));
  }
  void allocate(int64_t buffer, Value bytes);
  LogicalResult fillConstant(int64_t buffer, int64_t bytes, StringRef data);
  LogicalResult constants(const Array &list);
  LogicalResult steps(const Array &list);
  /// Does the steps from `list` on and gives the status that they end with.
  FailureOr<Value> stepsToStatus(ArrayRef<Json> list);
  LogicalResult step(const Object &step);
  LogicalResult launch(const Object &step);
  LogicalResult program();

  ModuleOp module;
  const Object &manifest;
  ImplicitLocOpBuilder b;
  func::FuncOp function;
  llvm::DenseMap<int64_t, Value> buffers; // pointers
  SmallVector<Value> owned;               // of them: memory of this call
  SmallVector<std::pair<int64_t, std::string>> patterns;
  Value variables;
};
} // namespace

//===-- Integers ----------------------------------------------------------===//

Value HostWriter::expression(const Json &json) {
  if (auto number = json.getAsInteger())
    return i64(*number);
  if (const Object *object = json.getAsObject()) {
    if (auto size = object->getInteger("size"))
      return function.getArgument(*size);
    return memref::LoadOp::create(b, variables, place(object->getInteger("variable").value_or(0)));
  }
  const Array &parts = *json.getAsArray();
  StringRef sign = *parts[0].getAsString();
  Value x = expression(parts[1]), y = expression(parts[2]);
  if (sign == "+")
    return arith::AddIOp::create(b, x, y);
  if (sign == "-")
    return arith::SubIOp::create(b, x, y);
  if (sign == "*")
    return arith::MulIOp::create(b, x, y);
  if (sign == "floordiv")
    return arith::FloorDivSIOp::create(b, x, y);
  if (sign == "ceildiv")
    return arith::CeilDivSIOp::create(b, x, y);
  if (sign == "mod")
    return arith::SubIOp::create(b, x, arith::MulIOp::create(b, arith::FloorDivSIOp::create(b, x, y), y));
  if (sign == "max")
    return arith::MaxSIOp::create(b, x, y);
  if (sign == "min")
    return arith::MinSIOp::create(b, x, y);
  auto predicate = sign == "<" ? arith::CmpIPredicate::slt : arith::CmpIPredicate::eq;
  return arith::ExtUIOp::create(b, b.getI64Type(), arith::CmpIOp::create(b, predicate, x, y));
}

//===-- Memory ------------------------------------------------------------===//

void HostWriter::allocate(int64_t buffer, Value bytes) {
  Value more = arith::AddIOp::create(b, bytes, i64(1)); // no memory at all is an answer of malloc
  buffers[buffer] = call("malloc", LLVM::LLVMPointerType::get(b.getContext()), more);
  owned.push_back(buffers[buffer]);
}

/// Memory for each constant, filled when the program starts: an array of the module, or its pattern over and over.
LogicalResult HostWriter::constants(const Array &list) {
  for (const Json &each : list) {
    const Object *object = each.getAsObject();
    auto buffer = object ? object->getInteger("buffer") : std::nullopt;
    auto bytes = object ? object->getInteger("bytes") : std::nullopt;
    auto text = object ? object->getString("data") : std::nullopt;
    std::vector<char> data;
    if (!buffer || !bytes || !text || llvm::errorToBool(llvm::decodeBase64(*text, data)))
      return refuse("constants of another form");
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), data.size());
    std::string name = (function.getName() + "_constant_" + llvm::Twine(*buffer)).str();
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    LLVM::GlobalOp::create(top, b.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                           b.getStringAttr(StringRef(data.data(), data.size())), /*alignment=*/64);
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value address = LLVM::AddressOfOp::create(b, pointer, name);
    if (int64_t(data.size()) >= *bytes) {
      buffers[*buffer] = address;
      continue;
    }
    allocate(*buffer, i64(*bytes));
    patterns.emplace_back(*buffer, name);
  }
  return success();
}

/// Repeats the pattern of a constant.
LogicalResult HostWriter::fillConstant(int64_t buffer, int64_t bytes, StringRef name) {
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  int64_t period = cast<LLVM::LLVMArrayType>(global.getType()).getNumElements();
  if (period == 0)
    return success();
  Value address = LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), name);
  auto array = [&](Value pointer, int64_t size) {
    return memrefFromPointer(b, b.getLoc(), MemRefType::get({size}, b.getI8Type()), pointer, {});
  };
  Value from = array(address, period), to = array(buffers[buffer], bytes), one = place(1);
  auto loop = scf::ForOp::create(b, place(0), place(bytes), one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value at = arith::RemUIOp::create(b, loop.getInductionVar(), place(period));
  memref::StoreOp::create(b, memref::LoadOp::create(b, from, at), to, loop.getInductionVar());
  return success();
}

//===-- Steps -------------------------------------------------------------===//

LogicalResult HostWriter::launch(const Object &step) {
  auto kernel = module.lookupSymbol<func::FuncOp>(*step.getString("launch"));
  const Array *grid = step.getArray("grid"), *arguments = step.getArray("arguments");
  if (!kernel || !grid || grid->empty() || !arguments || kernel.getNumArguments() != arguments->size() + 1)
    return refuse("launches of another form");
  Value cores = expression((*grid)[0]);
  SmallVector<Value> operands;
  for (auto [argument, type] : llvm::zip(*arguments, kernel.getArgumentTypes().drop_front())) {
    const Object *object = argument.getAsObject();
    const Json *number = object ? object->get("value") : nullptr;
    if (auto buffer = object ? object->getInteger("buffer") : std::nullopt)
      operands.push_back(buffers.lookup(*buffer));
    else if (number && type.isIndex())
      operands.push_back(index(expression(*number)));
    else if (number && type.isInteger(64))
      operands.push_back(expression(*number));
    else
      return refuse("launches with arguments beside arrays and integers");
    if (!operands.back())
      return refuse("arrays whose sizes follow from data");
  }
  auto loop = scf::ForOp::create(b, place(0), index(cores), place(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  operands.insert(operands.begin(), arith::IndexCastOp::create(b, b.getI32Type(), loop.getInductionVar()));
  func::CallOp::create(b, kernel, operands);
  return success();
}

LogicalResult HostWriter::step(const Object &step) {
  if (step.getString("launch"))
    return launch(step);
  auto inside = [&](Block *block, const Array *list) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    return list ? steps(*list) : success();
  };
  if (const Json *condition = step.get("if")) {
    auto branch = scf::IfOp::create(b, isTrue(*condition), /*withElseRegion=*/true);
    return success(succeeded(inside(branch.thenBlock(), step.getArray("then"))) &&
                   succeeded(inside(branch.elseBlock(), step.getArray("else"))));
  }
  if (const Json *condition = step.get("while")) {
    auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&loop.getBefore());
    if (const Array *before = step.getArray("before"); before && failed(steps(*before)))
      return failure();
    scf::ConditionOp::create(b, isTrue(*condition), ValueRange());
    b.createBlock(&loop.getAfter());
    if (const Array *body = step.getArray("do"); body && failed(steps(*body)))
      return failure();
    scf::YieldOp::create(b);
    return success();
  }
  if (const Array *assignments = step.getArray("assign")) {
    SmallVector<Value> values;
    for (const Json &each : *assignments)
      values.push_back(expression((*each.getAsArray())[1]));
    for (auto [each, value] : llvm::zip(*assignments, values))
      memref::StoreOp::create(b, value, variables, place(*(*each.getAsArray())[0].getAsInteger()));
    return success();
  }
  if (auto variable = step.getInteger("read")) {
    Value pointer = buffers.lookup(step.getInteger("buffer").value_or(-1));
    if (!pointer)
      return refuse("arrays whose sizes follow from data");
    Value at = index(expression(*step.get("offset"))), size = arith::AddIOp::create(b, at, place(1));
    Type type = b.getIntegerType(8 * step.getInteger("bytes").value_or(8));
    auto memref = MemRefType::get({ShapedType::kDynamic}, type);
    Value value = memref::LoadOp::create(b, memrefFromPointer(b, b.getLoc(), memref, pointer, size), at);
    if (!type.isInteger(64))
      value = arith::ExtSIOp::create(b, b.getI64Type(), value);
    memref::StoreOp::create(b, value, variables, place(*variable));
    return success();
  }
  if (step.get("require"))
    return refuse("a comparison of sizes inside of a loop or branch");
  return refuse("arrays whose sizes follow from data");
}

LogicalResult HostWriter::steps(const Array &list) {
  for (const Json &each : list)
    if (const Object *object = each.getAsObject(); !object || failed(step(*object)))
      return object ? failure() : refuse("a manifest whose steps are objects");
  return success();
}

/// A size that is not as required ends the call: what stands behind it becomes the branch where it is.
FailureOr<Value> HostWriter::stepsToStatus(ArrayRef<Json> list) {
  for (const Json &each : list) {
    const Object *object = each.getAsObject();
    const Json *produced = object ? object->get("require") : nullptr, *given = object ? object->get("equals") : nullptr;
    if (!produced || !given) {
      if (!object || failed(step(*object)))
        return object ? failure() : refuse("a manifest whose steps are objects");
      continue;
    }
    Value same = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, expression(*produced), expression(*given));
    auto checked = scf::IfOp::create(b, TypeRange{b.getI32Type()}, same, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(checked.elseBlock());
    scf::YieldOp::create(b, status(1));
    b.setInsertionPointToStart(checked.thenBlock());
    FailureOr<Value> rest = stepsToStatus(list.drop_front(&each - list.data() + 1));
    if (failed(rest))
      return failure();
    scf::YieldOp::create(b, *rest);
    return checked.getResult(0);
  }
  return status(0);
}

//===-- The function ------------------------------------------------------===//

/// Memory, constants, steps; memory is given back in all cases.
LogicalResult HostWriter::program() {
  const Array *list = manifest.getArray("constants");
  if (list && failed(constants(*list)))
    return failure();
  if (const Array *temporaries = manifest.getArray("temporaries"))
    for (const Json &each : *temporaries)
      allocate(*each.getAsObject()->getInteger("buffer"), expression(*each.getAsObject()->get("bytes")));
  Value missing = arith::ConstantIntOp::create(b, 0, 1), none = i64(0);
  for (Value memory : owned) {
    Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), memory);
    missing = arith::OrIOp::create(b, missing, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, address, none));
  }
  auto work = scf::IfOp::create(b, TypeRange{b.getI32Type()}, missing, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(work.thenBlock());
    scf::YieldOp::create(b, status(2));
    b.setInsertionPointToStart(work.elseBlock());
    for (const auto &[buffer, name] : patterns)
      for (const Json &each : *list)
        if (each.getAsObject()->getInteger("buffer") == buffer &&
            failed(fillConstant(buffer, *each.getAsObject()->getInteger("bytes"), name)))
          return failure();
    const Array &all = *manifest.getArray("steps");
    FailureOr<Value> ended = stepsToStatus(ArrayRef<Json>(all.data(), all.size()));
    if (failed(ended))
      return failure();
    scf::YieldOp::create(b, *ended);
  }
  for (Value memory : owned)
    call("free", {}, memory);
  scf::YieldOp::create(b, work.getResult(0));
  return success();
}

LogicalResult HostWriter::write() {
  auto entry = manifest.getString("entry");
  const Array *arguments = manifest.getArray("arguments");
  if (!entry || !arguments || !manifest.getArray("steps"))
    return refuse("a manifest with 'entry', 'arguments' and 'steps'");
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  SmallVector<Type> types(manifest.getInteger("sizes").value_or(0), b.getI64Type());
  int64_t sizes = types.size();
  types.append(arguments->size(), pointer);
  b.setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(b, *entry, b.getFunctionType(types, b.getI32Type()));
  function.setResultAttr(0, LLVM::LLVMDialect::getSExtAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(function.addEntryBlock());
  for (size_t i = 0; i < arguments->size(); ++i) {
    buffers[int64_t(i)] = function.getArgument(sizes + i);
    if (!(*arguments)[i].getAsObject()->getBoolean("written").value_or(true))
      function.setArgAttr(sizes + i, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
  }
  if (int64_t count = manifest.getInteger("variables").value_or(0))
    variables = memref::AllocaOp::create(b, MemRefType::get({count}, b.getI64Type()));

  // Sizes that disagree end the call before it begins.
  Value wrong = arith::ConstantIntOp::create(b, 0, 1);
  if (const Array *constraints = manifest.getArray("constraints"))
    for (const Json &each : *constraints) {
      const Json *zero = each.getAsObject()->get("zero");
      Value value = expression(zero ? *zero : *each.getAsObject()->get("nonnegative"));
      auto predicate = zero ? arith::CmpIPredicate::ne : arith::CmpIPredicate::slt;
      wrong = arith::OrIOp::create(b, wrong, arith::CmpIOp::create(b, predicate, value, i64(0)));
    }
  auto checked = scf::IfOp::create(b, TypeRange{b.getI32Type()}, wrong, /*withElseRegion=*/true);
  func::ReturnOp::create(b, checked.getResult(0));
  b.setInsertionPointToStart(checked.thenBlock());
  scf::YieldOp::create(b, status(1));
  b.setInsertionPointToStart(checked.elseBlock());
  return program();
}

namespace {
struct WriteHostProgram : tilewright::impl::WriteHostProgramBase<WriteHostProgram> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto manifests = module->getAttrOfType<ArrayAttr>(manifestsAttr);
    if (!manifests)
      return;
    for (Attribute each : manifests) {
      auto manifest = llvm::json::parse(cast<StringAttr>(each).getValue());
      if (!manifest || !manifest->getAsObject()) {
        llvm::consumeError(manifest.takeError());
        module.emitError() << "the manifest of the program cannot be read";
        return signalPassFailure();
      }
      if (failed(HostWriter(module, *manifest->getAsObject()).write()))
        return signalPassFailure();
    }
  }
};
} // namespace
