//===- FoldConstants.cpp - Constants packed by the compiler ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The function that packs, and what it calls, become code of their own. It reads constants where the program has them
/// and writes to memory of a file, so that neither is copied.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/FoldConstants.h"
#include "core/CostModel/Explain/Stopwatch.h"
#include "core/Pipelines/FileMemory.h"
#include "core/Pipelines/Guard.h"
#include "core/Pipelines/HostCheck.h"
#include "core/Pipelines/LargeConstants.h"
#include "core/Pipelines/LoadedCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

//===-- Before the stages -------------------------------------------------===//

/// Bytes of an array of integers or floats.
static uint64_t bytesOf(ShapedType type) {
  return uint64_t(type.getNumElements()) * llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
}

/// Whether an operation of `module` has an attribute of many different numbers.
static bool hasLargeConstants(ModuleOp module) {
  auto isLarge = [](NamedAttribute each) {
    auto elements = dyn_cast<ElementsAttr>(each.getValue());
    return elements && !elements.isSplat() && elements.getElementType().isIntOrFloat() &&
           bytesOf(elements.getShapedType()) >= largeConstantBytes;
  };
  return module.walk([&](Operation *op) { return WalkResult(failure(llvm::any_of(op->getAttrs(), isLarge))); })
      .wasInterrupted();
}

OwningOpRef<ModuleOp> tilewright::prepareFolding(ModuleOp module, llvm::StringRef target) {
  auto says = module->getAttrOfType<BoolAttr>(foldAttr);
  module->removeAttr(foldAttr);
  if ((says && !says.getValue()) || !hasLargeConstants(module))
    return {};
  if (llvm::Error refusal = checkRunsHere(target)) {
    llvm::consumeError(std::move(refusal)); // packed at each call
    return {};
  }
  OwningOpRef<ModuleOp> again = module.clone();
  (*again)->setAttr(foldAttr, BoolAttr::get(module.getContext(), false));
  module->setAttr(foldAttr, BoolAttr::get(module.getContext(), true));
  return again;
}

//===-- After the stages --------------------------------------------------===//

namespace {

/// The operations at the top of a module that others lead to.
class Reached {
public:
  explicit Reached(ModuleOp module) : symbols(module) {}

  void add(Operation *op) {
    llvm::SmallVector<Operation *> pending{op};
    while (!pending.empty()) {
      Operation *next = pending.pop_back_val();
      if (!next || !ops.insert(next).second)
        continue;
      if (auto uses = SymbolTable::getSymbolUses(next))
        for (const SymbolTable::SymbolUse &use : *uses)
          pending.push_back(symbols.lookup(use.getSymbolRef().getRootReference()));
    }
  }
  bool contains(Operation *op) const { return ops.contains(op); }

private:
  SymbolTable symbols;
  llvm::SmallPtrSet<Operation *, 32> ops;
};

/// A constant that is computed, and where its bytes begin among all of them.
struct Packed {
  LLVM::GlobalOp global;
  ShapedType contents;
  uint64_t offset;
};

/// Code in this process that computes constants.
struct Folding {
  LLVM::LLVMFuncOp body; // of the function that does
  std::string name;      // of its C interface
  std::vector<Packed> packed;
  std::shared_ptr<FileMemory> memory;
};

} // namespace

/// Whether `op` is `body` of the function that folds constants, or a part of its C interface.
static bool isInterface(Operation &op, const Folding &folding) {
  auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
  llvm::StringRef name = function ? function.getName() : "";
  return function == folding.body || (name.consume_front(folding.name) && (name == "_in" || name == "_workspace"));
}

/// The type of an array's elements as they are written.
static ShapedType contentsOf(LLVM::GlobalOp global) {
  llvm::SmallVector<int64_t> shape;
  Type type = global.getType();
  while (auto array = dyn_cast<LLVM::LLVMArrayType>(type)) {
    shape.push_back(static_cast<int64_t>(array.getNumElements()));
    type = array.getElementType();
  }
  return RankedTensorType::get(shape, type);
}

/// The constants without contents that the code writes, each on a line of its own.
static uint64_t layOut(ModuleOp module, const Reached &reached, std::vector<Packed> &packed) {
  constexpr uint64_t alignment = 64;
  uint64_t bytes = 0;
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    if (!reached.contains(global) || global.getValueAttr() || global.getInitializerBlock())
      continue;
    const ShapedType contents = contentsOf(global);
    packed.push_back({global, contents, bytes});
    bytes += llvm::alignTo(bytesOf(contents), alignment);
  }
  return bytes;
}

