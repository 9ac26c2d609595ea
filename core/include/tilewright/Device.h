//===- Device.h - Where kernels run -----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A device that holds memory and runs kernels: a real one through its driver, or
/// the emulator. Needs no LLVM. Functions that can fail return false (or null)
/// and say why in `error`.
///
///   void *x = device.allocate(4096, error);
///   device.copyIn(x, host, 4096, error);
///   Launch launch{"scale", {16, 1, 1}, {256, 1, 1}};
///   launch.pointer(x);
///   launch.value<int32_t>(1024);
///   device.launch(launch, error) && device.wait(error);
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_DEVICE_H
#define TILEWRIGHT_DEVICE_H

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tilewright {

/// One start of a kernel.
struct Launch {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1};  // blocks
  std::array<uint32_t, 3> block = {1, 1, 1}; // lanes of a block
  uint32_t cluster = 1;                      // blocks of a cluster, along x
  uint32_t dynamicScratchpadBytes = 0;
  /// The arguments in order, each as its bytes.
  std::vector<std::vector<char>> arguments = {};

  void pointer(const void *device) { value(device); }
  template <typename T> void value(T value) {
    arguments.emplace_back(sizeof(T));
    std::memcpy(arguments.back().data(), &value, sizeof(T));
  }
  /// An argument that the kernel takes by value as a block of memory.
  void bytes(const void *data, size_t count) {
    auto *first = static_cast<const char *>(data);
    arguments.emplace_back(first, first + count);
  }
};

class Device {
public:
  virtual ~Device();
  /// One line: chip and what stands behind it.
  virtual std::string describe() const = 0;
  /// Memory of the device, aligned to 256 bytes, or null.
  virtual void *allocate(int64_t bytes, std::string &error) = 0;
  virtual void release(void *memory) = 0;
  virtual bool copyIn(void *to, const void *from, int64_t bytes, std::string &error) = 0;
  virtual bool copyOut(void *to, const void *from, int64_t bytes, std::string &error) = 0;
  /// Starts a kernel of what was loaded; it may run on after the call.
  virtual bool launch(const Launch &launch, std::string &error) = 0;
  /// Until everything that was started has ended.
  virtual bool wait(std::string &error) = 0;
  /// Seconds that the last launch took on the device.
  virtual double seconds() const = 0;
};

} // namespace tilewright

#endif // TILEWRIGHT_DEVICE_H
