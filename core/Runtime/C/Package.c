/*===- Package.c - Programs with their weights in one file ----------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Opens a package, maps its weights, and loads its code: of the host through the
 * dynamic linker, of devices as artifacts.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Glibc.h"
#include "core/Runtime/C/Profiler.h"
#include "core/Runtime/C/Program.h"
#include "core/Runtime/C/Zip.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { PACKAGE_FORMAT = 2, ALIGNMENT = 64 };

struct tw_package {
  char *path;
  void *bytes; /* of the file, mapped: what is written stays in this process */
  size_t count;
  tw_zip zip;
  tw_arena arena;
  const tw_json *programs;
};

struct tw_function {
  const tw_package *package;
  tw_arena arena;
  tw_program program;
  void *library;
  int (*call)(const int64_t *slots);
  const char *(*failure)(int64_t *found); /* what a refused call has found; null: it does not say */
  const void **weights;                   /* by argument; null: the caller's, or not read */
  size_t bound_at;                        /* among the code's arguments: what it binds of weights */
  const void *bound;                      /* null: there is no such argument */
  void *own;                              /* memory for `bound` where the package has none */
};

static tw_status no_memory(tw_error *error) { return tw_fail(error, TW_NO_MEMORY, "the host has no memory left"); }

static tw_status damaged(const tw_package *package, const char *what, const char *name, tw_error *error) {
  return tw_fail(error, TW_BAD_FILE, "'%s' is no intact package: %s%s%s%s", package->path, what, name ? " (" : "",
                 name ? name : "", name ? ")" : "");
}

/*===-- Opening -------------------------------------------------------------===*/

static tw_status map_file(tw_package *package, tw_error *error) {
  int file = open(package->path, O_RDONLY | O_CLOEXEC);
  off_t size = file < 0 ? -1 : lseek(file, 0, SEEK_END);
  void *bytes = size > 0 ? mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0) : NULL;
  int failed = file < 0 || size < 0 || bytes == MAP_FAILED, reason = errno;
  if (file >= 0)
    close(file);
  if (failed)
    return tw_fail(error, TW_BAD_FILE, "cannot read '%s': %s", package->path, strerror(reason));
  package->bytes = bytes;
  package->count = (size_t)size;
  return TW_OK;
}

/* A member whose bytes have their checksum. */
static tw_status read_member(const tw_package *package, const char *name, tw_zip_member *member, tw_error *error) {
  const char *problem = tw_zip_find(&package->zip, name, member);
  if (!problem && !tw_zip_intact(member))
    problem = "a member does not have its checksum";
  return problem ? damaged(package, problem, name, error) : TW_OK;
}

static tw_status read_package(tw_package *package, tw_error *error) {
  tw_status status = map_file(package, error);
  if (status)
    return status;
  const char *problem = tw_zip_open(package->bytes, package->count, &package->zip);
  if (problem)
    return damaged(package, problem, NULL, error);
  tw_zip_member manifest;
  status = read_member(package, "manifest.json", &manifest, error);
  if (status)
    return status;
  char reason[128];
  const tw_json *json = tw_json_parse(&package->arena, manifest.data, manifest.bytes, reason, sizeof(reason));
  if (!json)
    return damaged(package, reason, "manifest.json", error);
  int64_t format = tw_json_integer(json, "format", 0);
  if (format > PACKAGE_FORMAT)
    return tw_fail(error, TW_BAD_VERSION,
                   "'%s' has format %lld; this library (%s) reads packages up to %d: take a newer one", package->path,
                   (long long)format, tw_version(), PACKAGE_FORMAT);
  package->programs = tw_json_get(json, "programs", TW_ARRAY);
  return format < 1 || !package->programs ? damaged(package, "it lacks 'format' or 'programs'", "manifest.json", error)
                                          : TW_OK;
}

