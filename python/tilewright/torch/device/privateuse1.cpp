// What PyTorch asks a device type for and takes only in C++: memory, a guard, generators, hooks, and the operations
// that make tensors and views without computing. What the devices are, it is told through the C functions at the end.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>

namespace {

constexpr c10::DeviceType privateUse1 = c10::DeviceType::PrivateUse1;

/// As `tw_error` of tilewright_runtime.h.
struct Error {
  int status;
  char message[1020];
};

/// One device: the functions of tilewright_runtime.h over a `tw_device`, or those below over memory of this process.
struct Device {
  void *context;
  int (*allocate)(void *context, int64_t bytes, void **memory, Error *error);
  void (*release)(void *context, void *memory);
  int (*copyIn)(void *context, void *to, const void *from, int64_t bytes, Error *error);
  int (*copyOut)(void *context, void *to, const void *from, int64_t bytes, Error *error);
  int (*wait)(void *context, void *stream, Error *error);
  std::atomic<int64_t> allocated{0}, peak{0};
};

std::deque<Device> &devices() {
  static auto &all = *new std::deque<Device>; // memory may be released until the process ends
  return all;
}

thread_local c10::DeviceIndex current = 0;

Device &deviceAt(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && index < static_cast<c10::DeviceIndex>(devices().size()), "there is no device ",
              c10::Device(privateUse1, index), "; there are ", devices().size(), ", the first is number 0");
  return devices()[index];
}

c10::DeviceIndex indexOf(c10::Device device) { return device.has_index() ? device.index() : current; }

void check(int status, const Error &error) { TORCH_CHECK(status == 0, error.message); }

// Memory

struct Block {
  Device *device;
  void *memory;
  int64_t bytes;
};

void releaseBlock(void *context) {
  auto *block = static_cast<Block *>(context);
  block->device->release(block->device->context, block->memory);
  block->device->allocated -= block->bytes;
  delete block;
}

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    c10::Device where(privateUse1, current);
    if (bytes == 0)
      return {nullptr, nullptr, &c10::detail::deleteNothing, where};
    Device &device = deviceAt(current);
    void *memory = nullptr;
    Error error{};
    int status = device.allocate(device.context, static_cast<int64_t>(bytes), &memory, &error);
    TORCH_CHECK_WITH(OutOfMemoryError, status == 0, where, " has no memory for ", bytes, " bytes (", device.allocated,
                     " bytes are in use): ", error.message);
    int64_t inUse = device.allocated += static_cast<int64_t>(bytes);
    for (int64_t peak = device.peak; inUse > peak && !device.peak.compare_exchange_weak(peak, inUse);)
      ;
    return {memory, new Block{&device, memory, static_cast<int64_t>(bytes)}, &releaseBlock, where};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    Device &device = deviceAt(current);
    std::vector<char> staged(bytes);
    Error error{};
    check(device.copyOut(device.context, staged.data(), from, static_cast<int64_t>(bytes), &error), error);
    check(device.copyIn(device.context, to, staged.data(), static_cast<int64_t>(bytes), &error), error);
  }
};

Allocator allocator;

// The current device; the driver's default stream is the only one.

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return privateUse1; }
  c10::Device exchangeDevice(c10::Device device) const override {
    c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {privateUse1, current}; }
  void setDevice(c10::Device device) const override {
    deviceAt(indexOf(device));
    current = indexOf(device);
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current = indexOf(device); }
  c10::Stream getStream(c10::Device device) const override { return stream(device); }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream(device); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return stream(device); }
  c10::Stream getNewStream(c10::Device device, int) const override { return stream(device); }
  c10::Stream exchangeStream(c10::Stream given) const override { return stream(given.device()); }
  c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(devices().size()); }
  // What is recorded on the one stream has happened when that is waited for.
  void record(void **event, const c10::Stream &, const c10::DeviceIndex, const c10::EventFlag) const override {
    *event = nullptr;
  }
  void block(void *, const c10::Stream &) const override {}
  bool queryEvent(void *) const override { return true; }
  void destroyEvent(void *, const c10::DeviceIndex) const noexcept override {}
  void synchronizeEvent(void *) const override { synchronizeDevice(current); }
  bool queryStream(const c10::Stream &) const override { return true; }
  void synchronizeStream(const c10::Stream &stream) const override { synchronizeDevice(stream.device_index()); }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    Device &device = deviceAt(index);
    Error error{};
    check(device.wait(device.context, nullptr, &error), error);
  }
  void recordDataPtrOnStream(const c10::DataPtr &, const c10::Stream &) const override {}

private:
  static c10::Stream stream(c10::Device device) {
    return c10::Stream(c10::Stream::DEFAULT, {privateUse1, indexOf(device)});
  }
};

// Random numbers come from a counter under a seed (docs/pytorch.md); a generator gives the seeds.

