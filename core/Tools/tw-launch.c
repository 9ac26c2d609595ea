/*===- tw-launch.c - Runs an artifact or a package --------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * `tw-launch FILE`: loads one program of an artifact, on a device, or of a
 * package, also as code of this processor; gives it arrays from files or random
 * ones, runs it, compares and measures. Uses the runtime library
 * and libc alone, so that it can be copied to a machine that has only a driver.
 * See docs/runtime.md.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Glibc.h"
#include "core/Tools/Launch/Launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: tw-launch ARTIFACT.tw | PACKAGE.tw [options]\n"
    "  --program NAME        the program meant (default: the only one)\n"
    "  --input A.npy         the next input (default: random)\n"
    "  --output O.npy        file for the next output\n"
    "  --save-input A.npy    file that receives the next input as it was used\n"
    "  --size N              the next dynamic size, where no input shows it\n"
    "  --seed N              of random inputs, the same as tw-run's\n"
    "  --check-against O.npy compares the next output with this file; exit status 2 if it differs\n"
    "  --tolerance R[,A]     |out - ref| <= A + R |ref| (default: by the element type)\n"
    "  --benchmark           median seconds of a call on the device, of 9 samples\n"
    "  --target T[:CHIP]     the code meant, of a package (default: what this machine's processor runs)\n"
    "  --device N            which device of the machine (default: 0)\n"
    "  --json                one JSON object instead of text\n"
    "  --version             of the runtime library\n";

/*===-- Command line --------------------------------------------------------===*/

static int append(list *values, const char *value) {
  const char **longer = realloc(values->items, (values->count + 1) * sizeof(*longer));
  if (!longer)
    return fail("no memory");
  values->items = longer;
  values->items[values->count++] = value;
  return 0;
}

static int whole_number(const char *text, int64_t *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  return *text && !*end && errno == 0;
}

/* Neither negative nor NaN nor an infinity. */
static int is_tolerance(double value) { return value >= 0 && value - value == 0; }

static int parse_value(options *o, const char *name, const char *value) {
  int64_t number;
  list *values = strcmp(name, "input") == 0           ? &o->inputs
                 : strcmp(name, "output") == 0        ? &o->outputs
                 : strcmp(name, "save-input") == 0    ? &o->saved
                 : strcmp(name, "check-against") == 0 ? &o->expected
                 : strcmp(name, "size") == 0          ? &o->sizes
                                                      : NULL;
  if (values == &o->sizes && (!whole_number(value, &number) || number < 0))
    return fail("--size=%s is no size; expected a whole number, 0 or more", value);
  if (values)
    return append(values, value);
  if (strcmp(name, "program") == 0 || strcmp(name, "target") == 0) {
    *(name[0] == 'p' ? &o->program : &o->target) = value;
    return 0;
  }
  if (strcmp(name, "tolerance") == 0) {
    char *end;
    o->relative = strtod(value, &end);
    int bad = end == value || !is_tolerance(o->relative);
    if (!bad && *end == ',') {
      const char *second = end + 1;
      o->absolute = strtod(second, &end);
      bad = end == second || !is_tolerance(o->absolute);
    } else {
      o->absolute = 0;
    }
    return bad || *end ? fail("--tolerance=%s is none; expected R or R,A, finite numbers of 0 or more", value) : 0;
  }
  int is_seed = strcmp(name, "seed") == 0;
  if (!is_seed && strcmp(name, "device") != 0)
    return fail("unknown option '--%s'\n%s", name, usage);
  if (!whole_number(value, &number) || number < 0 || (!is_seed && number > 1 << 20))
    return fail("--%s=%s is out of range; expected a whole number, 0 or more", name, value);
  if (is_seed)
    o->seed = (uint64_t)number;
  else
    o->device = (int)number;
  return 0;
}

