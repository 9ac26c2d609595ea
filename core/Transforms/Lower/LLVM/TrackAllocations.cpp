//===- TrackAllocations.cpp - Memory of a call ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Buffers whose size is known only inside control flow are allocated where they
/// are needed, some carried around loops. Each call of a program keeps a list of
/// them in a frame on its stack, which its functions pass on:
///
///   frame:  first block | jump buffer            block:  next | where the link to it stands | ... | 64: the memory
///
///   int f_in(...) {                               void *allocate(frame, size) {
///     frame.first = null;                           block = malloc(size + 64);
///     if (status = setjmp(frame.jump)) {            if (!block) longjmp(frame.jump, 2);
///       releaseAll(frame); return status; }         link block; return block + 64; }
///     f.body(..., frame);
///     releaseAll(frame); return 0; }              refuse_sizes(): longjmp(frame.jump, 1)
///                                                 refuse_index(): longjmp(frame.jump, 9)
///
/// Loops that allocate run on the calling thread (lower-parallel), so that the
/// jump never leaves a thread.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/LLVM/TrackAllocations.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tilewright;

namespace {

/// Bytes before the memory of a block: its links, and no less than any alignment that malloc promises.
constexpr int32_t blockHeader = 64;
/// Offset of the jump buffer in a frame, and room for that of every C library (they take 200 to 400 bytes).
constexpr int32_t jumpOffset = 16, jumpBytes = 512;

class Tracker {
public:
  explicit Tracker(ModuleOp module)
      : module(module), builder(module.getContext()), loc(module.getLoc()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())), none(LLVM::LLVMVoidType::get(module.getContext())),
        i32(builder.getI32Type()), i64(builder.getI64Type()) {}

  void run();

private:
  /// Private functions with a body that allocate or end the call, and those that call them.
  SetVector<LLVM::LLVMFuncOp> leaving();
  void makeRuntime();
  void passFrame(LLVM::LLVMFuncOp function);
  void guard(LLVM::CallOp call);
  void trap();
  /// Ends the call from inside of it.
  void leave(Value frame, int status) { call(jumpTo, {offset(frame, jumpOffset), constant(i32, status)}); }

  LLVM::LLVMFuncOp calleeOf(LLVM::CallOp call) {
    auto callee = call.getCalleeAttr();
    return callee ? module.lookupSymbol<LLVM::LLVMFuncOp>(callee.getAttr()) : LLVM::LLVMFuncOp();
  }
  LLVM::LLVMFuncOp external(StringRef name, Type result, ArrayRef<Type> arguments);
  LLVM::LLVMFuncOp internal(StringRef name, Type result, ArrayRef<Type> arguments);
  Value call(LLVM::LLVMFuncOp callee, ValueRange operands) {
    auto op = LLVM::CallOp::create(builder, loc, callee, operands);
    return op->getNumResults() ? op->getResult(0) : Value();
  }
  Value constant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
  }
  Value null() { return LLVM::ZeroOp::create(builder, loc, pointer); }
  Value isNull(Value address) { return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, address, null()); }
  Value offset(Value base, int32_t bytes) {
    return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base, ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value load(Value address) { return LLVM::LoadOp::create(builder, loc, pointer, address); }
  void store(Value value, Value address) { LLVM::StoreOp::create(builder, loc, value, address); }

  ModuleOp module;
  OpBuilder builder;
  Location loc;
  Type pointer, none, i32, i64;
  /// The status that a call of `callee` ends with; 0: none.
  int statusOf(LLVM::LLVMFuncOp callee) const {
    return !callee ? 0 : callee == refuse ? sizesDisagreeStatus : callee == refuseIndex ? badIndexStatus : 0;
  }

  LLVM::LLVMFuncOp malloc, refuse, refuseIndex, free, jumpTo, setJump, allocate, release, releaseAll;
};

} // namespace

LLVM::LLVMFuncOp Tracker::external(StringRef name, Type result, ArrayRef<Type> arguments) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::LLVMFuncOp::create(top, loc, name, LLVM::LLVMFunctionType::get(result, arguments));
}

