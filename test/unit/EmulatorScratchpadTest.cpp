//===- EmulatorScratchpadTest.cpp - A core with a scratchpad, a DMA engine and a systolic unit ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The third kind of chip: lanes are cores, engines have clocks. A product with
/// two buffers, copies under the unit's work; exact in every mode, with the
/// engines' cycles, and with each wait removed in turn.
///
//===----------------------------------------------------------------------===//

#include "EmulatorFixture.h"

#include <set>

namespace emulator_scratchpad_test {

using namespace tilewright;
using namespace tilewright::test;

namespace {

constexpr int64_t m = 64, n = 64, k = 128, coreCount = 2, step = 16;

/// 16 x 16 x 16 of i8 on a scratchpad, i32 in an accumulator memory; B stays in the array, whose queue has so many
/// places.
std::shared_ptr<const TargetDescription> npu(int64_t queueDepth = 0, int64_t cores = coreCount) {
  MatrixUnit unit;
  unit.name = "test.systolic";
  unit.m = unit.n = unit.k = 16;
  for (UnitOperand *operand : {&unit.a, &unit.b, &unit.c}) {
    operand->rows = operand->cols = 16;
    operand->element = ElementKind::I8;
    operand->residence = Residence::Scratchpad;
    operand->memory = "scratchpad";
    operand->layout = rowMajorLayout(16, 16);
  }
  unit.c.element = ElementKind::I32;
  unit.c.residence = Residence::Accumulator;
  unit.c.memory = "accumulator";
  unit.issue = 16;
  unit.latency = 48;
  unit.init = UnitInit::ZeroFlag;
  unit.completion = Completion::WaitGroup;
  unit.stationary = 'B';
  unit.loadStationary = 16;
  unit.queueDepth = queueDepth;
  ChipTable table;
  table.name = "npu";
  table.levels = {{"core", LevelKind::Parallel, cores}};
  table.memories = {memoryOf("global", MemoryKind::Global, int64_t(1) << 30),
                    memoryOf("scratchpad", MemoryKind::Scratchpad, 64 << 10, 4, 16),
                    memoryOf("accumulator", MemoryKind::Accumulator, 32 << 10)};
  table.memories.front().sectorBytes = 32;
  CopyEngine in, out;
  in.name = "in";
  in.from = "global";
  in.to = "scratchpad";
  in.alignBytes = 16;
  in.bytesPerClock = 16;
  in.latency = 40;
  out = in;
  out.name = "out";
  out.from = "accumulator";
  out.to = "global";
  table.copies = {in, out};
  table.units = {unit};
  return std::make_shared<TableDescription>("test", std::move(table));
}

/// The tile's loop over k: wait for the copy, wait for the unit, start the next copy, start the unit.
std::string kernelText() {
  std::string units;
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 4; ++i) {
      std::string id = std::to_string(i) + std::to_string(j);
      units += "  %a" + id + " = llvm.getelementptr %bufA[" + std::to_string(i * 16 * 16) +
               "] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n";
      units += "  %b" + id + " = llvm.getelementptr %bufB[" + std::to_string(j * 16) +
               "] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n";
      units += "  %c" + id + " = llvm.getelementptr %acc[" + std::to_string(i * 16 * 64 + j * 16) +
               "] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32\n";
      units += "  llvm.call @tilewright.unit.test.systolic(%a" + id + ", %l16, %b" + id + ", %l64, %c" + id +
               ", %l256, %useC) : (!llvm.ptr<3>, i64, !llvm.ptr<3>, i64, !llvm.ptr<3>, i64, i1) -> ()\n";
    }
  }
  auto copies = [](const std::string &tag, const std::string &step) {
    // A: 64 rows of 16 bytes, B: 16 rows of 64 bytes, both into the buffer of step mod 2.
    return "  %odd" + tag + " = llvm.and " + step + ", %l1 : i64\n" +      //
           "  %at" + tag + " = llvm.mul %odd" + tag + ", %l2048 : i64\n" + //
           "  %toA" + tag + " = llvm.getelementptr %buffers[%at" + tag +
           "] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8\n" + //
           "  %toB" + tag + " = llvm.getelementptr %toA" + tag + "[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n" +
           "  %ka" + tag + " = llvm.mul " + step + ", %l16 : i64\n" + //
           "  %fromA" + tag + " = llvm.getelementptr %A[%ka" + tag + "] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8\n" +
           "  %kb" + tag + " = llvm.mul %ka" + tag + ", %pitchB : i64\n" + //
           "  %kbc" + tag + " = llvm.add %kb" + tag + ", %col : i64\n" +   //
           "  %fromB" + tag + " = llvm.getelementptr %B[%kbc" + tag + "] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8\n" +
           "  llvm.call @tilewright.primitive.copy_2d(%toA" + tag + ", %l16, %fromA" + tag +
           ", %pitchA, %i64rows, %i16) : (!llvm.ptr<3>, i64, !llvm.ptr<1>, i64, i32, i32) -> ()\n" +
           "  llvm.call @tilewright.primitive.copy_2d(%toB" + tag + ", %l64, %fromB" + tag +
           ", %pitchB, %i16, %i64rows) : (!llvm.ptr<3>, i64, !llvm.ptr<1>, i64, i32, i32) -> ()\n" +
           "  llvm.call @tilewright.primitive.commit_copy() : () -> ()\n";
  };
  return R"(
llvm.mlir.global internal @buffers() {addr_space = 3 : i32, alignment = 64 : i64} : !llvm.array<4096 x i8>
llvm.mlir.global internal @accumulators() {addr_space = 3 : i32, alignment = 64 : i64} : !llvm.array<4096 x i32>
llvm.func @tilewright.primitive.block_x() -> i32
llvm.func @tilewright.primitive.copy_2d(!llvm.ptr<3>, i64, !llvm.ptr<1>, i64, i32, i32)
llvm.func @tilewright.primitive.store_2d(!llvm.ptr<1>, i64, !llvm.ptr<3>, i64, i32, i32)
llvm.func @tilewright.primitive.commit_copy()
llvm.func @tilewright.primitive.wait_copy(i32)
llvm.func @tilewright.primitive.commit_unit()
llvm.func @tilewright.primitive.wait_unit(i32)
llvm.func @tilewright.primitive.commit_store()
llvm.func @tilewright.primitive.wait_store(i32)
llvm.func @tilewright.unit.test.systolic(!llvm.ptr<3>, i64, !llvm.ptr<3>, i64, !llvm.ptr<3>, i64, i1)
llvm.func @gemm(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>, %C: !llvm.ptr<1>) attributes {tilewright.kernel} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %i16 = llvm.mlir.constant(16 : i32) : i32
  %i64rows = llvm.mlir.constant(64 : i32) : i32
  %i256 = llvm.mlir.constant(256 : i32) : i32
  %l0 = llvm.mlir.constant(0 : i64) : i64
  %l1 = llvm.mlir.constant(1 : i64) : i64
  %l16 = llvm.mlir.constant(16 : i64) : i64
  %l64 = llvm.mlir.constant(64 : i64) : i64
  %l256 = llvm.mlir.constant(256 : i64) : i64
  %l2048 = llvm.mlir.constant(2048 : i64) : i64
  %steps = llvm.mlir.constant(8 : i64) : i64
  %pitchA = llvm.mlir.constant(128 : i64) : i64
  %pitchB = llvm.mlir.constant(128 : i64) : i64
  %pitchC = llvm.mlir.constant(512 : i64) : i64
  %buffers = llvm.mlir.addressof @buffers : !llvm.ptr<3>
  %acc = llvm.mlir.addressof @accumulators : !llvm.ptr<3>
  %core = llvm.call @tilewright.primitive.block_x() : () -> i32
  %wide = llvm.zext %core : i32 to i64
  %col = llvm.mul %wide, %l64 : i64
)" + copies("p", "%l0") +
         R"(  llvm.br ^loop(%l0 : i64)