tw_status tw_package_open(const char *path, tw_package **package, tw_error *error) {
  *package = NULL;
  tw_package *result = calloc(1, sizeof(*result));
  if (!result || !(result->path = strdup(path))) {
    free(result);
    return no_memory(error);
  }
  tw_status status = read_package(result, error);
  if (status)
    tw_package_close(result);
  else
    *package = result;
  return status;
}

void tw_package_close(tw_package *package) {
  if (!package)
    return;
  if (package->bytes)
    munmap(package->bytes, package->count);
  tw_arena_free(&package->arena);
  free(package->path);
  free(package);
}

size_t tw_package_count(const tw_package *package) { return package->programs->count; }

const char *tw_package_name(const tw_package *package, size_t index) {
  const tw_json *one = package->programs->first;
  while (one && index-- > 0)
    one = one->next;
  return one ? tw_json_text(one, "name") : NULL;
}

/* The facts of a program; null with `error`. */
static const tw_json *find_program(const tw_package *package, const char *name, tw_error *error) {
  const tw_json *first = package->programs->first;
  if (!name && package->programs->count == 1)
    return first;
  for (const tw_json *one = first; one && name; one = one->next) {
    const char *known = tw_json_text(one, "name");
    if (known && strcmp(known, name) == 0)
      return one;
  }
  if (name)
    tw_fail(error, TW_BAD_ARGUMENT, "'%s' has no program '%s'", package->path, name);
  else
    tw_fail(error, TW_BAD_ARGUMENT, "'%s' has %zu programs; name one", package->path, package->programs->count);
  return NULL;
}

/*===-- Choosing code -------------------------------------------------------===*/

/* "TARGET" or "TARGET:CHIP" as the caller says it; null: any. */
static int is_named(const char *target, const char *wanted) {
  size_t length = wanted ? strlen(wanted) : 0;
  return !wanted || (strncmp(target, wanted, length) == 0 && (!target[length] || target[length] == ':'));
}

/* Whether the processor has a feature, as the kernel calls it; what cannot be told is trusted. */
static int has_feature(const char *feature) {
  char line[8192], word[64];
  int found = -1;
  FILE *file = fopen("/proc/cpuinfo", "r");
  snprintf(word, sizeof(word), " %s ", feature);
  while (file && found < 0 && fgets(line, sizeof(line) - 1, file))
    if (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) {
      line[strcspn(line, "\n")] = ' ';
      found = strstr(line, word) != NULL;
    }
  if (file)
    fclose(file);
  return found != 0;
}

/* Why this machine does not run a library; empty: it does. */
static void refuse(const tw_json *artifact, char *reason, size_t capacity) {
  struct utsname machine;
  const char *triple = tw_json_text(artifact, "triple");
  size_t length = triple ? strcspn(triple, "-") : 0;
  reason[0] = 0;
  if (uname(&machine) == 0 && (strlen(machine.machine) != length || strncmp(machine.machine, triple, length) != 0)) {
    snprintf(reason, capacity, "its code is for %.*s, this machine is %s", (int)length, triple, machine.machine);
    return;
  }
  const tw_json *needs = tw_json_get(artifact, "needs", TW_ARRAY);
  for (const tw_json *one = needs ? needs->first : NULL; one && !reason[0]; one = one->next)
    if (one->kind == TW_STRING && !has_feature(one->text))
      snprintf(reason, capacity, "this machine lacks %s", one->text);
}

