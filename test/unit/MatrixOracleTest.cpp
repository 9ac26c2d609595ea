//===- MatrixOracleTest.cpp - Matrix units against outside tables ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A layout table cannot prove itself: a permutation of k that A and B share is
/// invisible to every product. MatrixOracles.csv holds what programs of others
/// say about the same instructions; each slot of each record is compared.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>
#include <set>

namespace matrix_oracle_test {

using namespace tilewright;

namespace {

/// "1:0 2:0" as bases; "-" as none.
std::vector<Position> bases(llvm::StringRef text) {
  std::vector<Position> result;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, false);
  for (llvm::StringRef word : words) {
    Position base;
    auto [row, col] = word.split(':');
    if (!row.getAsInteger(10, base.row) && !col.getAsInteger(10, base.col))
      result.push_back(base);
  }
  return result;
}

/// Units of all chips by name; the record's own cost is that of the first chip that has it.
const MatrixUnit *findUnit(llvm::StringRef name) {
  static std::map<std::string, MatrixUnit> units = [] {
    std::map<std::string, MatrixUnit> all;
    if (TargetRegistry::get().targets().empty())
      registerLinkedTargets();
    for (const Target *target : TargetRegistry::get().targets())
      for (const std::string &chip : target->chips()) {
        auto description = llvm::cantFail(target->describe(chip));
        for (const MatrixUnit &unit : description->units())
          all.emplace(unit.name, unit);
      }
    return all;
  }();
  auto found = units.find(name.str());
  return found == units.end() ? nullptr : &found->second;
}

} // namespace

TEST(MatrixOracle, LayoutsAndCyclesAgreeWithOutsideTables) {
  findUnit("");
  for (const char *name : {"nvidia", "amd"})
    if (auto target = TargetRegistry::get().target(name); !target) {
      llvm::consumeError(target.takeError());
      GTEST_SKIP() << "target " << name << " is not linked into this build (TILEWRIGHT_TARGETS)";
    }
  auto file = llvm::MemoryBuffer::getFile(TILEWRIGHT_SOURCE_DIR "/test/unit/MatrixOracles.csv");
  ASSERT_TRUE(bool(file));
  llvm::SmallVector<llvm::StringRef> lines;
  (*file)->getBuffer().split(lines, '\n', -1, false);
  std::set<std::string> instructions;
  int compared = 0;
  for (llvm::StringRef line : lines) {
    if (line.starts_with("#") || line.starts_with("instruction,"))
      continue;
    llvm::SmallVector<llvm::StringRef> fields;
    line.split(fields, ',');
    ASSERT_EQ(fields.size(), 6u) << line.str();
    instructions.insert(fields[0].str());
    if (fields[5] == "-")
      continue;
    Layout outside{bases(fields[2]), bases(fields[3]), {}};
    llvm::SmallVector<llvm::StringRef> records;
    fields[5].split(records, ' ');
    for (llvm::StringRef record : records) {
      const MatrixUnit *unit = findUnit(record);
      ASSERT_TRUE(unit) << record.str() << " is no unit of any chip";
      if (fields[1] == "K")
        ASSERT_TRUE(unit->sparsity) << record.str();
      const UnitOperand &operand = fields[1] == "A"   ? unit->a
                                   : fields[1] == "B" ? unit->b
                                   : fields[1] == "K" ? unit->sparsity->index
                                                      : unit->c;
      ASSERT_EQ(operand.layout.numLanes(), outside.numLanes()) << record.str() << " " << fields[1].str();
      ASSERT_EQ(operand.layout.numElements(), outside.numElements()) << record.str() << " " << fields[1].str();
      for (int64_t lane = 0; lane < outside.numLanes(); ++lane)
        for (int64_t element = 0; element < outside.numElements(); ++element)
          ASSERT_EQ(operand.layout.at(lane, element), outside.at(lane, element))
              << record.str() << " " << fields[1].str() << " lane " << lane << " element " << element;
      double cycles;
      if (!fields[4].getAsDouble(cycles))
        EXPECT_EQ(unit->issue, cycles) << record.str();
      ++compared;
    }
  }
  EXPECT_EQ(instructions.size(), 68u + 29u); // of AMD, of NVIDIA
  EXPECT_GE(compared, 238 + 120 + 48);
}

} // namespace matrix_oracle_test
