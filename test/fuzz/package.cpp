//===- package.cpp - Fuzzes the reader of packages ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The input is a package as it is, where it begins as a zip file does. Else it is
/// what stands in one: the text of `manifest.json`, a zero, and the bytes of a member
/// `m`, which get the checksums that mutations of a whole file never have. All names,
/// artifacts and weights are asked for: an error with a message, or what is there.
/// Code of the host is not loaded, since the dynamic linker is not under test.
///
//===----------------------------------------------------------------------===//

#include "tilewright/tilewright_driver.h"
#include "tilewright/tilewright_runtime.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace {

void append(std::string &file, uint64_t number, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    file.push_back(i < sizeof(number) ? static_cast<char>(number >> 8 * i) : '\0');
}

uint32_t checksum(std::string_view bytes) {
  uint32_t sum = UINT32_MAX;
  for (unsigned char each : bytes) {
    sum ^= each;
    for (int bit = 0; bit < 8; ++bit)
      sum = sum >> 1 ^ (sum & 1 ? 0xedb88320U : 0);
  }
  return ~sum;
}

/// A zip file of two members that are stored as they are.
std::string zipOf(std::string_view manifest, std::string_view member) {
  std::string file, directory;
  for (auto [name, bytes] : {std::pair<std::string_view, std::string_view>("manifest.json", manifest), {"m", member}}) {
    std::string facts; // from the version to the length of the extra field
    append(facts, 20, 2);
    append(facts, 0, 2 + 2 + 4);
    append(facts, checksum(bytes), 4);
    append(facts, bytes.size(), 4);
    append(facts, bytes.size(), 4);
    append(facts, name.size(), 2);
    append(facts, 0, 2);
    directory += "PK\1\2";
    append(directory, 20, 2);
    directory += facts;
    append(directory, 0, 2 + 2 + 2 + 4);
    append(directory, file.size(), 4);
    directory += name;
    file += "PK\3\4" + facts;
    file += name;
    file += bytes;
  }
  size_t at = file.size();
  file += directory + "PK\5\6";
  append(file, 0, 4);
  append(file, 2, 2);
  append(file, 2, 2);
  append(file, directory.size(), 4);
  append(file, at, 4);
  append(file, 0, 2);
  return file;
}

void require(bool holds) {
  if (!holds)
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view input(reinterpret_cast<const char *>(data), size);
  size_t end = std::min(input.find('\0'), input.size());
  std::string file = input.starts_with("PK")
                         ? std::string(input)
                         : zipOf(input.substr(0, end), input.substr(std::min(end + 1, input.size())));
  static int descriptor = memfd_create("package", 0);
  static std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  require(ftruncate(descriptor, 0) == 0 && pwrite(descriptor, file.data(), file.size(), 0) == (ssize_t)file.size());
  tw_package *package = nullptr;
  tw_error error;
  error.message[0] = 0;
  if (tw_package_open(path.c_str(), &package, &error) != TW_OK) {
    require(!package && error.message[0]);
    return 0;
  }
  for (size_t i = 0; i < tw_package_count(package) && i < 8; ++i) {
    const char *name = tw_package_name(package, i);
    for (const char *target : {static_cast<const char *>(nullptr), "acme"}) {
      tw_artifact *artifact = nullptr;
      error.message[0] = 0;
      if (tw_package_artifact(package, name, target, &artifact, &error) != TW_OK) {
        require(!artifact && error.message[0]);
        continue;
      }
      for (size_t p = 0; p < tw_artifact_count(artifact); ++p) {
        const tw_program *program = tw_artifact_at(artifact, p);
        for (size_t argument = 0; argument <= tw_program_arguments(program); ++argument) {
          const char *called = tw_package_argument_name(package, name, program, argument);
          volatile size_t touched = called ? std::strlen(called) : 0;
          const void *weight = nullptr;
          int holds = 0;
          error.message[0] = 0;
          require(tw_package_holds(package, name, program, argument, &holds, &error) == TW_OK || error.message[0]);
          error.message[0] = 0;
          if (tw_package_weight(package, name, program, argument, &weight, &error) != TW_OK)
            require(!weight && error.message[0]);
          else if (weight)
            touched = touched + *static_cast<const unsigned char *>(weight);
        }
      }
      tw_artifact_close(artifact);
    }
  }
  tw_package_close(package);
  return 0;
}
