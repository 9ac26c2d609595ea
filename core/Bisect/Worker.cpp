//===- Worker.cpp - Work in a process of its own --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// fork, two pipes, one shared mapping.
///
//===----------------------------------------------------------------------===//

#include "core/Bisect/Worker.h"
#include "core/Pipelines/PlacedProgram.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/thread.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tilewright;
using namespace tilewright::bisect;

//===----------------------------------------------------------------------===//
// Messages as bytes: a line of JSON, which describes the arrays, and their bytes
//===----------------------------------------------------------------------===//

static std::string pack(const Message &message) {
  llvm::json::Array arrays;
  for (const Array &array : message.arrays)
    arrays.push_back(llvm::json::Object{{"type", static_cast<int64_t>(array.type())},
                                        {"shape", llvm::json::Array(array.shape())},
                                        {"here", array.allocated()}});
  llvm::json::Object whole{{"head", llvm::json::Object(message.head)}, {"arrays", std::move(arrays)}};
  std::string bytes = llvm::formatv("{0}\n", llvm::json::Value(std::move(whole)));
  for (const Array &array : message.arrays)
    if (array.allocated())
      bytes.append(array.data(), static_cast<size_t>(array.bytes()));
  return bytes;
}

/// False if `bytes` are no whole message: the child ended in the middle.
static bool unpack(llvm::StringRef bytes, Message &message) {
  auto [line, rest] = bytes.split('\n');
  auto value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  llvm::json::Object &whole = *value->getAsObject();
  message.head = std::move(*whole.getObject("head"));
  for (const llvm::json::Value &each : *whole.getArray("arrays")) {
    const llvm::json::Object &facts = *each.getAsObject();
    if (!*facts.getBoolean("here")) {
      message.arrays.emplace_back();
      continue;
    }
    std::vector<int64_t> shape;
    for (const llvm::json::Value &extent : *facts.getArray("shape"))
      shape.push_back(*extent.getAsInteger());
    Array array(static_cast<ElementType>(*facts.getInteger("type")), shape);
    auto size = static_cast<size_t>(array.bytes());
    if (rest.size() < size || !array.allocated())
      return false;
    std::memcpy(array.data(), rest.data(), size);
    rest = rest.drop_front(size);
    message.arrays.push_back(std::move(array));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Children
//===----------------------------------------------------------------------===//

static llvm::Error systemError(const char *what) {
  return llvm::createStringError("%s: %s", what, std::strerror(errno));
}

llvm::Expected<std::unique_ptr<Worker>> Worker::create() {
  void *memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return systemError("no memory to share with a process");
  return std::unique_ptr<Worker>(new Worker(new (memory) Progress()));
}

Worker::~Worker() { munmap(shared, sizeof(Progress)); }

void Worker::answer(const Message &message) {
  std::string bytes = pack(message);
  for (size_t sent = 0; sent < bytes.size();) {
    ssize_t more = write(output, bytes.data() + sent, bytes.size() - sent);
    if (more <= 0 && errno != EINTR)
      break;
    sent += static_cast<size_t>(std::max<ssize_t>(more, 0));
  }
  llvm::errs().flush();
  _exit(0);
}

/// The child's life: signals end it at once, so that the parent sees which, and stacks are deep, as a stage's is.
[[noreturn]] static void live(llvm::function_ref<void()> work) {
  setpgid(0, 0);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGPIPE})
    std::signal(signal, SIG_DFL);
  const rlimit noCore{0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  constexpr unsigned stackBytes = 256u << 20;
  llvm::thread thread(std::optional<unsigned>(stackBytes), [&] { work(); });
  thread.join();
  _exit(1);
}

/// Reads both pipes to their ends; false if `deadline` comes first.
static bool readAll(int (&pipes)[2], std::string (&texts)[2], double deadline) {
  bool open[2] = {true, true};
  while (open[0]) { // what it prints may outlive it in a process that it started
    double left = deadline - secondsNow();
    if (left <= 0)
      return false;
    pollfd waiting[2] = {{open[0] ? pipes[0] : -1, POLLIN, 0}, {open[1] ? pipes[1] : -1, POLLIN, 0}};
    if (poll(waiting, 2, static_cast<int>(left * 1e3) + 1) < 0 && errno != EINTR)
      return false;
    for (int i : {1, 0}) {
      if (!(waiting[i].revents & (POLLIN | POLLHUP)))
        continue;
      char buffer[1 << 16];
      ssize_t bytes = read(pipes[i], buffer, sizeof(buffer));
      if (bytes > 0)
        texts[i].append(buffer, static_cast<size_t>(bytes));
      else
        open[i] = false;
    }
  }
  return true;
}

llvm::Expected<Answer> Worker::run(double seconds, llvm::function_ref<Message()> work) {
  int answers[2], errors[2];
  if (pipe(answers) != 0 || pipe(errors) != 0)
    return systemError("cannot make a pipe");
  shared->phase = Progress::Compiling;
  shared->begun = shared->ended = 0;
  ++count;
  llvm::outs().flush();
  llvm::errs().flush();
  pid_t child = fork();
  if (child < 0)
    return systemError("cannot start a process");
  if (child == 0) {
    close(answers[0]);
    close(errors[0]);
    dup2(errors[1], STDERR_FILENO);
    close(errors[1]);
    output = answers[1];
    live([&] { answer(work()); });
  }
  const double begin = secondsNow();
  setpgid(child, child);
  close(answers[1]);
  close(errors[1]);
  int pipes[2] = {answers[0], errors[0]};
  std::string texts[2];
  bool ended = readAll(pipes, texts, begin + seconds);
  if (!ended)
    kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  kill(-child, SIGKILL); // what it started: a device
  close(pipes[0]);
  close(pipes[1]);
  Answer result;
  result.printed = std::move(texts[1]);
  if (!ended)
    result.end = Answer::TimedOut;
  else if (!unpack(texts[0], result.message)) {
    result.end = Answer::Crashed;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  } else {
    longestSeconds = std::max(longestSeconds, secondsNow() - begin);
  }
  return result;
}
