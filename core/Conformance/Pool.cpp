//===- Pool.cpp - Cases in processes of their own -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A worker reads the number of a case from a pipe and answers with one line of JSON
/// on another.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Pool.h"
#include "core/Pipelines/Run.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tilewright;
using namespace tilewright::conformance;

//===----------------------------------------------------------------------===//
// Outcomes on a pipe
//===----------------------------------------------------------------------===//

static std::string pack(const Outcome &outcome) {
  double worst = std::isfinite(outcome.worst) ? outcome.worst : -1;
  llvm::json::Object object{{"status", static_cast<int64_t>(outcome.status)},
                            {"message", llvm::json::fixUTF8(outcome.message)},
                            {"worst", worst},
                            {"compile", outcome.compileSeconds},
                            {"seconds", outcome.seconds},
                            {"modelled", outcome.modelledSeconds},
                            {"kernels", outcome.kernels},
                            {"fusion", outcome.fusion}};
  return llvm::formatv("{0}\n", llvm::json::Value(std::move(object)));
}

static Outcome unpack(llvm::StringRef line) {
  auto value = llvm::json::parse(line);
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object) {
    llvm::consumeError(value ? llvm::Error::success() : value.takeError());
    return {Status::Failed, "the worker's answer cannot be read"};
  }
  Outcome outcome;
  outcome.status = static_cast<Status>(object->getInteger("status").value_or(1));
  outcome.message = object->getString("message").value_or("").str();
  outcome.worst = object->getNumber("worst").value_or(0);
  outcome.worst = outcome.worst < 0 ? INFINITY : outcome.worst;
  outcome.compileSeconds = object->getNumber("compile").value_or(0);
  outcome.seconds = object->getNumber("seconds").value_or(0);
  outcome.modelledSeconds = object->getNumber("modelled").value_or(0);
  outcome.kernels = object->getString("kernels").value_or("").str();
  outcome.fusion = object->getString("fusion").value_or("").str();
  return outcome;
}

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

namespace {

struct Worker {
  pid_t process = -1;
  int input = -1, output = -1; // numbers to it, lines from it
  std::string line;            // what came of the next answer
  size_t current = 0;
  double deadline = 0;
  bool busy = false;
};

} // namespace

static bool writeAll(int file, const char *data, size_t bytes) {
  while (bytes > 0) {
    ssize_t written = write(file, data, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    data += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

/// The life of a worker: it ends when nobody sends numbers any more.
[[noreturn]] static void work(Runner &runner, llvm::ArrayRef<const Case *> cases, int input, int output) {
  setpgid(0, 0); // what it starts dies with it
  // What a crash prints is of no use here: the case's command runs it again.
  if (int null = open("/dev/null", O_WRONLY); null >= 0) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
  uint64_t index;
  while (read(input, &index, sizeof(index)) == static_cast<ssize_t>(sizeof(index))) {
    std::string line = pack(runner.run(*cases[index]));
    if (!writeAll(output, line.data(), line.size()))
      break;
  }
  _exit(0);
}

static llvm::Error start(Worker &worker, llvm::ArrayRef<Worker> others, Runner &runner,
                         llvm::ArrayRef<const Case *> cases) {
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0)
    return llvm::createStringError("cannot make a pipe: %s", std::strerror(errno));
  pid_t process = fork();
  if (process < 0)
    return llvm::createStringError("cannot start a process: %s", std::strerror(errno));
  if (process == 0) {
    close(to[1]);
    close(from[0]);
    for (const Worker &other : others)
      if (other.process > 0) {
        close(other.input);
        close(other.output);
      }
    work(runner, cases, to[0], from[1]);
  }
  close(to[0]);
  close(from[1]);
  worker = {process, to[1], from[0], "", 0, 0, false};
  return llvm::Error::success();
}

/// Ends a worker and everything that it started; how it had ended by itself, if it had.
static std::string stop(Worker &worker, bool force) {
  close(worker.input);
  close(worker.output);
  if (force)
    kill(-worker.process, SIGKILL), kill(worker.process, SIGKILL);
  int status = 0;
  waitpid(worker.process, &status, 0);
  if (!force)
    kill(-worker.process, SIGKILL); // a device's process that stayed behind
  worker.process = -1;
  if (WIFSIGNALED(status))
    return llvm::formatv("the process died of signal {0} ({1})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return llvm::formatv("the process ended with status {0}", WEXITSTATUS(status));
}

llvm::Error conformance::runAll(Runner &runner, llvm::ArrayRef<const Case *> cases, const PoolOptions &options,
                                llvm::function_ref<void(size_t, const Outcome &)> done) {
  if (options.jobs == 0) {
    for (size_t i = 0; i < cases.size(); ++i)
      done(i, runner.run(*cases[i]));
    return llvm::Error::success();
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<Worker> workers(std::min<size_t>(options.jobs, cases.size()));
  size_t next = 0, finished = 0;
  llvm::Error error = llvm::Error::success();
  while (finished < cases.size()) {
    std::vector<pollfd> files;
    std::vector<Worker *> watched;
    for (Worker &worker : workers) {
      if (!worker.busy && next < cases.size()) {
        if (worker.process < 0)
          if ((error = start(worker, workers, runner, cases)))
            break;
        uint64_t index = next;
        worker.current = next++;
        worker.busy = true;
        worker.deadline = secondsNow() + options.timeout;
        (void)writeAll(worker.input, reinterpret_cast<const char *>(&index), sizeof(index));
      }
      if (worker.busy) {
        files.push_back({worker.output, POLLIN, 0});
        watched.push_back(&worker);
      }
    }
    if (error)
      break;
    poll(files.data(), files.size(), 100);
    for (auto [file, worker] : llvm::zip(files, watched)) {
      auto finish = [&](const Outcome &outcome) {
        worker->busy = false;
        worker->line.clear();
        ++finished;
        done(worker->current, outcome);
      };
      if (file.revents & (POLLIN | POLLHUP)) {
        char buffer[4096];
        ssize_t bytes = read(worker->output, buffer, sizeof(buffer));
        if (bytes > 0)
          worker->line.append(buffer, static_cast<size_t>(bytes));
        if (!worker->line.empty() && worker->line.back() == '\n')
          finish(unpack(worker->line));
        else if (bytes == 0)
          finish({Status::Failed, stop(*worker, false)});
      } else if (secondsNow() > worker->deadline) {
        stop(*worker, true);
        finish({Status::Failed, llvm::formatv("no answer within {0} seconds", llvm::format("%g", options.timeout))});
      }
    }
  }
  for (Worker &worker : workers)
    if (worker.process > 0)
      stop(worker, static_cast<bool>(error));
  return error;
}
