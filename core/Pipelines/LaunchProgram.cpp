//===- LaunchProgram.cpp - A manifest run on a device ------------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory and launches of the C runtime's evaluator, on a Device.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/LaunchProgram.h"
#include "core/Pipelines/PlacedProgram.h"
#include "core/Runtime/C/Profiler.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "tilewright/Emulation.h"
#include "tilewright/LaneOps.h"

using namespace tilewright;

llvm::Expected<LaunchProgram> LaunchProgram::read(llvm::StringRef text) {
  tw_program *parsed = nullptr;
  tw_error error;
  if (tw_program_parse(text.data(), text.size(), &parsed, &error) != TW_OK)
    return llvm::createStringError(error.message);
  LaunchProgram result;
  result.program.reset(parsed);
  return result;
}

std::string LaunchProgram::entry() const { return tw_program_name(program.get()); }
size_t LaunchProgram::numArguments() const { return tw_program_arguments(program.get()); }
size_t LaunchProgram::numSizes() const { return tw_program_sizes(program.get()); }

bool LaunchProgram::takes(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays, std::string &error) const {
  if (sizes.size() == numSizes() && arrays.size() == numArguments())
    return true;
  error = "program '" + entry() + "' takes " + std::to_string(numSizes()) + " sizes and " +
          std::to_string(numArguments()) + " arrays";
  return false;
}

/// What `error` becomes of a device that failed.
static tw_status deviceFailed(tw_error *error, const std::string &message) {
  return tw_fail(error, TW_DEVICE_ERROR, "%s", message.c_str());
}

/// What the emulator reads tiles of an array by, in the room that a chip's own description has.
static constexpr size_t tileDescriptionBytes = 128;
static std::array<char, tileDescriptionBytes> describeTiles(const tw_tensor &tensor) {
  TensorDescriptor descriptor;
  descriptor.base = static_cast<char *>(tensor.base);
  descriptor.rank = tensor.rank;
  descriptor.elementBytes = tensor.element_bytes;
  descriptor.swizzleBytes = tensor.swizzle_bytes;
  for (unsigned d = 0; d < tensor.rank; ++d) {
    descriptor.sizes[d] = tensor.sizes[d];
    descriptor.box[d] = tensor.box[d];
    if (d + 1 < tensor.rank)
      descriptor.pitches[d] = tensor.pitches[d];
  }
  std::array<char, tileDescriptionBytes> bytes = {};
  static_assert(sizeof(descriptor) <= tileDescriptionBytes);
  std::memcpy(bytes.data(), &descriptor, sizeof(descriptor));
  return bytes;
}

bool tilewright::launchProfiled(Device &device, const Launch &launch, tw_activity activity,
                                const std::function<double()> &clock, std::string &error) {
  tw_activity_begin(&activity);
  bool done = device.launch(launch, error);
  if (done && tw_profilers_measure()) {
    done = device.wait(error);
    if (done && clock)
      activity.seconds = clock();
  }
  return tw_activity_end(&activity, done ? TW_OK : TW_DEVICE_ERROR) == TW_OK;
}

/// Runs `work`, which says whether it succeeds, and tells the profilers of it.
static bool withActivity(const Device &device, tw_activity_kind kind, const char *name, int64_t bytes,
                         llvm::function_ref<bool()> work) {
  if (!tw_is_profiled())
    return work();
  const std::string text = device.describe();
  tw_activity activity = tw_activity_of(kind, name, text.c_str());
  activity.bytes = bytes;
  tw_activity_begin(&activity);
  return tw_activity_end(&activity, work() ? TW_OK : TW_DEVICE_ERROR) == TW_OK;
}

static bool copyIn(Device &device, void *to, const void *from, int64_t bytes, std::string &error) {
  return withActivity(device, TW_ACTIVITY_COPY_IN, "copy in", bytes,
                      [&] { return device.copyIn(to, from, bytes, error); });
}

static bool copyOut(Device &device, void *to, const void *from, int64_t bytes, std::string &error) {
  return withActivity(device, TW_ACTIVITY_COPY_OUT, "copy out", bytes,
                      [&] { return device.copyOut(to, from, bytes, error); });
}

static bool wait(Device &device, std::string &error) {
  return withActivity(device, TW_ACTIVITY_WAIT, "wait", -1, [&] { return device.wait(error); });
}

namespace {
/// What the functions of a tw_host work on.
struct HostContext {
  Device &device;
  const std::function<double()> &clock;
};
} // namespace

static Device &deviceOf(void *context) { return static_cast<HostContext *>(context)->device; }

static tw_status startOn(void *context, const tw_start *step, tw_error *error) {
  Device &device = deviceOf(context);
  std::string message;
  Launch launch;
  launch.kernel = step->kernel;
  std::copy_n(step->grid, 3, launch.grid.begin());
  launch.block[0] = step->threads;
  launch.cluster = step->cluster;
  launch.dynamicScratchpadBytes = step->scratchpad;
  for (const tw_operand &operand : llvm::ArrayRef(step->operands, step->num_operands)) {
    if (operand.kind == TW_POINTER)
      launch.pointer(operand.pointer);
    else if (operand.kind == TW_INTEGER)
      launch.value<int64_t>(operand.integer);
    else
      launch.bytes(describeTiles(operand.tensor).data(), tileDescriptionBytes);
  }
  if (!tw_is_profiled())
    return device.launch(launch, message) ? TW_OK : deviceFailed(error, message);
  const std::string name = device.describe();
  bool done = launchProfiled(device, launch, tw_activity_of_start(step, name.c_str()),
                             static_cast<HostContext *>(context)->clock, message);
  return done ? TW_OK : deviceFailed(error, message);
}

