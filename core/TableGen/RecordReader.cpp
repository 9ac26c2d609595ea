//===- RecordReader.cpp - Records as the structures of the core ------------ ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One function per class of the description language.
///
//===----------------------------------------------------------------------===//

#include "core/TableGen/RecordReader.h"
#include "core/Machine/RecordChecks.h"
#include "core/TableGen/RecordFields.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/TableGen/Error.h"
#include <map>

using namespace tilewright;
using namespace tilewright::tablegen;
using llvm::Record;
using llvm::StringRef;

/// The class of a value of this unit.
static StringRef wordOf(NumberUnit unit) {
  static constexpr const char *words[] = {"PerClock", "Cycles", "Count", "Bytes", "Part", "Nanoseconds"};
  return words[static_cast<int>(unit)];
}

namespace {

/// Reads one file's records and counts the errors.
class Reader : public RecordFields {
public:
  Reader(StringRef target) : target(target) {}
  Records read(const llvm::RecordKeeper &keeper);

private:
  std::vector<Position> bases(const Record &owner, const llvm::ListInit *list);
  Layout layout(const Record &owner, const Record &record, int64_t rows, int64_t cols);
  State state(const Record &record);
  std::shared_ptr<const OpaqueRegister> opaque(const Record &record);
  UnitOperand operand(const Record &unit, StringRef field, int64_t rows, int64_t cols);
  std::optional<UnitScales> scales(const Record &record, const MatrixUnit &unit);
  std::optional<UnitSparsity> sparsity(const Record &record, const MatrixUnit &unit);
  MatrixUnit unit(const Record &record);
  Memory memory(const Record &record);
  CopyEngine copy(const Record &record);
  VectorOp vectorOp(const Record &record);
  void refuseRates(const Record &record);
  std::vector<Fact> numbers(const Record &record, const ChipTable &chip);
  ChipTable chip(const Record &record);

  StringRef target;
  std::map<const Record *, MatrixUnit> units;
};

} // namespace

std::vector<Position> Reader::bases(const Record &owner, const llvm::ListInit *list) {
  std::vector<Position> result;
  for (const llvm::Init *entry : list->getElements()) {
    auto *pair = llvm::dyn_cast<llvm::ListInit>(entry);
    auto *row = pair && pair->size() == 2 ? llvm::dyn_cast<llvm::IntInit>(pair->getElement(0)) : nullptr;
    auto *col = row ? llvm::dyn_cast<llvm::IntInit>(pair->getElement(1)) : nullptr;
    if (!col) {
      error(owner, "record '" + owner.getName() + "': a layout basis must be a pair [row, column], not " +
                       entry->getAsString());
      return result;
    }
    result.push_back({row->getValue(), col->getValue()});
  }
  return result;
}

Layout Reader::layout(const Record &owner, const Record &record, int64_t rows, int64_t cols) {
  StringRef order = record.getValueAsString("order");
  if (order == "row")
    return rowMajorLayout(rows, cols);
  if (order == "column")
    return columnMajorLayout(rows, cols);
  Layout result;
  result.lanes = bases(owner, record.getValueAsListInit("lanes"));
  result.elements = bases(owner, record.getValueAsListInit("elements"));
  for (const Record *repeat : record.getValueAsListOfDefs("repeats"))
    result.repeats.push_back(
        {repeat->getValueAsInt("count"), repeat->getValueAsInt("row"), repeat->getValueAsInt("col")});
  return result;
}

State Reader::state(const Record &record) {
  State result;
  result.name = record.getName().str();
  result.features = strings(record, "requires");
  result.attributes = strings(record, "attributes");
  result.enter = emission(*record.getValueAsDef("enter"));
  result.leave = emission(*record.getValueAsDef("leave"));
  result.check = emission(*record.getValueAsDef("check"));
  result.checkValue = record.getValueAsInt("checkValue");
  result.forbids = strings(record, "forbids");
  result.links = strings(record, "links");
  result.cost = ratio(record, "cost");
  result.source = source(record);
  return result;
}

std::shared_ptr<const OpaqueRegister> Reader::opaque(const Record &record) {
  auto result = std::make_shared<OpaqueRegister>();
  const Record &bank = *record.getValueAsDef("bank");
  result->name = record.getName().str();
  result->bank = bank.getValueAsString("bankName").str();
  result->granules = bank.getValueAsInt("granules");
  for (int64_t mask : record.getValueAsListOfInts("masks"))
    result->masks.push_back(mask);
  result->rows = record.getValueAsInt("rows");
  result->rowBytes = record.getValueAsInt("rowBytes");
  result->valueType = record.getValueAsString("valueType").str();
  result->slices = llvm::StringSwitch<Slices>(record.getValueAsDef("slices")->getValueAsString("kind"))
                       .Case("Row", Slices::Row)
                       .Case("Column", Slices::Column)
                       .Default(Slices::Whole);
  result->zero = emission(*record.getValueAsDef("zero"));
  result->fill = emission(*record.getValueAsDef("fill"));
  result->read = emission(*record.getValueAsDef("read"));
  result->store = emission(*record.getValueAsDef("store"));
  return result;
}

