//===- MeasureMemory.cpp - What memories give and cost --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams over buffers that fit each memory, chases of pointers over lines and
// over pages, and many independent misses at once.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/MeasureBench.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <thread>

using namespace tilewright;
using namespace tilewright::cpu;

/// The median of some samples. What memory that others use too takes: its best is a moment in which they did not.
static double median(unsigned samples, llvm::function_ref<double()> sample) {
  std::vector<double> values;
  for (unsigned i = 0; i < samples; ++i)
    values.push_back(sample());
  llvm::sort(values);
  return values[values.size() / 2];
}

/// The least of some samples: what a latency is while nobody else wants the memory. What others take of bandwidths is
/// `streamShare`.
static double least(unsigned samples, llvm::function_ref<double()> sample) {
  double best = INFINITY;
  for (unsigned i = 0; i < samples; ++i)
    best = std::min(best, sample());
  return best;
}

/// One pass after another over the first `bytes`, four registers an iteration.
static llvm::Expected<Loop> compileStream(Bench &bench, int64_t registerBytes, int64_t bytes, Stream kind,
                                          int64_t offsetBytes = 0) {
  llvm::Type *type = vectorType(ElementKind::I32, registerBytes / 4, bench.context());
  int64_t step = registerBytes * 4, mask = bytes / step;
  return bench.compile(
      type, 1, [&](llvm::IRBuilder<> &b, llvm::Value *buffer, llvm::Value *index, auto &accumulators, auto &next) {
        llvm::Value *offset = b.CreateMul(b.CreateAnd(index, b.getInt64(mask - 1)), b.getInt64(step));
        for (int64_t i = 0; i < 4; ++i) {
          llvm::Value *place =
              b.CreateGEP(b.getInt8Ty(), buffer, b.CreateAdd(offset, b.getInt64(i * registerBytes + offsetBytes)));
          if (kind == Stream::Read) {
            b.CreateAlignedLoad(type, place, llvm::Align(offsetBytes ? offsetBytes : registerBytes),
                                /*isVolatile=*/true);
            continue;
          }
          llvm::StoreInst *store = b.CreateAlignedStore(accumulators[0], place, llvm::Align(registerBytes));
          if (kind == Stream::StreamingWrite)
            store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                               llvm::MDNode::get(b.getContext(), llvm::ConstantAsMetadata::get(b.getInt32(1))));
        }
        next.push_back(accumulators[0]);
      });
}

llvm::Expected<double> cpu::streamRate(Bench &bench, int64_t registerBytes, int64_t bytes, Stream kind) {
  auto loop = compileStream(bench, registerBytes, bytes, kind);
  if (!loop)
    return loop.takeError();
  int64_t passes = std::max<int64_t>(2, (int64_t(64) << 20) / bytes);
  int64_t step = registerBytes * 4, count = bytes / step * passes;
  return double(count * step) / bench.clocks(*loop, bench.buffer, count);
}

/// A load that depends on the last.
static llvm::Expected<Loop> compileChase(Bench &bench) {
  llvm::Type *pointer = llvm::PointerType::get(bench.context(), 0);
  return bench.compile(pointer, 1,
                       [&](llvm::IRBuilder<> &b, llvm::Value *, llvm::Value *, auto &accumulators, auto &next) {
                         next.push_back(b.CreateLoad(pointer, accumulators[0], /*isVolatile=*/true));
                       });
}

/// Clocks of one load of `chase` over `count` lines that are `stride` bytes apart, in random order.
static double chaseClocks(Bench &bench, Loop chase, void *buffer, int64_t count, int64_t stride, int64_t lineBytes,
                          int64_t pageBytes = 4096) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(1);
  std::shuffle(order.begin() + 1, order.end(), random); // the chase starts at the first line
  // On each page another line, so that all sets of the caches are used.
  auto place = [&](int64_t i) {
    int64_t number = order[i % count];
    return static_cast<char *>(buffer) + number * stride + number * lineBytes % std::min(stride, pageBytes);
  };
  // Short samples: where other programs take turns on this core, some are not interrupted, and find what they just
  // wrote.
  int64_t steps = std::clamp<int64_t>(count, 20000, 300000);
  double time = least(25, [&] {
    for (int64_t i = 0; i < count; ++i) // anew each time: the loop's end overwrites the first line
      *reinterpret_cast<void **>(place(i)) = place(i + 1);
    return seconds(chase, buffer, steps);
  });
  return time * bench.hertz / double(steps);
}

