/*===- Artifact.c - Reads an artifact ---------------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * The container around manifests and code. Its first line says the format, so
 * that every version of this library can tell a newer file from a damaged one.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char magic[] = "TILEWRIGHT ";

/* Data, and each constant in it, begins at a multiple of so many bytes. */
enum { data_alignment = 64 };

static tw_status damaged(tw_error *error, const char *what) {
  return tw_fail(error, TW_BAD_FILE, "is no intact artifact: %s", what);
}

static tw_status no_memory(tw_error *error) { return tw_fail(error, TW_NO_MEMORY, "does not fit into memory"); }

/* A decimal number that ends with `end`; -1 if there is none. */
static int64_t decimal(const char **at, const char *limit, char end) {
  int64_t value = 0;
  const char *first = *at;
  while (*at < limit && **at >= '0' && **at <= '9' && value < INT64_MAX / 16)
    value = value * 10 + (*(*at)++ - '0');
  if (*at == first || *at == limit || **at != end)
    return -1;
  ++*at;
  return value;
}

static tw_status read_programs(tw_artifact *artifact, const tw_json *programs, tw_error *error) {
  artifact->programs = tw_arena_take(&artifact->arena, (programs->count + 1) * sizeof(*artifact->programs));
  if (!artifact->programs)
    return no_memory(error);
  for (const tw_json *one = programs->first; one; one = one->next) {
    tw_error inner;
    tw_status status = tw_program_read(&artifact->arena, one, &artifact->kernels, &artifact->num_kernels,
                                       &artifact->data, &artifact->programs[artifact->num_programs++], &inner);
    if (status)
      return tw_fail(error, status, "cannot be loaded: %s", inner.message);
  }
  return TW_OK;
}

/* Reads the images, the first of which begins at *at; that moves behind the last one. */
static tw_status read_images(tw_artifact *artifact, const tw_json *images, const char *architecture, const char **at,
                             const char *end, tw_error *error) {
  artifact->images = tw_arena_take(&artifact->arena, (images->count + 1) * sizeof(*artifact->images));
  if (!artifact->images)
    return no_memory(error);
  for (const tw_json *one = images->first; one; one = one->next) {
    tw_image *image = &artifact->images[artifact->num_images++];
    int64_t count = tw_json_integer(one, "bytes", -1);
    image->kind = tw_json_text(one, "kind");
    if (!image->kind || count < 0)
      return damaged(error, "an image has no kind or no size");
    if (count > end - *at)
      return damaged(error, "it ends inside the code");
    char *copy = tw_arena_take(&artifact->arena, (size_t)count + 1);
    if (!copy)
      return no_memory(error);
    memcpy(copy, *at, (size_t)count);
    image->bytes = copy;
    image->count = (size_t)count;
    image->architecture = architecture;
    *at += count;
  }
  return TW_OK;
}

/* Finds the data after the images, `used` bytes from the beginning, and copies it unless the file stays mapped. */
static tw_status read_data(tw_artifact *artifact, const tw_json *data, const char *bytes, size_t used, size_t count,
                           tw_error *error) {
  if (!data)
    return used == count ? TW_OK : damaged(error, "bytes follow the code");
  const int64_t size = tw_json_integer(data, "bytes", -1);
  const size_t begin = (used + data_alignment - 1) / data_alignment * data_alignment;
  if (size < 0)
    return damaged(error, "its data has no size");
  if (begin > count || (uint64_t)size > count - begin)
    return damaged(error, "it ends inside the data of its constants");
  if ((uint64_t)size < count - begin)
    return damaged(error, "bytes follow the data of its constants");
  artifact->data.count = (uint64_t)size;
  artifact->data.bytes = bytes + begin;
  if (artifact->mapped)
    return TW_OK;
  char *copy = tw_arena_take(&artifact->arena, (size_t)size + data_alignment);
  if (!copy)
    return no_memory(error);
  copy += data_alignment - (uintptr_t)copy % data_alignment;
  memcpy(copy, bytes + begin, (size_t)size);
  artifact->data.bytes = copy;
  return TW_OK;
}

