//===- harness.cpp - The simulated core as functions ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The core of npu_core.sv, run by Verilator, as functions that kernels call. A
/// kernel's control flow and its arithmetic in registers are native code; every
/// access to the chip's memories and every command is given to the RTL and takes
/// the clocks that the RTL takes.
///
//===----------------------------------------------------------------------===//

#include "Vnpu_core.h"
#include "Vnpu_core___024root.h"
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

enum Op : uint8_t { Issue, Load, Store, CopyIn, CopyOut, Multiply, Commit, Wait, Requantize };
constexpr const char *opNames[] = {
    "wait for instructions", "load",          "store", "copy in", "copy out", "multiplication", "end of a group",
    "wait for an engine",    "requantisation"};
enum Engine : uint32_t { In, Array, Out };
constexpr uint64_t firstChipAddress = 0x10000000, globalAddress = 0x100000000;
/// A command that has not been taken after so many clocks, beside those of the instructions before it, never will be.
constexpr uint64_t clockLimit = 10'000'000;

VerilatedContext context;
Vnpu_core *core = nullptr;
/// Words of 64 bytes.
constexpr uint64_t globalWords = sizeof(Vnpu_core___024root::npu_core__DOT__globalMemory) / 64;
uint64_t pendingClocks = 0; // of the core's own instructions, given to the RTL before its next command
int block = 0;
const char *failure = nullptr;

void tick() {
  core->clk = 0;
  core->eval();
  core->clk = 1;
  core->eval();
}

/// Says where the RTL stands still: the command, and what its engines have done so far.
const char *stuckAt(Op op) {
  static char text[512];
  std::snprintf(
      text, sizeof(text),
      "the RTL stands still: it has not taken a command (%s, to %#llx, from %#llx, rows %u, bytes %u, "
      "element %u) within %llu clocks; of %llu clocks copies in were busy %llu, copies out %llu, the array %llu",
      opNames[op], static_cast<unsigned long long>(core->to), static_cast<unsigned long long>(core->from), core->rows,
      core->bytes, core->element, static_cast<unsigned long long>(clockLimit),
      static_cast<unsigned long long>(core->clocks), static_cast<unsigned long long>(core->busyIn),
      static_cast<unsigned long long>(core->busyOut), static_cast<unsigned long long>(core->busyUnit));
  return text;
}

void push(Op op) {
  if (failure) // the kernel goes on to its end, without the RTL
    return;
  const uint64_t limit = clockLimit + (op == Issue ? core->rows : 0);
  core->op = op;
  core->valid = 1;
  for (uint64_t clocks = 0;; ++clocks) {
    tick();
    if (core->done)
      break;
    if (clocks > limit) {
      failure = stuckAt(op);
      break;
    }
  }
  core->valid = 0;
}

/// Gives the RTL the clocks of instructions that came before.
void flush() {
  if (!pendingClocks)
    return;
  core->rows = static_cast<uint32_t>(pendingClocks);
  pendingClocks = 0;
  push(Issue);
}

bool onChip(uint64_t address) { return address >= firstChipAddress && address < globalAddress + 64 * globalWords; }

void copy(Op op, uint64_t to, uint64_t toPitch, uint64_t from, uint64_t fromPitch, uint32_t rows, uint32_t bytes,
          uint32_t element) {
  flush();
  core->to = to;
  core->toPitch = toPitch;
  core->from = from;
  core->fromPitch = fromPitch;
  core->rows = rows;
  core->bytes = bytes;
  core->element = element;
  push(op);
}

void group(Op op, Engine engine, uint32_t pending) {
  flush();
  core->element = engine;
  core->rows = pending;
  if (op == Wait && pending >= 1024)
    failure = "a wait leaves 1024 or more groups unfinished; the RTL remembers 1024";
  else
    push(op);
}

void multiply(uint64_t a, uint64_t aPitch, uint64_t b, uint64_t bPitch, uint64_t c, uint64_t cPitch, bool accumulates,
              bool isFloat) {
  flush();
  core->from = a;
  core->fromPitch = aPitch;
  core->other = b;
  core->otherPitch = bPitch;
  core->to = c;
  core->toPitch = cPitch;
  core->rows = accumulates;
  core->element = isFloat;
  push(Multiply);
}

uint8_t *globalMemory(uint64_t address) {
  return reinterpret_cast<uint8_t *>(&core->rootp->npu_core__DOT__globalMemory[0]) + (address - globalAddress);
}

} // namespace