static tw_status readFrom(void *context, void *to, const void *from, int64_t bytes, tw_error *error) {
  Device &device = deviceOf(context);
  std::string message;
  return wait(device, message) && copyOut(device, to, from, bytes, message) ? TW_OK : deviceFailed(error, message);
}

static tw_status allocateOn(void *context, int64_t bytes, void **memory, tw_error *error) {
  std::string message;
  *memory = deviceOf(context).allocate(bytes, message);
  return *memory ? TW_OK : tw_fail(error, TW_NO_MEMORY, "%s", message.c_str());
}

static void releaseOn(void *context, void *memory) {
  Device &device = deviceOf(context);
  std::string message;
  (void)wait(device, message); // a launch may still use it
  device.release(memory);
}

namespace {
/// Memory of a device, released at the end.
class Allocations {
public:
  explicit Allocations(Device &device) : device(device) {}
  ~Allocations() {
    for (void *memory : pointers)
      device.release(memory);
  }
  /// Adds `bytes`, filled from `from` unless that is null.
  bool add(int64_t bytes, const void *from, std::string &error) {
    void *memory = device.allocate(bytes, error);
    if (memory)
      pointers.push_back(memory);
    return memory && (!from || copyIn(device, memory, from, bytes, error));
  }
  std::vector<void *> pointers;

private:
  Device &device;
};
} // namespace

bool LaunchProgram::run(Device &device, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays,
                        std::string &error, std::vector<int64_t> *learned) const {
  if (!takes(sizes, arrays, error))
    return false;
  Allocations constants(device), temporaries(device);
  tw_error failure;
  auto fail = [&] {
    error = failure.message;
    return false;
  };
  int64_t bytes = 0;
  for (size_t i = 0; i < tw_program_constants(program.get()); ++i) {
    if (tw_program_constant(program.get(), i, &bytes, nullptr, &failure) != TW_OK)
      return fail();
    std::vector<char> data(bytes + 1);
    (void)tw_program_constant(program.get(), i, &bytes, data.data(), nullptr);
    if (!constants.add(bytes, data.data(), error))
      return false;
  }
  for (size_t i = 0; i < tw_program_temporaries(program.get()); ++i) {
    if (tw_program_temporary(program.get(), i, sizes.data(), &bytes, &failure) != TW_OK)
      return fail();
    if (!temporaries.add(bytes, nullptr, error))
      return false;
  }
  HostContext context = {device, clock};
  tw_host host = {&context, startOn, readFrom, allocateOn, releaseOn};
  std::vector<int64_t> made(sizes.begin(), sizes.end());
  bool done = withActivity(device, TW_ACTIVITY_PROGRAM, entry().c_str(), -1, [&] {
    return tw_program_learn(program.get(), made.data(), arrays.data(), constants.pointers.data(),
                            temporaries.pointers.data(), &host, &failure) == TW_OK;
  });
  if (done)
    return wait(device, error);
  if (learned)
    *learned = made;
  return fail();
}

bool LaunchProgram::call(Device &device, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays,
                         std::string &error, std::vector<int64_t> *learned) const {
  if (!takes(sizes, arrays, error))
    return false;
  std::vector<HostArray> copied;
  tw_error failure;
  for (auto [i, array] : llvm::enumerate(arrays)) {
    tw_argument argument;
    int64_t bytes = 0;
    if (tw_program_argument(program.get(), i, &argument, &failure) != TW_OK ||
        tw_program_bytes(program.get(), i, sizes.data(), &bytes, &failure) != TW_OK) {
      error = failure.message;
      return false;
    }
    copied.push_back({array, bytes, argument.is_written != 0});
  }
  return withCopies(device, copied, error,
                    [&](llvm::ArrayRef<void *> copies) { return run(device, sizes, copies, error, learned); });
}

llvm::Error LaunchProgram::call(Device &device, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) const {
  std::string error;
  std::vector<int64_t> learned(sizes.begin(), sizes.end());
  if (call(device, sizes, arrays, error, &learned))
    return llvm::Error::success();
  if (llvm::ArrayRef(learned) != sizes)
    return llvm::make_error<OtherSizes>(error, learned);
  return llvm::createStringError(error);
}

bool tilewright::withCopies(Device &device, llvm::ArrayRef<HostArray> arrays, std::string &error,
                            llvm::function_ref<bool(llvm::ArrayRef<void *> copies)> run) {
  Allocations copies(device);
  for (const HostArray &array : arrays)
    if (!copies.add(array.bytes, array.data, error))
      return false;
  if (!run(copies.pointers))
    return false;
  for (auto [array, copy] : llvm::zip_equal(arrays, copies.pointers))
    if (array.isWritten && !copyOut(device, array.data, copy, array.bytes, error))
      return false;
  return true;
}

llvm::StringRef tilewright::manifestOf(mlir::Operation *module) {
  auto manifests = module->getAttrOfType<mlir::ArrayAttr>(manifestsAttr);
  auto text = manifests && manifests.size() == 1 ? mlir::dyn_cast<mlir::StringAttr>(manifests[0]) : mlir::StringAttr();
  return text ? text.getValue() : llvm::StringRef();
}
