//===- MakeCInterface.cpp - A C calling convention for programs -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Wraps each public function for callers in C: sizes first, then pointers.
/// The function itself becomes a private body that takes memrefs.
///
///   int     f_in(int64_t n0, ..., const float *in0, ..., float *out0, void *workspace)
///   int64_t f_workspace(int64_t n0, ...)
///   int     f(int64_t n0, ..., const float *in0, ..., float *out0)
///   int     f_packed(const int64_t *slots)                                         one slot an argument of f
///   const char *f_failure(int64_t found[2])                                        see CheckReport.h
///   int     f_call(int64_t *slots), int64_t f_workspace_call(int64_t *slots)   (packed-call, instead of both)
///
/// f keeps its workspace per thread through a POSIX thread key: no thread-local
/// storage of the object format, and the C library frees it when a thread ends.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/FoldedConstants.h"
#include "core/Analysis/IndexChecks.h"
#include "core/Analysis/Signature.h"
#include "core/Transforms/Lower/LLVM/CheckReport.h"
#include "core/Transforms/Lower/LLVM/Descriptor.h"
#include "core/Transforms/Lower/LLVM/SizeProduct.h"
#include "core/Transforms/Lower/LLVM/TrackAllocations.h"
#include "core/Transforms/Lower/Units/UnitRegisters.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "core/Transforms/Utils/SymbolUsers.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright {
#define GEN_PASS_DEF_MAKECINTERFACE
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

constexpr int64_t deviceError = 3;
/// The arena starts on a page, so that packed panels do too.
constexpr int64_t arenaAlignment = 4096;

struct MakeCInterface : tilewright::impl::MakeCInterfaceBase<MakeCInterface> {
  using MakeCInterfaceBase::MakeCInterfaceBase;
  void runOnOperation() override;
};

/// Writes the functions of one signature.
class Wrapper {
public:
  Wrapper(func::FuncOp body, const Signature &signature, func::FuncOp stateCheck)
      : body(body), stateCheck(stateCheck), signature(signature), builder(body), loc(body.getLoc()) {
    context = body.getContext();
    pointer = LLVM::LLVMPointerType::get(context);
    i32 = builder.getI32Type();
    i64 = builder.getI64Type();
    index = builder.getIndexType();
  }

  void makeWorkspace();
  void makeIn();
  void makePacked();
  void makePlain();
  void makeSlots();
  func::FuncOp threadArena();
  /// What refused calls leave behind, if there is something to tell.
  std::optional<CheckReport> report;

private:
  void makePacked(func::FuncOp callee, StringRef suffix);
  func::FuncOp declare(StringRef suffix, ArrayRef<Type> inputs, ArrayRef<Type> results);
  LLVM::LLVMFuncOp external(StringRef name, ArrayRef<Type> inputs, Type result);
  void refuseSizes();
  SmallVector<Type> sizeTypes() { return SmallVector<Type>(signature.numSizes, index); }
  SmallVector<Type> argumentTypes();
  Value constant(int64_t value, Type type) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }
  Value null() { return LLVM::ZeroOp::create(builder, loc, pointer); }
  Value isNull(Value address) { return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, address, null()); }
  Value sizesAgree(ValueRange sizes);
  SmallVector<Value> dims(const SignatureArgument &argument, MemRefType type, ValueRange sizes);
  Value evaluate(AffineExpr expr, ValueRange sizes) { return affine::expandAffineExpr(builder, loc, expr, {}, sizes); }

  func::FuncOp body, stateCheck; // the latter is null where the machine always is as the units need it
  const Signature &signature;
  OpBuilder builder;
  Location loc;
  MLIRContext *context;
  Type pointer, i32, i64, index;
  func::FuncOp in, workspace, plain;
};