UnitOperand Reader::operand(const Record &unit, StringRef field, int64_t rows, int64_t cols) {
  UnitOperand result;
  const Record *record = required(unit, field);
  if (!record)
    return result;
  const Record &home = *record->getValueAsDef("residence");
  result.element = element(*record->getValueAsDef("element"));
  result.residence = llvm::StringSwitch<Residence>(home.getValueAsString("kind"))
                         .Case("BroadcastScalar", Residence::BroadcastScalar)
                         .Case("VectorRegister", Residence::VectorRegister)
                         .Case("LaneRegisters", Residence::LaneRegisters)
                         .Case("OpaqueRegister", Residence::OpaqueRegister)
                         .Case("Scratchpad", Residence::Scratchpad)
                         .Default(Residence::Accumulator);
  result.rows = rows;
  result.cols = cols;
  if (rows > 0 && cols > 0)
    result.layout = layout(unit, *home.getValueAsDef("layout"), rows, cols);
  result.scalable = home.getValueAsBit("scalable");
  result.storage = record->getValueAsString("storage").str();
  result.memory = home.getValueAsString("memory").str();
  if (result.residence == Residence::Scratchpad) {
    result.majors = strings(home, "majors");
    result.arrangements = strings(home, "arrangements");
  }
  if (result.residence == Residence::OpaqueRegister)
    result.opaque = opaque(home);
  return result;
}

/// The fields of scales: a block, and the scales of A, of B or of both.
std::optional<UnitScales> Reader::scales(const Record &record, const MatrixUnit &unit) {
  const int64_t block = record.getValueAsInt("scaleBlock");
  const bool hasA = optional(record, "scaleA"), hasB = optional(record, "scaleB");
  if (!block && !hasA && !hasB)
    return std::nullopt;
  auto refuse = [&](const llvm::Twine &what) {
    error(record, "unit '" + record.getName() + "': " + what);
    return std::nullopt;
  };
  if (!block || (!hasA && !hasB))
    return refuse(llvm::Twine("field 'scaleBlock' belongs to 'scaleA', 'scaleB' or both; ") +
                  (block ? "neither is there" : "it is missing"));
  if (block < 0 || unit.k % block != 0)
    return refuse("field 'scaleBlock' is " + llvm::Twine(block) + ", which does not divide the unit's k of " +
                  llvm::Twine(unit.k) + " into whole blocks; give a divisor of k");
  UnitScales result;
  result.block = block;
  for (auto [own, has] : {std::pair(&result.a, hasA), std::pair(&result.b, hasB)})
    if (!has)
      own->rows = own->cols = 0;
  if (hasA)
    result.a = operand(record, "scaleA", unit.m, unit.k / block);
  if (hasB)
    result.b = operand(record, "scaleB", unit.k / block, unit.n);
  return result;
}

/// The fields of a sparse A: how many elements of how many it keeps, and where they stand.
std::optional<UnitSparsity> Reader::sparsity(const Record &record, const MatrixUnit &unit) {
  const int64_t group = record.getValueAsInt("sparseGroup"), kept = record.getValueAsInt("sparseKept");
  const bool hasIndex = optional(record, "indexA");
  if (!group && !kept && !hasIndex)
    return std::nullopt;
  auto refuse = [&](const llvm::Twine &what) {
    error(record, "unit '" + record.getName() + "': " + what);
    return std::nullopt;
  };
  if (!group || !kept || !hasIndex)
    return refuse(llvm::Twine("fields 'sparseKept', 'sparseGroup' and 'indexA' belong together; field '") +
                  (!kept    ? "sparseKept"
                   : !group ? "sparseGroup"
                            : "indexA") +
                  "' is missing");
  if (group < 2 || !llvm::isPowerOf2_64(group) || unit.k % group != 0)
    return refuse("field 'sparseGroup' is " + llvm::Twine(group) +
                  "; it must be a power of two that divides the unit's "
                  "k of " +
                  llvm::Twine(unit.k));
  if (kept < 1 || kept >= group)
    return refuse("field 'sparseKept' is " + llvm::Twine(kept) + "; of groups of " + llvm::Twine(group) +
                  " elements it must be 1 to " + llvm::Twine(group - 1));
  UnitSparsity result;
  result.kept = kept;
  result.group = group;
  result.index = operand(record, "indexA", unit.m, unit.k / group * kept);
  return result;
}