/* 0, 1 after an error, -1 where there is nothing else to do. */
static int parse(int argc, char **argv, options *o) {
  *o = (options){.relative = -1};
  for (int i = 1; i < argc; ++i) {
    const char *word = argv[i];
    if (strncmp(word, "-", 1) != 0) {
      if (o->artifact)
        return fail("two artifacts, '%s' and '%s'; expected one", o->artifact, word);
      o->artifact = word;
      continue;
    }
    const char *name = word + 1 + (word[1] == '-');
    if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0)
      return fputs(usage, stdout), -1;
    if (strcmp(name, "version") == 0)
      return printf("%s, formats up to %d\n", tw_version(), tw_newest_format()), -1;
    if (strcmp(name, "benchmark") == 0 || strcmp(name, "json") == 0) {
      *(name[0] == 'b' ? &o->benchmark : &o->json) = 1;
      continue;
    }
    char key[32];
    const char *equals = strchr(name, '='), *value = equals ? equals + 1 : argv[i + 1];
    if (!value)
      return fail("option '--%s' needs a value\n%s", name, usage);
    snprintf(key, sizeof(key), "%.*s", equals ? (int)(equals - name) : (int)strlen(name), name);
    i += !equals;
    if (parse_value(o, key, value))
      return 1;
  }
  return o->artifact ? 0 : fail("no artifact\n%s", usage);
}

/*===-- Running -------------------------------------------------------------===*/

static double seconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Samples of calls one after the other, each of at least a millisecond, between two marks on the device. */
static int measure(tw_device *device, tw_module *module, const tw_program *program, const int64_t *sizes,
                   void *const *pointers, timing *result) {
  enum { samples = sizeof(result->samples) / sizeof(*result->samples) };
  tw_error error;
  tw_timer *timer;
  if (tw_timer_create(device, &timer, &error))
    return failed(&error);
  tw_status status = TW_OK;
  int64_t calls = 1;
  for (int sample = -1; sample < samples && !status;) {
    double seconds = 0, begin = seconds_now();
    status = tw_timer_start(timer, NULL, &error);
    for (int64_t i = 0; i < calls && !status; ++i)
      status = tw_launch(module, program, sizes, pointers, NULL, NULL, &error);
    double started = seconds_now();
    if (!status)
      status = tw_timer_stop(timer, NULL, &seconds, &error);
    if (sample < 0) { /* how many calls a sample takes */
      if (seconds >= 1e-3 || calls >= 1 << 20)
        sample = 0;
      else
        calls = seconds > 1e-7 && 1.2e-3 / seconds < 9 ? (int64_t)((double)calls * 1.2e-3 / seconds) + 1 : calls * 10;
      continue;
    }
    result->host = (started - begin) / (double)calls;
    result->samples[sample++] = seconds / (double)calls;
  }
  tw_timer_destroy(timer);
  if (status)
    return failed(&error);
  double sorted[samples];
  memcpy(sorted, result->samples, sizeof(sorted));
  qsort(sorted, samples, sizeof(*sorted), ascending);
  result->median = sorted[samples / 2];
  return 0;
}

/* Everything on the device: copies, one call, copies back, then the measurement. */
static int run_on_device(const options *o, const tw_artifact *artifact, const tw_program *program, const int64_t *sizes,
                         array *arrays, char *device_name, size_t capacity, timing *time) {
  tw_error error;
  tw_device *device = NULL;
  tw_module *module = NULL;
  size_t count = tw_program_arguments(program);
  void **pointers = calloc(count + 1, sizeof(*pointers));
  int bad = !pointers;
  if (tw_device_open(tw_artifact_target(artifact), o->device, &device, &error) ||
      tw_module_load(device, artifact, &module, &error))
    bad = failed(&error);
  if (device)
    snprintf(device_name, capacity, "%s", tw_device_name(device));
  for (size_t i = 0; i < count && !bad; ++i) {
    array *a = &arrays[i];
    if (a->is_held && !a->bound)
      bad = fail("the package has argument %zu of '%s' in packed form alone", i, tw_program_name(program));
    else if (tw_device_allocate(device, a->bytes, &a->device, &error) ||
             tw_device_copy_in(device, a->device, a->bound ? a->bound : a->host, a->bytes, &error))
      bad = failed(&error);
    pointers[i] = a->device;
  }
  if (!bad && (tw_launch(module, program, sizes, pointers, NULL, NULL, &error) || tw_device_wait(device, NULL, &error)))
    bad = failed(&error);
  for (size_t i = 0; i < count && !bad; ++i)
    if (arrays[i].type.is_written && arrays[i].host &&
        tw_device_copy_out(device, arrays[i].host, arrays[i].device, arrays[i].bytes, &error))
      bad = failed(&error);
  if (!bad && o->benchmark)
    bad = measure(device, module, program, sizes, pointers, time);
  for (size_t i = 0; i < count && device; ++i)
    tw_device_release(device, arrays[i].device);
  tw_module_unload(module);
  tw_device_close(device);
  free(pointers);
  return bad;
}

