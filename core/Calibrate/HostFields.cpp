//===- HostFields.cpp - What a target measured, as fields -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A target that measures the machine it runs on says so in one object (Target::measure). Here its numbers get the
/// paths that they have in the chip's description, so that a measured host is a chip with other numbers like any other.
///
//===----------------------------------------------------------------------===//

#include "core/Calibrate/Calibration.h"
#include "core/Machine/ChipFields.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace tilewright;
using namespace tilewright::calibrate;
using llvm::formatv;
namespace json = llvm::json;

namespace {
/// Collects the fields that the description has.
class Fields {
public:
  explicit Fields(const TargetDescription &chip) : table(tableOf(chip)) {}

  /// The field at `path`, whatever it is; one that the chip does not have is left out.
  void add(const std::string &path, std::optional<double> measured) {
    auto record = fieldAt(table, path);
    if (record && measured)
      found.push_back({path, *record, *measured});
    else if (!record)
      llvm::consumeError(record.takeError());
  }
  /// A number of the chip, though its record may leave it out: then what is measured is new.
  void addNumber(llvm::StringRef name, std::optional<double> measured) {
    const std::string path = ("numbers." + name).str();
    auto record = fieldAt(table, path);
    if (record)
      return add(path, measured);
    llvm::consumeError(record.takeError());
    const bool isKnown = llvm::any_of(numberFields(), [&](const NumberField &field) { return field.name == name; });
    if (isKnown && measured)
      found.push_back({path, 0, *measured});
  }

  const ChipTable table;
  std::vector<MeasuredField> found;
};
} // namespace

/// Rates of a memory in the order in which they are set: that of loads may be that of stores, too. Of a cache that
/// other cores share a core finds a part.
static void addMemory(Fields &fields, llvm::StringRef name, const json::Object &numbers) {
  for (auto [key, field] : {std::pair("read", "readBytesPerClock"),
                            {"write", "writeBytesPerClock"},
                            {"streamingWrite", "streamingWriteBytesPerClock"},
                            {"latency", "latency"}})
    fields.add(formatv("memories.{0}.{1}", name, field), numbers.getNumber(key));
  auto memory = llvm::find_if(fields.table.memories, [&](const Memory &each) { return each.name == name; });
  auto bytes = numbers.getInteger("bytes");
  if (memory == fields.table.memories.end() || !bytes || *bytes >= memory->bytes)
    return;
  const int64_t set = std::max<int64_t>(memory->lineBytes * memory->ways, 1);
  fields.add(formatv("memories.{0}.bytes", name), double(*bytes / set * set));
}

llvm::Expected<std::vector<MeasuredField>> calibrate::fieldsOfReport(const TargetDescription &chip,
                                                                     llvm::StringRef report) {
  auto parsed = json::parse(report);
  if (!parsed)
    return parsed.takeError();
  const json::Object *root = parsed->getAsObject();
  if (!root)
    return llvm::createStringError(formatv("target '{0}' measured no object of numbers", chip.target()));
  Fields fields(chip);
  fields.add("clockMHz", root->getNumber("clockMHz"));
  if (const json::Object *memories = root->getObject("memories"))
    for (const Memory &memory : fields.table.memories)
      if (const json::Object *numbers = memories->getObject(memory.name))
        addMemory(fields, memory.name, *numbers);
  if (const json::Object *units = root->getObject("units"))
    for (const MatrixUnit &unit : fields.table.units)
      if (const json::Object *costs = units->getObject(unit.name)) {
        const auto issue = costs->getNumber("issue"), latency = costs->getNumber("latency");
        const std::string path = "units." + unit.name;
        fields.add(path + ".issue", issue);
        if (latency)
          fields.add(path + ".latency", std::max(*latency, issue.value_or(0)));
      }
  if (const json::Object *rates = root->getObject("rates"))
    for (const NumberField &field : numberFields())
      fields.addNumber(field.name, rates->getNumber(field.name));
  return std::move(fields.found);
}
