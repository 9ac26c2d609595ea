//===- ChipFields.cpp - The numeric fields of a description ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tables, and what a path names in them.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/ChipFields.h"
#include "tilewright/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"
#include <cmath>

using namespace tilewright;
using llvm::createStringError;
using llvm::formatv;
using llvm::StringRef;

//===-- Tables ------------------------------------------------------------===//

template <> llvm::ArrayRef<ChipField<Level>> tilewright::fieldsOf<Level>() {
  static constexpr ChipField<Level> fields[] = {{"count", &Level::count}};
  return fields;
}

template <> llvm::ArrayRef<ChipField<Memory>> tilewright::fieldsOf<Memory>() {
  static constexpr ChipField<Memory> fields[] = {
      {"bytes", &Memory::bytes},
      {"readBytesPerClock", &Memory::bytesPerClock},
      {"writeBytesPerClock", &Memory::writeBytesPerClock},
      {"streamingWriteBytesPerClock", &Memory::streamingWriteBytesPerClock},
      {"latency", &Memory::latency},
      {"lineBytes", &Memory::lineBytes, false},
      {"ways", &Memory::ways, false},
      {"banks", &Memory::banks, false},
      {"bankBytes", &Memory::bankBytes, false},
      {"entries", &Memory::entries, false},
      {"entryBytes", &Memory::entryBytes, false},
      {"pageBytes", &Memory::pageBytes, false},
      {"sectorBytes", &Memory::sectorBytes, false},
  };
  return fields;
}

template <> llvm::ArrayRef<ChipField<CopyEngine>> tilewright::fieldsOf<CopyEngine>() {
  static constexpr ChipField<CopyEngine> fields[] = {
      {"asynchronous", &CopyEngine::asynchronous},   {"maxRank", &CopyEngine::maxRank},
      {"alignBytes", &CopyEngine::alignBytes},       {"burstBytes", &CopyEngine::burstBytes},
      {"queueDepth", &CopyEngine::queueDepth},       {"zeroFill", &CopyEngine::zeroFill},
      {"bytesPerClock", &CopyEngine::bytesPerClock}, {"latency", &CopyEngine::latency},
  };
  return fields;
}

template <> llvm::ArrayRef<ChipField<MatrixUnit>> tilewright::fieldsOf<MatrixUnit>() {
  static constexpr ChipField<MatrixUnit> fields[] = {
      {"m", &MatrixUnit::m},
      {"n", &MatrixUnit::n},
      {"k", &MatrixUnit::k},
      {"issue", &MatrixUnit::issue},
      {"latency", &MatrixUnit::latency},
      {"loadStationary", &MatrixUnit::loadStationary, false},
      {"queueDepth", &MatrixUnit::queueDepth, false},
  };
  return fields;
}

template <> llvm::ArrayRef<ChipField<VectorOp>> tilewright::fieldsOf<VectorOp>() {
  static constexpr ChipField<VectorOp> fields[] = {
      {"lanes", &VectorOp::lanes},         {"scale", &VectorOp::scale}, {"zeroPoint", &VectorOp::zeroPoint},
      {"saturates", &VectorOp::saturates}, {"issue", &VectorOp::issue}, {"latency", &VectorOp::latency},
  };
  return fields;
}

//===-- Paths -------------------------------------------------------------===//

namespace {
/// One number of a chip: where it is, what it is called.
struct Place {
  StringRef owner, field; // "scratchpad", "bytes"
  std::variant<int64_t *, double *, bool *> value;
  std::string *source = nullptr; // of the record; null: it has none
  Memory *memory = nullptr;
  MatrixUnit *unit = nullptr;

  double get() const {
    return std::visit([](auto *pointer) { return static_cast<double>(*pointer); }, value);
  }
};

/// A group of objects with names.
struct Group {
  StringRef plural, singular;
  std::vector<Place> places;
};
} // namespace

