/*===- Arrays.c - Files and arrays of tw-launch -------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Array files, sizes, and the values of arrays.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Tools/Launch/Launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fail(const char *format, ...) {
  va_list values;
  va_start(values, format);
  fputs("tw-launch: error: ", stderr);
  vfprintf(stderr, format, values);
  fputc('\n', stderr);
  va_end(values);
  return 1;
}

int failed(const tw_error *error) { return fail("%s", error->message); }

/*===-- Files ---------------------------------------------------------------===*/

/* All bytes of a file, to be freed; null after a message. */
static char *read_file(const char *path, size_t *count) {
  size_t capacity = 1 << 16, got;
  char *bytes = malloc(capacity);
  FILE *file = fopen(path, "rb");
  *count = 0;
  while (file && bytes && (got = fread(bytes + *count, 1, capacity - *count, file)) > 0)
    if ((*count += got) == capacity) {
      char *longer = realloc(bytes, capacity *= 2);
      if (!longer)
        free(bytes);
      bytes = longer;
    }
  int bad = !file || !bytes || ferror(file);
  if (bad)
    fail("cannot read '%s': %s", path, strerror(errno));
  if (file)
    fclose(file);
  if (!bad)
    return bytes;
  free(bytes);
  return NULL;
}

/* Whether another file may take the place of `path`: nothing is there, or a regular file (what cannot be truncated is a
   device or a pipe). */
static int replaceable(const char *path) {
  int file = open(path, O_WRONLY | O_NONBLOCK);
  if (file < 0)
    return errno == ENOENT;
  off_t size = lseek(file, 0, SEEK_END);
  int regular = size >= 0 && ftruncate(file, size) == 0;
  close(file);
  return regular;
}

/* Appears complete or not at all: written beside, then renamed. */
int write_npy(const char *path, const array *a) {
  char header[TW_NPY_MOST_HEADER];
  size_t length = tw_npy_header(a->element, a->type.rank, a->shape, header), room = strlen(path) + 32;
  char *name = malloc(room);
  int beside = replaceable(path);
  if (!name)
    return fail("cannot write '%s': out of memory", path);
  snprintf(name, room, beside ? "%s.%ld.tmp" : "%s", path, (long)getpid());
  FILE *file = fopen(name, "wb");
  int bad = !file || fwrite(header, 1, length, file) != length ||
            fwrite(a->host, 1, (size_t)a->bytes, file) != (size_t)a->bytes;
  if (file && fclose(file) != 0)
    bad = 1;
  if (!bad && beside)
    bad = rename(name, path) != 0;
  if (bad)
    fail("cannot write '%s': %s", path, strerror(errno));
  if (bad && file && beside)
    remove(name);
  free(name);
  return bad;
}

/* A file parsed; `bytes` is to be freed. */
int open_npy(const char *path, tw_npy *npy, char **bytes) {
  char problem[256];
  size_t count;
  *bytes = read_file(path, &count);
  if (!*bytes)
    return 1;
  if (tw_npy_parse(*bytes, count, tw_npy_is_bfloat(path, strlen(path)), npy, problem, sizeof(problem)))
    return 0;
  free(*bytes);
  *bytes = NULL;
  return fail("'%s' %s", path, problem);
}

void shape_text(const int64_t *shape, size_t rank, char *text, size_t capacity) {
  size_t length = 0;
  text[0] = 0;
  for (size_t d = 0; d < rank && length < capacity; ++d)
    length += (size_t)snprintf(text + length, capacity - length, d ? ",%lld" : "%lld", (long long)shape[d]);
}

/* Integers of one width differ only in how they are read; 8-bit floats come as bytes. */
static int same_storage(tw_element have, tw_element want) {
  int integers = !tw_element_is_float(have) && !tw_element_is_float(want) && have != TW_BOOL && want != TW_BOOL;
  return have == want || (tw_element_is_float8(want) && have == TW_U8) ||
         (integers && tw_element_bytes(have) == tw_element_bytes(want));
}

/*===-- Arrays --------------------------------------------------------------===*/

int describe_arguments(const options *o, const tw_program *program, const tw_package *package, array *arrays) {
  tw_error error;
  for (size_t i = 0; i < tw_program_arguments(program); ++i) {
    array *a = &arrays[i];
    if (tw_program_argument(program, i, &a->type, &error))
      return failed(&error);
    int element = tw_element_of(a->type.type);
    if (element < 0 || tw_element_bytes((tw_element)element) != a->type.element_bytes ||
        a->type.rank > TW_NPY_MOST_DIMENSIONS)
      return fail("argument %zu of '%s' has element type %s, which no array file holds", i, tw_program_name(program),
                  a->type.type);
    a->element = (tw_element)element;
    if (package && (tw_package_holds(package, o->program, program, i, &a->is_held, &error) ||
                    tw_package_weight(package, o->program, program, i, &a->bound, &error)))
      return failed(&error);
    a->is_input = !a->type.is_result && !a->is_held;
    if (tw_program_shape(program, i, NULL, NULL, a->size_of, &error))
      return failed(&error);
  }
  return 0;
}