/* The code of `kind` ("so": that this machine runs) for `target`: its facts and its member. */
static tw_status find_code(const tw_package *package, const tw_json *facts, const char *kind, const char *target,
                           const tw_json **artifact, tw_zip_member *code, tw_error *error) {
  const tw_json *artifacts = tw_json_get(facts, "artifacts", TW_ARRAY);
  char refusals[512] = "";
  for (const tw_json *one = artifacts ? artifacts->first : NULL; one; one = one->next) {
    const char *name = tw_json_text(one, "target"), *have = tw_json_text(one, "kind"),
               *file = tw_json_text(one, "file");
    if (!name || !have || !file)
      return damaged(package, "an artifact lacks 'target', 'kind' or 'file'", "manifest.json", error);
    if (!is_named(name, target))
      continue;
    char reason[128];
    snprintf(reason, sizeof(reason), strcmp(have, "so") == 0 ? "it is code of a processor" : "it runs on a device");
    if (strcmp(have, kind) == 0 && strcmp(kind, "so") == 0)
      refuse(one, reason, sizeof(reason));
    if (strcmp(have, kind) == 0 && (strcmp(kind, "so") != 0 || !reason[0])) {
      *artifact = one;
      return read_member(package, file, code, error);
    }
    size_t used = strlen(refusals);
    snprintf(refusals + used, sizeof(refusals) - used, "%s%s: %s", used ? "; " : "", name, reason);
  }
  return tw_fail(error, TW_WRONG_CHIP, "'%s' has no code of this program for %s; %s", package->path,
                 target ? target : "this machine", refusals[0] ? refusals : "it has none");
}

tw_status tw_package_artifact(const tw_package *package, const char *name, const char *target, tw_artifact **artifact,
                              tw_error *error) {
  tw_zip_member code;
  const tw_json *found;
  *artifact = NULL;
  const tw_json *facts = find_program(package, name, error);
  tw_status status = facts ? find_code(package, facts, "tw", target, &found, &code, error) : TW_BAD_ARGUMENT;
  return status ? status : tw_artifact_parse(code.data, code.bytes, artifact, error);
}

/*===-- Weights -------------------------------------------------------------===*/

/* The bytes of an argument whose sizes are fixed; -1: it has others. */
static int64_t fixed_bytes(const tw_array_type *type) {
  const tw_scope scope = {NULL, NULL};
  int64_t bytes = type->element_bytes, extent;
  for (size_t d = 0; d < type->rank; ++d)
    if (type->shape[d]->op != TW_OP_NUMBER || !tw_evaluate(type->shape[d], &scope, &extent) || extent < 0 ||
        __builtin_mul_overflow(bytes, extent, &bytes))
      return -1;
  return bytes;
}

/* The number of an argument among the inputs. */
static int64_t input_number(const tw_program *program, size_t argument) {
  int64_t input = 0;
  for (size_t i = 0; i < argument; ++i)
    input += !program->arguments[i].is_result;
  return input;
}

const char *tw_package_argument_name(const tw_package *package, const char *name, const tw_program *program,
                                     size_t argument) {
  tw_error error;
  const tw_json *facts = find_program(package, name, &error);
  const tw_json *names = facts ? tw_json_get(facts, "names", TW_ARRAY) : NULL;
  if (!names || argument >= program->num_arguments || program->arguments[argument].is_result)
    return NULL;
  const tw_json *one = names->first;
  for (int64_t input = input_number(program, argument); one && input > 0; --input)
    one = one->next;
  return one && one->kind == TW_STRING ? one->text : NULL;
}

/* The package's entry for an argument; null with TW_OK: the caller passes the argument. */
static tw_status find_entry(const tw_package *package, const tw_json *facts, const tw_program *program, size_t argument,
                            const tw_json **entry, tw_error *error) {
  const tw_json *weights = tw_json_get(facts, "weights", TW_ARRAY);
  int64_t input = input_number(program, argument);
  *entry = NULL;
  if (!weights)
    return damaged(package, "a program lacks 'weights'", "manifest.json", error);
  for (const tw_json *one = program->arguments[argument].is_result ? NULL : weights->first; one; one = one->next)
    if (tw_json_integer(one, "input", -1) == input)
      *entry = one;
  return TW_OK;
}

/* A member of so many bytes. */
static tw_status find_array(const tw_package *package, const char *file, int64_t bytes, const void **data,
                            tw_error *error) {
  tw_zip_member member;
  const char *problem = tw_zip_find(&package->zip, file, &member);
  if (!problem && (int64_t)member.bytes != bytes)
    problem = "a weight has another size than the program takes";
  if (problem)
    return damaged(package, problem, file, error);
  *data = member.data;
  return TW_OK;
}