MatrixUnit Reader::unit(const Record &record) {
  MatrixUnit result;
  result.name = (target + "." + record.getName()).str();
  result.m = record.getValueAsInt("m");
  result.n = record.getValueAsInt("n");
  result.k = record.getValueAsInt("k");
  result.sparsity = sparsity(record, result);
  result.a = operand(record, "a", result.m, result.depthOfA());
  result.b = operand(record, "b", result.k, result.n);
  result.c = operand(record, "c", result.m, result.n);
  result.scales = scales(record, result);
  result.issue = ratio(record, "issue");
  result.latency = ratio(record, "latency");
  result.source = source(record);
  result.features = strings(record, "requires");
  const Record &scope = *record.getValueAsDef("scope");
  result.scopeLevel = scope.getValueAsString("level").str();
  result.scopeCount = scope.getValueAsInt("count");
  for (const Record *each : record.getValueAsListOfDefs("states"))
    result.states.push_back(state(*each));
  result.init = llvm::StringSwitch<UnitInit>(record.getValueAsDef("init")->getValueAsString("kind"))
                    .Case("ZeroFlag", UnitInit::ZeroFlag)
                    .Case("NoAccumulate", UnitInit::NoAccumulate)
                    .Default(UnitInit::AccumulateAlways);
  result.completion = completion(record);
  result.saturates = record.getValueAsBit("saturates");
  result.sumBits = record.getValueAsInt("sumBits");
  result.takesValid = record.getValueAsBit("valid");
  result.queueDepth = record.getValueAsInt("queueDepth");
  StringRef stationary = record.getValueAsString("stationary");
  result.stationary = stationary.empty() ? 0 : stationary.front();
  result.loadStationary = ratio(record, "load");
  if (const Record *emit = required(record, "emit"))
    result.emit = emission(*emit);
  if (failed)
    return result; // the checks would repeat what is missing
  for (const std::string &message : checkUnit(result))
    error(record, "unit '" + record.getName() + "': " + message);
  for (const std::string &message : checkIntrinsic(result))
    error(record, "unit '" + record.getName() + "': " + message);
  if (!failed)
    for (const std::string &message : checkEmissions(result))
      error(record, "unit '" + record.getName() + "': " + message);
  return result;
}

Memory Reader::memory(const Record &record) {
  Memory result;
  result.name = record.getValueAsString("memoryName").str();
  result.level = record.getValueAsString("level").str();
  result.kind = llvm::StringSwitch<MemoryKind>(record.getValueAsString("kind"))
                    .Case("Cache", MemoryKind::Cache)
                    .Case("Scratchpad", MemoryKind::Scratchpad)
                    .Case("RegisterFile", MemoryKind::RegisterFile)
                    .Case("Accumulator", MemoryKind::Accumulator)
                    .Default(MemoryKind::Global);
  result.bytes = record.getValueAsInt("bytes");
  result.bytesPerClock = ratio(record, "read");
  result.writeBytesPerClock = optional(record, "write") ? ratio(record, "write") : result.bytesPerClock;
  result.streamingWriteBytesPerClock =
      optional(record, "streamingWrite") ? ratio(record, "streamingWrite") : result.writeBytesPerClock;
  result.latency = ratio(record, "latency");
  result.lineBytes = record.getValueAsInt("lineBytes");
  result.ways = record.getValueAsInt("ways");
  result.banks = record.getValueAsInt("banks");
  result.bankBytes = record.getValueAsInt("bankBytes");
  result.entries = record.getValueAsInt("entries");
  result.entryBytes = record.getValueAsInt("entryBytes");
  result.sectorBytes = record.getValueAsInt("sectorBytes");
  result.pageBytes = record.getValueAsInt("pageBytes");
  result.role = role(*record.getValueAsDef("role"));
  result.access = llvm::StringSwitch<MemoryAccess>(record.getValueAsDef("access")->getValueAsString("access"))
                      .Case("LoadsAndStores", MemoryAccess::LoadsAndStores)
                      .Case("EnginesOnly", MemoryAccess::EnginesOnly)
                      .Default(MemoryAccess::Inferred);
  result.source = source(record);
  return result;
}

