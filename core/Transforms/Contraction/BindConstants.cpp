//===- BindConstants.cpp - What is computed of constant arguments alone ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Buffers that kernels fill from constant arguments are filled by a function that is called once:
///
///   func @f(%x, %w {constant}, %y)  { call @k(%x, %w, %y) }     @k: b = pack w;  y = x * b
///   ->
///   func @f_bind(%w, %bound)        { call @k_bind(%w, %bound[0]) }          @k_bind: b = pack w
///   func @f(%x, %w, %bound, %y)     { call @k(%x, %w, %y, %bound[0]) }       @k: y = x * b
///
/// All buffers of a function lie in one array of bytes, each on a line of its own.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/IterationSpace.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright {
#define GEN_PASS_DEF_BINDCONSTANTS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

/// The bound buffers of a kernel, and the kernel that fills them.
struct BoundKernel {
  func::FuncOp kernel, fills;
  SmallVector<unsigned> constants; // arguments of `kernel` that `fills` takes before the buffers
  SmallVector<MemRefType> buffers;
  unsigned position = 0; // of the first buffer among the arguments of `kernel`
};

class Binder {
public:
  explicit Binder(ModuleOp module) : module(module), symbols(module) {}

  /// Takes the filling of bound buffers out of `kernel`; null where it has none.
  std::optional<BoundKernel> split(func::FuncOp kernel);
  /// Makes `function` and a function that binds its constants of one whose calls of `kernels` lack the buffers.
  void bind(func::FuncOp function, const llvm::MapVector<StringRef, BoundKernel> &kernels);

private:
  Value clone(Value value, OpBuilder &b, IRMapping &mapping);
  Value viewOf(OpBuilder &b, Location loc, Value bytes, int64_t offset, MemRefType type);

  ModuleOp module;
  SymbolTable symbols;
};

/// The operations of `body` that fill `buffers`, and those whose values they take, in their order; no allocations.
SmallVector<Operation *> fillingOf(ArrayRef<memref::AllocOp> buffers, Block &body) {
  llvm::SetVector<Operation *> filling;
  for (memref::AllocOp buffer : buffers)
    for (Operation *user : buffer->getUsers())
      if (!onlyReads(user) && !isa<memref::DeallocOp, affine::AffinePrefetchOp>(user))
        filling.insert(body.findAncestorOpInBlock(*user));
  for (size_t next = 0; next < filling.size(); ++next) // grows
    filling[next]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == &body && !isa<memref::AllocOp>(def))
          filling.insert(def);
    });
  SmallVector<Operation *> inOrder(filling.begin(), filling.end());
  llvm::sort(inOrder, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  return inOrder;
}

/// The argument of the function that `array`, a constant one, is a view of.
Value argumentOf(Value array) {
  while (auto view = array.getDefiningOp<ViewLikeOpInterface>())
    array = view.getViewSource();
  return array;
}