llvm::Expected<double> cpu::loadLatency(Bench &bench, int64_t bytes, int64_t lineBytes) {
  auto chase = compileChase(bench);
  if (!chase)
    return chase.takeError();
  return chaseClocks(bench, *chase, bench.buffer, bytes / lineBytes, lineBytes, lineBytes);
}

/// Clocks of one of many independent loads from (stores to) `count` lines in random order, `stride` bytes apart and,
/// where that is a page, on each page another line. `count` and `stride` are powers of two.
static llvm::Expected<double> scatteredClocks(Bench &bench, void *buffer, int64_t count, int64_t stride,
                                              int64_t lineBytes, bool stores) {
  constexpr int64_t perIteration = 4, iterations = 200000;
  unsigned shift = 64 - llvm::Log2_64(count);
  llvm::Type *word = llvm::Type::getInt64Ty(bench.context());
  auto loop = bench.compile(
      word, 1, [&](llvm::IRBuilder<> &b, llvm::Value *start, llvm::Value *index, auto &accumulators, auto &next) {
        for (int64_t i = 0; i < perIteration; ++i) {
          // A counter hashed twice: after one product each line would follow its neighbour at a distance that
          // prefetchers learn.
          llvm::Value *number = b.CreateAdd(b.CreateMul(index, b.getInt64(perIteration)), b.getInt64(i));
          llvm::Value *mixed = b.CreateMul(number, b.getInt64(0x9e3779b97f4a7c15));
          mixed = b.CreateMul(b.CreateXor(mixed, b.CreateLShr(mixed, 29)), b.getInt64(0xbf58476d1ce4e5b9));
          llvm::Value *line = b.CreateLShr(mixed, shift);
          llvm::Value *within = b.CreateAnd(b.CreateMul(line, b.getInt64(lineBytes)), b.getInt64(stride - 1));
          llvm::Value *offset = b.CreateAdd(b.CreateMul(line, b.getInt64(stride)), within);
          llvm::Value *place = b.CreateGEP(b.getInt8Ty(), start, offset);
          if (stores)
            b.CreateStore(number, place, /*isVolatile=*/true);
          else
            b.CreateLoad(word, place, /*isVolatile=*/true);
        }
        next.push_back(accumulators[0]);
      });
  if (!loop)
    return loop.takeError();
  double time = least(9, [&] { return seconds(*loop, buffer, iterations); });
  return time * bench.hertz / (iterations * perIteration);
}

llvm::Expected<double> cpu::missClocks(Bench &bench, int64_t bytes, int64_t lineBytes, bool stores) {
  return scatteredClocks(bench, bench.buffer, bytes / lineBytes, lineBytes, lineBytes, stores);
}

