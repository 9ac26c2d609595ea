/*===- server.c - A machine that executes shared libraries, behind a pipe ---===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * The far side of `--device exec:PROG` (docs/device-protocol.md) for processors:
 * loads shared libraries and calls their functions. Runs on a board, or under an
 * emulator of the processor such as qemu-aarch64.
 *
 *   server [--timed]     --timed: `wait` tells the seconds of the launches, which
 *                        are those of the machine: for boards, not emulators
 *
 * Requests are lines of JSON as Tilewright writes them, without escapes. Kernels
 * take up to 32 sizes and addresses.
 *
 *===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { most_arguments = 32 };
static void *library;
static double seconds; /* of all launches since the last `wait` */

/* What follows `"key":` in a request; NULL if it lacks the key. */
static const char *field(const char *line, const char *key) {
  char name[40];
  snprintf(name, sizeof(name), "\"%s\":", key);
  const char *at = strstr(line, name);
  return at ? at + strlen(name) + strspn(at + strlen(name), " \"") : NULL;
}

static int64_t number(const char *line, const char *key) {
  const char *at = field(line, key);
  return at ? strtoll(at, NULL, 10) : 0;
}

static void answer(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
}

static void refuse(const char *what, const char *why) { answer("{\"ok\": false, \"error\": \"%s: %s\"}", what, why); }

static void load(const void *code, size_t bytes) {
  char path[] = "/tmp/tilewright-program-XXXXXX";
  int file = mkstemp(path);
  if (file < 0 || write(file, code, bytes) != (ssize_t)bytes || close(file))
    return refuse("load", "the library cannot be written");
  if (library)
    dlclose(library);
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  if (!library)
    return refuse("load", dlerror());
  answer("{\"ok\": true}");
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Calls a function of sizes and addresses; those that it does not take are left unread. */
static void launch(const char *line, const int64_t *given, size_t bytes) {
  const char *kernel = field(line, "kernel");
  char *name = kernel ? strndup(kernel, strcspn(kernel, "\"")) : NULL;
  void *symbol = library && name ? dlsym(library, name) : NULL;
  int64_t a[most_arguments] = {0};
  if (!symbol || bytes > sizeof(a)) {
    refuse("launch", symbol ? "too many arguments" : "no such function");
  } else {
    memcpy(a, given, bytes);
    int32_t (*function)(int64_t, ...) = (int32_t (*)(int64_t, ...))symbol;
    double begin = now();
    int32_t status = function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                              a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26],
                              a[27], a[28], a[29], a[30], a[31]);
    seconds += now() - begin;
    if (status)
      answer("{\"ok\": false, \"error\": \"%s returned %d\"}", name, status);
    else
      answer("{\"ok\": true}");
  }
  free(name);
}

int main(int count, char **words) {
  const char *timed = count > 1 && strcmp(words[1], "--timed") == 0 ? "true" : "false";
  struct utsname machine;
  uname(&machine);
  char *line = NULL, *payload = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) > 0) {
    size_t bytes = (size_t)number(line, "payload"), size = (size_t)number(line, "size");
    void *address = (void *)number(line, "address");
    const char *op = field(line, "op");
    payload = realloc(payload, bytes + 1);
    if (!op || !payload || fread(payload, 1, bytes, stdin) != bytes)
      return 1;
    if (strncmp(op, "hello", 5) == 0) {
      answer("{\"ok\": true, \"version\": 1, \"name\": \"a processor, %s\", \"kinds\": [\"so\"], \"timed\": %s}",
             machine.machine, timed);
    } else if (strncmp(op, "allocate", 8) == 0) {
      address = aligned_alloc(64, (size + 127) / 64 * 64);
      address ? answer("{\"ok\": true, \"address\": %lld}", (long long)address) : refuse("allocate", "no memory");
    } else if (strncmp(op, "read", 4) == 0) {
      answer("{\"ok\": true, \"payload\": %zu}", size);
      fwrite(address, 1, size, stdout);
    } else if (strncmp(op, "load", 4) == 0) {
      load(payload, bytes);
    } else if (strncmp(op, "launch", 6) == 0) {
      launch(line, (const int64_t *)payload, bytes);
    } else if (strncmp(op, "wait", 4) == 0) {
      answer("{\"ok\": true, \"seconds\": %.9f}", seconds);
      seconds = 0;
    } else {
      if (strncmp(op, "write", 5) == 0)
        memcpy(address, payload, bytes);
      else if (strncmp(op, "release", 7) == 0)
        free(address);
      answer("{\"ok\": true, \"counters\": {}}");
    }
    fflush(stdout);
  }
  return 0;
}
