//===- artifact.cpp - Fuzzes the reader of artifacts ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads an artifact and runs every program of it on a host that starts nothing, for a few sizes: an error with a
/// message, or operands that are there.
///
//===----------------------------------------------------------------------===//

#include "tilewright/tilewright_driver.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

int steps = 0;

tw_status start(void *, const tw_start *launch, tw_error *error) {
  volatile size_t touched = std::strlen(launch->kernel);
  for (size_t i = 0; i < launch->num_operands; ++i)
    touched = touched + static_cast<size_t>(launch->operands[i].kind);
  return ++steps < 100 ? TW_OK : tw_fail(error, TW_DEVICE_ERROR, "enough");
}

tw_status read(void *, void *to, const void *, int64_t bytes, tw_error *error) {
  std::memset(to, 0, static_cast<size_t>(bytes));
  return ++steps < 100 ? TW_OK : tw_fail(error, TW_DEVICE_ERROR, "enough");
}

tw_status allocate(void *, int64_t, void **memory, tw_error *error) {
  *memory = std::malloc(1);
  return ++steps < 100 ? TW_OK : (std::free(*memory), tw_fail(error, TW_DEVICE_ERROR, "enough"));
}

void release(void *, void *memory) { std::free(memory); }

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tw_artifact *artifact = nullptr;
  tw_error error;
  error.message[0] = 0;
  if (tw_artifact_parse(data, size, &artifact, &error) != TW_OK) {
    if (artifact || !error.message[0])
      std::abort();
    return 0;
  }
  // Loops may be endless: programs that have one are read and not run.
  bool loops = std::string_view(reinterpret_cast<const char *>(data), size).find("while") != std::string_view::npos;
  for (size_t p = 0; p < tw_artifact_count(artifact) && !loops; ++p) {
    const tw_program *program = tw_artifact_at(artifact, p);
    for (int64_t value : {int64_t(0), int64_t(1), int64_t(1000), INT64_MAX}) {
      std::vector<int64_t> sizes(tw_program_sizes(program), value);
      int64_t bytes = 0;
      (void)tw_program_workspace(program, sizes.data(), &bytes, &error);
      static char memory[1];
      std::vector<void *> pointers(
          tw_program_arguments(program) + tw_program_temporaries(program) + tw_program_constants(program) + 1, memory);
      tw_host host = {nullptr, start, read, allocate, release};
      steps = 0;
      error.message[0] = 0;
      if (tw_program_run(program, sizes.data(), pointers.data(), pointers.data(), pointers.data(), &host, &error) !=
              TW_OK &&
          !error.message[0])
        std::abort();
    }
  }
  tw_artifact_close(artifact);
  return 0;
}