^loop(%s: i64):
  llvm.call @tilewright.primitive.wait_copy(%zero) : (i32) -> ()
  llvm.call @tilewright.primitive.wait_unit(%zero) : (i32) -> ()
  %next = llvm.add %s, %l1 : i64
  %more = llvm.icmp "slt" %next, %steps : i64
  llvm.cond_br %more, ^prefetch, ^compute
^prefetch:
)" + copies("n", "%next") +
         R"(  llvm.br ^compute
^compute:
  %odd = llvm.and %s, %l1 : i64
  %at = llvm.mul %odd, %l2048 : i64
  %bufA = llvm.getelementptr %buffers[%at] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
  %bufB = llvm.getelementptr %bufA[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %useC = llvm.icmp "ne" %s, %l0 : i64
)" + units +
         R"(  llvm.call @tilewright.primitive.commit_unit() : () -> ()
  llvm.cond_br %more, ^loop(%next : i64), ^leave
^leave:
  llvm.call @tilewright.primitive.wait_unit(%zero) : (i32) -> ()
  %to = llvm.getelementptr %C[%col] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
  llvm.call @tilewright.primitive.store_2d(%to, %pitchC, %acc, %l256, %i64rows, %i256)
    : (!llvm.ptr<1>, i64, !llvm.ptr<3>, i64, i32, i32) -> ()
  llvm.call @tilewright.primitive.commit_store() : () -> ()
  llvm.call @tilewright.primitive.wait_store(%zero) : (i32) -> ()
  llvm.return
})";
}

