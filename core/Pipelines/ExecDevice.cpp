//===- ExecDevice.cpp - A device behind a pipe ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One process, two pipes, requests with a deadline.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/ExecDevice.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tilewright;
namespace json = llvm::json;

/// A header is one line of at most so many bytes.
static constexpr size_t longestHeader = 1 << 20;

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// "within 8 seconds".
static std::string within(double seconds) { return llvm::formatv("within {0} seconds", llvm::format("%g", seconds)); }

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

bool ExecDevice::start(std::string &error) {
  std::signal(SIGPIPE, SIG_IGN); // a process that ended is a failed write, with its message
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
    error = std::string("cannot make a pipe: ") + std::strerror(errno);
    return false;
  }
  std::string line = "exec " + command;
  process = fork();
  if (process < 0) {
    error = std::string("cannot start a process: ") + std::strerror(errno);
    return false;
  }
  if (process == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    std::signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  input = to[1];
  output = from[0];
  fcntl(input, F_SETFL, O_NONBLOCK);
  return true;
}

void ExecDevice::stop() {
  if (process < 0)
    return;
  close(input);
  close(output);
  // Its standard input has ended; what stays is ended.
  for (double limit = now() + (broken.empty() ? 2 : 0); waitpid(process, nullptr, WNOHANG) == 0;) {
    if (now() > limit) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
      break;
    }
    usleep(1000);
  }
  process = -1;
}