LLVM::LLVMFuncOp Tracker::internal(StringRef name, Type result, ArrayRef<Type> arguments) {
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto function =
      LLVM::LLVMFuncOp::create(top, loc, name, LLVM::LLVMFunctionType::get(result, arguments), LLVM::Linkage::Internal);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  return function;
}

SetVector<LLVM::LLVMFuncOp> Tracker::leaving() {
  SetVector<LLVM::LLVMFuncOp> found;
  for (bool grown = true; grown;) {
    grown = false;
    module.walk([&](LLVM::CallOp op) {
      auto caller = op->getParentOfType<LLVM::LLVMFuncOp>();
      LLVM::LLVMFuncOp callee = calleeOf(op);
      bool leaves = callee && (callee == malloc || statusOf(callee) || found.contains(callee));
      if (leaves && caller && caller.isPrivate())
        grown |= found.insert(caller);
    });
  }
  return found;
}

void Tracker::makeRuntime() {
  jumpTo = external("longjmp", none, {pointer, i32});
  setJump = external("_setjmp", i32, {pointer});
  setJump.setPassthroughAttr(builder.getStrArrayAttr({"returns_twice"}));

  allocate = internal("tilewright.allocate", pointer, {pointer, i64});
  allocate.setResultAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  {
    Value frame = allocate.getArgument(0);
    Block *fail = allocate.addBlock(), *link = allocate.addBlock(), *relink = allocate.addBlock(),
          *done = allocate.addBlock();
    Value bytes = LLVM::AddOp::create(builder, loc, allocate.getArgument(1), constant(i64, blockHeader));
    Value block = call(malloc, bytes);
    LLVM::CondBrOp::create(builder, loc, isNull(block), fail, link);
    builder.setInsertionPointToStart(fail);
    leave(frame, outOfMemoryStatus);
    LLVM::UnreachableOp::create(builder, loc);
    builder.setInsertionPointToStart(link);
    Value next = load(frame);
    store(next, block);
    store(frame, offset(block, 8));
    store(block, frame);
    LLVM::CondBrOp::create(builder, loc, isNull(next), done, relink);
    builder.setInsertionPointToStart(relink);
    store(block, offset(next, 8));
    LLVM::BrOp::create(builder, loc, done);
    builder.setInsertionPointToStart(done);
    LLVM::ReturnOp::create(builder, loc, offset(block, blockHeader));
  }

  release = internal("tilewright.release", none, {pointer});
  {
    Block *unlink = release.addBlock(), *relink = release.addBlock(), *end = release.addBlock(),
          *done = release.addBlock();
    Value memory = release.getArgument(0);
    LLVM::CondBrOp::create(builder, loc, isNull(memory), done, unlink);
    builder.setInsertionPointToStart(unlink);
    Value block = offset(memory, -blockHeader);
    Value next = load(block), link = load(offset(block, 8));
    store(next, link);
    LLVM::CondBrOp::create(builder, loc, isNull(next), end, relink);
    builder.setInsertionPointToStart(relink);
    store(link, offset(next, 8));
    LLVM::BrOp::create(builder, loc, end);
    builder.setInsertionPointToStart(end);
    call(free, block);
    LLVM::BrOp::create(builder, loc, done);
    builder.setInsertionPointToStart(done);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
  }

  releaseAll = internal("tilewright.release_all", none, {pointer});
  {
    Block *head = releaseAll.addBlock(), *body = releaseAll.addBlock(), *done = releaseAll.addBlock();
    Value frame = releaseAll.getArgument(0);
    LLVM::BrOp::create(builder, loc, head);
    builder.setInsertionPointToStart(head);
    Value block = load(frame);
    LLVM::CondBrOp::create(builder, loc, isNull(block), done, body);
    builder.setInsertionPointToStart(body);
    store(load(block), frame);
    call(free, block);
    LLVM::BrOp::create(builder, loc, head);
    builder.setInsertionPointToStart(done);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
  }
}

