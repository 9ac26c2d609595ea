//===- BindIntrinsics.cpp - Commands by the vendor's names --------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a core calls becomes functions of the names that the records of the
/// chip emit, with the calling convention of C.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/CopyPaths.h"
#include "core/Machine/ExternalCall.h"
#include "core/Machine/IrFunction.h"
#include "core/Transforms/Lower/Engines/EngineCommands.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/Cores.h"
#include "tilewright/LaneOps.h"

namespace tilewright {
#define GEN_PASS_DEF_BINDINTRINSICS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct BindIntrinsics : tilewright::impl::BindIntrinsicsBase<BindIntrinsics> {
  void runOnOperation() override;

private:
  LogicalResult bind(func::CallOp call);
  FailureOr<std::string> nameOf(func::CallOp call, StringRef callee);
  SmallVector<Value> argumentsOf(func::CallOp call, const MatrixUnit &unit);
  FailureOr<std::string> external(func::CallOp call, const Emission &emission, StringRef record);
  void bindMemory(LLVM::AddressOfOp address);

  std::shared_ptr<const TargetDescription> chip;
  std::optional<CoreHierarchy> cores;
  llvm::DenseMap<std::pair<Operation *, StringRef>, Value> bases; // of a launch's memories
};
} // namespace

/// The function that a record emits.
FailureOr<std::string> BindIntrinsics::external(func::CallOp call, const Emission &emission, StringRef record) {
  if (emission.kind == EmissionKind::ExternalCall && !emission.name.empty())
    return emission.name;
  return call.emitError() << "\"" << record << "\" of chip " << chip->target() << ":" << chip->chip()
                          << " cannot be called by name: field 'emit' of its record must be an ExternalCall";
}

/// The operands of `call`, a command of `unit`, in the order of the roles in its emission: an address and a pitch of A,
/// B and C, the flag, constants.
SmallVector<Value> BindIntrinsics::argumentsOf(func::CallOp call, const MatrixUnit &unit) {
  SmallVector<Value> given(call.getOperands()), arguments;
  OpBuilder builder(call);
  for (StringRef role : writtenArguments(unit.emit)) {
    unsigned width;
    int64_t value;
    if (size_t operand = StringRef("ABC").find(role); role.size() == 1 && operand != StringRef::npos)
      llvm::append_range(arguments, ArrayRef(given).slice(2 * operand, 2));
    else if (role == "UseC" && unit.init == UnitInit::ZeroFlag)
      arguments.push_back(given.back());
    else if (auto [type, text] = role.split(':');
             type.consume_front("i") && !type.getAsInteger(10, width) && !text.getAsInteger(10, value)) {
      Type number = builder.getIntegerType(width);
      arguments.push_back(
          LLVM::ConstantOp::create(builder, call.getLoc(), number, builder.getIntegerAttr(number, value)));
    }
  }
  return arguments;
}

FailureOr<std::string> BindIntrinsics::nameOf(func::CallOp call, StringRef callee) {
  StringRef name = callee;
  if (name.consume_front(unitPrefix)) {
    if (const MatrixUnit *unit = chip->unit(name))
      return external(call, unit->emit, name);
  } else if (name.consume_front(vectorPrefix)) {
    for (const VectorOp &each : chip->vectorOps())
      if (each.name == name)
        return external(call, each.emit, name);
  } else if (name.consume_front(primitivePrefix)) {
    if (name == "copy_2d_transposed" || name == "store_2d_transposed") {
      const std::string &global = cores->global->name, &scratchpad = cores->scratchpad->name;
      CopyPath path = name.starts_with("copy_") ? copyPath(chip->copies(), global, scratchpad)
                                                : copyPath(chip->copies(), scratchpad, global);
      std::string function = transposedCall(path);
      return function.empty() && path.transposed ? external(call, path.transposed->emit, path.transposed->name)
                                                 : FailureOr<std::string>(function);
    }
    bool in = name.starts_with("copy_"), out = name.starts_with("store_");
    const CopyEngine *engine = in ? cores->in : out ? cores->out : nullptr;
    if (engine)
      return external(call, engine->emit, engine->name);
    if (!in && !out)
      return chip->target().str() + "_" + name.str();
  }
  return call.emitError() << "chip " << chip->target() << ":" << chip->chip() << " has nothing that '" << callee
                          << "' stands for";
}