static tw_status find_weight(const tw_package *package, const tw_json *facts, const tw_program *program,
                             size_t argument, const void **data, tw_error *error) {
  const tw_json *entry;
  *data = NULL;
  tw_status status = find_entry(package, facts, program, argument, &entry, error);
  const char *file = entry ? tw_json_text(entry, "file") : NULL;
  if (status || !file) /* the caller's, or no code reads it */
    return status;
  return find_array(package, file, fixed_bytes(&program->arguments[argument]), data, error);
}

static tw_status find_argument(const tw_package *package, const char *name, const tw_program *program, size_t argument,
                               const tw_json **facts, tw_error *error) {
  *facts = find_program(package, name, error);
  if (!*facts)
    return TW_BAD_ARGUMENT;
  if (argument >= program->num_arguments)
    return tw_fail(error, TW_BAD_ARGUMENT, "program '%s' has %zu arguments; there is no argument %zu", program->name,
                   program->num_arguments, argument);
  return TW_OK;
}

tw_status tw_package_weight(const tw_package *package, const char *name, const tw_program *program, size_t argument,
                            const void **data, tw_error *error) {
  const tw_json *facts;
  *data = NULL;
  tw_status status = find_argument(package, name, program, argument, &facts, error);
  return status ? status : find_weight(package, facts, program, argument, data, error);
}

tw_status tw_package_holds(const tw_package *package, const char *name, const tw_program *program, size_t argument,
                           int *holds, tw_error *error) {
  const tw_json *facts, *entry = NULL;
  tw_status status = find_argument(package, name, program, argument, &facts, error);
  if (!status)
    status = find_entry(package, facts, program, argument, &entry, error);
  *holds = entry != NULL;
  return status;
}

/*===-- Functions of the host -----------------------------------------------===*/

/* The loader tells libraries apart by their paths and takes files alone, so the code becomes one for a moment. */
static tw_status open_library(const tw_zip_member *code, void **library, tw_error *error) {
  const char *folder = getenv("TMPDIR");
  char path[4096];
  snprintf(path, sizeof(path), "%s/tilewright-XXXXXX", folder && *folder ? folder : "/tmp");
  int file = mkstemp(path);
  const char *at = code->data;
  size_t left = code->bytes;
  while (file >= 0 && left > 0) {
    ssize_t written = write(file, at, left);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      break;
    at += written;
    left -= (size_t)written;
  }
  int failed = file < 0 || left > 0, reason = errno;
  if (file >= 0)
    close(file);
  if (!failed)
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *problem = !failed && !*library ? dlerror() : NULL;
  if (file >= 0)
    unlink(path);
  if (failed)
    return tw_fail(error, TW_BAD_FILE, "cannot write '%s' to load the code from: %s", path, strerror(reason));
  return problem ? tw_fail(error, TW_BAD_FILE, "the code cannot be loaded: %s", problem) : TW_OK;
}

/*===-- What code binds of weights ------------------------------------------===*/

/* Whether a list of integers has `value`. */
static int has_number(const tw_json *list, int64_t value) {
  for (const tw_json *one = list ? list->first : NULL; one; one = one->next)
    if (one->kind == TW_NUMBER && one->number == value)
      return 1;
  return 0;
}