func::FuncOp Wrapper::declare(StringRef suffix, ArrayRef<Type> inputs, ArrayRef<Type> results) {
  builder.setInsertionPoint(body);
  auto function =
      func::FuncOp::create(builder, loc, signature.name + suffix.str(), builder.getFunctionType(inputs, results));
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

/// A function of the C library, declared once a module.
LLVM::LLVMFuncOp Wrapper::external(StringRef name, ArrayRef<Type> inputs, Type result) {
  auto module = body->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::LLVMFuncOp::create(top, loc, name, LLVM::LLVMFunctionType::get(result, inputs));
}

/// Sizes, then one pointer an argument.
SmallVector<Type> Wrapper::argumentTypes() {
  SmallVector<Type> types = sizeTypes();
  types.append(signature.arguments.size(), pointer);
  return types;
}

/// No size is negative, the constraints hold, and every array fits an address space.
Value Wrapper::sizesAgree(ValueRange sizes) {
  Value zero = constant(0, index), ok = constant(1, builder.getI1Type());
  auto require = [&](arith::CmpIPredicate predicate, Value value) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, value, zero);
    ok = arith::AndIOp::create(builder, loc, ok, holds);
  };
  for (Value size : sizes)
    require(arith::CmpIPredicate::sge, size);
  if (IntegerSet constraints = signature.constraints)
    for (unsigned i = 0; i < constraints.getNumConstraints(); ++i)
      require(constraints.isEq(i) ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge,
              evaluate(constraints.getConstraint(i), sizes));
  for (const SignatureArgument &argument : signature.arguments) {
    int64_t factor = elementBytes(argument.elementType);
    Value bytes;
    for (AffineExpr expr : argument.shape.getResults())
      if (auto number = dyn_cast<AffineConstantExpr>(expr))
        factor *= number.getValue();
      else if (Value size = evaluate(expr, sizes); bytes)
        bytes = boundedProduct(builder, loc, bytes, size);
      else
        bytes = size;
    if (!bytes || factor == 0)
      continue;
    bytes = boundedProduct(builder, loc, bytes, factor);
    Value fits =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, bytes, constant(unreachableBytes, index));
    ok = arith::AndIOp::create(builder, loc, ok, fits);
  }
  return ok;
}

/// The dynamic dimensions of an array.
SmallVector<Value> Wrapper::dims(const SignatureArgument &argument, MemRefType type, ValueRange sizes) {
  SmallVector<Value> result;
  for (auto [dim, expr] : llvm::zip_equal(type.getShape(), argument.shape.getResults()))
    if (ShapedType::isDynamic(dim))
      result.push_back(evaluate(expr, sizes));
  return result;
}

void Wrapper::makeWorkspace() {
  workspace = declare("_workspace", sizeTypes(), {i64});
  Value bytes = constant(0, i64);
  if (auto compute = body->getAttrOfType<FlatSymbolRefAttr>(workspaceAttr)) {
    // The arena's size follows from the dynamic dimensions of the body's arguments, in order.
    SmallVector<Value> operands;
    for (const SignatureArgument &argument : signature.arguments) {
      if (argument.isScalar)
        continue;
      auto type = cast<MemRefType>(body.getArgumentTypes()[argument.position]);
      llvm::append_range(operands, dims(argument, type, workspace.getArguments()));
    }
    Value size = func::CallOp::create(builder, loc, compute, index, operands).getResult(0);
    bytes = arith::IndexCastOp::create(builder, loc, i64, size);
  }
  func::ReturnOp::create(builder, loc, bytes);
}

/// The side of a branch on which sizes disagree.
void Wrapper::refuseSizes() {
  if (report)
    report->clear(builder, loc);
  scf::YieldOp::create(builder, loc, constant(sizesDisagreeStatus, i32));
}

