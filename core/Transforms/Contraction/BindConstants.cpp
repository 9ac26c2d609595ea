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
///   func @f(%x, %w, %bound, %y)     { call @k(%x, %y, %bound[0]) }           @k: y = x * b
///
/// All buffers of a function lie in one array of bytes, each on a line of its own. What is filled from constants of the
/// module alone is such a constant too, which the compiler computes (core/Pipelines/FoldConstants.h):
///
///   func @f(%x, %y)   { %w = get_global @w;  call @k(%x, %w, %y) }
///   ->
///   func @fold()      { %w = get_global @w;  %b = get_global @packed;  call @k_bind(%w, %b) }
///   func @f(%x, %y)   { %b = get_global @packed;  call @k(%x, %y, %b) }
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/FoldedConstants.h"
#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/IterationSpace.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright {
#define GEN_PASS_DEF_BINDCONSTANTS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

/// The bound buffers of a kernel.
struct BoundKernel {
  func::FuncOp fills;              // the kernel that fills them
  SmallVector<unsigned> constants; // arguments of the first one that it takes before the buffers
  SmallVector<MemRefType> buffers;
  unsigned position = 0; // of the first buffer among the arguments of the first one
};

class Binder {
public:
  explicit Binder(ModuleOp module) : symbols(module) {}

  /// Takes the filling of bound buffers out of `kernel`; null where it has none.
  std::optional<BoundKernel> split(func::FuncOp kernel);
  /// Makes `function` and a function that binds its constants of one whose calls of `kernels` lack the buffers. What
  /// follows from constants of the module alone goes into the function that folds these.
  void bind(func::FuncOp function, const llvm::MapVector<StringRef, BoundKernel> &kernels);
  /// Takes constants that nothing of a kernel reads any more out of its arguments and its calls: a large constant of
  /// the module is in the program for those that read it.
  void dropUnread(const llvm::MapVector<StringRef, BoundKernel> &kernels);

private:
  /// A call whose kernel has bound buffers, and where these lie among the bytes.
  struct Call {
    mutable func::CallOp op; // which has no const methods
    const BoundKernel *kernel;
    SmallVector<int64_t> offsets;
  };

  func::FuncOp makeFilling(func::FuncOp kernel, ArrayRef<Operation *> moved, ArrayRef<Value> arguments,
                           ArrayRef<Value> temporaries, ArrayRef<memref::AllocOp> buffers);
  void fold(func::CallOp call, const BoundKernel &kernel);
  SmallVector<memref::GlobalOp> foldedBy(func::CallOp call, const BoundKernel &kernel);
  void addBuffers(func::CallOp call, unsigned position, ValueRange buffers);
  void makeBinding(func::FuncOp function, ArrayRef<Call> calls, MemRefType bytes);
  bool isRead(Value array) const;
  void passBytes(func::FuncOp function, ArrayRef<Call> calls, MemRefType bytes);
  Value clone(Value value, OpBuilder &b, IRMapping &mapping);
  SmallVector<Value> viewsOf(OpBuilder &b, Value bytes, const Call &call);

  SymbolTable symbols;
  func::FuncOp folding;                                     // fills `folded`; null: nothing does yet
  llvm::StringMap<SmallVector<memref::GlobalOp, 1>> folded; // by the kernel that fills them, and of what
};

/// Whether `user` of an array puts elements into it.
bool writes(Operation *user) { return !onlyReads(user) && !isa<memref::DeallocOp, affine::AffinePrefetchOp>(user); }

/// The operations of `body` that fill `buffers`, and those whose values they take, in their order; no allocations. What
/// goes through other buffers of the kernel is filled into these before; what fills them again later is not among them.
SmallVector<Operation *> fillingOf(ArrayRef<memref::AllocOp> buffers, Block &body) {
  llvm::SetVector<Operation *> filling;
  auto addWriters = [&](Operation *buffer, Operation *reader) {
    for (Operation *user : buffer->getUsers()) {
      Operation *writer = body.findAncestorOpInBlock(*user);
      if (writes(user) && (!reader || !reader->isBeforeInBlock(writer)))
        filling.insert(writer);
    }
  };
  for (memref::AllocOp buffer : buffers)
    addWriters(buffer, nullptr);
  for (size_t next = 0; next < filling.size(); ++next) { // grows
    Operation *const op = filling[next];
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (!def || def->getBlock() != &body)
          continue;
        if (isa<memref::AllocOp>(def))
          addWriters(def, op);
        else
          filling.insert(def);
      }
    });
  }
  SmallVector<Operation *> inOrder(filling.begin(), filling.end());
  llvm::sort(inOrder, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  return inOrder;
}