CopyEngine Reader::copy(const Record &record) {
  CopyEngine result;
  result.name = record.getName().str();
  result.from = record.getValueAsString("from").str();
  result.to = record.getValueAsString("to").str();
  result.asynchronous = record.getValueAsBit("asynchronous");
  result.completion = completion(record);
  result.maxRank = record.getValueAsInt("maxRank");
  result.alignBytes = record.getValueAsInt("alignBytes");
  result.accessBytes = record.getValueAsListOfInts("accessBytes");
  result.arrangements = strings(record, "arrangements");
  result.burstBytes = record.getValueAsInt("burstBytes");
  result.queueDepth = record.getValueAsInt("queueDepth");
  result.zeroFill = record.getValueAsBit("zeroFill");
  result.bytesPerClock = ratio(record, "bandwidth");
  result.latency = ratio(record, "latency");
  result.source = source(record);
  result.features = strings(record, "requires");
  if (const Record *emit = required(record, "emit"))
    result.emit = emission(*emit);
  return result;
}

VectorOp Reader::vectorOp(const Record &record) {
  VectorOp result;
  result.name = (target + "." + record.getName()).str();
  result.kind = record.getValueAsString("kind").str();
  result.from = element(*record.getValueAsDef("from"));
  result.to = element(*record.getValueAsDef("to"));
  result.lanes = record.getValueAsInt("lanes");
  result.scale = record.getValueAsBit("scale");
  result.zeroPoint = record.getValueAsBit("zeroPoint");
  result.saturates = record.getValueAsBit("saturates");
  result.rounding = record.getValueAsString("rounding").str();
  result.entries = record.getValueAsInt("entries");
  result.issue = ratio(record, "issue");
  result.latency = ratio(record, "latency");
  result.source = source(record);
  result.features = strings(record, "requires");
  if (const Record *emit = required(record, "emit"))
    result.emit = emission(*emit);
  if (result.lanes < 1)
    error(record, "vector operation '" + record.getName() + "': field 'lanes' must be at least 1");
  return result;
}

/// The list of version 6, whose entries are fields of their own now.
void Reader::refuseRates(const Record &record) {
  for (const Record *rate : record.getValueAsListOfDefs("rates")) {
    StringRef key = rate->getValueAsString("op");
    const auto *field = llvm::find_if(numberFields(), [&](const NumberField &each) { return each.oldKey == key; });
    std::string what = ("chip '" + record.getName() + "': field 'rates' has the key '" + key + "', which ").str();
    if (field == numberFields().end())
      error(record, what + "no stage uses; the numbers that count are fields of a chip (dialects/Chip/Numbers.td)");
    else
      error(record,
            what + "is a field of its own now: let " + field->name + " = Fact<" + wordOf(field->unit) + "<...>, ...>;");
  }
}

/// The numbers that are set, or have a default and count on such a chip.
std::vector<Fact> Reader::numbers(const Record &record, const ChipTable &chip) {
  refuseRates(record);
  bool lanes = memoryOfRole(chip, MemoryRole::LaneRegisters), vectors = memoryOfRole(chip, MemoryRole::VectorRegisters),
       caches = memoryOfRole(chip, MemoryRole::Cached);
  std::vector<Fact> result;
  for (const NumberField &field : numberFields()) {
    const Record *fact = optional(record, field.name);
    bool counts = field.group == NumberGroup::Core                                           ? vectors
                  : field.group == NumberGroup::Team                                         ? vectors && caches
                  : field.group == NumberGroup::Lane || field.group == NumberGroup::LaneCode ? lanes
                                                                                             : true;
    if (!fact || !counts)
      continue;
    const Record *value = fact->getValueAsDef("value");
    if (!value->isSubClassOf(value->getRecords().getClass(wordOf(field.unit))))
      error(record, "chip '" + record.getName() + "': field '" + field.name + "' has another unit; write " +
                        wordOf(field.unit) + "<...>");
    result.push_back({field.number, ratio(*fact, "value"), source(*fact)});
  }
  return result;
}