/* Sizes from the input files and from --size. */
int find_sizes(const options *o, const tw_program *program, const array *arrays, const tw_npy *files, int64_t *sizes) {
  size_t count = tw_program_sizes(program), input = 0;
  for (size_t s = 0; s < count; ++s)
    sizes[s] = -1;
  for (size_t i = 0; i < tw_program_arguments(program) && input < o->inputs.count; ++i) {
    const array *a = &arrays[i];
    if (!a->is_input)
      continue;
    const tw_npy *file = &files[input];
    const char *name = o->inputs.items[input++];
    if (file->rank != a->type.rank)
      return fail("'%s' has %zu dimensions; input %zu of '%s' has %zu", name, file->rank, input - 1,
                  tw_program_name(program), a->type.rank);
    if (!same_storage(file->type, a->element))
      return fail("'%s' holds %s; input %zu of '%s' is %s%s", name, tw_element_name(file->type), input - 1,
                  tw_program_name(program), tw_element_name(a->element),
                  a->element == TW_BF16              ? " (a file named *.bf16.npy)"
                  : tw_element_is_float8(a->element) ? " (bytes, u1)"
                                                     : "");
    for (size_t d = 0; d < file->rank; ++d) {
      int64_t s = a->size_of[d];
      if (s >= 0 && sizes[s] >= 0 && sizes[s] != file->shape[d])
        return fail("'%s' has extent %lld in dimension %zu, but another input says %lld", name,
                    (long long)file->shape[d], d, (long long)sizes[s]);
      if (s >= 0)
        sizes[s] = file->shape[d];
    }
  }
  if (o->sizes.count > count)
    return fail("'%s' has %zu dynamic sizes; --size gives %zu", tw_program_name(program), count, o->sizes.count);
  for (size_t s = 0; s < o->sizes.count; ++s) {
    int64_t given = strtoll(o->sizes.items[s], NULL, 10);
    if (sizes[s] >= 0 && sizes[s] != given)
      return fail("size %zu is %lld by --size, but the inputs say %lld", s, (long long)given, (long long)sizes[s]);
    sizes[s] = given;
  }
  for (size_t s = 0; s < count; ++s)
    if (sizes[s] < 0)
      return fail("size %zu of %zu is not known; give the inputs (--input) or all sizes (--size, one each) of '%s'", s,
                  count, tw_program_name(program));
  return 0;
}

/* Shapes, and the values of the inputs. */
int fill_arrays(const options *o, const tw_program *program, const int64_t *sizes, const tw_npy *files, array *arrays) {
  tw_error error;
  size_t input = 0;
  for (size_t i = 0; i < tw_program_arguments(program); ++i) {
    array *a = &arrays[i];
    if (tw_program_shape(program, i, sizes, a->shape, NULL, &error) ||
        tw_program_bytes(program, i, sizes, &a->bytes, &error))
      return failed(&error);
    a->count = a->bytes / a->type.element_bytes;
    if (a->is_held)
      continue;
    a->host = malloc((size_t)a->bytes + 1);
    if (!a->host)
      return fail("no memory of the host for argument %zu, %lld bytes", i, (long long)a->bytes);
    if (!a->is_input) {
      memset(a->host, 0xff, (size_t)a->bytes); /* NaN: what is not written shows */
      continue;
    }
    if (input < o->inputs.count) {
      char have[512], want[512];
      shape_text(files[input].shape, files[input].rank, have, sizeof(have));
      shape_text(a->shape, a->type.rank, want, sizeof(want));
      if (strcmp(have, want) != 0)
        return fail("'%s' has shape (%s); input %zu of '%s' has (%s)", o->inputs.items[input], have, input,
                    tw_program_name(program), want);
      tw_npy_copy(&files[input], a->host);
    } else {
      tw_random_fill(a->element, a->host, a->count, o->seed, input);
    }
    if (input < o->saved.count && write_npy(o->saved.items[input], a))
      return 1;
    ++input;
  }
  if (o->saved.count > input)
    return fail("'%s' has %zu inputs; --save-input names %zu files", tw_program_name(program), input, o->saved.count);
  return 0;
}
