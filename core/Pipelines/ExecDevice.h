//===- ExecDevice.h - A device behind a pipe --------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A simulator or board of a vendor as a process that answers requests on its
/// standard input and output. docs/device-protocol.md has every message:
///
///   > {"op": "write", "address": 4096, "payload": 64}\n + 64 bytes
///   < {"ok": true}\n
///
/// Each request has a limit of time; a process that does not keep it, ends, or
/// answers otherwise than the protocol says is ended, and every later request fails
/// with that reason.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_EXECDEVICE_H
#define TILEWRIGHT_CORE_PIPELINES_EXECDEVICE_H

#include "tilewright/Device.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <memory>

namespace tilewright {

class ExecDevice : public Device {
public:
  /// Version of the protocol that this class speaks.
  static constexpr int64_t version = 1;

  /// Starts `command` (a line for the shell) for `chip` ("target:chip"). Error: it cannot be started, does not answer
  /// within `timeout` seconds, or speaks another version.
  static llvm::Expected<std::unique_ptr<ExecDevice>> open(llvm::StringRef command, llvm::StringRef chip,
                                                          double timeout);
  ~ExecDevice() override;

  /// Kinds of code that it loads, the preferred one first.
  const std::vector<std::string> &kinds() const { return kindNames; }
  /// False once the process is gone.
  bool works() const { return broken.empty(); }
  /// Whether it says how long launches take.
  bool isTimed() const { return timed; }
  /// Loads code; kernels of an earlier one are gone.
  bool load(llvm::StringRef kind, llvm::StringRef code, std::string &error);
  /// What it counted, in words of its own; an error if it counts nothing.
  llvm::Expected<llvm::json::Object> counters();

  std::string describe() const override { return name; }
  void *allocate(int64_t bytes, std::string &error) override;
  void release(void *memory) override;
  bool copyIn(void *to, const void *from, int64_t bytes, std::string &error) override;
  bool copyOut(void *to, const void *from, int64_t bytes, std::string &error) override;
  bool launch(const Launch &launch, std::string &error) override;
  bool wait(std::string &error) override;
  /// Of all launches between the last two waits.
  double seconds() const override { return lastSeconds; }

private:
  ExecDevice(llvm::StringRef command, double timeout) : command(command), timeout(timeout) {}
  bool start(std::string &error);
  void stop();
  /// Sends a request and reads its answer; `payload` receives the answer's bytes where it is given.
  bool request(llvm::json::Object header, llvm::ArrayRef<char> bytes, llvm::json::Object &answer, std::string &error,
               llvm::MutableArrayRef<char> payload = {});
  bool exchange(const std::string &header, llvm::ArrayRef<char> bytes, llvm::json::Object &answer,
                llvm::MutableArrayRef<char> payload, std::string &error);
  bool send(llvm::ArrayRef<char> bytes, double deadline, std::string &error);
  /// Waits for more bytes of the process.
  bool receive(double deadline, std::string &error);

  std::string command, name;
  double timeout, lastSeconds = 0;
  std::vector<std::string> kindNames;
  bool timed = false;
  int process = -1, input = -1, output = -1;
  std::string received; // bytes that no answer has taken yet
  std::string broken;   // why the process is gone
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_EXECDEVICE_H