std::optional<BoundKernel> Binder::split(func::FuncOp kernel) {
  Block &body = kernel.front();
  SmallVector<memref::AllocOp> buffers;
  for (auto alloc : body.getOps<memref::AllocOp>())
    if (alloc->hasAttr(boundAttr))
      buffers.push_back(alloc);
  if (buffers.empty())
    return std::nullopt;

  const SmallVector<Operation *> moved = fillingOf(buffers, body);
  llvm::SetVector<Value> arguments, temporaries;
  for (Operation *op : moved)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (auto argument = dyn_cast<BlockArgument>(operand); argument && argument.getOwner() == &body)
          arguments.insert(operand);
        else if (auto alloc = operand.getDefiningOp<memref::AllocOp>(); alloc && !llvm::is_contained(buffers, alloc))
          temporaries.insert(operand);
      }
    });

  BoundKernel result;
  result.kernel = kernel;
  OpBuilder b(kernel);
  SmallVector<Type> types = llvm::to_vector(ValueRange(arguments.getArrayRef()).getTypes());
  for (memref::AllocOp buffer : buffers) {
    result.buffers.push_back(buffer.getType());
    types.push_back(buffer.getType());
  }
  for (Value argument : arguments)
    result.constants.push_back(cast<BlockArgument>(argument).getArgNumber());
  result.fills =
      func::FuncOp::create(b, kernel.getLoc(), (kernel.getName() + "_bind").str(), b.getFunctionType(types, {}));
  result.fills.setPrivate();
  result.fills->setAttr(kernelAttr, b.getUnitAttr());
  symbols.insert(result.fills, kernel->getIterator());
  Block *filling = result.fills.addEntryBlock();
  b.setInsertionPointToStart(filling);
  IRMapping mapping;
  mapping.map(arguments.getArrayRef(), filling->getArguments().take_front(arguments.size()));
  for (auto [buffer, argument] : llvm::zip(buffers, filling->getArguments().drop_front(arguments.size())))
    mapping.map(buffer.getResult(), argument);
  for (Value temporary : temporaries)
    b.clone(*temporary.getDefiningOp(), mapping);
  for (Operation *op : moved)
    b.clone(*op, mapping);
  func::ReturnOp::create(b, kernel.getLoc());

  // Arrays come before other arguments.
  auto isArray = [](Type type) { return isa<MemRefType>(type); };
  result.position = llvm::find_if_not(kernel.getArgumentTypes(), isArray) - kernel.getArgumentTypes().begin();
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    const unsigned position = result.position + i;
    (void)kernel.insertArgument(position, buffer.getType(), {}, buffer.getLoc());
    buffer.getResult().replaceAllUsesWith(kernel.getArgument(position));
  }
  for (Operation *op : llvm::reverse(moved))
    if (op->use_empty())
      op->erase();
  auto eraseUnused = [](Operation *alloc) {
    if (!llvm::all_of(alloc->getUsers(), llvm::IsaPred<memref::DeallocOp>))
      return;
    for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
      user->erase();
    alloc->erase();
  };
  for (Value temporary : temporaries)
    eraseUnused(temporary.getDefiningOp());
  for (memref::AllocOp buffer : buffers)
    eraseUnused(buffer);
  for (Value argument : ArrayRef<Value>(kernel.getArguments().begin(), kernel.getArguments().end()))
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers()))
      if (auto dealloc = dyn_cast<memref::DeallocOp>(user))
        dealloc->erase();
  return result;
}

/// What `value`, an argument of a function or made of such ones outside of all loops, is where `b` writes.
Value Binder::clone(Value value, OpBuilder &b, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  assert(op && isMemoryEffectFree(op) && "a view of a constant argument");
  for (Value operand : op->getOperands())
    clone(operand, b, mapping);
  return b.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber());
}

Value Binder::viewOf(OpBuilder &b, Location loc, Value bytes, int64_t offset, MemRefType type) {
  Value begin = arith::ConstantIndexOp::create(b, loc, offset);
  return memref::ViewOp::create(b, loc, type, bytes, begin, ValueRange());
}

