//===- ScratchpadGlobals.cpp - Places of the scratchpad's globals ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gives each global of a scratchpad its offset in a block's memory. A launch has the globals that its kernel reaches,
/// itself or through what it calls, and no others: two that no kernel reaches together may lie at the same place.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Rewriter.h"
#include "core/Machine/FirstFit.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

namespace {
using Globals = llvm::SmallSetVector<StringRef, 4>;

struct Placed {
  StringRef name;
  uint64_t bytes = 0, align = 16, offset = 0;
  uint64_t end() const { return offset + bytes; }
};
} // namespace

/// The globals among `known` that each function reaches.
static llvm::StringMap<Globals> reachedGlobals(ModuleOp module, const llvm::StringSet<> &known) {
  llvm::StringMap<Globals> reached;
  llvm::StringMap<llvm::SmallSetVector<StringRef, 4>> callees;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    Globals &own = reached[function.getName()];
    function.walk([&](Operation *op) {
      if (auto address = dyn_cast<LLVM::AddressOfOp>(op); address && known.contains(address.getGlobalName()))
        own.insert(address.getGlobalName());
      if (auto call = dyn_cast<LLVM::CallOp>(op); call && call.getCallee())
        callees[function.getName()].insert(*call.getCallee());
    });
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (auto &[caller, called] : callees)
      for (StringRef callee : called)
        if (auto others = reached.find(callee); others != reached.end())
          for (StringRef global : others->second)
            grown |= reached[caller].insert(global);
  }
  return reached;
}

LogicalResult KernelRewriter::placeGlobals() {
  DataLayout layout(module);
  std::vector<Placed> sized, dynamic; // dynamic: the launch says how long
  SmallVector<LLVM::GlobalOp> globals;
  llvm::StringSet<> known;
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    Space space = kernels.table.meaning(global.getAddrSpace());
    if (space != Space::Scratchpad && space != Space::Cluster)
      continue;
    globals.push_back(global);
    known.insert(global.getSymName());
    Placed place{global.getSymName(), layout.getTypeSize(global.getGlobalType())};
    place.align = std::max<uint64_t>(place.align, global.getAlignment().value_or(0));
    (place.bytes == 0 ? dynamic : sized).push_back(place);
  }
  kernels.dynamicScratchpad = !dynamic.empty();

  llvm::StringMap<Globals> reached = reachedGlobals(module, known);
  auto together = [&](StringRef a, StringRef b) {
    return llvm::any_of(kernels.kernels, [&](const KernelEntry &kernel) {
      const Globals &own = reached[kernel.name];
      return own.contains(a) && own.contains(b);
    });
  };
  // The largest first: so the small ones fill what it leaves.
  llvm::stable_sort(sized, [](const Placed &a, const Placed &b) { return a.bytes > b.bytes; });
  for (size_t i = 0; i < sized.size(); ++i) {
    SmallVector<TakenBytes> taken;
    for (size_t j = 0; j < i; ++j)
      if (together(sized[i].name, sized[j].name))
        taken.push_back({sized[j].offset, sized[j].end()});
    sized[i].offset = firstFit(int64_t(sized[i].bytes), int64_t(sized[i].align), std::move(taken));
    scratchpadOffsets[sized[i].name] = sized[i].offset;
  }
  auto endOf = [&](const KernelEntry &kernel, ArrayRef<Placed> places) {
    uint64_t end = 0;
    for (const Placed &place : places)
      if (reached[kernel.name].contains(place.name))
        end = std::max(end, place.end());
    return end;
  };
  // What a launch adds begins after all that any of its kernels has.
  uint64_t end = 0, align = 16;
  for (const Placed &place : dynamic) {
    align = std::max(align, place.align);
    for (const KernelEntry &kernel : kernels.kernels)
      if (reached[kernel.name].contains(place.name))
        end = std::max(end, endOf(kernel, sized));
  }
  end = llvm::alignTo(end, align);
  for (Placed &place : dynamic)
    scratchpadOffsets[place.name] = place.offset = end;
  for (KernelEntry &kernel : kernels.kernels)
    kernel.staticScratchpadBytes = std::max(endOf(kernel, sized), endOf(kernel, dynamic));

  SmallVector<LLVM::AddressOfOp> addresses;
  module.walk([&](LLVM::AddressOfOp address) { addresses.push_back(address); });
  for (LLVM::AddressOfOp address : addresses) {
    auto offset = scratchpadOffsets.find(address.getGlobalName());
    if (offset == scratchpadOffsets.end())
      continue;
    OpBuilder builder(address);
    Location loc = address.getLoc();
    auto plain = LLVM::LLVMPointerType::get(builder.getContext());
    Value lane = shared.lane(address);
    Value field = LLVM::GEPOp::create(builder, loc, plain, builder.getI8Type(), lane,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(laneScratchpadOffset)});
    auto base = LLVM::LoadOp::create(builder, loc, plain, field);
    base.setInvariant(true);
    base->setAttr(internalAccess, builder.getUnitAttr());
    Value place = LLVM::GEPOp::create(builder, loc, plain, builder.getI8Type(), base,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset->second)});
    if (address.getType() != plain)
      place = LLVM::AddrSpaceCastOp::create(builder, loc, address.getType(), place);
    address.getResult().replaceAllUsesWith(place);
    address.erase();
  }
  for (LLVM::GlobalOp global : globals)
    global.erase();
  return success();
}
