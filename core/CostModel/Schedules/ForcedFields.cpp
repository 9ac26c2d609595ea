//===- ForcedFields.cpp - Fields of plans that a module forces ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The names of fields, their words, and which decision each is of.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/ForcedFields.h"
#include "core/CostModel/Explain/FormerNames.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {

ArrayRef<StringLiteral> wordsOf(StringRef field) {
  static constexpr StringLiteral sides[] = {"n", "m"}, splits[] = {"none", "lanes", "rows", "outer"};
  if (field == "lanes_on")
    return sides;
  if (field == "split")
    return splits;
  return {};
}

/// The value of `field` that `text` says, as --explain prints it.
static llvm::Expected<int64_t> valueOf(StringRef field, StringRef text) {
  if (ArrayRef<StringLiteral> words = wordsOf(field); !words.empty()) {
    const auto *word = llvm::find(words, text);
    if (word == words.end())
      return llvm::createStringError("plan field '" + field + "' is one of " + llvm::join(words, ", ") + "; got '" +
                                     text + "'");
    return word - words.begin();
  }
  int64_t number;
  if (text == "yes" || text == "no")
    return text == "yes";
  if (text.getAsInteger(10, number))
    return llvm::createStringError("plan field '" + field + "' needs an integer, yes or no, got '" + text + "'");
  if (field == "transpose_before" && (number < 0 || number > turnsA + turnsB))
    return llvm::createStringError("plan field '" + field + "' is " + Twine(number) + "; it is 0 (no operand), " +
                                   Twine(turnsA) + " (A), " + Twine(turnsB) + " (B) or " + Twine(turnsA + turnsB) +
                                   " (both)");
  if (field == "split_k" && number < 1)
    return llvm::createStringError("plan field '" + field + "' is " + Twine(number) +
                                   "; it is the number of blocks that share a sum, 1 for a whole one");
  return number;
}

llvm::Expected<ForcedFields> ForcedFields::parse(StringRef text) {
  static constexpr StringLiteral known =
      "rows vectors k_block row_block lane_block k_unroll lanes_on split split_part lane_dims row_dims neighbour_rows "
      "taps_inside pack_vectors pack_scalars bound_vectors rows_outside prefetch_panels prefetch_result "
      "prefetch_rows reread_scalars unit_m unit_n unit_k tile_m tile_n tile_k stages block_m block_n group "
      "cluster persistent_blocks block_k fuse_producers subgroups_m subgroups_n subgroups_k "
      "rasterisation_rows transpose_before chain_rows chain_step chain_parts chain_stages chain_engine "
      "chain_turns chain_persistent split_k";
  SmallVector<StringRef> names, fields;
  known.split(names, ' ');
  text.split(fields, ',', -1, /*KeepEmpty=*/false);
  ForcedFields forced;
  for (StringRef field : fields) {
    auto [given, written] = field.split('=');
    const StringRef name = presentName(given);
    if (!llvm::is_contained(names, name))
      return llvm::createStringError("unknown plan field '" + name + "' (known: " + llvm::join(names, ", ") + ")");
    llvm::Expected<int64_t> value = valueOf(name, written);
    if (!value)
      return value.takeError();
    if (name == "fuse_producers")
      forced.fuseProducers = *value != 0;
    else if (name == "transpose_before")
      forced.turnBefore = *value;
    else if (name == "split_k")
      forced.splitK = *value;
    else
      (name.starts_with("chain_") ? forced.chains : forced.plans).emplace_back(name.str(), *value);
  }
  return forced;
}

llvm::Error ForcedFields::checkFor(const TargetDescription &chip) const {
  // Blocks share sums, and run launches before the product and programs of a chain's tiles.
  SmallVector<StringRef> ofBlocks;
  if (splitK)
    ofBlocks.push_back("split_k");
  if (turnBefore)
    ofBlocks.push_back("transpose_before");
  for (const auto &[name, value] : chains)
    if (llvm::is_contained({"chain_stages", "chain_engine", "chain_turns", "chain_persistent"}, name))
      ofBlocks.push_back(name);
  if (ofBlocks.empty() || chip.graph().hasBlocks())
    return llvm::Error::success();
  return llvm::createStringError("plan field '" + ofBlocks.front() + "' is for chips with blocks of lanes; " +
                                 chip.target() + ":" + chip.chip() + " has none");
}

ForcedFields ForcedFields::of(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto text = module ? module->getAttrOfType<StringAttr>(forceAttr) : StringAttr();
  llvm::Expected<ForcedFields> fields = parse(text ? text.getValue() : StringRef());
  if (fields)
    return *fields;
  llvm::consumeError(fields.takeError());
  return {};
}

std::optional<int64_t> forcedValue(ArrayRef<std::pair<std::string, int64_t>> fields, StringRef field) {
  for (const auto &[name, value] : fields)
    if (name == field)
      return value;
  return std::nullopt;
}

bool agree(ArrayRef<std::pair<std::string, int64_t>> fields, ArrayRef<std::pair<StringRef, int64_t>> own) {
  return fields.empty() || llvm::all_of(own, [&](const auto &each) {
           return forcedValue(fields, each.first).value_or(each.second) == each.second;
         });
}

} // namespace tilewright