template <typename Owner>
static void addPlaces(std::vector<Place> &places, Owner &owner, StringRef name,
                      llvm::function_ref<void(Place &)> finish = nullptr) {
  for (const ChipField<Owner> &field : fieldsOf<Owner>()) {
    Place place{name, field.name, {}};
    std::visit([&](auto member) { place.value = &(owner.*member); }, field.member);
    if (finish)
      finish(place);
    places.push_back(place);
  }
}

/// All numbers of `chip`, which outlives them.
static std::vector<Group> groupsOf(ChipTable &chip) {
  Group levels{"levels", "level", {}}, memories{"memories", "memory", {}}, copies{"copies", "copy", {}},
      units{"units", "unit", {}}, vectorOps{"vectorOps", "vectorOp", {}}, numbers{"numbers", "number", {}};
  for (Level &level : chip.levels)
    addPlaces(levels.places, level, level.name);
  for (Memory &memory : chip.memories)
    addPlaces(memories.places, memory, memory.name, [&](Place &place) {
      place.source = &memory.source;
      place.memory = &memory;
    });
  for (CopyEngine &copy : chip.copies)
    addPlaces(copies.places, copy, copy.name, [&](Place &place) { place.source = &copy.source; });
  for (MatrixUnit &unit : chip.units)
    addPlaces(units.places, unit, unit.name, [&](Place &place) {
      place.source = &unit.source;
      place.unit = &unit;
    });
  for (VectorOp &op : chip.vectorOps)
    addPlaces(vectorOps.places, op, op.name, [&](Place &place) { place.source = &op.source; });
  for (Fact &fact : chip.numbers)
    numbers.places.push_back({fieldOf(fact.number).name, "", &fact.value, &fact.source});
  return {levels, memories, copies, units, vectorOps, numbers};
}

/// Whether `pattern` means `name`: "systolic_*", and of "acme.systolic_i8" also what stands after the target.
static bool matches(StringRef pattern, StringRef name) {
  auto glob = llvm::GlobPattern::create(pattern);
  if (!glob) {
    llvm::consumeError(glob.takeError());
    return false;
  }
  return glob->match(name) || (name.contains('.') && glob->match(name.split('.').second));
}

static std::vector<std::string> unique(std::vector<std::string> names) {
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  return names;
}

/// The numbers that `path` names; at least one.
static llvm::Expected<std::vector<Place>> find(ChipTable &chip, StringRef path) {
  if (path == "clockMHz")
    return std::vector<Place>{{"", "clockMHz", &chip.clockMHz}};
  std::vector<Group> groups = groupsOf(chip);
  auto [first, rest] = path.split('.');
  auto group = llvm::find_if(groups, [&](const Group &each) { return each.plural == first || each.singular == first; });
  std::string of = "'" + path.str() + "': ";
  auto fail = [&](llvm::Error error) { return createStringError(of + llvm::toString(std::move(error))); };
  if (group == groups.end()) {
    std::vector<std::string> names{"clockMHz"};
    for (const Group &each : groups)
      names.push_back(each.plural.str());
    return fail(unknownName("part of a chip", first, names));
  }
  const bool isNumber = group->plural == "numbers";
  auto [name, field] = isNumber ? std::pair(rest, StringRef()) : rest.rsplit('.');
  std::vector<std::string> names;
  std::vector<Place> ofName, found;
  for (const Place &place : group->places) {
    names.push_back(place.owner.str());
    if (matches(name, place.owner))
      ofName.push_back(place);
  }
  if (ofName.empty() && isNumber &&
      llvm::any_of(numberFields(), [&](const NumberField &each) { return each.name == name; }))
    return createStringError(of + "this chip's record does not give the number");
  if (!isNumber && (name.empty() || field.empty()))
    return createStringError(of + formatv("a field is named {0}.NAME.FIELD", group->plural).str());
  if (ofName.empty())
    return fail(unknownName(group->singular, name, unique(std::move(names))));
  names.clear();
  for (const Place &place : ofName) {
    names.push_back(place.field.str());
    if (place.field == field)
      found.push_back(place);
  }
  if (found.empty())
    return fail(unknownName("field of the " + group->singular.str() + " '" + name.str() + "'", field,
                            unique(std::move(names))));
  return found;
}