/// Number of wrong elements.
int run(Emulator &device) {
  const int64_t columns = n * coreCount;
  std::vector<int8_t> a(m * k), b(k * columns);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = int8_t(i * 37 % 251 - 125);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = int8_t(i * 53 % 241 - 120);
  void *deviceA = upload(device, a), *deviceB = upload(device, b), *deviceC = blank(device, m * columns * 4);
  launch(device, {"gemm", {coreCount, 1, 1}, {1, 1, 1}}, {deviceA, deviceB, deviceC});
  std::vector<int32_t> c = download<int32_t>(device, deviceC, m * columns);
  int wrong = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      int32_t expected = 0;
      for (int64_t kk = 0; kk < k; ++kk)
        expected += a[i * k + kk] * b[kk * columns + j];
      wrong += c[i * columns + j] != expected;
    }
  }
  return wrong;
}

} // namespace

TEST(EmulatorScratchpad, IsExactAndCleanInEveryMode) {
  auto kernels = compileKernels(kernelText(), npu());
  ASSERT_TRUE(kernels);
  EXPECT_EQ(kernels->engines(), 7u); // all three
  EXPECT_EQ(allModes(kernels->engines()).size(), 16u);
  std::vector<Finding> findings;
  auto found = inAllModes(kernels, [](Emulator &device) { EXPECT_EQ(run(device), 0) << device.mode.str(); }, &findings);
  EXPECT_TRUE(found.empty()) << findings.front().str();
}

TEST(EmulatorScratchpad, CountsTheCyclesOfEachEngine) {
  Emulator device(compileKernels(kernelText(), npu()));
  run(device);
  KernelCounters counters = device.counters().front();
  ASSERT_EQ(counters.units.size(), 1u);
  const uint64_t steps = k / step, issues = coreCount * steps * 16;
  EXPECT_EQ(counters.units[0].issues, issues);
  auto engine = [&](const std::string &name) {
    for (const EngineCounters &one : counters.engines)
      if (one.engine == name)
        return one;
    return EngineCounters();
  };
  // 16 clocks an instruction, and 16 for each of the 4 tiles of B that the array takes in a step; beside these it waits
  // where a copy holds the bank of its next row.
  const double own = issues * 16.0 + coreCount * steps * 4 * 16.0;
  EXPECT_GT(engine("unit").busyCycles, own);
  EXPECT_LT(engine("unit").busyCycles, 1.1 * own);
  // Two tiles of 1 KiB a step at 16 bytes a clock after 40 clocks.
  EXPECT_EQ(engine("copy").busyCycles, coreCount * steps * 2 * (40.0 + 1024 / 16));
  EXPECT_EQ(engine("copy").bytes, coreCount * steps * 2048u);
  EXPECT_EQ(engine("store").busyCycles, coreCount * (40.0 + 16384 / 16));
  EXPECT_GT(engine("core").busyCycles, 0);
  // Copies run under the unit's work: less than one after the other, more than the busiest engine.
  double sum = engine("unit").busyCycles + engine("copy").busyCycles + engine("store").busyCycles;
  EXPECT_LT(counters.cycles, 0.85 * sum);
  EXPECT_GE(counters.cycles, engine("unit").busyCycles + engine("store").busyCycles);
}