/// Arrays that `moved` takes from outside: arguments of the kernel, and buffers of its own other than `buffers`.
std::pair<SmallVector<Value>, SmallVector<Value>> arraysOf(ArrayRef<Operation *> moved, Block &body,
                                                           ArrayRef<memref::AllocOp> buffers) {
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
  return {llvm::to_vector(arguments), llvm::to_vector(temporaries)};
}

/// Those of `moved` that fill a temporary which the kernel also reads after they are moved. They stay too.
llvm::SmallPtrSet<Operation *, 4> alsoNeeded(ArrayRef<Operation *> moved, ArrayRef<Value> temporaries, Block &body) {
  llvm::SmallPtrSet<Operation *, 4> needed;
  auto isLeft = [&](Operation *op) { return !llvm::is_contained(moved, op) || needed.contains(op); };
  auto fillsForOthers = [&](Operation *op, Value temporary) {
    bool isFilled = false, isRead = false;
    for (Operation *user : temporary.getUsers()) {
      Operation *top = body.findAncestorOpInBlock(*user);
      isFilled |= top == op && writes(user);
      isRead |= op->isBeforeInBlock(top) && onlyReads(user) && isLeft(top);
    }
    return isFilled && isRead;
  };
  for (Operation *op : llvm::reverse(moved))
    if (llvm::any_of(temporaries, [&](Value temporary) { return fillsForOthers(op, temporary); }))
      needed.insert(op);
  return needed;
}

/// Erases a buffer of which nothing is left but that it is freed.
void eraseUnused(Operation *alloc) {
  if (!llvm::all_of(alloc->getUsers(), llvm::IsaPred<memref::DeallocOp>))
    return;
  for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
    user->erase();
  alloc->erase();
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
  const auto [arguments, temporaries] = arraysOf(moved, body, buffers);
  const llvm::SmallPtrSet<Operation *, 4> needed = alsoNeeded(moved, temporaries, body);
  BoundKernel result;
  for (Value argument : arguments)
    result.constants.push_back(cast<BlockArgument>(argument).getArgNumber());
  for (memref::AllocOp buffer : buffers)
    result.buffers.push_back(buffer.getType());
  result.fills = makeFilling(kernel, moved, arguments, temporaries, buffers);

  // The kernel takes the buffers as its last arrays; numbers come after arrays.
  auto isArray = [](Type type) { return isa<MemRefType>(type); };
  result.position = llvm::find_if_not(kernel.getArgumentTypes(), isArray) - kernel.getArgumentTypes().begin();
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    const unsigned position = result.position + i;
    (void)kernel.insertArgument(position, buffer.getType(), {}, buffer.getLoc());
    for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
      if (isa<memref::DeallocOp>(user) || (writes(user) && needed.contains(body.findAncestorOpInBlock(*user))))
        user->erase();
    buffer.getResult().replaceAllUsesWith(kernel.getArgument(position));
  }
  for (Operation *op : llvm::reverse(moved))
    if (op->use_empty() && !needed.contains(op))
      op->erase();
  for (Value temporary : temporaries)
    eraseUnused(temporary.getDefiningOp());
  for (memref::AllocOp buffer : buffers)
    buffer->erase();
  return result;
}