ChipTable Reader::chip(const Record &record) {
  ChipTable result;
  result.name = record.getValueAsString("chipName").str();
  result.summary = record.getValueAsString("summary").str();
  result.triple = record.getValueAsString("triple").str();
  result.cpu = record.getValueAsString("cpu").str();
  result.features = strings(record, "features");
  result.lacks = strings(record, "lacks");
  if (llvm::isa<llvm::UnsetInit>(record.getValueInit("clockMHz")))
    error(record, "record '" + record.getName() + "': field 'clockMHz' is not set");
  else
    result.clockMHz = record.getValueAsInt("clockMHz");
  for (const Record *level : record.getValueAsListOfDefs("levels")) {
    LevelKind kind = llvm::StringSwitch<LevelKind>(level->getValueAsDef("kind")->getValueAsString("kind"))
                         .Case("Parallel", LevelKind::Parallel)
                         .Case("Concurrent", LevelKind::Concurrent)
                         .Case("Lockstep", LevelKind::Lockstep)
                         .Default(LevelKind::Single);
    result.levels.push_back({level->getValueAsString("levelName").str(), kind, level->getValueAsInt("count")});
  }
  for (const Record *each : record.getValueAsListOfDefs("memories"))
    result.memories.push_back(memory(*each));
  for (const Record *each : record.getValueAsListOfDefs("copies"))
    result.copies.push_back(copy(*each));
  for (const Record *each : record.getValueAsListOfDefs("vectorOps"))
    result.vectorOps.push_back(vectorOp(*each));
  for (const Record *each : record.getValueAsListOfDefs("laneInstructions"))
    result.laneInstructions.push_back({each->getValueAsString("does").str(), emission(*each->getValueAsDef("emit"))});
  for (const LaneInstruction &instruction : result.laneInstructions)
    for (const std::string &message : checkIntrinsic(instruction))
      error(record, "chip '" + record.getName() + "': " + message);
  result.numbers = numbers(record, result);

  std::map<const Record *, size_t> places;
  for (const Record *each : record.getValueAsListOfDefs("units")) {
    places[each] = result.units.size();
    result.units.push_back(units.at(each));
  }
  for (const Record *cost : record.getValueAsListOfDefs("costs")) {
    const Record *owner = cost->getValueAsDef("unit");
    auto place = places.find(owner);
    if (place == places.end()) {
      error(record, "chip '" + record.getName() + "': field 'costs' prices the unit '" + owner->getName() +
                        "', which field 'units' does not have");
      continue;
    }
    MatrixUnit &priced = result.units[place->second];
    priced.issue = ratio(*cost, "issue");
    priced.latency = ratio(*cost, "latency");
    priced.source = source(*cost);
    if (priced.latency < priced.issue)
      error(record, "chip '" + record.getName() + "': field 'costs' gives the unit '" + owner->getName() +
                        "' a latency below its issue");
  }
  if (failed)
    return result;
  for (const std::string &message : checkChip(result))
    error(record, "chip '" + record.getName() + "': " + message);
  for (const MatrixUnit &unit : result.units)
    for (const std::string &message : checkIntrinsic(result, unit))
      error(record, "chip '" + record.getName() + "': " + message);
  const TripleFaults words = checkTriple(result);
  for (const std::string &message : words.errors)
    error(record, "chip '" + record.getName() + "': " + message);
  for (const std::string &message : words.warnings)
    llvm::PrintWarning(record.getLoc(), "chip '" + record.getName() + "': " + message);
  return result;
}

Records Reader::read(const llvm::RecordKeeper &keeper) {
  Records records;
  for (const Record *record : keeper.getAllDerivedDefinitions("MatrixUnit")) {
    bool before = failed;
    failed = false; // a fault of one unit shall not silence the checks of the next
    MatrixUnit made = unit(*record);
    records.units.push_back(made);
    llvm::SMLoc location = record->getLoc().front();
    unsigned buffer = llvm::SrcMgr.FindBufferContainingLoc(location);
    StringRef file = llvm::SrcMgr.getMemoryBuffer(buffer)->getBufferIdentifier();
    records.origin.push_back(llvm::formatv("{0}:{1}", file.rsplit('/').second.empty() ? file : file.rsplit('/').second,
                                           llvm::SrcMgr.getLineAndColumn(location, buffer).first));
    units.emplace(record, std::move(made));
    failed |= before;
  }
  for (const Record *record : keeper.getAllDerivedDefinitions("Chip")) {
    bool before = failed;
    failed = false;
    records.chips.push_back(chip(*record));
    failed |= before;
    for (size_t other = 0; other + 1 < records.chips.size(); ++other)
      if (records.chips[other].name == records.chips.back().name)
        error(*record, "chip '" + record->getName() + "': another record describes a chip of the name '" +
                           records.chips.back().name + "'; the name selects the chip on the command line");
  }
  return records;
}

std::optional<Records> tablegen::readRecords(const llvm::RecordKeeper &keeper, StringRef target) {
  if (!keeper.getClass("Chip")) {
    llvm::PrintError("the file describes no chip: include \"dialects/Chip/Chip.td\" and define one, "
                     "def Acme1 : Chip<\"acme1\"> { ... }");
    return std::nullopt;
  }
  Reader reader(target);
  Records records = reader.read(keeper);
  reader.printErrors();
  if (reader.failed)
    return std::nullopt;
  return records;
}
