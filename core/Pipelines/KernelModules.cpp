//===- KernelModules.cpp - Kernels in modules of their own ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The longest kernels first, each to the module that has the fewest operations.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/KernelModules.h"
#include "core/Analysis/Settings.h"
#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tilewright;

/// Operations of a module, about, and how many modules there are at most: each pass takes some milliseconds for a
/// module, however short it is.
static constexpr unsigned moduleLength = 1000, mostModules = 8;

/// The operations of a kernel that may leave, the constants that it uses; nothing where it has to stay.
static std::optional<std::pair<unsigned, SmallVector<memref::GlobalOp>>> leaves(func::FuncOp kernel,
                                                                                const SymbolTable &symbols) {
  auto isPassed = [](Type type) { return isa<LLVM::LLVMPointerType>(type) || type.isIntOrIndex(); };
  if (!isKernel(kernel) || !kernel.isPrivate() || kernel.getNumResults() > 0 ||
      !llvm::all_of(kernel.getArgumentTypes(), isPassed))
    return std::nullopt;
  unsigned length = 0;
  bool allocates = false;
  kernel.walk([&](Operation *op) {
    ++length;
    allocates |= isa<memref::AllocOp, memref::ReallocOp, tile::AllocOp>(op);
  });
  auto uses = SymbolTable::getSymbolUses(kernel.getOperation());
  if (allocates || !uses)
    return std::nullopt;
  llvm::SetVector<Operation *> constants;
  for (const SymbolTable::SymbolUse &use : *uses) {
    auto constant = symbols.lookup<memref::GlobalOp>(use.getSymbolRef().getRootReference());
    if (!constant || !constant.getConstant())
      return std::nullopt;
    constants.insert(constant);
  }
  return std::pair(length, llvm::map_to_vector(constants, llvm::CastTo<memref::GlobalOp>));
}

bool tilewright::splitKernels(ModuleOp module) {
  struct Kernel {
    func::FuncOp function;
    unsigned length;
    SmallVector<memref::GlobalOp> constants;
  };
  SymbolTable symbols(module);
  std::vector<Kernel> kernels;
  unsigned all = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto kernel = leaves(function, symbols)) {
      all += kernel->first;
      kernels.push_back({function, kernel->first, std::move(kernel->second)});
    }
  const size_t count = std::min<size_t>({kernels.size(), all / moduleLength, mostModules});
  if (count < 2)
    return false;

  OpBuilder builder(module.getContext());
  const DictionaryAttr attributes = module->getAttrDictionary();
  auto makeModule = [&] {
    auto made = ModuleOp::create(module.getLoc());
    made->setAttrs(attributes);
    return made;
  };
  ModuleOp rest = makeModule();
  rest.getBody()->getOperations().splice(rest.getBody()->end(), module.getBody()->getOperations());
  module.getBody()->push_back(rest);
  SmallVector<ModuleOp> modules;
  for (size_t i = 0; i < count; ++i) {
    modules.push_back(makeModule());
    module.getBody()->push_back(modules.back());
  }
  std::vector<unsigned> lengths(count);
  std::vector<llvm::SmallPtrSet<Operation *, 4>> own(count);
  llvm::stable_sort(kernels, [](const Kernel &a, const Kernel &b) { return a.length > b.length; });
  for (Kernel &kernel : kernels) {
    const size_t least = std::min_element(lengths.begin(), lengths.end()) - lengths.begin();
    lengths[least] += kernel.length;
    builder.setInsertionPoint(kernel.function);
    auto declaration = func::FuncOp::create(builder, kernel.function.getLoc(), kernel.function.getName(),
                                            kernel.function.getFunctionType());
    declaration.setPrivate();
    builder.setInsertionPointToEnd(modules[least].getBody());
    for (memref::GlobalOp constant : kernel.constants)
      if (own[least].insert(constant).second)
        builder.clone(*constant);
    kernel.function->moveBefore(modules[least].getBody(), modules[least].getBody()->end());
  }
  return true;
}

/// Whether `op` has its contents elsewhere.
static bool isDeclaration(Operation *op) {
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return function.isExternal();
  return false;
}

LogicalResult tilewright::joinKernels(ModuleOp module) {
  auto modules = llvm::to_vector(module.getOps<ModuleOp>());
  ModuleOp rest = modules.front();
  module->setAttrs(rest->getAttrDictionary());
  module.getBody()->getOperations().splice(module.getBody()->end(), rest.getBody()->getOperations());
  rest.erase();
  SymbolTable symbols(module);
  for (ModuleOp each : llvm::drop_begin(modules)) {
    SymbolTable own(each);
    for (Operation &op : llvm::make_early_inc_range(*each.getBody())) {
      auto symbol = dyn_cast<SymbolOpInterface>(op);
      if (!symbol)
        return op.emitOpError("is in the module of a kernel; only symbols come back from there");
      Operation *known = symbols.lookup(symbol.getName());
      if (!known) {
        op.remove();
        symbols.insert(&op);
      } else if (isDeclaration(known) && !isDeclaration(&op)) {
        if (cast<FunctionOpInterface>(known).getFunctionType() != cast<FunctionOpInterface>(op).getFunctionType())
          return op.emitOpError("is called in another way after its lowering");
        const Block::iterator place = std::next(known->getIterator());
        symbols.erase(known);
        op.remove();
        symbols.insert(&op, place);
      } else if (isDeclaration(&op) ||
                 OperationEquivalence::isEquivalentTo(known, &op, OperationEquivalence::IgnoreLocations)) {
        op.erase();
      } else {
        if (failed(own.renameToUnique(&op, {&symbols})))
          return failure();
        op.remove();
        symbols.insert(&op);
      }
    }
    each.erase();
  }
  return success();
}