ExecDevice::~ExecDevice() {
  json::Object answer;
  std::string error;
  if (process >= 0 && broken.empty())
    (void)request(json::Object{{"op", "close"}}, {}, answer, error);
  stop();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

bool ExecDevice::send(llvm::ArrayRef<char> bytes, double deadline, std::string &error) {
  while (!bytes.empty()) {
    pollfd file = {input, POLLOUT, 0};
    int ready = poll(&file, 1, static_cast<int>(std::max(0.0, deadline - now()) * 1000) + 1);
    if (ready == 0 && now() > deadline) {
      error = "does not read its input " + within(timeout);
      return false;
    }
    ssize_t written = write(input, bytes.data(), bytes.size());
    if (written < 0 && errno == EPIPE) // how it ended, `receive` says
      return true;
    if (written < 0 && errno != EAGAIN && errno != EINTR) {
      error = std::string("cannot be written to: ") + std::strerror(errno);
      return false;
    }
    bytes = bytes.drop_front(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return true;
}

bool ExecDevice::receive(double deadline, std::string &error) {
  for (;;) {
    pollfd file = {output, POLLIN, 0};
    int ready = poll(&file, 1, static_cast<int>(std::max(0.0, deadline - now()) * 1000) + 1);
    if (ready == 0 && now() > deadline) {
      error = "gave no answer " + within(timeout);
      return false;
    }
    if (ready <= 0)
      continue;
    char buffer[65536];
    ssize_t bytes = read(output, buffer, sizeof(buffer));
    if (bytes > 0) {
      received.append(buffer, static_cast<size_t>(bytes));
      return true;
    }
    if (bytes < 0 && errno == EINTR)
      continue;
    int status = 0;
    error = "ended its output";
    // The end of the output comes shortly before that of the process.
    pid_t ended = 0;
    for (double limit = now() + 2; (ended = waitpid(process, &status, WNOHANG)) == 0 && now() < limit;)
      usleep(1000);
    if (ended == process) {
      process = -1;
      close(input);
      close(output);
      error = WIFSIGNALED(status) ? llvm::formatv("died of signal {0}", WTERMSIG(status)).str()
                                  : llvm::formatv("ended with status {0}", WEXITSTATUS(status)).str();
    }
    return false;
  }
}

bool ExecDevice::exchange(const std::string &header, llvm::ArrayRef<char> bytes, json::Object &answer,
                          llvm::MutableArrayRef<char> payload, std::string &error) {
  double deadline = now() + timeout;
  if (!send(llvm::ArrayRef(header.data(), header.size()), deadline, error) || !send(bytes, deadline, error))
    return false;
  size_t end;
  while ((end = received.find('\n')) == std::string::npos) {
    if (received.size() > longestHeader) {
      error = "sends a header without an end";
      return false;
    }
    if (!receive(deadline, error))
      return false;
  }
  auto value = json::parse(llvm::StringRef(received).take_front(end));
  json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object || !object->getBoolean("ok")) {
    llvm::consumeError(value ? llvm::Error::success() : value.takeError());
    error = "answers '" + json::fixUTF8(llvm::StringRef(received).take_front(std::min<size_t>(end, 80))) +
            "'; expected a JSON object with 'ok' on one line";
    return false;
  }
  answer = std::move(*object);
  received.erase(0, end + 1);
  auto count = static_cast<size_t>(std::max<int64_t>(0, answer.getInteger("payload").value_or(0)));
  if (*answer.getBoolean("ok") && count != payload.size()) {
    error = llvm::formatv("announces a payload of {0} bytes; expected {1}", count, payload.size());
    return false;
  }
  while (received.size() < payload.size())
    if (!receive(deadline, error))
      return false;
  if (*answer.getBoolean("ok")) {
    std::copy_n(received.data(), payload.size(), payload.data());
    received.erase(0, payload.size());
  }
  return true;
}

bool ExecDevice::request(json::Object header, llvm::ArrayRef<char> bytes, json::Object &answer, std::string &error,
                         llvm::MutableArrayRef<char> payload) {
  std::string op = header.getString("op").value_or("").str();
  if (broken.empty()) {
    if (!bytes.empty())
      header["payload"] = static_cast<int64_t>(bytes.size());
    std::string line = llvm::formatv("{0}\n", json::Value(std::move(header))), reason;
    if (!exchange(line, bytes, answer, payload, reason))
      broken = "the device '" + command + "' " + reason + " (request '" + op + "')";
  }
  if (!broken.empty()) {
    error = broken;
    stop();
    return false;
  }
  if (*answer.getBoolean("ok"))
    return true;
  error = "the device '" + command + "' refuses '" + op + "': " + answer.getString("error").value_or("no reason").str();
  return false;
}

llvm::Expected<std::unique_ptr<ExecDevice>> ExecDevice::open(llvm::StringRef command, llvm::StringRef chip,
                                                             double timeout) {
  std::unique_ptr<ExecDevice> device(new ExecDevice(command, timeout));
  std::string error;
  json::Object answer;
  if (!device->start(error) ||
      !device->request(json::Object{{"op", "hello"}, {"version", version}, {"chip", chip}}, {}, answer, error))
    return llvm::createStringError(error);
  int64_t spoken = answer.getInteger("version").value_or(0);
  if (spoken != version)
    return llvm::createStringError("the device '" + command + "' speaks version " + llvm::Twine(spoken) +
                                   " of the protocol; this build speaks " + llvm::Twine(version));
  device->name = answer.getString("name").value_or(command).str();
  device->timed = answer.getBoolean("timed").value_or(false);
  if (const json::Array *kinds = answer.getArray("kinds"))
    for (const json::Value &kind : *kinds)
      device->kindNames.push_back(kind.getAsString().value_or("").str());
  return device;
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

static int64_t addressOf(const void *memory) { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory)); }

bool ExecDevice::load(llvm::StringRef kind, llvm::StringRef code, std::string &error) {
  json::Object answer;
  return request(json::Object{{"op", "load"}, {"kind", kind}}, llvm::ArrayRef(code.data(), code.size()), answer, error);
}

llvm::Expected<json::Object> ExecDevice::counters() {
  json::Object answer;
  std::string error;
  if (!request(json::Object{{"op", "counters"}}, {}, answer, error))
    return llvm::createStringError(error);
  json::Object *counters = answer.getObject("counters");
  return counters ? std::move(*counters) : json::Object();
}

void *ExecDevice::allocate(int64_t bytes, std::string &error) {
  json::Object answer;
  if (!request(json::Object{{"op", "allocate"}, {"size", std::max<int64_t>(bytes, 1)}}, {}, answer, error))
    return nullptr;
  int64_t address = answer.getInteger("address").value_or(0);
  if (address == 0)
    error = "the device '" + command + "' gives no address";
  return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}

void ExecDevice::release(void *memory) {
  json::Object answer;
  std::string error;
  if (memory && broken.empty())
    (void)request(json::Object{{"op", "release"}, {"address", addressOf(memory)}}, {}, answer, error);
}

bool ExecDevice::copyIn(void *to, const void *from, int64_t bytes, std::string &error) {
  json::Object answer;
  if (bytes <= 0)
    return true;
  llvm::ArrayRef<char> data(static_cast<const char *>(from), static_cast<size_t>(bytes));
  return request(json::Object{{"op", "write"}, {"address", addressOf(to)}}, data, answer, error);
}

bool ExecDevice::copyOut(void *to, const void *from, int64_t bytes, std::string &error) {
  json::Object answer;
  if (bytes <= 0)
    return true;
  llvm::MutableArrayRef<char> data(static_cast<char *>(to), static_cast<size_t>(bytes));
  return request(json::Object{{"op", "read"}, {"address", addressOf(from)}, {"size", bytes}}, {}, answer, error, data);
}

bool ExecDevice::launch(const Launch &launch, std::string &error) {
  json::Array sizes;
  std::vector<char> bytes;
  for (const std::vector<char> &argument : launch.arguments) {
    sizes.push_back(static_cast<int64_t>(argument.size()));
    bytes.insert(bytes.end(), argument.begin(), argument.end());
  }
  auto extents = [](const std::array<uint32_t, 3> &extent) {
    return json::Array{static_cast<int64_t>(extent[0]), static_cast<int64_t>(extent[1]),
                       static_cast<int64_t>(extent[2])};
  };
  json::Object answer;
  return request(json::Object{{"op", "launch"},
                              {"kernel", launch.kernel},
                              {"grid", extents(launch.grid)},
                              {"block", extents(launch.block)},
                              {"cluster", static_cast<int64_t>(launch.cluster)},
                              {"scratchpad", static_cast<int64_t>(launch.dynamicScratchpadBytes)},
                              {"arguments", std::move(sizes)}},
                 bytes, answer, error);
}

bool ExecDevice::wait(std::string &error) {
  json::Object answer;
  if (!request(json::Object{{"op", "wait"}}, {}, answer, error))
    return false;
  lastSeconds = answer.getNumber("seconds").value_or(0);
  return true;
}