/* Calls the function of the code that fills its bound argument. */
static tw_status bind(tw_function *function, const tw_json *facts, int64_t bytes, tw_error *error) {
  char symbol[1024];
  const char *name = tw_json_text(facts, "entry");
  const tw_json *inputs = tw_json_get(facts, "inputs", TW_ARRAY);
  snprintf(symbol, sizeof(symbol), "%s_packed", name ? name : "");
  int (*fill)(const int64_t *slots);
  *(void **)&fill = dlsym(function->library, symbol);
  if (!fill || !inputs)
    return damaged(function->package, "its code lacks a function", symbol, error);
  int64_t *slots = tw_arena_take(&function->arena, (inputs->count + 1) * sizeof(*slots));
  function->own = aligned_alloc(ALIGNMENT, (size_t)(bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (!slots || !function->own)
    return no_memory(error);
  size_t count = 0;
  for (const tw_json *one = inputs->first; one; one = one->next) {
    size_t argument = one->kind == TW_NUMBER ? (size_t)one->number : function->program.num_arguments;
    if (argument >= function->program.num_arguments || !function->weights[argument])
      return damaged(function->package, "it has no array that its code binds", "manifest.json", error);
    slots[count++] = (int64_t)(intptr_t)function->weights[argument];
  }
  slots[count] = (int64_t)(intptr_t)function->own;
  function->bound = function->own;
  int status = fill(slots);
  return status ? tw_fail(error, TW_DEVICE_ERROR, "'%s' of '%s' ended with status %d", name, function->package->path,
                          status)
                : TW_OK;
}

/* The bound argument of the code, if it has one: mapped, or filled now. */
static tw_status find_bound(tw_function *function, const tw_json *artifact, tw_error *error) {
  const tw_json *signature = tw_json_get(artifact, "signature", TW_OBJECT);
  const tw_json *arguments = signature ? tw_json_get(signature, "arguments", TW_ARRAY) : NULL;
  const tw_json *facts = signature ? tw_json_get(signature, "bind", TW_OBJECT) : NULL;
  const char *file = tw_json_text(artifact, "bound");
  const tw_json *one = arguments ? arguments->first : NULL;
  size_t position = 0;
  for (; one && !tw_json_get(one, "bound", TW_BOOLEAN); one = one->next)
    ++position;
  const tw_json *shape = one ? tw_json_get(one, "shape", TW_ARRAY) : NULL;
  if (signature && (!facts || !shape || shape->count != 1 || shape->first->kind != TW_NUMBER ||
                    shape->first->number < 0 || position > function->program.num_arguments))
    return damaged(function->package, "its code does not say what it binds", "manifest.json", error);
  tw_status status = TW_OK;
  if (signature) {
    function->bound_at = position;
    status = file ? find_array(function->package, file, shape->first->number, &function->bound, error)
                  : bind(function, facts, shape->first->number, error);
  }
  return status;
}

/* Each array that the package has is there, or the code reads none. */
static tw_status check_weights(const tw_function *function, const tw_json *facts, const tw_json *artifact,
                               tw_error *error) {
  const tw_json *signature = tw_json_get(artifact, "signature", TW_OBJECT);
  const tw_json *binds = signature ? tw_json_get(signature, "bind", TW_OBJECT) : NULL;
  const tw_json *released = binds ? tw_json_get(binds, "releases", TW_ARRAY) : NULL;
  for (size_t i = 0; i < function->program.num_arguments; ++i) {
    const tw_json *entry;
    tw_status status = find_entry(function->package, facts, &function->program, i, &entry, error);
    if (status)
      return status;
    if (entry && !function->weights[i] && !has_number(released, (int64_t)i))
      return damaged(function->package, "it has no array for a weight that its code reads", "manifest.json", error);
  }
  return TW_OK;
}

/*===-- Functions of the host, loaded ---------------------------------------===*/

static tw_status load(tw_function *function, const tw_json *facts, const char *target, tw_error *error) {
  const tw_json *signature = tw_json_get(facts, "signature", TW_OBJECT), *artifact = NULL;
  if (!signature)
    return damaged(function->package, "a program lacks 'signature'", "manifest.json", error);
  const char **kernels = NULL;
  size_t num_kernels = 0;
  tw_zip_member code;
  tw_status status =
      tw_program_read(&function->arena, signature, &kernels, &num_kernels, NULL, &function->program, error);
  if (!status)
    status = find_code(function->package, facts, "so", target, &artifact, &code, error);
  if (!status)
    status = open_library(&code, &function->library, error);
  if (status)
    return status;
  char symbol[1024];
  snprintf(symbol, sizeof(symbol), "%s_packed", function->program.name);
  *(void **)&function->call = dlsym(function->library, symbol);
  snprintf(symbol, sizeof(symbol), "%s_failure", function->program.name);
  *(void **)&function->failure = dlsym(function->library, symbol);
  function->weights = tw_arena_take(&function->arena, (function->program.num_arguments + 1) * sizeof(void *));
  if (!function->call)
    return damaged(function->package, "its code lacks a function", symbol, error);
  if (!function->weights)
    return no_memory(error);
  for (size_t i = 0; i < function->program.num_arguments && !status; ++i)
    status = find_weight(function->package, facts, &function->program, i, &function->weights[i], error);
  if (!status)
    status = check_weights(function, facts, artifact, error);
  return status ? status : find_bound(function, artifact, error);
}

tw_status tw_function_load(const tw_package *package, const char *name, const char *target, tw_function **function,
                           tw_error *error) {
  *function = NULL;
  tw_status status = tw_profiler_from_environment(error);
  if (status)
    return status;
  const tw_json *facts = find_program(package, name, error);
  if (!facts)
    return TW_BAD_ARGUMENT;
  tw_function *result = calloc(1, sizeof(*result));
  if (!result)
    return no_memory(error);
  result->package = package;
  status = load(result, facts, target, error);
  if (status)
    tw_function_unload(result);
  else
    *function = result;
  return status;
}

void tw_function_unload(tw_function *function) {
  if (!function)
    return;
  if (function->library)
    dlclose(function->library);
  tw_arena_free(&function->arena);
  free(function->own);
  free(function);
}

const tw_program *tw_function_program(const tw_function *function) { return &function->program; }

static tw_status call_function(const tw_function *function, const int64_t *sizes, void *const *arrays,
                               tw_error *error) {
  enum { few = 64 };
  const tw_program *program = &function->program;
  size_t count = program->num_sizes + program->num_arguments + 1; /* one more where something is bound */
  tw_status bad = tw_check_sizes(program, sizes, error);
  if (bad)
    return bad;
  int64_t local[few], *slots = count <= few ? local : malloc(count * sizeof(*slots));
  if (!slots)
    return no_memory(error);
  int64_t *next = slots;
  for (size_t i = 0; i < program->num_sizes; ++i)
    *next++ = sizes[i];
  for (size_t i = 0; i <= program->num_arguments; ++i) {
    if (function->bound && i == function->bound_at)
      *next++ = (int64_t)(intptr_t)function->bound;
    if (i < program->num_arguments)
      *next++ = (int64_t)(intptr_t)(function->weights[i] ? function->weights[i] : arrays[i]);
  }
  int status = function->call(slots);
  if (slots != local)
    free(slots);
  int64_t found[2];
  const char *message =
      (status == TW_BAD_SIZES || status == TW_BAD_INDEX) && function->failure ? function->failure(found) : NULL;
  if (message)
    return tw_check_failed(error, (tw_status)status, program->name, message, found[0], found[1]);
  if (status == 1)
    return tw_fail(
        error, TW_BAD_SIZES,
        "program '%s' refuses its sizes: they disagree, are negative, make an array that no memory holds, or "
        "differ from what it makes of its data",
        program->name);
  if (status == 2)
    return tw_fail(error, TW_NO_MEMORY, "program '%s' has no memory for its temporaries", program->name);
  return status
             ? tw_fail(error, TW_DEVICE_ERROR,
                       "program '%s' ended with status %d: this machine does not grant a state of registers that its "
                       "units need",
                       program->name, status)
             : TW_OK;
}

tw_status tw_function_call(const tw_function *function, const int64_t *sizes, void *const *arrays, tw_error *error) {
  if (!tw_is_profiled())
    return call_function(function, sizes, arrays, error);
  tw_activity activity = tw_activity_of(TW_ACTIVITY_PROGRAM, function->program.name, NULL);
  tw_activity_begin(&activity);
  return tw_activity_end(&activity, call_function(function, sizes, arrays, error));
}
