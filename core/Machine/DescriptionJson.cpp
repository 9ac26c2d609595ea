//===- DescriptionJson.cpp - A chip as JSON ----------------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The keys that scripts may rely on; `tw-targets --json` prints them.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/ChipFields.h"
#include "core/Machine/IrFunction.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

using namespace tilewright;
namespace json = llvm::json;

static const char *word(LevelKind kind) {
  static constexpr const char *words[] = {"parallel", "concurrent", "lockstep", "single"};
  return words[static_cast<int>(kind)];
}
static const char *word(MemoryKind kind) {
  static constexpr const char *words[] = {"global", "cache", "scratchpad", "register-file", "accumulator"};
  return words[static_cast<int>(kind)];
}
static const char *word(Residence residence) {
  static constexpr const char *words[] = {"broadcast-scalar", "vector-register", "lane-registers",
                                          "opaque-register",  "scratchpad",      "accumulator"};
  return words[static_cast<int>(residence)];
}

static const char *word(Completion completion) {
  static constexpr const char *words[] = {"at-once", "wait-group", "barrier"};
  return words[static_cast<int>(completion)];
}
static const char *word(UnitInit init) {
  static constexpr const char *words[] = {"accumulate", "zero-flag", "none"};
  return words[static_cast<int>(init)];
}

static json::Array strings(llvm::ArrayRef<std::string> texts) {
  json::Array result;
  for (const std::string &text : texts)
    result.push_back(text);
  return result;
}

static json::Array positions(const std::vector<Position> &bases) {
  json::Array result;
  for (const Position &base : bases)
    result.push_back(json::Array{base.row, base.col});
  return result;
}

/// Adds the numeric fields of `owner`.
template <typename Owner> static json::Object withFields(const Owner &owner, json::Object result) {
  for (const ChipField<Owner> &field : fieldsOf<Owner>())
    std::visit(
        [&](auto member) {
          if (field.isShownAtZero || owner.*member)
            result[field.name] = owner.*member;
        },
        field.member);
  return result;
}

static json::Object describe(const UnitOperand &operand) {
  json::Array repeats;
  for (const Repetition &repeat : operand.layout.repeats)
    repeats.push_back(json::Array{repeat.count, repeat.rowStep, repeat.colStep});
  json::Object result{{"element", elementName(operand.element)},
                      {"residence", word(operand.residence)},
                      {"rows", operand.rows},
                      {"cols", operand.cols},
                      {"layout", json::Object{{"lanes", positions(operand.layout.lanes)},
                                              {"elements", positions(operand.layout.elements)},
                                              {"repeats", std::move(repeats)}}}};
  if (!operand.memory.empty())
    result["memory"] = operand.memory;
  return result;
}

static json::Object describe(const MatrixUnit &unit) {
  json::Array states;
  for (const State &state : unit.states)
    states.push_back(state.name);
  json::Object result =
      withFields(unit, json::Object{{"name", unit.name},
                                    {"a", describe(unit.a)},
                                    {"b", describe(unit.b)},
                                    {"c", describe(unit.c)},
                                    {"operationsPerClock", unit.flopsPerClock()},
                                    {"source", unit.source},
                                    {"features", strings(unit.features)},
                                    {"states", std::move(states)},
                                    {"init", word(unit.init)},
                                    {"completion", word(unit.completion)},
                                    {"emission", json::Object{{"name", unit.emit.name},
                                                              {"arguments", strings(writtenArguments(unit.emit))}}}});
  if (unit.sparsity)
    result["sparsity"] = json::Object{
        {"kept", unit.sparsity->kept}, {"group", unit.sparsity->group}, {"index", describe(unit.sparsity->index)}};
  if (unit.scales) {
    json::Object scales{{"block", unit.scales->block}};
    if (unit.scales->hasA())
      scales["a"] = describe(unit.scales->a);
    if (unit.scales->hasB())
      scales["b"] = describe(unit.scales->b);
    result["scales"] = std::move(scales);
  }
  if (!unit.scopeLevel.empty())
    result["scope"] = json::Object{{"level", unit.scopeLevel}, {"count", unit.scopeCount}};
  if (unit.stationary)
    result["stationary"] = std::string(1, unit.stationary);
  return result;
}

static json::Object describe(const Memory &memory, const MachineGraph &graph) {
  return withFields(memory, json::Object{{"name", memory.name},
                                         {"kind", word(memory.kind)},
                                         {"role", roleName(graph.roleOf(memory))},
                                         {"level", memory.level},
                                         {"source", memory.source}});
}

json::Object tilewright::toJson(const TargetDescription &chip) {
  json::Array levels, memories, copies, units, vectorOps;
  for (const Level &level : chip.levels())
    levels.push_back(withFields(level, json::Object{{"name", level.name}, {"kind", word(level.kind)}}));
  for (const Memory &memory : chip.memories())
    memories.push_back(describe(memory, chip.graph()));
  for (const CopyEngine &copy : chip.copies())
    copies.push_back(withFields(copy, json::Object{{"name", copy.name},
                                                   {"from", copy.from},
                                                   {"to", copy.to},
                                                   {"completion", word(copy.completion)},
                                                   {"source", copy.source}}));
  for (const MatrixUnit &unit : chip.units())
    units.push_back(describe(unit));
  for (const VectorOp &op : chip.vectorOps())
    vectorOps.push_back(withFields(op, json::Object{{"name", op.name},
                                                    {"kind", op.kind},
                                                    {"from", elementName(op.from)},
                                                    {"to", elementName(op.to)},
                                                    {"rounding", op.rounding},
                                                    {"source", op.source}}));
  json::Object numbers, rates; // `rates`: the same by the keys of version 6
  for (const Fact &fact : chip.numbers()) {
    const NumberField &field = fieldOf(fact.number);
    numbers[field.name] = json::Object{{"value", fact.value}, {"unit", unitName(field.unit)}, {"source", fact.source}};
    if (!field.oldKey.empty())
      rates[field.oldKey] = json::Object{{"perClock", fact.value}, {"source", fact.source}};
  }
  CodegenTarget codegen = chip.codegen();
  return json::Object{
      {"target", chip.target().str()}, // a text of its own: the description may not outlive the object
      {"chip", chip.chip().str()},
      {"clockMHz", chip.clockMHz()},
      {"codegen", json::Object{{"triple", codegen.triple}, {"cpu", codegen.cpu}, {"features", codegen.features}}},
      {"levels", std::move(levels)},
      {"memories", std::move(memories)},
      {"copies", std::move(copies)},
      {"units", std::move(units)},
      {"vectorOps", std::move(vectorOps)},
      {"numbers", std::move(numbers)},
      {"rates", std::move(rates)}};
}