void Wrapper::makeIn() {
  SmallVector<Type> types = argumentTypes();
  types.push_back(pointer);
  in = declare("_in", types, {i32});
  in->setAttr(entryAttr, builder.getUnitAttr());
  // Pointers do not overlap unless both are only read.
  for (unsigned i = signature.numSizes; i < types.size(); ++i)
    in.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  ValueRange arguments = in.getArguments();
  ValueRange sizes = arguments.take_front(signature.numSizes);
  ValueRange pointers = arguments.drop_front(signature.numSizes);

  auto valid = scf::IfOp::create(builder, loc, TypeRange(i32), sizesAgree(sizes), /*withElseRegion=*/true);
  func::ReturnOp::create(builder, loc, valid.getResult(0));
  builder.setInsertionPointToStart(valid.elseBlock());
  refuseSizes();

  builder.setInsertionPointToStart(valid.thenBlock());
  if (stateCheck) {
    Value ready = func::CallOp::create(builder, loc, stateCheck, ValueRange()).getResult(0);
    auto checked = scf::IfOp::create(builder, loc, TypeRange(i32), ready, /*withElseRegion=*/true);
    scf::YieldOp::create(builder, loc, checked.getResult(0));
    builder.setInsertionPointToStart(checked.elseBlock());
    scf::YieldOp::create(builder, loc, constant(deviceError, i32));
    builder.setInsertionPointToStart(checked.thenBlock());
  }
  SmallVector<Value> operands(body.getNumArguments());
  for (auto [argument, address] : llvm::zip(signature.arguments, pointers)) {
    if (argument.isScalar && argument.isResult)
      continue;
    Type type = body.getArgumentTypes()[argument.position];
    if (argument.isScalar) {
      Value memref = memrefFromPointer(builder, loc, MemRefType::get({}, type), address, {});
      operands[argument.position] = memref::LoadOp::create(builder, loc, memref, ValueRange());
    } else {
      auto memref = cast<MemRefType>(type);
      operands[argument.position] = memrefFromPointer(builder, loc, memref, address, dims(argument, memref, sizes));
    }
  }
  if (auto compute = body->getAttrOfType<FlatSymbolRefAttr>(workspaceAttr)) {
    Value bytes = func::CallOp::create(builder, loc, workspace, sizes).getResult(0);
    Value size = arith::IndexCastOp::create(builder, loc, index, bytes);
    operands.back() =
        memrefFromPointer(builder, loc, cast<MemRefType>(body.getArgumentTypes().back()), pointers.back(), size);
  }
  auto call = func::CallOp::create(builder, loc, body, operands);
  for (auto [argument, address] : llvm::zip(signature.arguments, pointers)) {
    if (!argument.isScalar || !argument.isResult)
      continue;
    Value memref = memrefFromPointer(builder, loc, MemRefType::get({}, argument.elementType), address, {});
    memref::StoreOp::create(builder, loc, call.getResult(argument.position), memref, ValueRange());
  }
  scf::YieldOp::create(builder, loc, constant(0, i32));
}

/// The arguments of `callee` come from 8-byte slots in memory.
void Wrapper::makePacked(func::FuncOp callee, StringRef suffix) {
  func::FuncOp call = declare(suffix, {pointer}, callee.getResultTypes());
  SmallVector<Value> operands;
  for (auto [position, type] : llvm::enumerate(callee.getArgumentTypes())) {
    Type loaded = type.isIndex() ? i64 : pointer;
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, i64, call.getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(position)});
    Value value = LLVM::LoadOp::create(builder, loc, loaded, slot);
    if (type.isIndex())
      value = arith::IndexCastOp::create(builder, loc, index, value);
    operands.push_back(value);
  }
  func::ReturnOp::create(builder, loc, func::CallOp::create(builder, loc, callee, operands).getResults());
}

/// For callers that learn the signature when they run.
void Wrapper::makeSlots() { makePacked(plain, "_packed"); }

/// For callers in this process.
void Wrapper::makePacked() {
  makePacked(in, "_call");
  makePacked(workspace, "_workspace_call");
}