TEST(EmulatorScratchpad, CountsTheCyclesOfTheSlowestCore) {
  // Cores copy 1, 4, 3 and 2 tiles, each after the one before.
  constexpr int64_t many = 4;
  Emulator device(compileKernels(R"(
llvm.mlir.global internal @buffer() {addr_space = 3 : i32, alignment = 64 : i64} : !llvm.array<1024 x i8>
llvm.func @tilewright.primitive.block_x() -> i32
llvm.func @tilewright.primitive.copy_2d(!llvm.ptr<3>, i64, !llvm.ptr<1>, i64, i32, i32)
llvm.func @tilewright.primitive.commit_copy()
llvm.func @tilewright.primitive.wait_copy(i32)
llvm.func @unequal(%A: !llvm.ptr<1>) attributes {tilewright.kernel} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %three = llvm.mlir.constant(3 : i32) : i32
  %cores = llvm.mlir.constant(4 : i32) : i32
  %size = llvm.mlir.constant(32 : i32) : i32
  %pitch = llvm.mlir.constant(32 : i64) : i64
  %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
  %core = llvm.call @tilewright.primitive.block_x() : () -> i32
  %times = llvm.mul %core, %three : i32
  %more = llvm.urem %times, %cores : i32
  llvm.br ^loop(%zero : i32)
^loop(%i: i32):
  llvm.call @tilewright.primitive.copy_2d(%buffer, %pitch, %A, %pitch, %size, %size)
    : (!llvm.ptr<3>, i64, !llvm.ptr<1>, i64, i32, i32) -> ()
  llvm.call @tilewright.primitive.commit_copy() : () -> ()
  llvm.call @tilewright.primitive.wait_copy(%zero) : (i32) -> ()
  %next = llvm.add %i, %one : i32
  %again = llvm.icmp "sle" %next, %more : i32
  llvm.cond_br %again, ^loop(%next : i32), ^leave
^leave:
  llvm.return
})",
                                 npu(/*queueDepth=*/0, many)));
  device.tracing = true;
  void *array = upload(device, std::vector<int8_t>(1024));
  launch(device, {"unequal", {many, 1, 1}, {1, 1, 1}}, {array});
  std::map<uint64_t, double> ends;
  for (const TraceEvent &event : device.trace())
    ends[event.block] = std::max(ends[event.block], event.begin + event.cycles);
  ASSERT_EQ(ends.size(), size_t(many));
  const double copy = 40.0 + 1024 / 16;
  EXPECT_GE(ends[1], ends[2] + copy);
  EXPECT_GE(ends[2], ends[3] + copy);
  EXPECT_GE(ends[3], ends[0] + copy);
  KernelCounters counters = device.counters().front();
  EXPECT_EQ(counters.slowestBlockCycles, ends[1]);
  EXPECT_EQ(counters.cycles, ends[0] + ends[1] + ends[2] + ends[3]);
  // Those of launches add up.
  launch(device, {"unequal", {many, 1, 1}, {1, 1, 1}}, {array});
  EXPECT_EQ(device.counters().front().slowestBlockCycles, 2 * ends[1]);
}

TEST(EmulatorScratchpad, TheCoreWaitsWhereTheUnitsQueueIsFull) {
  // Twelve instructions, then a store: its first clock says when the core had given all of its commands.
  const int commands = 12;
  std::string text = R"(
llvm.mlir.global internal @buffers() {addr_space = 3 : i32, alignment = 64 : i64} : !llvm.array<4096 x i8>
llvm.mlir.global internal @accumulators() {addr_space = 3 : i32, alignment = 64 : i64} : !llvm.array<4096 x i32>
llvm.func @tilewright.primitive.store_2d(!llvm.ptr<1>, i64, !llvm.ptr<3>, i64, i32, i32)
llvm.func @tilewright.primitive.commit_unit()
llvm.func @tilewright.primitive.wait_unit(i32)
llvm.func @tilewright.primitive.commit_store()
llvm.func @tilewright.primitive.wait_store(i32)
llvm.func @tilewright.unit.test.systolic(!llvm.ptr<3>, i64, !llvm.ptr<3>, i64, !llvm.ptr<3>, i64, i1)
llvm.func @fill(%to: !llvm.ptr<1>) attributes {tilewright.kernel} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %bytes = llvm.mlir.constant(16 : i32) : i32
  %pitch = llvm.mlir.constant(16 : i64) : i64
  %pitchC = llvm.mlir.constant(64 : i64) : i64
  %useC = llvm.mlir.constant(false) : i1
  %a = llvm.mlir.addressof @buffers : !llvm.ptr<3>
  %b = llvm.getelementptr %a[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %other = llvm.getelementptr %a[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %c = llvm.mlir.addressof @accumulators : !llvm.ptr<3>
)";
  for (int i = 0; i < commands; ++i)
    text += "  llvm.call @tilewright.unit.test.systolic(%a, %pitch, %b, %pitch, %c, %pitchC, %useC) : (!llvm.ptr<3>, "
            "i64, !llvm.ptr<3>, i64, !llvm.ptr<3>, i64, i1) -> ()\n";
  text += R"(  llvm.call @tilewright.primitive.commit_unit() : () -> ()
  llvm.call @tilewright.primitive.store_2d(%to, %pitch, %other, %pitch, %one, %bytes)
    : (!llvm.ptr<1>, i64, !llvm.ptr<3>, i64, i32, i32) -> ()
  llvm.call @tilewright.primitive.commit_store() : () -> ()
  llvm.call @tilewright.primitive.wait_unit(%zero) : (i32) -> ()
  llvm.call @tilewright.primitive.wait_store(%zero) : (i32) -> ()
  llvm.return
})";
  for (int64_t depth : {0, 1, 4, 11, 12, 100}) {
    Emulator device(compileKernels(text, npu(depth)));
    device.tracing = true;
    launch(device, {"fill", {1, 1, 1}, {1, 1, 1}}, {blank(device, 64)});
    double begin = -1, unitEnd = 0;
    for (const TraceEvent &event : device.trace()) {
      if (event.engine == "store")
        begin = event.begin;
      if (event.engine == "unit")
        unitEnd = std::max(unitEnd, event.begin + event.cycles);
    }
    // B comes in once; the last command is taken when 12 - depth have left. The core's own instructions are few.
    const double waits = depth && depth < commands ? 16 + 16.0 * double(commands - depth) : 0;
    EXPECT_GE(begin, waits) << depth;
    EXPECT_LE(begin, waits + 2 * commands) << depth;
    EXPECT_NEAR(unitEnd, 16 + 16 * commands, 2 * commands) << depth; // a queue makes the unit no slower
  }
  // What is computed is the same.
  Emulator device(compileKernels(kernelText(), npu(1)));
  EXPECT_EQ(run(device), 0);
}