LogicalResult BindIntrinsics::bind(func::CallOp call) {
  StringRef callee = call.getCallee();
  if (!callee.starts_with("tilewright."))
    return success();
  if (callee == "tilewright.primitive.block_x") {
    call.getResult(0).replaceAllUsesWith(call->getParentOfType<func::FuncOp>().getArgument(0));
    call.erase();
    return success();
  }
  FailureOr<std::string> name = nameOf(call, callee);
  if (failed(name))
    return failure();
  SmallVector<Value> arguments(call.getOperands());
  if (callee.consume_front(unitPrefix))
    if (const MatrixUnit *unit = chip->unit(callee))
      arguments = argumentsOf(call, *unit);
  OpBuilder builder(call);
  EngineWriter::call(builder, call, *name, {}, arguments);
  call.erase();
  return success();
}

/// The address of a memory of the core: what the vendor's function says.
void BindIntrinsics::bindMemory(LLVM::AddressOfOp address) {
  StringRef memory = address.getGlobalName();
  if (!memory.consume_front("tilewright_"))
    return;
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  auto function = address->getParentOfType<func::FuncOp>();
  Value &base = bases[{function, memory}];
  if (!base) {
    OpBuilder top = OpBuilder::atBlockBegin(&function.front());
    base = EngineWriter::call(top, address, (chip->target() + "_" + memory).str(), pointer, {});
  }
  address.getResult().replaceAllUsesWith(base);
  address.erase();
  // Addresses are plain ones from here on.
  for (SmallVector<Value> places{base}; !places.empty();)
    for (Operation *user : llvm::to_vector(places.pop_back_val().getUsers())) {
      if (auto cast = dyn_cast<LLVM::AddrSpaceCastOp>(user)) {
        cast.getResult().replaceAllUsesWith(cast.getArg());
        cast.erase();
      } else if (auto gep = dyn_cast<LLVM::GEPOp>(user); gep && gep.getType() != pointer) {
        gep.getResult().setType(pointer);
        places.push_back(gep.getResult());
      }
    }
}

/// A core has a stack and no heap: its arrays live as long as the launch, and are made once.
static LogicalResult placeOnStack(func::FuncOp launch) {
  SmallVector<memref::AllocOp> arrays;
  launch.walk([&](memref::AllocOp op) { arrays.push_back(op); });
  for (memref::AllocOp op : arrays) {
    if (!op.getType().hasStaticShape())
      return op.emitOpError() << "has no constant size, as an array of a core must have";
    OpBuilder top = OpBuilder::atBlockBegin(&launch.front());
    Value array = memref::AllocaOp::create(top, op.getLoc(), op.getType(), op.getAlignmentAttr());
    for (Operation *user : llvm::to_vector(op->getUsers()))
      if (isa<memref::DeallocOp>(user))
        user->erase();
    op.getResult().replaceAllUsesWith(array);
    op.erase();
  }
  return success();
}

void BindIntrinsics::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<CoreTarget> target = requireCores(module);
  if (failed(target))
    return signalPassFailure();
  chip = target->chip;
  cores = target->hierarchy;
  bases.clear();
  OpBuilder builder(&getContext());
  for (auto launch : module.getOps<func::FuncOp>())
    if (!launch.isExternal() && launchShapeOf(launch)) {
      (void)launch.insertArgument(0, builder.getI32Type(), {}, launch.getLoc());
      if (failed(placeOnStack(launch)))
        return signalPassFailure();
    }
  SmallVector<func::CallOp> calls;
  SmallVector<LLVM::AddressOfOp> addresses;
  module.walk([&](func::CallOp call) { calls.push_back(call); });
  module.walk([&](LLVM::AddressOfOp address) { addresses.push_back(address); });
  for (func::CallOp call : calls)
    if (failed(bind(call)))
      return signalPassFailure();
  for (LLVM::AddressOfOp address : addresses)
    bindMemory(address);
  for (Operation &op : llvm::make_early_inc_range(module.getOps())) {
    if (auto global = dyn_cast<LLVM::GlobalOp>(op)) {
      if (global.getSymName().starts_with("tilewright_"))
        global.erase();
      continue;
    }
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function || !function.isExternal())
      continue;
    if (function.getName().starts_with("tilewright."))
      function.erase();
    else // C passes narrow integers in whole registers
      for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
        if (type.isInteger(1) || type.isInteger(32))
          function.setArgAttr(
              i, type.isInteger(1) ? LLVM::LLVMDialect::getZExtAttrName() : LLVM::LLVMDialect::getSExtAttrName(),
              builder.getUnitAttr());
  }
}