static tw_status parse(tw_artifact *artifact, const char *bytes, size_t count, tw_error *error) {
  const char *at = bytes, *end = bytes + count;
  if (count < sizeof(magic) - 1 || memcmp(bytes, magic, sizeof(magic) - 1) != 0)
    return tw_fail(error, TW_BAD_FILE, "is no artifact: it does not begin with '%s'; tw-compile -o NAME.tw writes one",
                   magic);
  at += sizeof(magic) - 1;
  int64_t format = decimal(&at, end, ' ');
  if (format > tw_newest_format())
    return tw_fail(error, TW_BAD_VERSION,
                   "has format %lld; this library (%s) reads formats up to %d: take a newer one, or compile again",
                   (long long)format, tw_version(), tw_newest_format());
  int64_t length = format < 1 ? -1 : decimal(&at, end, '\n');
  if (length < 0 || length > end - at)
    return damaged(error, "it ends inside its header");
  char problem[128];
  const tw_json *header = tw_json_parse(&artifact->arena, at, (size_t)length, problem, sizeof(problem));
  if (!header)
    return tw_fail(error, TW_BAD_FILE, "is no intact artifact: its header cannot be read: %s", problem);
  at += length;
  const tw_json *programs = tw_json_get(header, "programs", TW_ARRAY),
                *images = tw_json_get(header, "images", TW_ARRAY);
  const char *architecture = tw_json_text(header, "architecture");
  artifact->target = tw_json_text(header, "target");
  if (!artifact->target || !programs || !images || at == end || *at++ != '\n')
    return damaged(error, "its header lacks 'target', 'programs' or 'images'");
  tw_status status = read_images(artifact, images, architecture ? architecture : "", &at, end, error);
  if (!status)
    status = read_data(artifact, tw_json_get(header, "data", TW_OBJECT), bytes, (size_t)(at - bytes), count, error);
  return status ? status : read_programs(artifact, programs, error);
}

/* Reads `bytes`. `is_mapped`: they are a mapping, which the artifact keeps if it refers to it. */
static tw_status make(const void *bytes, size_t count, int is_mapped, tw_artifact **artifact, tw_error *error) {
  tw_artifact *result = calloc(1, sizeof(*result));
  *artifact = NULL;
  if (!result)
    return no_memory(error);
  result->mapped = is_mapped ? (void *)bytes : NULL;
  tw_status status = parse(result, bytes, count, error);
  if (!status && result->data.count)
    result->mapped_bytes = count;
  else
    result->mapped = NULL; /* stays the caller's */
  if (status)
    tw_artifact_close(result);
  else
    *artifact = result;
  return status;
}

tw_status tw_artifact_parse(const void *bytes, size_t count, tw_artifact **artifact, tw_error *error) {
  return make(bytes, count, 0, artifact, error);
}

/* A file in memory without reading it; null where it is none that can be mapped. */
static void *map_file(const char *path, size_t *count) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  off_t size = file < 0 ? -1 : lseek(file, 0, SEEK_END);
  *count = size > 0 ? (size_t)size : 0;
  void *bytes = size > 0 ? mmap(NULL, *count, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  if (file >= 0)
    close(file);
  return bytes == MAP_FAILED ? NULL : bytes;
}

/* All bytes of a file; null with `error`. */
static char *read_file(const char *path, size_t *count, tw_error *error) {
  size_t capacity = 0;
  char *bytes = NULL;
  FILE *file = fopen(path, "rb");
  *count = 0;
  while (file) {
    if (*count == capacity) {
      char *longer = realloc(bytes, capacity = capacity ? 2 * capacity : 1 << 16);
      if (!longer) {
        errno = ENOMEM;
        break;
      }
      bytes = longer;
    }
    size_t got = fread(bytes + *count, 1, capacity - *count, file);
    *count += got;
    if (got == 0 && !ferror(file)) {
      fclose(file);
      return bytes;
    }
    if (got == 0)
      break;
  }
  tw_fail(error, TW_BAD_FILE, "cannot read '%s': %s", path, strerror(errno));
  if (file)
    fclose(file);
  free(bytes);
  return NULL;
}

tw_status tw_artifact_open(const char *path, tw_artifact **artifact, tw_error *error) {
  size_t count;
  void *mapped = map_file(path, &count);
  char *bytes = mapped ? mapped : read_file(path, &count, error);
  *artifact = NULL;
  if (!bytes)
    return TW_BAD_FILE;
  tw_error inner;
  tw_status status = make(bytes, count, mapped != NULL, artifact, &inner);
  if (!mapped)
    free(bytes);
  else if (status || !(*artifact)->mapped)
    munmap(mapped, count);
  return status ? tw_fail(error, status, "'%s' %s", path, inner.message) : TW_OK;
}

void tw_artifact_close(tw_artifact *artifact) {
  if (!artifact)
    return;
  if (artifact->mapped)
    munmap(artifact->mapped, artifact->mapped_bytes);
  tw_arena_free(&artifact->arena);
  free(artifact);
}

const char *tw_artifact_target(const tw_artifact *artifact) { return artifact->target; }
size_t tw_artifact_count(const tw_artifact *artifact) { return artifact->num_programs; }

const tw_program *tw_artifact_at(const tw_artifact *artifact, size_t index) {
  return index < artifact->num_programs ? &artifact->programs[index] : NULL;
}

const tw_program *tw_artifact_program(const tw_artifact *artifact, const char *name) {
  if (!name)
    return artifact->num_programs == 1 ? artifact->programs : NULL;
  for (size_t i = 0; i < artifact->num_programs; ++i)
    if (strcmp(artifact->programs[i].name, name) == 0)
      return &artifact->programs[i];
  return NULL;
}