/// A kernel of `arguments` of `kernel` and `buffers` with what fills these.
func::FuncOp Binder::makeFilling(func::FuncOp kernel, ArrayRef<Operation *> moved, ArrayRef<Value> arguments,
                                 ArrayRef<Value> temporaries, ArrayRef<memref::AllocOp> buffers) {
  OpBuilder b(kernel);
  SmallVector<Value> taken(arguments);
  for (memref::AllocOp buffer : buffers)
    taken.push_back(buffer);
  auto fills = func::FuncOp::create(b, kernel.getLoc(), (kernel.getName() + "_bind").str(),
                                    b.getFunctionType(ValueRange(taken).getTypes(), {}));
  fills.setPrivate();
  fills->setAttr(kernelAttr, b.getUnitAttr());
  symbols.insert(fills, kernel->getIterator());
  Block *filling = fills.addEntryBlock();
  b.setInsertionPointToStart(filling);
  IRMapping mapping;
  mapping.map(taken, filling->getArguments());
  for (Value temporary : temporaries)
    b.clone(*temporary.getDefiningOp(), mapping);
  for (Operation *op : moved)
    b.clone(*op, mapping);
  func::ReturnOp::create(b, kernel.getLoc());
  return fills;
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

SmallVector<Value> Binder::viewsOf(OpBuilder &b, Value bytes, const Call &call) {
  SmallVector<Value> views;
  for (auto [offset, type] : llvm::zip_equal(call.offsets, call.kernel->buffers)) {
    Value begin = arith::ConstantIndexOp::create(b, call.op.getLoc(), offset);
    views.push_back(memref::ViewOp::create(b, call.op.getLoc(), type, bytes, begin, ValueRange()));
  }
  return views;
}

/// Whether what fills the buffers of a call reads constants of the module alone.
bool followsFromModule(func::CallOp call, const BoundKernel &kernel) {
  return llvm::all_of(kernel.constants, [&](unsigned position) {
    auto array = cast<MemrefValue>(call.getOperand(position));
    return memref::skipViewLikeOps(array).getDefiningOp<memref::GetGlobalOp>();
  });
}

/// The operations that make `value` of a constant of the module, as text.
void print(Value value, llvm::raw_ostream &os) {
  Operation *op = value.getDefiningOp();
  os << op->getName() << op->getAttrDictionary() << value.getType() << '(';
  for (Value operand : op->getOperands())
    print(operand, os);
  os << ')';
}

/// The constants that hold the buffers of `call`. Calls of all functions that fill theirs by one kernel from the same
/// constants share them.
SmallVector<memref::GlobalOp> Binder::foldedBy(func::CallOp call, const BoundKernel &kernel) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << kernel.fills->getAttr(SymbolTable::getSymbolAttrName());
  for (unsigned position : kernel.constants)
    print(call.getOperand(position), os);
  auto [known, isNew] = folded.try_emplace(key);
  if (!isNew)
    return llvm::to_vector(known->second);

  auto module = call->getParentOfType<ModuleOp>();
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  const Location loc = call.getLoc();
  if (!folding) {
    folding = func::FuncOp::create(b, module.getLoc(), "tilewright.fold", b.getFunctionType({}, {}));
    symbols.insert(folding);
    folding->setAttr(foldsAttr, folding.getNameAttr());
    b.setInsertionPointToStart(folding.addEntryBlock());
    func::ReturnOp::create(b, module.getLoc());
  }
  b.setInsertionPoint(folding.front().getTerminator());
  IRMapping mapping;
  SmallVector<Value> operands;
  for (unsigned position : kernel.constants)
    operands.push_back(clone(call.getOperand(position), b, mapping));
  for (MemRefType buffer : kernel.buffers) {
    auto global = memref::GlobalOp::create(b, loc, "tilewright.packed", b.getStringAttr("private"), buffer,
                                           /*initial_value=*/Attribute(), /*constant=*/true,
                                           b.getI64IntegerAttr(bufferAlignment));
    global->remove();
    symbols.insert(global, folding->getIterator());
    operands.push_back(memref::GetGlobalOp::create(b, loc, buffer, global.getName()));
    known->second.push_back(global);
  }
  func::CallOp::create(b, loc, kernel.fills, operands);
  return llvm::to_vector(known->second);
}

/// Gives `call` the buffers as constants of the module.
void Binder::fold(func::CallOp call, const BoundKernel &kernel) {
  OpBuilder b(call);
  SmallVector<Value> buffers;
  for (memref::GlobalOp global : foldedBy(call, kernel))
    buffers.push_back(memref::GetGlobalOp::create(b, call.getLoc(), global.getType(), global.getName()));
  addBuffers(call, kernel.position, buffers);
}

void Binder::addBuffers(func::CallOp call, unsigned position, ValueRange buffers) {
  SmallVector<Value> operands(call.getOperands());
  operands.insert(operands.begin() + position, buffers.begin(), buffers.end());
  call.getOperandsMutable().assign(operands);
}

void Binder::bind(func::FuncOp function, const llvm::MapVector<StringRef, BoundKernel> &kernels) {
  SmallVector<Call> calls;
  int64_t bytes = 0;
  function.walk([&](func::CallOp call) {
    auto kernel = kernels.find(call.getCallee());
    if (kernel == kernels.end())
      return;
    if (followsFromModule(call, kernel->second))
      return fold(call, kernel->second);
    Call &added = calls.emplace_back(Call{call, &kernel->second, {}});
    for (MemRefType buffer : kernel->second.buffers) {
      added.offsets.push_back(bytes);
      bytes += llvm::alignTo(buffer.getNumElements() * elementBytes(buffer.getElementType()), bufferAlignment);
    }
  });
  if (calls.empty())
    return;
  auto type = MemRefType::get({bytes}, IntegerType::get(function.getContext(), 8));
  passBytes(function, calls, type);
  makeBinding(function, calls, type);
}

/// Whether elements of `array` are read, by a kernel that gets it too.
bool Binder::isRead(Value array) const {
  return llvm::any_of(array.getUses(), [&](OpOperand &use) {
    if (isa<ViewLikeOpInterface>(use.getOwner()))
      return isRead(use.getOwner()->getResult(0));
    auto call = dyn_cast<func::CallOp>(use.getOwner());
    auto callee = call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
    return !callee || callee.isExternal() || isRead(callee.getArgument(use.getOperandNumber()));
  });
}