/// Clocks of one line, prefetched or loaded, of `rows` rows of 64 lines that are walked together, `run` lines of each
/// at a time; after them come other rows, until `bytes` are through. All numbers are powers of two.
static llvm::Expected<double> columnClocks(Bench &bench, int64_t bytes, int64_t lineBytes, int64_t rows, int64_t run,
                                           bool prefetch = true) {
  constexpr int64_t rowLines = 64, apart = 4; // lines between rows, so that all sets of the caches are reached
  int64_t stride = (rowLines + apart) * lineBytes, blocks = std::max<int64_t>(bytes / (rows * rowLines * lineBytes), 1);
  int64_t count = blocks * rows * rowLines;
  llvm::Type *word = llvm::Type::getInt64Ty(bench.context());
  auto loop = bench.compile(
      word, 1, [&](llvm::IRBuilder<> &b, llvm::Value *buffer, llvm::Value *index, auto &accumulators, auto &next) {
        llvm::Value *rest = index;
        auto digit = [&](int64_t radix, int64_t scale) {
          llvm::Value *value = b.CreateAnd(rest, b.getInt64(radix - 1));
          rest = b.CreateLShr(rest, llvm::Log2_64(radix));
          return b.CreateMul(value, b.getInt64(scale));
        };
        llvm::Value *line = digit(run, lineBytes), *row = digit(rows, stride);
        llvm::Value *column = digit(rowLines / run, run * lineBytes),
                    *block = b.CreateMul(rest, b.getInt64(rows * stride));
        llvm::Value *offset = b.CreateAdd(b.CreateAdd(line, row), b.CreateAdd(column, block));
        llvm::Value *place = b.CreateGEP(b.getInt8Ty(), buffer, offset);
        if (prefetch)
          b.CreateIntrinsic(llvm::Intrinsic::prefetch, {place->getType()},
                            {place, b.getInt32(0), b.getInt32(2), b.getInt32(1)});
        else
          b.CreateLoad(word, place, /*isVolatile=*/true);
        next.push_back(accumulators[0]);
      });
  if (!loop)
    return loop.takeError();
  double time = least(9, [&] { return seconds(*loop, bench.buffer, count); });
  return time * bench.hertz / double(count);
}

llvm::Expected<Prefetchers> cpu::measurePrefetchers(Bench &bench, int64_t bytes, int64_t lineBytes) {
  constexpr int64_t few = 8, many = 1024;
  auto followed = columnClocks(bench, bytes, lineBytes, few, 1);
  if (!followed)
    return followed.takeError();
  auto alone = columnClocks(bench, bytes, lineBytes, many, 1);
  if (!alone)
    return alone.takeError();
  auto inRuns = columnClocks(bench, bytes, lineBytes, many, 16);
  if (!inRuns)
    return inRuns.takeError();
  auto loaded = columnClocks(bench, bytes, lineBytes, few, 1, /*prefetch=*/false);
  if (!loaded)
    return loaded.takeError();
  Prefetchers found{double(few), std::max(1.0, *alone / *inRuns), std::min(1.0, *followed / *loaded)};
  for (int64_t rows = 2 * few; rows < many; rows *= 2) {
    auto clocks = columnClocks(bench, bytes, lineBytes, rows, 1);
    if (!clocks)
      return clocks.takeError();
    if (*clocks > std::sqrt(*followed * *alone))
      break;
    found.streams = double(rows);
  }
  return found;
}