extern "C" {

// What the server calls.
void npu_begin() {
  core = new Vnpu_core(&context);
  core->reset = 1;
  tick();
}
uint64_t npu_global_bytes() { return 64 * globalWords - 128; }
void npu_write_global(uint64_t address, const void *from, uint64_t bytes) {
  std::memcpy(globalMemory(address), from, bytes);
}
void npu_read_global(void *to, uint64_t address, uint64_t bytes) { std::memcpy(to, globalMemory(address), bytes); }
/// Runs a kernel as core `number`; null, or what went wrong. `counted`: clocks, busy clocks of copies in, of copies out
/// and of the array, and clocks that the core, copies in, copies out and the array waited for a bank.
const char *npu_run(void (*kernel)(const void *), const void *arguments, int number, uint64_t *counted) {
  failure = nullptr;
  block = number;
  pendingClocks = 0;
  core->valid = 0;
  core->reset = 1;
  tick();
  core->reset = 0;
  // What a core has not written is not a number, as a chip's memory holds anything.
  std::memset(&core->rootp->npu_core__DOT__scratchpad[0], 0xff, sizeof(core->rootp->npu_core__DOT__scratchpad));
  std::memset(&core->rootp->npu_core__DOT__accumulator[0], 0xff, sizeof(core->rootp->npu_core__DOT__accumulator));
  kernel(arguments);
  flush();
  counted[0] = core->clocks;
  counted[1] = core->busyIn;
  counted[2] = core->busyOut;
  counted[3] = core->busyUnit;
  counted[4] = core->conflictsCore;
  counted[5] = core->conflictsIn;
  counted[6] = core->conflictsOut;
  counted[7] = core->conflictsUnit;
  if (!failure && core->fault)
    failure = "an address outside the chip's memories, or of a memory that the command does not reach";
  return failure;
}

// What kernels call.
void npu_issue(uint32_t clocks) { pendingClocks += clocks; }
void npu_read(void *to, uint64_t address, uint64_t bytes) {
  if (!onChip(address)) { // constants of the program, which lie in the host's memory
    std::memcpy(to, reinterpret_cast<const void *>(address), bytes);
    pendingClocks += (bytes + 63) / 64;
    return;
  }
  flush();
  for (uint64_t at = 0; at < bytes; at += 64) {
    uint64_t size = std::min<uint64_t>(64, bytes - at);
    core->to = address + at;
    core->bytes = static_cast<uint32_t>(size);
    push(Load);
    std::memcpy(static_cast<char *>(to) + at, &core->result, size);
  }
}
void npu_write(uint64_t address, const void *from, uint64_t bytes) {
  if (!onChip(address)) { // a place on the core's stack
    std::memcpy(reinterpret_cast<void *>(address), from, bytes);
    pendingClocks += (bytes + 63) / 64;
    return;
  }
  flush();
  for (uint64_t at = 0; at < bytes; at += 64) {
    uint64_t size = std::min<uint64_t>(64, bytes - at);
    core->to = address + at;
    core->bytes = static_cast<uint32_t>(size);
    std::memcpy(&core->data0, static_cast<const char *>(from) + at, size);
    push(Store);
  }
}
/// Elements of a vector that a mask chooses, each at an address of its own, or one after the other (`together`).
void npu_masked_read(char *data, const uint64_t *at, const uint8_t *mask, uint32_t count, uint32_t bytes,
                     uint32_t together) {
  for (uint32_t i = 0; i < count; ++i)
    if (mask[i])
      npu_read(data + uint64_t(i) * bytes, together ? *at + uint64_t(i) * bytes : at[i], bytes);
}
void npu_masked_write(const char *data, const uint64_t *at, const uint8_t *mask, uint32_t count, uint32_t bytes,
                      uint32_t together) {
  for (uint32_t i = 0; i < count; ++i)
    if (mask[i])
      npu_write(together ? *at + uint64_t(i) * bytes : at[i], data + uint64_t(i) * bytes, bytes);
}
void npu_requantize(void *to, const void *from, const void *scale, const void *zeroPoint, uint32_t elements,
                    uint32_t isFloat) {
  flush();
  for (uint32_t at = 0; at < elements; at += 16) {
    uint32_t count = std::min(16u, elements - at);
    std::memcpy(&core->data0, static_cast<const char *>(from) + 4 * at, 4 * count);
    std::memcpy(&core->data1, static_cast<const char *>(scale) + 4 * at, 4 * count);
    std::memcpy(&core->data2, static_cast<const char *>(zeroPoint) + 4 * at, 4 * count);
    core->element = isFloat;
    push(Requantize);
    std::memcpy(static_cast<char *>(to) + at, &core->result, count);
  }
}

int32_t npu_block_x() { return block; }
void npu_copy_2d(uint64_t to, uint64_t toPitch, uint64_t from, uint64_t fromPitch, uint32_t rows, uint32_t bytes) {
  copy(CopyIn, to, toPitch, from, fromPitch, rows, bytes, 0);
}
void npu_store_2d(uint64_t to, uint64_t toPitch, uint64_t from, uint64_t fromPitch, uint32_t rows, uint32_t bytes) {
  copy(CopyOut, to, toPitch, from, fromPitch, rows, bytes, 0);
}
void npu_commit_copy() { group(Commit, In, 0); }
void npu_commit_unit() { group(Commit, Array, 0); }
void npu_commit_store() { group(Commit, Out, 0); }
void npu_wait_copy(uint32_t pending) { group(Wait, In, pending); }
void npu_wait_unit(uint32_t pending) { group(Wait, Array, pending); }
void npu_wait_store(uint32_t pending) { group(Wait, Out, pending); }
void npu_systolic_i8(uint64_t a, uint64_t aPitch, uint64_t b, uint64_t bPitch, uint64_t c, uint64_t cPitch,
                     uint8_t use) {
  multiply(a, aPitch, b, bPitch, c, cPitch, use & 1, false);
}
void npu_systolic_bf16(uint64_t a, uint64_t aPitch, uint64_t b, uint64_t bPitch, uint64_t c, uint64_t cPitch,
                       uint8_t use) {
  multiply(a, aPitch, b, bPitch, c, cPitch, use & 1, true);
}
}