/// The function gets the frame as its last argument, and allocates and leaves through it.
void Tracker::passFrame(LLVM::LLVMFuncOp function) {
  auto type = function.getFunctionType();
  SmallVector<Type> arguments(type.getParams());
  arguments.push_back(pointer);
  function.setFunctionType(LLVM::LLVMFunctionType::get(type.getReturnType(), arguments, type.isVarArg()));
  if (ArrayAttr attributes = function.getAllArgAttrs()) {
    SmallVector<Attribute> padded(attributes.getValue());
    padded.push_back(builder.getDictionaryAttr({}));
    function.setAllArgAttrs(builder.getArrayAttr(padded));
  }
  Value frame = function.front().addArgument(pointer, function.getLoc());
  SmallVector<LLVM::CallOp> calls;
  function.walk([&](LLVM::CallOp op) { calls.push_back(op); });
  for (LLVM::CallOp op : calls) {
    LLVM::LLVMFuncOp callee = calleeOf(op);
    if (!callee || (callee != malloc && callee != free && !statusOf(callee)))
      continue;
    builder.setInsertionPoint(op);
    if (int status = statusOf(callee))
      leave(frame, status);
    else if (callee == free)
      call(release, op.getArgOperands());
    else
      op.getResult().replaceAllUsesWith(call(allocate, {frame, op.getArgOperands().front()}));
    op.erase();
  }
}

/// The call of a body in the C interface: with a frame, a way back, and everything freed after it.
void Tracker::guard(LLVM::CallOp op) {
  auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
  builder.setInsertionPointToStart(&function.front());
  Value frame = LLVM::AllocaOp::create(builder, loc, pointer, builder.getI8Type(),
                                       constant(i64, jumpOffset + jumpBytes), /*alignment=*/16);
  op.getCalleeOperandsMutable().append(frame);
  calleeOf(op).setNoInline(true); // code around a setjmp is held back by what might jump

  Block *before = op->getBlock(), *run = before->splitBlock(op), *failed = function.addBlock();
  builder.setInsertionPointToEnd(before);
  store(null(), frame);
  Value again = call(setJump, offset(frame, jumpOffset));
  Value jumped = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, again, constant(i32, 0));
  LLVM::CondBrOp::create(builder, loc, jumped, failed, run);
  builder.setInsertionPointToStart(failed);
  call(releaseAll, frame);
  LLVM::ReturnOp::create(builder, loc, again);
  builder.setInsertionPointAfter(op);
  call(releaseAll, frame);
}

/// What ends a call outside of any ends the process; the functions that stood for it go.
void Tracker::trap() {
  SmallVector<LLVM::CallOp> calls;
  module.walk([&](LLVM::CallOp op) {
    if (statusOf(calleeOf(op)))
      calls.push_back(op);
  });
  for (LLVM::CallOp op : calls) {
    builder.setInsertionPoint(op);
    LLVM::Trap::create(builder, loc);
    op.erase();
  }
  for (LLVM::LLVMFuncOp function : {refuse, refuseIndex})
    if (function)
      function.erase();
}

void Tracker::run() {
  refuse = module.lookupSymbol<LLVM::LLVMFuncOp>(refuseSizesName);
  refuseIndex = module.lookupSymbol<LLVM::LLVMFuncOp>(refuseIndexName);
  if (!refuse && !refuseIndex && !module.lookupSymbol<LLVM::LLVMFuncOp>("malloc"))
    return;
  malloc = external("malloc", pointer, {i64});
  free = external("free", none, {pointer});
  SetVector<LLVM::LLVMFuncOp> functions = leaving();
  SmallVector<LLVM::CallOp> inner, entries;
  bool known = true;
  module.walk([&](LLVM::CallOp op) {
    if (LLVM::LLVMFuncOp callee = calleeOf(op); !callee || !functions.contains(callee))
      return;
    auto caller = op->getParentOfType<LLVM::LLVMFuncOp>();
    bool isEntry = caller->hasAttr(entryAttr);
    known &= isEntry || functions.contains(caller);
    (isEntry ? entries : inner).push_back(op);
  });
  // Callers that are no part of the C interface (a pass run by hand) keep plain allocations.
  if (!known || entries.empty())
    return trap();
  makeRuntime();
  for (LLVM::LLVMFuncOp function : functions)
    passFrame(function);
  for (LLVM::CallOp op : inner)
    op.getCalleeOperandsMutable().append(op->getParentOfType<LLVM::LLVMFuncOp>().getArguments().back());
  for (LLVM::CallOp op : entries)
    guard(op);
  trap();
}

void tilewright::trackAllocations(ModuleOp module) { Tracker(module).run(); }