TEST(EmulatorScratchpad, TracesEnginesOverTime) {
  Emulator device(compileKernels(kernelText(), npu()));
  device.tracing = true;
  run(device);
  KernelCounters counters = device.counters().front();
  for (const EngineCounters &engine : counters.engines) {
    double busy = 0;
    std::map<uint64_t, double> end; // of each core: one command at a time
    for (const TraceEvent &event : device.trace()) {
      if (event.engine != engine.engine)
        continue;
      EXPECT_GE(event.begin, end[event.block]) << engine.engine;
      end[event.block] = event.begin + event.cycles;
      busy += event.cycles;
    }
    EXPECT_EQ(busy, engine.busyCycles) << engine.engine;
    EXPECT_EQ(end.size(), uint64_t(coreCount)) << engine.engine;
  }
  // A second launch stands behind the first.
  size_t first = device.trace().size();
  double most = 0;
  for (const TraceEvent &event : device.trace())
    most = std::max(most, event.begin + event.cycles);
  run(device);
  ASSERT_EQ(device.trace().size(), 2 * first);
  for (const TraceEvent &event : llvm::ArrayRef(device.trace()).drop_front(first))
    EXPECT_GE(event.begin, most);
  // In microseconds, with a name for each core and engine, and for the waits of cores that wait.
  std::set<uint64_t> waiting;
  for (const TraceEvent &event : device.trace())
    if (event.engine == "wait")
      waiting.insert(event.block);
  EXPECT_FALSE(waiting.empty());
  llvm::json::Object trace = chromeTrace(device.trace(), /*clockMHz=*/100);
  const llvm::json::Array &events = *trace.getArray("traceEvents");
  EXPECT_EQ(events.size(), 2 * first + coreCount * (1 + counters.engines.size()) + waiting.size());
  double last = 0;
  for (const llvm::json::Value &event : events)
    if (event.getAsObject()->getString("ph") == "X")
      last = std::max(last, *event.getAsObject()->getNumber("ts") + *event.getAsObject()->getNumber("dur"));
  EXPECT_NEAR(last, 2 * most / 100, 1e-6);
}

TEST(EmulatorScratchpad, EachRemovedWaitIsFound) {
  const std::string text = kernelText(), wait = std::string(primitiveCall) + "wait_";
  ASSERT_EQ(countOf(text, wait), 4);
  for (int i = 0; i < 4; ++i) {
    auto kernels = compileKernels(without(text, wait, i), npu());
    auto found = inAllModes(kernels, [](Emulator &device) { run(device); });
    EXPECT_FALSE(found.empty()) << "wait " << i;
    for (auto [kind, modes] : found)
      EXPECT_EQ(modes, 16) << findingName(kind).str();
  }
}

} // namespace emulator_scratchpad_test