/// A module of what is reached. It reads constants where this process has them, and writes to the memory.
static OwningOpRef<ModuleOp> moduleOf(ModuleOp module, const Reached &reached, const Folding &folding) {
  llvm::StringMap<const void *> addresses;
  for (auto global : module.getOps<LLVM::GlobalOp>())
    if (llvm::ArrayRef<char> bytes = largeConstant(global); reached.contains(global) && !bytes.empty())
      addresses[global.getSymName()] = bytes.data();
  for (const Packed &each : folding.packed) {
    LLVM::GlobalOp global = each.global;
    addresses[global.getSymName()] = folding.memory->data() + each.offset;
  }
  OwningOpRef<ModuleOp> code = ModuleOp::create(module.getLoc());
  (*code)->setAttrs(module->getAttrDictionary());
  for (Operation &op : *module.getBody())
    if (auto global = dyn_cast<LLVM::GlobalOp>(op);
        reached.contains(&op) && !(global && addresses.contains(global.getSymName())))
      (*code).push_back(op.clone());
  OpBuilder builder(module.getContext());
  (*code).walk([&](LLVM::AddressOfOp op) {
    auto address = addresses.find(op.getGlobalName());
    if (address == addresses.end())
      return;
    builder.setInsertionPoint(op);
    const auto number = reinterpret_cast<intptr_t>(address->second);
    Value value = LLVM::ConstantOp::create(builder, op.getLoc(), builder.getI64IntegerAttr(number));
    op.replaceAllUsesWith(LLVM::IntToPtrOp::create(builder, op.getLoc(), op.getType(), value).getResult());
    op.erase();
  });
  return code;
}

/// Compiles `code` and calls its function.
static llvm::Error run(ModuleOp code, const Folding &folding) {
  auto loaded = loadCode(code);
  if (!loaded)
    return loaded.takeError();
  auto workspace = loaded->jit->lookup(folding.name + "_workspace");
  if (!workspace)
    return workspace.takeError();
  auto entry = loaded->jit->lookup(folding.name + "_in");
  if (!entry)
    return entry.takeError();

  Stopwatch stopwatch("packing of constants");
  int32_t status = 0;
  bool finished = false;
  folding.memory->whileFilled([&] {
    finished = finishes([&] {
      const int64_t bytes = reinterpret_cast<int64_t (*)()>(*workspace)();
      std::unique_ptr<FileMemory> temporaries = FileMemory::create(std::max<int64_t>(bytes, 1));
      status = temporaries ? reinterpret_cast<int32_t (*)(void *)>(*entry)(temporaries->data()) : 2;
    });
  });
  if (!finished)
    return llvm::createStringError("the code that packs them crashed");
  return status ? llvm::createStringError("the code that packs them returned status %d", int(status))
                : llvm::Error::success();
}

/// The constants get their contents, which live as long as the context.
static void setContents(const Folding &folding) {
  for (const Packed &each : folding.packed) {
    AsmResourceBlob blob(
        llvm::ArrayRef(folding.memory->data() + each.offset, bytesOf(each.contents)), /*dataAlignment=*/64,
        [kept = folding.memory](void *, size_t, size_t) {}, /*dataIsMutable=*/false);
    Operation *global = each.global;
    each.global->setAttr("value", DenseResourceElementsAttr::get(each.contents, "packed", std::move(blob)));
    if (folding.memory->isFile())
      global->setAttr(filedAttr, UnitAttr::get(global->getContext()));
  }
}

llvm::LogicalResult tilewright::foldConstants(ModuleOp module) {
  Folding folding;
  auto remark = [&](const llvm::Twine &reason) {
    return module.emitRemark() << "large constants are packed at each call, and not by the compiler: " << reason;
  };
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (auto name = function->getAttrOfType<StringAttr>(foldsAttr)) {
      folding.body = function;
      folding.name = name.str();
    }
  if (!folding.body)
    return success();

  Reached ofFolding(module), ofOthers(module);
  for (Operation &op : *module.getBody()) {
    if (isInterface(op, folding)) {
      ofFolding.add(&op);
      continue;
    }
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op) ||
        (function && !function.isExternal() && function.getLinkage() == LLVM::Linkage::External))
      ofOthers.add(&op);
  }
  const uint64_t bytes = layOut(module, ofFolding, folding.packed);
  folding.memory = FileMemory::create(std::max<uint64_t>(bytes, 1));
  if (!folding.memory)
    return remark("there is no memory for them");
  OwningOpRef<ModuleOp> code = moduleOf(module, ofFolding, folding);
  if (llvm::Error error = run(*code, folding))
    return remark(llvm::toString(std::move(error)));
  setContents(folding);
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (ofFolding.contains(&op) && !ofOthers.contains(&op))
      op.erase();
  return success();
}