/// The function that returns this thread's arena of at least the given bytes, or null; made once a module. A block
/// of a thread begins with its size, one page before the arena; a larger need replaces it. The thread key is made when
/// the library is loaded and deleted when it is unloaded.
func::FuncOp Wrapper::threadArena() {
  auto module = body->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<func::FuncOp>("tilewright.thread_arena"))
    return known;
  Type none = LLVM::LLVMVoidType::get(context);
  LLVM::LLVMFuncOp getspecific = external("pthread_getspecific", {i32}, pointer);
  LLVM::LLVMFuncOp setspecific = external("pthread_setspecific", {i32, pointer}, i32);
  LLVM::LLVMFuncOp allocate = external("aligned_alloc", {i64, i64}, pointer);
  LLVM::LLVMFuncOp release = external("free", {pointer}, none);
  LLVM::LLVMFuncOp createKey = external("pthread_key_create", {pointer, pointer}, i32);
  LLVM::LLVMFuncOp deleteKey = external("pthread_key_delete", {i32}, i32);

  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto key = LLVM::GlobalOp::create(top, loc, i32, /*isConstant=*/false, LLVM::Linkage::Internal,
                                    "tilewright.thread_key", top.getI32IntegerAttr(-1));
  auto loadKey = [&]() -> Value {
    Value address = LLVM::AddressOfOp::create(builder, loc, pointer, key.getSymName());
    return LLVM::LoadOp::create(builder, loc, i32, address);
  };
  auto call = [&](LLVM::LLVMFuncOp callee, ValueRange operands) {
    return LLVM::CallOp::create(builder, loc, callee, operands);
  };
  auto procedure = [&](StringRef name) {
    auto function =
        LLVM::LLVMFuncOp::create(top, loc, name, LLVM::LLVMFunctionType::get(none, {}), LLVM::Linkage::Internal);
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
    return function;
  };
  LLVM::LLVMFuncOp open = procedure("tilewright.thread_key_create");
  call(createKey, {LLVM::AddressOfOp::create(builder, loc, pointer, key.getSymName()),
                   LLVM::AddressOfOp::create(builder, loc, pointer, release.getName())});
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  LLVM::LLVMFuncOp close = procedure("tilewright.thread_key_delete");
  call(release, call(getspecific, loadKey()).getResult());
  call(deleteKey, loadKey());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  auto priority = top.getI32ArrayAttr({65535});
  auto zero = top.getArrayAttr(LLVM::ZeroAttr::get(context));
  LLVM::GlobalCtorsOp::create(top, loc, top.getArrayAttr(FlatSymbolRefAttr::get(open)), priority, zero);
  LLVM::GlobalDtorsOp::create(top, loc, top.getArrayAttr(FlatSymbolRefAttr::get(close)), priority, zero);

  auto arena = func::FuncOp::create(top, loc, "tilewright.thread_arena", top.getFunctionType({i64}, {pointer}));
  arena.setPrivate();
  builder.setInsertionPointToStart(arena.addEntryBlock());
  Value bytes = arena.getArgument(0);
  Value block = call(getspecific, loadKey()).getResult();
  auto held = scf::IfOp::create(builder, loc, TypeRange(i64), isNull(block), /*withElseRegion=*/true);
  builder.setInsertionPointToStart(held.thenBlock());
  scf::YieldOp::create(builder, loc, constant(-1, i64));
  builder.setInsertionPointToStart(held.elseBlock());
  scf::YieldOp::create(builder, loc, LLVM::LoadOp::create(builder, loc, i64, block).getResult());
  builder.setInsertionPointAfter(held);
  Value small = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, held.getResult(0), bytes);
  auto grown = scf::IfOp::create(builder, loc, TypeRange(pointer), small, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(grown.elseBlock());
  scf::YieldOp::create(builder, loc, block);
  builder.setInsertionPointToStart(grown.thenBlock());
  call(release, block);
  Value total = arith::AddIOp::create(builder, loc, bytes, constant(2 * arenaAlignment - 1, i64));
  total = arith::AndIOp::create(builder, loc, total, constant(-arenaAlignment, i64));
  Value fresh = call(allocate, {constant(arenaAlignment, i64), total}).getResult();
  call(setspecific, {loadKey(), fresh});
  auto filled = scf::IfOp::create(builder, loc, isNull(fresh), /*withElseRegion=*/true);
  builder.setInsertionPointToStart(filled.elseBlock());
  LLVM::StoreOp::create(builder, loc, bytes, fresh);
  if (module.walk([](func::FuncOp op) { return WalkResult(failure(CheckReport::isNeeded(op))); }).wasInterrupted())
    CheckReport::initialise(builder, loc, fresh);
  builder.setInsertionPointAfter(filled);
  scf::YieldOp::create(builder, loc, fresh);
  builder.setInsertionPointAfter(grown);
  Value begin = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), grown.getResult(0),
                                    ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(arenaAlignment)});
  Value result = LLVM::SelectOp::create(builder, loc, isNull(grown.getResult(0)), null(), begin);
  func::ReturnOp::create(builder, loc, result);
  return arena;
}