void Binder::bind(func::FuncOp function, const llvm::MapVector<StringRef, BoundKernel> &kernels) {
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) {
    if (kernels.contains(call.getCallee()))
      calls.push_back(call);
  });
  if (calls.empty())
    return;
  // Where each buffer lies.
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
  for (func::CallOp call : calls)
    for (MemRefType buffer : kernels.find(call.getCallee())->second.buffers) {
      offsets.push_back(bytes);
      bytes += llvm::alignTo(buffer.getNumElements() * llvm::divideCeil(buffer.getElementTypeBitWidth(), 8),
                             bufferAlignment);
    }

  OpBuilder b(function);
  Location loc = function.getLoc();
  auto type = MemRefType::get({bytes}, b.getI8Type());
  SmallVector<unsigned> constants;
  SmallVector<Type> types;
  llvm::SmallSetVector<Value, 8> read;
  for (func::CallOp call : calls)
    for (unsigned operand : kernels.find(call.getCallee())->second.constants)
      read.insert(argumentOf(call.getOperand(operand)));
  for (BlockArgument argument : function.getArguments())
    if (read.contains(argument)) {
      constants.push_back(argument.getArgNumber());
      types.push_back(argument.getType());
    }
  types.push_back(type);
  auto binds = func::FuncOp::create(b, loc, (function.getName() + "_bind").str(), b.getFunctionType(types, {}));
  binds->setAttr(arrayResultsAttr, b.getDenseBoolArrayAttr({true}));
  SmallVector<int64_t> inputs(constants.begin(), constants.end());
  binds->setAttr(bindsAttr, b.getDictionaryAttr({b.getNamedAttr("function", b.getStringAttr(function.getName())),
                                                 b.getNamedAttr("inputs", b.getDenseI64ArrayAttr(inputs))}));
  symbols.insert(binds, function->getIterator());
  b.setInsertionPointToStart(binds.addEntryBlock());
  IRMapping mapping;
  for (auto [i, position] : llvm::enumerate(constants))
    mapping.map(function.getArgument(position), binds.getArgument(i));
  Value filled = binds.getArguments().back();
  size_t next = 0;
  for (func::CallOp call : calls) {
    const BoundKernel &kernel = kernels.find(call.getCallee())->second;
    SmallVector<Value> operands;
    for (unsigned position : kernel.constants)
      operands.push_back(clone(call.getOperand(position), b, mapping));
    for (auto [i, buffer] : llvm::enumerate(kernel.buffers))
      operands.push_back(viewOf(b, loc, filled, offsets[next + i], buffer));
    func::CallOp::create(b, call.getLoc(), kernel.fills, operands);
    next += kernel.buffers.size();
  }
  func::ReturnOp::create(b, loc);

  // The bytes are the last input.
  auto results = function->getAttrOfType<DenseBoolArrayAttr>(arrayResultsAttr);
  unsigned position = function.getNumArguments() - (results ? llvm::count(results.asArrayRef(), true) : 0);
  (void)function.insertArgument(position, type, b.getDictionaryAttr(b.getNamedAttr(boundAttr, b.getUnitAttr())), loc);
  if (auto shapes = function->getAttrOfType<ArrayAttr>(shapesAttr)) {
    SmallVector<Attribute> all(shapes.begin(), shapes.end());
    unsigned symbolsOf = all.empty() ? 0 : cast<AffineMapAttr>(all.front()).getValue().getNumSymbols();
    all.insert(all.begin() + position,
               AffineMapAttr::get(AffineMap::get(0, symbolsOf, {b.getAffineConstantExpr(bytes)}, b.getContext())));
    function->setAttr(shapesAttr, b.getArrayAttr(all));
  }
  next = 0;
  for (func::CallOp call : calls) {
    const BoundKernel &kernel = kernels.find(call.getCallee())->second;
    b.setInsertionPoint(call);
    SmallVector<Value> operands(call.getOperands());
    SmallVector<Value> views;
    for (MemRefType buffer : kernel.buffers)
      views.push_back(viewOf(b, call.getLoc(), function.getArgument(position), offsets[next++], buffer));
    operands.insert(operands.begin() + kernel.position, views.begin(), views.end());
    call.getOperandsMutable().assign(operands);
  }
}

struct BindConstants : tilewright::impl::BindConstantsBase<BindConstants> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Binder binder(module);
    llvm::MapVector<StringRef, BoundKernel> kernels;
    for (func::FuncOp function : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (isKernel(function))
        if (std::optional<BoundKernel> bound = binder.split(function))
          kernels.insert({function.getName(), std::move(*bound)});
    for (func::FuncOp function : publicFunctions(module))
      binder.bind(function, kernels);
  }
};

} // namespace