/* Samples of calls one after the other, each of at least a millisecond, on the host's clock. */
static int measure_host(const tw_function *function, const int64_t *sizes, void *const *pointers, timing *result) {
  enum { samples = sizeof(result->samples) / sizeof(*result->samples) };
  tw_error error;
  int64_t calls = 1;
  for (int sample = -1; sample < samples;) {
    double begin = seconds_now();
    for (int64_t i = 0; i < calls; ++i)
      if (tw_function_call(function, sizes, pointers, &error))
        return failed(&error);
    double seconds = seconds_now() - begin;
    if (sample >= 0)
      result->samples[sample++] = seconds / (double)calls;
    else if (seconds >= 1e-3 || calls >= 1 << 20) /* how many calls a sample takes */
      sample = 0;
    else
      calls *= 2;
  }
  double sorted[samples];
  memcpy(sorted, result->samples, sizeof(sorted));
  qsort(sorted, samples, sizeof(*sorted), ascending);
  result->median = result->host = sorted[samples / 2];
  return 0;
}

/* One call on the host, then the measurement. */
static int run_on_host(const options *o, const tw_function *function, const int64_t *sizes, const array *arrays,
                       timing *time) {
  tw_error error;
  size_t count = tw_program_arguments(tw_function_program(function));
  void **pointers = calloc(count + 1, sizeof(*pointers));
  if (!pointers)
    return fail("no memory");
  for (size_t i = 0; i < count; ++i)
    pointers[i] = arrays[i].host;
  int bad = tw_function_call(function, sizes, pointers, &error) ? failed(&error) : 0;
  if (!bad && o->benchmark)
    bad = measure_host(function, sizes, pointers, time);
  free(pointers);
  return bad;
}

/*===-- Main ----------------------------------------------------------------===*/

/* The program that is meant; null after a message. */
static const tw_program *choose(const options *o, const tw_artifact *artifact) {
  const tw_program *program = tw_artifact_program(artifact, o->program);
  if (program)
    return program;
  char names[512] = "";
  for (size_t i = 0; i < tw_artifact_count(artifact); ++i)
    snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? ", " : "",
             tw_program_name(tw_artifact_at(artifact, i)));
  if (o->program)
    fail("'%s' has no program '%s' (known: %s)", o->artifact, o->program, names);
  else
    fail("'%s' has %zu programs (%s); name one with --program", o->artifact, tw_artifact_count(artifact), names);
  return NULL;
}

/* Outputs: compared and written. */
static int finish_outputs(const options *o, const array *arrays, size_t count, double roundings, comparison *compared) {
  size_t output = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!arrays[i].type.is_written || arrays[i].is_held)
      continue;
    if (output < o->outputs.count && write_npy(o->outputs.items[output], &arrays[i]))
      return 1;
    if (output < o->expected.count &&
        compare(o, arrays, count, roundings, &arrays[i], o->expected.items[output], &compared[output]))
      return 1;
    ++output;
  }
  if (o->outputs.count > output || o->expected.count > output)
    return fail("the program has %zu outputs; %zu files were given", output,
                o->outputs.count > output ? o->outputs.count : o->expected.count);
  return 0;
}

/* Runs a program of an artifact on a device, or a function on the host; the other is null. `package`: where it is from,
   or null. */