/// f: asks for the workspace's size, gets this thread's arena, calls f_in.
void Wrapper::makePlain() {
  if (!body->hasAttr(workspaceAttr)) {
    plain = declare("", argumentTypes(), {i32});
    SmallVector<Value> operands(plain.getArguments());
    operands.push_back(null());
    func::ReturnOp::create(builder, loc, func::CallOp::create(builder, loc, in, operands).getResult(0));
    return;
  }
  func::FuncOp arena = threadArena();
  plain = declare("", argumentTypes(), {i32});
  SmallVector<Value> operands(plain.getArguments());
  ValueRange sizes = plain.getArguments().take_front(signature.numSizes);
  auto valid = scf::IfOp::create(builder, loc, TypeRange(i32), sizesAgree(sizes), /*withElseRegion=*/true);
  func::ReturnOp::create(builder, loc, valid.getResult(0));
  builder.setInsertionPointToStart(valid.elseBlock());
  refuseSizes();
  builder.setInsertionPointToStart(valid.thenBlock());
  Value bytes = func::CallOp::create(builder, loc, workspace, sizes).getResult(0);
  Value space = func::CallOp::create(builder, loc, arena, bytes).getResult(0);
  auto have = scf::IfOp::create(builder, loc, TypeRange(i32), isNull(space), /*withElseRegion=*/true);
  scf::YieldOp::create(builder, loc, have.getResult(0));
  builder.setInsertionPointToStart(have.thenBlock());
  scf::YieldOp::create(builder, loc, constant(outOfMemoryStatus, i32));
  builder.setInsertionPointToStart(have.elseBlock());
  operands.push_back(space);
  scf::YieldOp::create(builder, loc, func::CallOp::create(builder, loc, in, operands).getResult(0));
}

/// For callers in this process: the array in which a call leaves the sizes that it makes of its data.
LLVM::GlobalOp learnedSizes(func::FuncOp body, const Signature &signature) {
  OpBuilder top = OpBuilder::atBlockBegin(body->getParentOfType<ModuleOp>().getBody());
  auto type = LLVM::LLVMArrayType::get(top.getI64Type(), std::max(1u, signature.numSizes));
  return LLVM::GlobalOp::create(top, body.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::External,
                                signature.name + "_learned_sizes", LLVM::ZeroAttr::get(body.getContext()));
}

/// The dimension of a result that `op` compares, as the signature has it.
AffineExpr outputExtent(const Signature &signature, tile::RequireSizeOp op) {
  uint64_t output = *op.getOutput();
  for (const SignatureArgument &argument : signature.arguments)
    if (argument.isResult && output-- == 0)
      return argument.shape.getResult(*op.getDimension());
  return {};
}