llvm::Expected<double> tilewright::fieldAt(const ChipTable &chip, StringRef path) {
  auto places = find(const_cast<ChipTable &>(chip), path); // only looked at
  if (!places)
    return places.takeError();
  for (const Place &place : *places)
    if (place.get() != places->front().get())
      return createStringError(formatv("'{0}' names fields of different values: {1} of '{2}' is {3}, of '{4}' {5}",
                                       path, place.field, places->front().owner, places->front().get(), place.owner,
                                       place.get()));
  return places->front().get();
}

/// Whether two layouts put elements at the same places.
static bool isSame(const Layout &a, const Layout &b) {
  auto isSameBase = [](const Position &x, const Position &y) { return x.row == y.row && x.col == y.col; };
  auto isSameRepeat = [](const Repetition &x, const Repetition &y) {
    return x.count == y.count && x.rowStep == y.rowStep && x.colStep == y.colStep;
  };
  return llvm::equal(a.lanes, b.lanes, isSameBase) && llvm::equal(a.elements, b.elements, isSameBase) &&
         llvm::equal(a.repeats, b.repeats, isSameRepeat);
}

/// Gives an operand the extents of its unit. Whole matrices stay whole; any other layout is that of one shape.
static void reshape(UnitOperand &operand, int64_t rows, int64_t cols) {
  const bool isRowMajor = isSame(operand.layout, rowMajorLayout(operand.rows, operand.cols));
  const bool isColumnMajor = !isRowMajor && isSame(operand.layout, columnMajorLayout(operand.rows, operand.cols));
  operand.rows = rows;
  operand.cols = cols;
  if (rows > 0 && cols > 0 && (isRowMajor || isColumnMajor))
    operand.layout = isRowMajor ? rowMajorLayout(rows, cols) : columnMajorLayout(rows, cols);
}

llvm::Error tilewright::setField(ChipTable &chip, StringRef path, double value) {
  // A number that the record leaves out may be given here.
  if (auto [group, name] = path.split('.'); group == "numbers" || group == "number")
    for (const NumberField &field : numberFields())
      if (field.name == name &&
          llvm::none_of(chip.numbers, [&](const Fact &fact) { return fact.number == field.number; }))
        chip.numbers.push_back({field.number, value, "changed: the record does not give it"});
  auto places = find(chip, path);
  if (!places)
    return places.takeError();
  for (Place &place : *places) {
    const double before = place.get();
    if (auto **integer = std::get_if<int64_t *>(&place.value)) {
      if (value != std::floor(value))
        return createStringError(formatv("'{0}' is a whole number, not {1}", path, value));
      **integer = static_cast<int64_t>(value);
    } else if (auto **flag = std::get_if<bool *>(&place.value)) {
      if (value != 0 && value != 1)
        return createStringError(formatv("'{0}' is 0 or 1, not {1}", path, value));
      **flag = value != 0;
    } else {
      *std::get<double *>(place.value) = value;
    }
    if (place.source && value != before)
      *place.source = formatv("changed: it was {0}", before);
    if (Memory *memory = place.memory) {
      if (memory->kind == MemoryKind::RegisterFile && (place.field == "entries" || place.field == "entryBytes"))
        memory->bytes = memory->entries * memory->entryBytes;
      if (place.field == "readBytesPerClock")
        for (double *store : {&memory->writeBytesPerClock, &memory->streamingWriteBytesPerClock})
          *store = *store == before ? value : *store;
    }
    if (MatrixUnit *unit = place.unit; unit && (place.field == "m" || place.field == "n" || place.field == "k")) {
      reshape(unit->a, unit->m, unit->k);
      reshape(unit->b, unit->k, unit->n);
      reshape(unit->c, unit->m, unit->n);
    }
  }
  return llvm::Error::success();
}