struct Generator final : at::CPUGeneratorImpl {
  explicit Generator(c10::DeviceIndex index, uint64_t seed = c10::default_rng_seed_val) : CPUGeneratorImpl(seed) {
    device_ = {privateUse1, index};
    key_set_ = c10::DispatchKeySet(c10::DispatchKey::PrivateUse1);
  }

private:
  CPUGeneratorImpl *clone_impl() const override {
    auto *copy = new Generator(device_.index(), current_seed());
    copy->set_engine(const_cast<Generator *>(this)->engine());
    return copy;
  }
};

const at::Generator &defaultGenerator(c10::DeviceIndex index) {
  static auto &all = *new std::deque<at::Generator>;
  static std::mutex lock;
  std::lock_guard guard(lock);
  index = index == -1 ? current : index;
  deviceAt(index);
  while (all.size() <= static_cast<size_t>(index))
    all.push_back(at::make_generator<Generator>(static_cast<c10::DeviceIndex>(all.size())));
  return all[index];
}

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return !devices().empty(); }
  bool hasPrimaryContext(c10::DeviceIndex index) const override { return index < deviceCount(); }
  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(devices().size()); }
  void setCurrentDevice(c10::DeviceIndex index) const override { deviceAt(index), current = index; }
  c10::DeviceIndex getCurrentDevice() const override { return current; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    c10::DeviceIndex before = current;
    setCurrentDevice(index);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return index < 0 ? current : exchangeDevice(index);
  }
  const at::Generator &getDefaultGenerator(c10::DeviceIndex index) const override { return defaultGenerator(index); }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return at::make_generator<Generator>(index == -1 ? current : index);
  }
  at::Device getDeviceFromPtr(void *) const override { return {privateUse1, current}; }
  at::Allocator *getPinnedMemoryAllocator() const override {
    TORCH_CHECK(false, "memory of the host is not pinned for this device: leave out pin_memory");
  }
  void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override {
    c10::impl::VirtualGuardImpl guard(privateUse1);
    c10::Device before = guard.exchangeDevice(storage.device());
    c10::DataPtr fresh = allocator.allocate(bytes);
    size_t kept = std::min(bytes, storage.nbytes());
    if (kept)
      allocator.copy_data(fresh.mutable_get(), storage.data(), kept);
    storage.set_data_ptr_noswap(std::move(fresh));
    storage.set_nbytes(bytes);
    guard.setDevice(before);
  }
};

// Tensors and views

constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);

at::ScalarType typeOf(std::optional<at::ScalarType> dtype) {
  return dtype ? *dtype : c10::typeMetaToScalarType(c10::get_default_dtype());
}

void checkOptions(std::optional<c10::Layout> layout, std::optional<bool> pinned) {
  TORCH_CHECK_NOT_IMPLEMENTED(!layout || *layout == c10::kStrided, "tensors of layout ", *layout,
                              " are not there on this device; it has strided ones");
  TORCH_CHECK(!pinned || !*pinned, "memory of a device is not pinned: leave out pin_memory");
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<c10::Layout> layout,
                 std::optional<c10::Device> device, std::optional<bool> pinned,
                 std::optional<c10::MemoryFormat> format) {
  checkOptions(layout, pinned);
  c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(size, &allocator, keys, typeOf(dtype), format);
}

at::Tensor emptyStrided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                        std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                        std::optional<bool> pinned) {
  checkOptions(layout, pinned);
  c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(size, stride, &allocator, keys, typeOf(dtype));
}

int64_t bytesFor(const at::Tensor &tensor, c10::IntArrayRef size) {
  int64_t count = 1;
  for (int64_t n : size)
    count *= n;
  return (count + tensor.storage_offset()) * static_cast<int64_t>(tensor.element_size());
}

const at::Tensor &resize(const at::Tensor &tensor, c10::IntArrayRef size, std::optional<c10::MemoryFormat> format) {
  at::detail::check_size_nonnegative(size);
  int64_t bytes = bytesFor(tensor, size);
  if (bytes > static_cast<int64_t>(tensor.storage().nbytes()))
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(tensor.storage(), bytes);
  auto *implementation = tensor.unsafeGetTensorImpl();
  implementation->set_sizes_contiguous(size);
  if (format && *format != c10::MemoryFormat::Contiguous)
    implementation->empty_tensor_restride(*format);
  return tensor;
}

at::Tensor &setStorageAt(at::Tensor &tensor, at::Storage source, int64_t offset, c10::IntArrayRef size,
                         c10::IntArrayRef stride) {
  return at::native::set_storage_cpu_(tensor, std::move(source), offset, size, stride);
}

at::Tensor &setStorage(at::Tensor &tensor, at::Storage source) {
  int64_t count = static_cast<int64_t>(source.nbytes() / tensor.element_size());
  return setStorageAt(tensor, std::move(source), 0, {count}, {});
}

at::Tensor &setNothing(at::Tensor &tensor) {
  return setStorageAt(tensor, empty({0}, tensor.scalar_type(), {}, tensor.device(), {}, {}).storage(), 0, {0}, {});
}