llvm::Expected<Translations> cpu::measureTranslations(Bench &bench, int64_t pageBytes, int64_t lineBytes) {
  constexpr int64_t mostPages = 8192, known = 16, distance = 4; // pages from one to the next
  int64_t bytes = distance * mostPages * pageBytes;
  void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    return llvm::createStringError("no memory for the pages of the measurement");
  auto unmap = llvm::make_scope_exit([&] { munmap(pages, bytes); });
#ifdef MADV_NOHUGEPAGE
  madvise(pages, bytes, MADV_NOHUGEPAGE);
#endif
  memset(pages, 0, bytes);
  auto chase = compileChase(bench);
  if (!chase)
    return chase.takeError();
  // What the same number of lines costs where they lie side by side is the caches' part.
  using Costs = std::vector<std::pair<int64_t, double>>;
  auto costsAt = [&](int64_t stride) {
    Costs costs;
    for (int64_t power = known; power <= mostPages; power *= 2)
      for (int64_t count : {power, power + power / 2}) {
        if (count > mostPages)
          break;
        double apart = chaseClocks(bench, *chase, pages, count, stride, lineBytes, pageBytes);
        double together = chaseClocks(bench, *chase, bench.buffer, count, lineBytes, lineBytes);
        costs.emplace_back(count, std::max(apart - together, 0.0));
      }
    return costs;
  };
  const Costs near = costsAt(pageBytes), far = costsAt(distance * pageBytes);
  auto at = [](const Costs &costs, double count) {
    auto found = llvm::find_if(costs, [&](const auto &cost) { return double(cost.first) >= count; });
    return found == costs.end() ? costs.back().second : found->second;
  };
  // The last number of pages before the curve rises for the first time: where the lines just fill the first cache, both
  // chases miss it, and the difference falls again.
  auto before = [](const Costs &costs, double limit) {
    auto risen = llvm::find_if(costs, [&](const auto &cost) { return cost.second >= limit; });
    return double(risen == costs.begin() ? known : std::prev(risen)->first);
  };
  // Between the two steps of the curve lies what a translation of the second buffer costs: 128 pages exceed the first
  // one of every processor, and stay in the second.
  Translations found{known, at(near, 128), known, 0, 1};
  found.first = before(near, found.translate / 2);
  // Rows of operands lie whole numbers of pages apart, often a power of two: where the low bits of a page's number
  // choose the set of the second buffer, they reach a part of its sets. On Zen 4 3072 translations stay of neighbours,
  // 768 of pages four apart, 192 of pages sixteen apart. 4096 exceed the second buffer of every processor; a walk is
  // what pages twice as many as it keeps cost, whose tables are still near.
  found.all = before(far, (found.translate + at(far, 4096)) / 2);
  found.walk = at(far, 2 * found.all);
  // Independent loads from many pages: what each still costs more than lines side by side is its part of the walks that
  // are under way at once; what one costs that waits for the last is a walk with all its misses.
  auto apart = scatteredClocks(bench, pages, mostPages, pageBytes, lineBytes, /*stores=*/false);
  if (!apart)
    return apart.takeError();
  auto together = scatteredClocks(bench, bench.buffer, mostPages, lineBytes, lineBytes, /*stores=*/false);
  if (!together)
    return together.takeError();
  if (double each = *apart - *together; each > 0)
    found.walks = std::max(1.0, near.back().second / each);
  return found;
}

llvm::Expected<double> cpu::crossingTraffic(Bench &bench, int64_t registerBytes, int64_t bytes) {
  int64_t count = (int64_t(64) << 20) / (registerBytes * 4);
  double clocks[2];
  for (auto [offset, result] : {std::pair(int64_t(0), &clocks[0]), std::pair(int64_t(4), &clocks[1])}) {
    auto loop = compileStream(bench, registerBytes, bytes, Stream::Read, offset);
    if (!loop)
      return loop.takeError();
    *result = bench.clocks(*loop, bench.buffer, count);
  }
  return std::max(1.0, clocks[1] / clocks[0]);
}

llvm::Expected<double> cpu::streamShare(Bench &bench, int64_t registerBytes, int64_t bytes) {
  unsigned others = std::max(1u, std::thread::hardware_concurrency()) - 1;
  if (others == 0)
    return 1.0;
  auto loop = compileStream(bench, registerBytes, bytes, Stream::Read);
  if (!loop)
    return loop.takeError();
  int64_t count = std::max<int64_t>(bytes, int64_t(64) << 20) / (registerBytes * 4);
  double alone = bench.clocks(*loop, bench.buffer, count);
  std::atomic<bool> ends = false;
  std::vector<std::thread> readers;
  int64_t parts = Bench::bufferBytes / bytes;
  for (unsigned i = 0; i < others; ++i)
    readers.emplace_back([&, i] {
      while (!ends)
        (*loop)(static_cast<char *>(bench.buffer) + (1 + i) % parts * bytes, bytes / (registerBytes * 4));
    });
  double together = median(15, [&] { return seconds(*loop, bench.buffer, count) * bench.hertz; });
  ends = true;
  for (std::thread &reader : readers)
    reader.join();
  return std::min(1.0, alone / together);
}