llvm::Expected<double> tilewright::parseNumber(StringRef text) {
  StringRef digits = text.trim();
  double factor = 1;
  for (auto [suffix, times] : {std::pair("K", 1024.0), std::pair("M", 1048576.0), std::pair("G", 1073741824.0)})
    if (digits.consume_back(suffix))
      factor = times;
  double value = 0;
  if (digits.empty() || digits.getAsDouble(value) || !std::isfinite(value))
    return createStringError("'" + text + "' is no number; write 16, 1.5, 256K, 4M or 1G");
  return value * factor;
}

//===-- Changed chips -----------------------------------------------------===//

ChipTable tilewright::tableOf(const TargetDescription &chip) {
  ChipTable table;
  table.name = chip.chip().str();
  table.summary = chip.summary().str();
  table.clockMHz = chip.clockMHz();
  table.levels = chip.levels();
  table.memories = chip.memories();
  table.units = chip.units();
  table.copies = chip.copies();
  table.vectorOps = chip.vectorOps();
  table.laneInstructions = chip.laneInstructions();
  table.numbers = chip.numbers();
  auto take = [&](const std::vector<std::string> &features) {
    for (const std::string &feature : features)
      if (chip.hasFeature(feature) && !table.hasFeature(feature))
        table.features.push_back(feature);
  };
  for (const MatrixUnit &unit : table.units) {
    take(unit.features);
    for (const State &state : unit.states)
      take(state.features);
  }
  for (const CopyEngine &copy : table.copies)
    take(copy.features);
  for (const VectorOp &op : table.vectorOps)
    take(op.features);
  return table;
}

namespace {
/// A table beside the description that it was made of, which knows what is no number.
class ChangedDescription : public TableDescription {
public:
  ChangedDescription(std::shared_ptr<const TargetDescription> base, ChipTable table)
      : TableDescription(base->target().str(), std::move(table)), base(std::move(base)) {}
  bool hasFeature(StringRef feature) const override { return base->hasFeature(feature); }
  CodegenTarget codegen() const override { return base->codegen(); }

private:
  std::shared_ptr<const TargetDescription> base;
};
} // namespace

/// What the rules of the records say of `chip`.
static std::vector<std::string> faultsOf(const ChipTable &chip) {
  std::vector<std::string> faults = checkChip(chip);
  for (const MatrixUnit &unit : chip.units)
    for (const std::string &fault : checkUnit(unit))
      faults.push_back("unit '" + unit.name + "': " + fault);
  return faults;
}

llvm::Expected<std::shared_ptr<const TargetDescription>>
tilewright::changedChip(std::shared_ptr<const TargetDescription> base, StringRef assignments) {
  ChipTable table = tableOf(*base);
  table.name += "@" + assignments.str();
  for (StringRef assignment : llvm::split(assignments, ',')) {
    auto [path, text] = assignment.split('=');
    if (path.empty() || text.empty())
      return createStringError("'" + assignment +
                               "' after '@' changes no field of a chip; write PATH=VALUE, such as "
                               "'clockMHz=1200' or 'memories.NAME.bytes=512K'");
    auto value = parseNumber(text);
    if (!value)
      return createStringError("'" + path + "': " + llvm::toString(value.takeError()));
    if (llvm::Error error = setField(table, path, *value))
      return std::move(error);
  }
  if (const std::vector<std::string> faults = faultsOf(table); !faults.empty()) {
    const std::vector<std::string> before = faultsOf(tableOf(*base)); // made in C++, it need not keep every rule
    for (const std::string &fault : faults)
      if (!llvm::is_contained(before, fault))
        return createStringError(formatv("{0}:{1}: {2}", base->target(), table.name, fault));
  }
  return std::make_shared<ChangedDescription>(std::move(base), std::move(table));
}