/// Bytes of the region of memory from the first to the last element.
std::pair<char *, int64_t> regionOf(const at::Tensor &tensor) {
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i)
    last += (tensor.size(i) - 1) * tensor.stride(i);
  return {static_cast<char *>(tensor.mutable_data_ptr()),
          tensor.numel() ? (last + 1) * static_cast<int64_t>(tensor.element_size()) : 0};
}

/// The regions of two tensors, one of them on the host, which lie in memory alike.
void copyRegion(at::Tensor to, const at::Tensor &from) {
  auto [target, bytes] = regionOf(to);
  auto [source, count] = regionOf(from);
  TORCH_CHECK(bytes == count, "regions of ", bytes, " and ", count, " bytes");
  if (!bytes)
    return;
  bool in = to.device().type() == privateUse1;
  Device &device = deviceAt((in ? to : from).device().index());
  Error error{};
  check((in ? device.copyIn : device.copyOut)(device.context, target, source, bytes, &error), error);
}

std::optional<at::Generator> generatorOf(int64_t index) {
  return defaultGenerator(static_cast<c10::DeviceIndex>(index));
}

int64_t drawSeed(std::optional<at::Generator> generator, c10::Device device) {
  at::Generator source = generator && generator->defined() ? *generator : defaultGenerator(indexOf(device));
  auto *implementation = dynamic_cast<at::CPUGeneratorImpl *>(source.unsafeGetGeneratorImpl());
  TORCH_CHECK(implementation, "a generator on ", source.device(), " gives no seeds for ", device);
  std::lock_guard guard(implementation->mutex_);
  return static_cast<int64_t>(implementation->random64());
}

// Memory of this process, for programs that the emulator or this machine executes.

int allocateHere(void *, int64_t bytes, void **memory, Error *error) {
  *memory = bytes <= (int64_t(1) << 46) ? std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64)) : nullptr;
  if (!*memory)
    std::snprintf(error->message, sizeof(error->message), "the host has none for it");
  return *memory ? 0 : 2;
}
void releaseHere(void *, void *memory) { std::free(memory); }
int copyHere(void *, void *to, const void *from, int64_t bytes, Error *) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
  return 0;
}
int waitHere(void *, void *, Error *) { return 0; }

} // namespace

TORCH_LIBRARY(tilewright_device, library) {
  library.def("copy_region(Tensor(a!) to, Tensor source) -> ()", &copyRegion);
  library.def("default_generator(int index) -> Generator?", &generatorOf);
  library.def("draw_seed(Generator? generator, Device device) -> int", &drawSeed);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &emptyStrided);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view", &at::native::view);
  library.impl("_reshape_alias", &at::native::_reshape_alias);
  library.impl("unfold", &at::native::unfold);
  library.impl("resize_", &resize);
  library.impl("set_.source_Storage", &setStorage);
  library.impl("set_.source_Storage_storage_offset", &setStorageAt);
  library.impl("set_.source_Tensor", &at::native::set_tensor_);
  library.impl("set_", &setNothing);
}

#pragma GCC visibility push(default)
extern "C" {
/// The number of a new device over these functions; where they are null, its memory is that of this process.
int tilewright_add_device(void *context, void *allocate, void *release, void *copyIn, void *copyOut, void *wait) {
  Device &device = devices().emplace_back();
  device.context = context;
  device.allocate = allocate ? reinterpret_cast<decltype(device.allocate)>(allocate) : allocateHere;
  device.release = release ? reinterpret_cast<decltype(device.release)>(release) : releaseHere;
  device.copyIn = copyIn ? reinterpret_cast<decltype(device.copyIn)>(copyIn) : copyHere;
  device.copyOut = copyOut ? reinterpret_cast<decltype(device.copyOut)>(copyOut) : copyHere;
  device.wait = wait ? reinterpret_cast<decltype(device.wait)>(wait) : waitHere;
  return static_cast<int>(devices().size()) - 1;
}
int tilewright_device_count() { return static_cast<int>(devices().size()); }
int tilewright_current_device() { return current; }
int tilewright_set_device(int index) {
  if (index < 0 || index >= static_cast<int>(devices().size()))
    return 0;
  current = static_cast<c10::DeviceIndex>(index);
  return 1;
}
int64_t tilewright_memory(int index, int peak) {
  Device &device = devices()[index];
  return peak ? device.peak : device.allocated;
}
void tilewright_reset_peak(int index) { devices()[index].peak = devices()[index].allocated.load(); }
/// After the device type has its name.
void tilewright_register() {
  static Hooks hooks;
  static Guard guard;
  c10::SetAllocator(privateUse1, &allocator);
  c10::impl::registerDeviceGuard(privateUse1, &guard);
  at::RegisterPrivateUse1HooksInterface(&hooks);
}
}
#pragma GCC visibility pop