static int launch(const options *o, const tw_package *package, const tw_artifact *artifact,
                  const tw_function *function) {
  const tw_program *program = function ? tw_function_program(function) : choose(o, artifact);
  if (!program)
    return 1;
  size_t count = tw_program_arguments(program), num_inputs = 0;
  array *arrays = calloc(count + 1, sizeof(*arrays));
  int64_t *sizes = calloc(tw_program_sizes(program) + 1, sizeof(*sizes));
  tw_npy *files = calloc(o->inputs.count + 1, sizeof(*files));
  char **contents = calloc(o->inputs.count + 1, sizeof(*contents)), device[256] = "";
  comparison *compared = calloc(o->expected.count + 1, sizeof(*compared));
  timing time = {0};
  int bad = !arrays || !sizes || !files || !contents || !compared ? fail("no memory") : 0;
  if (!bad)
    bad = describe_arguments(o, program, package, arrays);
  for (size_t i = 0; i < count && !bad; ++i)
    num_inputs += (size_t)arrays[i].is_input;
  if (!bad && o->inputs.count > num_inputs)
    bad = fail("'%s' has %zu inputs; %zu files were given", tw_program_name(program), num_inputs, o->inputs.count);
  for (size_t i = 0; i < o->inputs.count && !bad; ++i)
    bad = open_npy(o->inputs.items[i], &files[i], &contents[i]);
  if (!bad)
    bad = find_sizes(o, program, arrays, files, sizes) || fill_arrays(o, program, sizes, files, arrays) ||
          (function ? run_on_host(o, function, sizes, arrays, &time)
                    : run_on_device(o, artifact, program, sizes, arrays, device, sizeof(device), &time)) ||
          finish_outputs(o, arrays, count, tw_program_roundings(program, sizes), compared);
  if (!bad && o->json)
    report_json(o, artifact ? tw_artifact_target(artifact) : "host", program, function ? "host" : device, sizes, arrays,
                &time, compared);
  else if (!bad)
    report_text(o, program, function ? "the host" : device, arrays, &time, compared);
  for (size_t i = 0; i < o->expected.count && !bad; ++i)
    bad = compared[i].passed ? 0 : 2;
  for (size_t i = 0; i < o->inputs.count && contents; ++i)
    free(contents[i]);
  for (size_t i = 0; i < count && arrays; ++i)
    free(arrays[i].host);
  free(compared);
  free(contents);
  free(files);
  free(sizes);
  free(arrays);
  return bad;
}

static int launch_artifact(const options *o) {
  tw_artifact *artifact;
  tw_error error;
  if (o->target)
    return fail("--target chooses code of a package; '%s' is none", o->artifact);
  if (tw_artifact_open(o->artifact, &artifact, &error))
    return failed(&error);
  int status = launch(o, NULL, artifact, NULL);
  tw_artifact_close(artifact);
  return status;
}

/* As code of this processor, or else as the artifact of a device. */
static int launch_package(const options *o) {
  tw_package *package;
  tw_function *function = NULL;
  tw_artifact *artifact = NULL;
  tw_error error, other;
  if (tw_package_open(o->artifact, &package, &error))
    return failed(&error);
  int status = 1;
  if (tw_function_load(package, o->program, o->target, &function, &error) == TW_OK)
    status = launch(o, package, NULL, function);
  else if (error.status == TW_WRONG_CHIP &&
           tw_package_artifact(package, o->program, o->target, &artifact, &other) == TW_OK)
    status = launch(o, package, artifact, NULL);
  else
    failed(&error);
  tw_artifact_close(artifact);
  tw_function_unload(function);
  tw_package_close(package);
  return status;
}

/* Packages are zip files; what cannot be opened is reported as an artifact. */
static int is_package(const char *path) {
  char head[2] = "";
  FILE *file = fopen(path, "rb");
  int is = file && fread(head, 1, sizeof(head), file) == sizeof(head) && memcmp(head, "PK", sizeof(head)) == 0;
  if (file)
    fclose(file);
  return is;
}

int main(int argc, char **argv) {
  options o;
  int status = parse(argc, argv, &o);
  if (status == 0)
    status = is_package(o.artifact) ? launch_package(&o) : launch_artifact(&o);
  if (fflush(stdout) != 0)
    status = fail("cannot write to standard output: %s", strerror(errno));
  list *lists[] = {&o.inputs, &o.outputs, &o.saved, &o.expected, &o.sizes};
  for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); ++i)
    free(lists[i]->items);
  return status < 0 ? 0 : status;
}

#ifdef TILEWRIGHT_OLD_GLIBC
/* The linker sends the start of the program here: the function of every glibc, not the one of 2.34. It calls no
   constructors; this program has none. */
int old_start(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
              void (*rtld_fini)(void), void *stack_end);
TW_OLD_GLIBC_AS(old_start, __libc_start_main);
int __wrap___libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __wrap___libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
  return old_start(main, argc, argv, init, fini, rtld_fini, stack_end);
}
#endif
