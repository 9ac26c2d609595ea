//===- HostFamilyTest.cpp - The family of a processor by its features -----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A machine takes the numbers of the family that its features belong to, though
/// its model number, and so LLVM's name of it, says another.
///
//===----------------------------------------------------------------------===//

#include "targets/cpu/Chips.h"
#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

namespace host_family_test {

using namespace tilewright;

namespace {

/// The features of the record `name`, and those of `more`.
llvm::StringMap<bool> featuresOf(llvm::StringRef name, std::initializer_list<llvm::StringRef> more = {}) {
  llvm::StringMap<bool> features;
  for (const ChipTable &chip : cpu::recordedChips())
    if (chip.name == name)
      for (const std::string &feature : chip.features)
        features[feature] = true;
  EXPECT_FALSE(features.empty()) << name.str();
  for (llvm::StringRef feature : more)
    features[feature] = true;
  return features;
}

const llvm::Triple x86("x86_64-unknown-linux-gnu"), arm("aarch64-unknown-linux-gnu");

TEST(HostFamily, FeaturesDecideWhateverTheNameSays) {
  for (llvm::StringRef family :
       {"sapphire-rapids", "granite-rapids", "sapphire-rapids-noamx", "x86-64-v4", "x86-64-v3"})
    EXPECT_EQ(cpu::familyOf("rocketlake", featuresOf(family), x86), family.str());
  for (llvm::StringRef family : {"zen4", "zen5"})
    EXPECT_EQ(cpu::familyOf("haswell", featuresOf(family, {"sse4a"}), x86), family.str());
}

TEST(HostFamily, NamesDecideBetweenFamiliesOfTheSameFeatures) {
  EXPECT_EQ(cpu::familyOf("emeraldrapids", featuresOf("emerald-rapids"), x86), "emerald-rapids");
  EXPECT_EQ(cpu::familyOf("sapphirerapids", featuresOf("emerald-rapids"), x86), "sapphire-rapids-noamx");
}

TEST(HostFamily, WithoutKnownFeaturesTheGenericRecord) {
  EXPECT_EQ(cpu::familyOf("znver4", {}, x86), "x86-64");
  EXPECT_EQ(cpu::familyOf("neoverse-v1", featuresOf("armv8-a"), arm), "armv8-a");
  EXPECT_EQ(cpu::familyOf("generic", featuresOf("neoverse-v1"), arm), "neoverse-v1");
}

TEST(HostFamily, TheHostHasAllFeaturesOfItsUnits) {
  ChipTable host = cpu::detectHost();
  for (const MatrixUnit &unit : host.units)
    for (const std::string &feature : unit.features)
      EXPECT_TRUE(host.hasFeature(feature)) << unit.name << " " << feature;
}

TEST(HostRates, AMeasuredCacheIsNeverLargerThanTheSystemSays) {
  auto lastCacheWith = [](int64_t bytes) -> int64_t {
    ChipTable host = cpu::detectHost();
    auto last = llvm::find_if(host.memories, [](const Memory &m) { return m.kind == MemoryKind::Cache; });
    int64_t before = last->bytes, set = last->lineBytes * last->ways;
    std::string text = "{\"cpu\": \"" + host.cpu + "\", \"memories\": {\"" + last->name +
                       "\": {\"bytes\": " + std::to_string(bytes < 0 ? before + set : bytes) + "}}}";
    llvm::Expected<bool> applied = cpu::applyRates(host, text);
    EXPECT_TRUE(applied && *applied);
    return before - last->bytes;
  };
  ChipTable host = cpu::detectHost();
  auto last = llvm::find_if(host.memories, [](const Memory &m) { return m.kind == MemoryKind::Cache; });
  int64_t set = last->lineBytes * last->ways;
  EXPECT_EQ(lastCacheWith(-1), 0);
  EXPECT_EQ(lastCacheWith(0), 0);
  EXPECT_EQ(lastCacheWith(last->bytes - set), set);
  EXPECT_EQ(lastCacheWith(last->bytes - set + 1), set) << "a part of a set counts";
}

} // namespace

} // namespace host_family_test
