//===- bench.cpp - One contender, timed on command ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prepares one problem for one contender, a library (Peer.h) or compiled code (a C function in a shared object), checks
// its result on random normal inputs against float64, and then times one sample for every line on standard input. The
// driver (bench.py) keeps one such process for each contender and lets them take turns sample by sample, so that each
// library has the environment it needs, two versions of a library do not meet, and a crash costs one contender.
//
//   tilewright-bench KIND TYPE M N K TRANS_A TRANS_B THREADS peer ADAPTER.so LIBRARY FORM
//   tilewright-bench KIND TYPE M N K TRANS_A TRANS_B THREADS code LIBRARY.so FUNCTION
//   tilewright-bench KIND TYPE M N K TRANS_A TRANS_B THREADS codes - FUNCTION
//
// The first line of output is a JSON object: description, error, whether the error is within its bound, calls in a
// sample. Then one number a line: seconds per call. Exit status 1: the contender cannot do the problem.
//
// `codes` times many plans of compiled code in one process: each line of input is a shared object's path, whose result
// is checked the first time; the answer is seconds per call, or one word ("wrong", "absent").
//
//===----------------------------------------------------------------------===//

#include "peers/Peer.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <time.h>
#include <vector>

namespace {

/// Seconds on the clock of this problem: with one thread the thread's own time, which other work on the machine does
/// not lengthen; with several, the wall's.
clockid_t clockOf = CLOCK_MONOTONIC;

double now() {
  timespec time;
  clock_gettime(clockOf, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// A buffer on a page boundary, as large allocations have it.
struct Buffer {
  std::unique_ptr<char, void (*)(void *)> bytes{nullptr, free};
  explicit Buffer(size_t size = 0) {
    if (size)
      bytes.reset(static_cast<char *>(aligned_alloc(4096, (size + 8191) / 4096 * 4096)));
  }
  void *get() const { return bytes.get(); }
};

uint16_t toBf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float fromBf16(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  memcpy(&result, &bits, 4);
  return result;
}

/// Random contents in `type` and the same numbers in float64.
Buffer fill(const std::string &type, size_t count, std::vector<double> &exact, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  exact.resize(count);
  size_t width = type == "f64" ? 8 : type == "f32" ? 4 : type == "bf16" ? 2 : 1;
  Buffer buffer(count * width);
  for (size_t i = 0; i < count; ++i) {
    float x = normal(random);
    if (type == "f64")
      exact[i] = static_cast<double *>(buffer.get())[i] = x;
    else if (type == "f32")
      exact[i] = static_cast<float *>(buffer.get())[i] = x;
    else if (type == "bf16")
      exact[i] = fromBf16(static_cast<uint16_t *>(buffer.get())[i] = toBf16(x));
    else if (type == "u8")
      exact[i] = static_cast<uint8_t *>(buffer.get())[i] = uint8_t(std::clamp(std::lround(x * 40 + 128), 0L, 255L));
    else
      exact[i] = static_cast<int8_t *>(buffer.get())[i] = int8_t(std::clamp(std::lround(x * 40), -128L, 127L));
  }
  return buffer;
}

struct Problem {
  PeerProblem peer;
  std::string left, right, out;
  std::vector<double> a, b, bias, residual, exact, scale;
  std::vector<Buffer> buffers;
  Buffer result;
  size_t outputs = 0, resultBytes = 0;

  void reference();
  bool load(const char *path);
  void save(const char *path) const;
  double error() const;
};

/// float64 results, and for each the size against which its error is measured.
void Problem::reference() {
  const PeerProblem &p = peer;
  size_t m = size_t(p.m), n = size_t(p.n), k = size_t(p.k);
  exact.assign(outputs, 0);
  scale.assign(outputs, 1);
  std::string kind = p.kind;
  if (kind == "gemm" || kind == "fused") {
    std::vector<double> bk(k * n), rowNorm(m), colNorm(n);
    for (size_t l = 0; l < k; ++l)
      for (size_t j = 0; j < n; ++j) {
        double value = bk[l * n + j] = p.transB ? b[j * k + l] : b[l * n + j];
        colNorm[j] += value * value;
      }
    constexpr size_t block = 64;
    for (size_t l0 = 0; l0 < k; l0 += block)
      for (size_t i = 0; i < m; ++i) {
        double *row = &exact[i * n];
        for (size_t l = l0; l < std::min(k, l0 + block); ++l) {
          double x = p.transA ? a[l * m + i] : a[i * k + l];
          rowNorm[i] += x * x;
          const double *y = &bk[l * n];
          for (size_t j = 0; j < n; ++j)
            row[j] += x * y[j];
        }
      }
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        scale[i * n + j] = std::sqrt(rowNorm[i] * colNorm[j]);
        if (kind == "fused") {
          double v = exact[i * n + j] + bias[j];
          exact[i * n + j] = v / 2 * (1 + std::erf(v * M_SQRT1_2)) + residual[i * n + j];
        }
      }
    return;
  }
  if (kind == "rowsum" || kind == "colsum") {
    bool rows = kind == "rowsum";
    scale.assign(outputs, double(rows ? n : m));
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j)
        exact[rows ? i : j] += a[i * n + j];
    return;
  }
  if (kind == "maxpool" || kind == "maxpool-last" || kind == "mean") {
    // Pictures of side x side pixels, of `channels` side by side.
    const bool last = kind == "maxpool-last", mean = kind == "mean";
    const size_t side = last ? k : size_t(std::lround(std::sqrt(double(n)))), channels = last ? n : 1;
    const size_t window = mean ? 3 : 2, apart = mean ? 1 : 2;
    const size_t outSide = (side - window) / apart + 1;
    for (size_t at = 0; at < outputs; ++at) {
      const size_t c = at % channels, x = at / channels % outSide, y = at / channels / outSide % outSide;
      const size_t picture = at / channels / outSide / outSide;
      double top = -INFINITY, sum = 0;
      for (size_t ky = 0; ky < window; ++ky)
        for (size_t kx = 0; kx < window; ++kx) {
          double value = a[((picture * side + y * apart + ky) * side + x * apart + kx) * channels + c];
          top = std::max(top, value), sum += value;
        }
      exact[at] = mean ? sum / 9 : top;
    }
    return;
  }
  for (size_t i = 0; i < m; ++i) {
    const double *x = &a[i * n];
    double *y = &exact[i * n];
    if (kind == "chain") {
      for (size_t j = 0; j < n; ++j)
        y[j] = std::max(x[j] * 0.5 + bias[j], 0.0);
    } else if (kind == "softmax") {
      double top = *std::max_element(x, x + n), sum = 0;
      for (size_t j = 0; j < n; ++j)
        sum += y[j] = std::exp(x[j] - top);
      for (size_t j = 0; j < n; ++j)
        scale[i * n + j] = y[j] /= sum;
    } else {
      double mean = 0, variance = 0;
      for (size_t j = 0; j < n; ++j)
        mean += x[j] / double(n);
      for (size_t j = 0; j < n; ++j)
        variance += (x[j] - mean) * (x[j] - mean) / double(n);
      for (size_t j = 0; j < n; ++j)
        y[j] = (x[j] - mean) / std::sqrt(variance + 1e-5f) * b[j] + bias[j];
    }
  }
}

/// The reference that another contender's process left, so that it is computed once for all of them.
bool Problem::load(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return false;
  exact.resize(outputs);
  scale.resize(outputs);
  bool good = fread(exact.data(), 8, outputs, file) == outputs && fread(scale.data(), 8, outputs, file) == outputs;
  fclose(file);
  return good;
}

void Problem::save(const char *path) const {
  if (FILE *file = fopen(path, "wb")) {
    fwrite(exact.data(), 8, outputs, file);
    fwrite(scale.data(), 8, outputs, file);
    fclose(file);
  }
}

/// The largest error of the result in units of the last place of its scale; infinity for a NaN or a wrong integer.
double Problem::error() const {
  double worst = 0;
  for (size_t i = 0; i < outputs; ++i) {
    double value = out == "i32"   ? static_cast<const int32_t *>(result.get())[i]
                   : out == "f64" ? static_cast<const double *>(result.get())[i]
                                  : static_cast<const float *>(result.get())[i];
    double difference = std::fabs(value - exact[i]);
    if (out == "i32")
      difference = difference == 0 ? 0 : INFINITY;
    else
      difference /= scale[i] * (out == "f64" ? 0x1p-52 : 0x1p-23);
    worst = difference <= worst ? worst : difference; // also takes a NaN
    if (std::isnan(worst))
      return INFINITY;
  }
  return worst;
}

/// In units in the last place of the scale: rounding of sums of random numbers stays well below.
constexpr double errorBound = 16;

std::string description;
bool moves = false;
std::function<void()> run;

bool loadPeer(const char *adapter, const char *library, const char *form, const Problem &problem) {
  void *handle = dlopen(adapter, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  auto prepare = reinterpret_cast<decltype(&tilewrightPeer)>(dlsym(handle, "tilewrightPeer"));
  PeerCall call = {};
  if (!prepare || prepare(library, form, &problem.peer, &call))
    return false;
  description = call.description;
  moves = call.moves;
  run = [call] { call.run(call.state); };
  return true;
}

/// Calls compiled code through its C interface: inputs in order, then the output.
bool loadCode(const char *library, const char *function, const Problem &problem) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *entry = handle ? dlsym(handle, function) : nullptr;
  if (!entry) {
    fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  const PeerProblem &p = problem.peer;
  description = "generated code";
  using P = const void *;
  std::string kind = p.kind;
  if (kind == "gemm")
    run = [=] { reinterpret_cast<int (*)(P, P, void *)>(entry)(p.a, p.b, p.c); };
  else if (kind == "fused")
    run = [=] { reinterpret_cast<int (*)(P, P, P, P, void *)>(entry)(p.a, p.b, p.bias, p.residual, p.c); };
  else if (kind == "layernorm")
    run = [=] { reinterpret_cast<int (*)(P, P, P, void *)>(entry)(p.a, p.b, p.bias, p.c); };
  else if (kind == "chain")
    run = [=] { reinterpret_cast<int (*)(P, P, void *)>(entry)(p.a, p.bias, p.c); };
  else
    run = [=] { reinterpret_cast<int (*)(P, void *)>(entry)(p.a, p.c); };
  return true;
}

/// Seconds per call of what is loaded, over a millisecond or a call.
double sample(int repeats) {
  run(); // its own data and code back in the caches
  double start = now();
  for (int i = 0; i < repeats; ++i)
    run();
  return (now() - start) / repeats;
}

/// Samples of the shared objects that standard input names, in any order and as often as it names them.
int timeCodes(const char *function, const Problem &problem) {
  struct Code {
    std::function<void()> run;
    int repeats = 0; // 0: cannot be timed
    const char *fault = "";
  };
  std::map<std::string, Code> codes;
  char line[4096];
  while (fgets(line, sizeof line, stdin)) {
    std::string path(line, strcspn(line, "\n"));
    auto [place, isNew] = codes.try_emplace(path);
    Code &code = place->second;
    if (isNew && !loadCode(path.c_str(), function, problem)) {
      code.fault = "absent";
    } else if (isNew) {
      code.run = run;
      memset(problem.peer.c, 0xff, problem.resultBytes);
      run();
      double start = now();
      run();
      code.repeats = std::max(1, int(std::ceil(1.2e-3 / std::max(now() - start, 1e-7))));
      if (problem.error() > errorBound)
        code.repeats = 0, code.fault = "wrong";
    }
    run = code.run;
    if (code.repeats)
      printf("%.9g\n", sample(code.repeats));
    else
      printf("%s\n", code.fault);
    fflush(stdout);
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 12) {
    fprintf(stderr, "usage: %s KIND TYPE M N K TRANS_A TRANS_B THREADS peer|code|codes LIBRARY...\n", argv[0]);
    return 2;
  }
  Problem problem;
  PeerProblem &p = problem.peer;
  p.kind = argv[1];
  p.type = argv[2];
  p.m = atoll(argv[3]), p.n = atoll(argv[4]), p.k = atoll(argv[5]);
  p.transA = atoi(argv[6]), p.transB = atoi(argv[7]), p.threads = atoi(argv[8]);
  clockOf = p.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;

  std::string type = p.type;
  bool gemm = !strcmp(p.kind, "gemm") || !strcmp(p.kind, "fused"), integers = type == "u8s8" || type == "s8s8";
  problem.left = integers ? type.substr(0, 2) : type;
  problem.right = integers ? "s8" : type;
  problem.out = integers ? "i32" : type == "bf16" ? "f32" : type;
  problem.outputs = size_t(!strcmp(p.kind, "rowsum") ? p.m : !strcmp(p.kind, "colsum") ? p.n : p.m * p.n);
  if (!strncmp(p.kind, "maxpool", 7))
    problem.outputs /= 4;
  if (!strcmp(p.kind, "mean"))
    problem.outputs = size_t(p.m) * size_t(std::pow(std::lround(std::sqrt(double(p.n))) - 2, 2));
  problem.buffers.push_back(fill(problem.left, size_t(gemm ? p.m * p.k : p.m * p.n), problem.a, 1));
  p.a = problem.buffers.back().get();
  problem.buffers.push_back(fill(problem.right, size_t(gemm ? p.k * p.n : p.n), problem.b, 2));
  p.b = problem.buffers.back().get();
  problem.buffers.push_back(fill("f32", size_t(p.n), problem.bias, 3));
  p.bias = problem.buffers.back().get();
  if (!strcmp(p.kind, "fused")) {
    problem.buffers.push_back(fill("f32", size_t(p.m * p.n), problem.residual, 4));
    p.residual = problem.buffers.back().get();
  }
  // Room for what a contender that moves bytes writes.
  size_t room = size_t(p.m * p.n) * 8;
  problem.resultBytes = problem.outputs * (problem.out == "f64" ? 8 : 4);
  problem.result = Buffer(std::max(room, problem.resultBytes));
  p.c = problem.result.get();
  const char *cache = getenv("TILEWRIGHT_BENCH_REFERENCE");
  if (!cache || !problem.load(cache)) {
    problem.reference();
    if (cache)
      problem.save(cache);
  }

  if (!strcmp(argv[9], "codes"))
    return timeCodes(argv[11], problem);
  bool code = !strcmp(argv[9], "code");
  if (!(code ? loadCode(argv[10], argv[11], problem)
             : loadPeer(argv[10], argv[11], argc > 12 ? argv[12] : "", problem)))
    return 1;
  memset(p.c, 0xff, problem.resultBytes);
  run();
  double error = problem.error(), bound = !strcmp(p.kind, "layernorm") ? 64 : errorBound;
  bool correct = moves || error <= bound;

  // Warm: until 20 ms passed; then as many calls in a sample as a millisecond takes.
  double start = now();
  int calls = 0;
  do {
    run();
    ++calls;
  } while (now() - start < 0.02 && calls < 100000);
  int repeats = std::max(1, int(std::ceil(1.2e-3 * calls / (now() - start))));
  printf("{\"description\": \"%s\", \"error\": %g, \"correct\": %s, \"repeats\": %d}\n", description.c_str(),
         std::isfinite(error) ? error : -1.0, correct ? "true" : "false", repeats);
  fflush(stdout);

  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    printf("%.9g\n", sample(repeats));
    fflush(stdout);
  }
  return 0;
}