/// Sizes that are not as required, and indices outside of their arrays, end the call; the size of a result is left in
/// `learned`, if that is not null, and what `report` writes is left behind.
void lowerSizeChecks(func::FuncOp body, const Signature &signature, LLVM::GlobalOp learned, CheckReport *report) {
  SmallVector<tile::RequireSizeOp> checks;
  body.walk([&](tile::RequireSizeOp op) { checks.push_back(op); });
  for (tile::RequireSizeOp op : checks) {
    auto module = body->getParentOfType<ModuleOp>();
    Location loc = op.getLoc();
    bool isIndex = op->hasAttr(badIndexAttr);
    const char *refuse = isIndex ? refuseIndexName : refuseSizesName;
    if (!module.lookupSymbol(refuse)) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      func::FuncOp::create(top, loc, refuse, top.getFunctionType({}, {})).setPrivate();
    }
    OpBuilder builder(op);
    Value right = isIndex ? arith::ConstantIndexOp::create(builder, loc, 0).getResult() : op.getGiven();
    Value wrong = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, op.getProduced(), right);
    auto refused = scf::IfOp::create(builder, loc, wrong, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(refused.thenBlock());
    AffineExpr extent = learned && op.getOutput() ? outputExtent(signature, op) : AffineExpr();
    if (auto size = dyn_cast_if_present<AffineSymbolExpr>(extent)) {
      auto pointer = LLVM::LLVMPointerType::get(body.getContext());
      Value first = LLVM::AddressOfOp::create(builder, loc, pointer, learned.getSymName());
      Value slot = LLVM::GEPOp::create(builder, loc, pointer, builder.getI64Type(), first,
                                       ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(size.getPosition())});
      Value number = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), op.getProduced());
      LLVM::StoreOp::create(builder, loc, number, slot);
    }
    if (report)
      report->write(builder, op);
    func::CallOp::create(builder, loc, TypeRange(), refuse, ValueRange());
    op.erase();
  }
}

} // namespace

void MakeCInterface::runOnOperation() {
  ModuleOp module = getOperation();
  func::FuncOp stateCheck;
  if (module.walk([](tile::MmaOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
    auto target = requireTarget(module);
    if (failed(target))
      return signalPassFailure();
    stateCheck = makeStateCheck(module, **target);
  }
  SmallVector<func::FuncOp> functions = publicFunctions(module);
  if (func::FuncOp folding = foldingFunction(module))
    functions.push_back(folding);
  const SymbolUsers users(module);
  for (func::FuncOp function : functions) {
    FailureOr<Signature> signature = Signature::of(function);
    if (failed(signature))
      return signalPassFailure();
    SymbolTable symbols(module);
    const StringAttr body = StringAttr::get(&getContext(), signature->name + ".body");
    if (users.isUsed(function) && failed(SymbolTable::replaceAllSymbolUses(function, body, module)))
      return signalPassFailure();
    symbols.remove(function);
    function.setSymNameAttr(body);
    symbols.insert(function);
    function.setPrivate();
    function->setAttr(bodyAttr, UnitAttr::get(&getContext()));
    Wrapper wrapper(function, *signature, stateCheck);
    if (CheckReport::isNeeded(function))
      wrapper.report.emplace(function, signature->name, packedCall ? func::FuncOp() : wrapper.threadArena(),
                             arenaAlignment);
    const bool folds = function->hasAttr(foldsAttr); // only the compiler calls it
    lowerSizeChecks(function, *signature, packedCall && !folds ? learnedSizes(function, *signature) : LLVM::GlobalOp(),
                    wrapper.report ? &*wrapper.report : nullptr);
    wrapper.makeWorkspace();
    wrapper.makeIn();
    if (folds)
      continue;
    if (packedCall) {
      wrapper.makePacked();
      continue;
    }
    wrapper.makePlain();
    wrapper.makeSlots();
  }
}