/// The function that fills the bytes of all calls from the constant arguments that it needs. `releases` are those that
/// nothing else reads.
void Binder::makeBinding(func::FuncOp function, ArrayRef<Call> calls, MemRefType bytes) {
  llvm::SmallDenseSet<Value> read;
  for (const Call &each : calls)
    for (unsigned operand : each.kernel->constants)
      read.insert(memref::skipViewLikeOps(cast<MemrefValue>(each.op.getOperand(operand))));
  SmallVector<Value> constants;
  SmallVector<int64_t> inputs, releases;
  for (BlockArgument argument : function.getArguments())
    if (read.contains(argument)) {
      constants.push_back(argument);
      inputs.push_back(argument.getArgNumber());
      if (!isRead(argument))
        releases.push_back(argument.getArgNumber());
    }
  SmallVector<Type> types = llvm::to_vector(ValueRange(constants).getTypes());
  types.push_back(bytes);

  OpBuilder b(function);
  const Location loc = function.getLoc();
  auto binds = func::FuncOp::create(b, loc, (function.getName() + "_bind").str(), b.getFunctionType(types, {}));
  binds->setAttr(arrayResultsAttr, b.getDenseBoolArrayAttr({true}));
  binds->setAttr(bindsAttr, b.getDictionaryAttr({b.getNamedAttr("function", b.getStringAttr(function.getName())),
                                                 b.getNamedAttr("inputs", b.getDenseI64ArrayAttr(inputs)),
                                                 b.getNamedAttr("releases", b.getDenseI64ArrayAttr(releases))}));
  symbols.insert(binds, function->getIterator());
  b.setInsertionPointToStart(binds.addEntryBlock());
  IRMapping mapping;
  mapping.map(constants, binds.getArguments().drop_back());
  for (const Call &each : calls) {
    SmallVector<Value> operands;
    for (unsigned position : each.kernel->constants)
      operands.push_back(clone(each.op.getOperand(position), b, mapping));
    llvm::append_range(operands, viewsOf(b, binds.getArguments().back(), each));
    func::CallOp::create(b, each.op.getLoc(), each.kernel->fills, operands);
  }
  func::ReturnOp::create(b, loc);
}

/// The bytes are the last input of the function, and their parts those of the calls.
void Binder::passBytes(func::FuncOp function, ArrayRef<Call> calls, MemRefType bytes) {
  OpBuilder b(function);
  auto results = function->getAttrOfType<DenseBoolArrayAttr>(arrayResultsAttr);
  const unsigned position = function.getNumArguments() - (results ? llvm::count(results.asArrayRef(), true) : 0);
  (void)function.insertArgument(position, bytes, b.getDictionaryAttr(b.getNamedAttr(boundAttr, b.getUnitAttr())),
                                function.getLoc());
  if (auto shapes = function->getAttrOfType<ArrayAttr>(shapesAttr)) {
    SmallVector<Attribute> all(shapes.begin(), shapes.end());
    const unsigned sizes = all.empty() ? 0 : cast<AffineMapAttr>(all.front()).getValue().getNumSymbols();
    AffineMap extent = AffineMap::get(0, sizes, {b.getAffineConstantExpr(bytes.getDimSize(0))}, b.getContext());
    all.insert(all.begin() + position, AffineMapAttr::get(extent));
    function->setAttr(shapesAttr, b.getArrayAttr(all));
  }
  if (auto inputs = function->getAttrOfType<IntegerAttr>("tilewright.inputs"))
    function->setAttr("tilewright.inputs", b.getI64IntegerAttr(inputs.getInt() + 1));
  for (const Call &each : calls) {
    b.setInsertionPoint(each.op);
    addBuffers(each.op, each.kernel->position, viewsOf(b, function.getArgument(position), each));
  }
}

void Binder::dropUnread(const llvm::MapVector<StringRef, BoundKernel> &kernels) {
  for (const auto &[name, bound] : kernels) {
    auto kernel = symbols.lookup<func::FuncOp>(name);
    llvm::BitVector unread(kernel.getNumArguments());
    for (unsigned position : bound.constants)
      if (kernel.getArgument(position).use_empty())
        unread.set(position);
    auto uses = SymbolTable::getSymbolUses(kernel, symbols.getOp());
    if (unread.none() || !uses)
      continue;
    for (const SymbolTable::SymbolUse &use : *uses)
      use.getUser()->eraseOperands(unread);
    (void)kernel.eraseArguments(unread);
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
    binder.dropUnread(kernels);
  }
};

} // namespace
