/*===- Manifest.c - Reads the manifest of a program ------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * JSON to structs; whatever a call would stumble over is refused here.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/ManifestReader.h"
#include "core/Runtime/C/Profiler.h"

#include <stdlib.h>
#include <string.h>

enum { newest_format = 5 };

int tw_newest_format(void) { return newest_format; }
const char *tw_version(void) { return TILEWRIGHT_VERSION; }

static tw_status read_argument(tw_reader *r, const tw_json *json, void *result) {
  tw_array_type *argument = result;
  const tw_json *shape = tw_json_get(json, "shape", TW_ARRAY), *written = tw_json_get(json, "written", TW_BOOLEAN),
                *is_result = tw_json_get(json, "result", TW_BOOLEAN);
  argument->type = tw_json_text(json, "type");
  argument->element_bytes = tw_json_integer(json, "bytes", 0);
  if (!shape || !argument->type || !written || argument->element_bytes < 1 || argument->element_bytes > 64)
    return tw_read_malformed(r, "has an argument without 'type', 'bytes', 'shape' or 'written'");
  argument->is_written = written->number != 0;
  argument->is_result = is_result ? is_result->number != 0 : argument->is_written;
  argument->rank = shape->count;
  argument->shape = tw_arena_take(r->arena, (shape->count + 1) * sizeof(*argument->shape));
  return argument->shape ? tw_read_expressions(r, shape, argument->shape) : tw_read_no_memory(r);
}

static tw_status read_temporary(tw_reader *r, const tw_json *json, void *result) {
  tw_temporary *temporary = result;
  if (json->kind != TW_OBJECT)
    return tw_read_malformed(r, "has a temporary that is no object");
  temporary->buffer = r->program->num_arguments + (size_t)(temporary - r->program->temporaries);
  if (tw_json_get(json, "buffer", TW_NUMBER) && !tw_read_buffer(r, json, &temporary->buffer))
    return tw_read_malformed(r, "has a temporary whose buffer does not exist");
  return tw_read_member(r, json, "bytes", &temporary->bytes);
}

static int sextet(char c) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *found = c ? strchr(digits, c) : NULL;
  return found ? (int)(found - digits) : -1;
}

/* The bytes of a constant as text (base64). */
static tw_status read_text(tw_reader *r, const char *text, tw_constant *constant) {
  char *data = tw_arena_take(r->arena, strlen(text) / 4 * 3 + 3);
  if (!data)
    return tw_read_no_memory(r);
  uint32_t bits = 0;
  int held = 0;
  for (; sextet(*text) >= 0; ++text) {
    bits = bits << 6 | (uint32_t)sextet(*text);
    if ((held += 6) >= 8)
      data[constant->period++] = (char)(bits >> (held -= 8));
  }
  if (*text && *text != '=')
    return tw_read_malformed(r, "has a constant whose data is not base64");
  constant->data = data;
  return TW_OK;
}

/* The bytes of a constant among those of the artifact. */
static tw_status find_data(tw_reader *r, int64_t at, int64_t stored, tw_constant *constant) {
  if (!r->data)
    return tw_read_malformed(r, "has a constant whose data only an artifact holds");
  if (stored < 0 || (uint64_t)at > r->data->count || (uint64_t)stored > r->data->count - (uint64_t)at)
    return tw_read_malformed(r, "has a constant that lies outside of the artifact's data");
  constant->data = r->data->bytes + at;
  constant->period = (size_t)stored;
  return TW_OK;
}

static tw_status read_constant(tw_reader *r, const tw_json *json, void *result) {
  tw_constant *constant = result;
  const char *text = tw_json_text(json, "data");
  int64_t at = tw_json_integer(json, "at", -1);
  constant->bytes = tw_json_integer(json, "bytes", -1);
  if ((!text && at < 0) || constant->bytes < 0 || !tw_read_buffer(r, json, &constant->buffer))
    return tw_read_malformed(r, "has a constant without 'buffer', 'bytes' or 'data'");
  tw_status status = text ? read_text(r, text, constant)
                          : find_data(r, at, tw_json_integer(json, "stored", constant->bytes), constant);
  if (status)
    return status;
  if (constant->bytes > 0 && (constant->period == 0 || (uint64_t)constant->bytes % constant->period != 0))
    return tw_read_malformed(r, "has a constant whose bytes are no multiple of its data");
  constant->shared = tw_json_text(json, "shared");
  return TW_OK;
}

static tw_status read_constraint(tw_reader *r, const tw_json *json, void *result) {
  tw_constraint *constraint = result;
  tw_status status = TW_OK;
  if (json->kind != TW_OBJECT || json->count != 1 ||
      (strcmp(json->first->key, "zero") != 0 && strcmp(json->first->key, "nonnegative") != 0))
    return tw_read_malformed(r, "has a constraint that is neither 'zero' nor 'nonnegative'");
  constraint->is_equality = json->first->key[0] == 'z';
  constraint->expression = tw_read_expression(r, json->first, &status);
  return status;
}

/* Room for the members of a list; null without memory. */
static void *room(tw_reader *r, const tw_json *list, size_t size, size_t *count) {
  *count = list ? list->count : 0;
  return tw_arena_take(r->arena, (*count + 1) * size);
}

tw_status tw_program_read(tw_arena *arena, const tw_json *manifest, const char ***kernels, size_t *num_kernels,
                          const tw_data *data, tw_program *program, tw_error *error) {
  tw_reader r = {arena, program, kernels, num_kernels, data, error};
  const int64_t most = 1 << 20;
  int64_t format = tw_json_integer(manifest, "format", 0), sizes = tw_json_integer(manifest, "sizes", -1),
          variables = tw_json_integer(manifest, "variables", 0);
  if (format > newest_format)
    return tw_fail(error, TW_BAD_VERSION,
                   "the manifest of a program has format %lld; this library (%s) reads formats up to %d",
                   (long long)format, tw_version(), newest_format);
  if (format < 1)
    return tw_read_malformed(&r, "has no format");
  program->name = tw_json_text(manifest, "entry");
  const tw_json *arguments = tw_json_get(manifest, "arguments", TW_ARRAY),
                *temporaries = tw_json_get(manifest, "temporaries", TW_ARRAY),
                *constants = tw_json_get(manifest, "constants", TW_ARRAY),
                *constraints = tw_json_get(manifest, "constraints", TW_ARRAY),
                *steps = tw_json_get(manifest, format == 1 ? "launches" : "steps", TW_ARRAY);
  if (!program->name || sizes < 0 || sizes > most || variables < 0 || variables > most || !arguments || !temporaries ||
      !steps)
    return tw_read_malformed(&r, format == 1 ? "lacks 'sizes', 'entry', 'arguments', 'temporaries' or 'launches'"
                                             : "lacks 'sizes', 'entry', 'arguments', 'temporaries' or 'steps'");
  program->num_sizes = (size_t)sizes;
  program->num_variables = (size_t)variables;
  program->arguments = room(&r, arguments, sizeof(*program->arguments), &program->num_arguments);
  program->temporaries = room(&r, temporaries, sizeof(*program->temporaries), &program->num_temporaries);
  program->constants = room(&r, constants, sizeof(*program->constants), &program->num_constants);
  program->constraints = room(&r, constraints, sizeof(*program->constraints), &program->num_constraints);
  if (!program->arguments || !program->temporaries || !program->constants || !program->constraints)
    return tw_read_no_memory(&r);
  size_t fewest = arguments->count + temporaries->count;
  int64_t buffers = tw_json_integer(manifest, "buffers", (int64_t)fewest);
  if (buffers < (int64_t)arguments->count || buffers > most)
    return tw_read_malformed(&r, "has fewer buffers than arguments");
  program->num_buffers = (size_t)buffers;

  tw_status status = tw_read_list(&r, arguments, read_argument, sizeof(*program->arguments), program->arguments);
  if (!status)
    status = tw_read_list(&r, temporaries, read_temporary, sizeof(*program->temporaries), program->temporaries);
  if (!status)
    status = tw_read_list(&r, constants, read_constant, sizeof(*program->constants), program->constants);
  if (!status)
    status = tw_read_list(&r, constraints, read_constraint, sizeof(*program->constraints), program->constraints);
  for (const tw_json *member = manifest->first; member && !status; member = member->next)
    if (strcmp(member->key, "roundings") == 0)
      program->roundings = tw_read_expression(&r, member, &status);
  return status ? status : tw_read_steps(&r, steps, &program->steps);
}

/* A program with the arena that holds it. */
typedef struct owned_program {
  tw_program program;
  tw_arena arena;
} owned_program;

tw_status tw_program_parse(const char *manifest, size_t count, tw_program **program, tw_error *error) {
  char problem[128];
  const char **kernels = NULL;
  size_t num_kernels = 0;
  *program = NULL;
  tw_status started = tw_profiler_from_environment(error);
  if (started)
    return started;
  owned_program *owned = calloc(1, sizeof(*owned));
  if (!owned)
    return tw_fail(error, TW_NO_MEMORY, "no memory for the manifest of a program");
  const tw_json *json = tw_json_parse(&owned->arena, manifest, count, problem, sizeof(problem));
  tw_status status = json ? tw_program_read(&owned->arena, json, &kernels, &num_kernels, NULL, &owned->program, error)
                          : tw_fail(error, TW_BAD_FILE, "the manifest of a program cannot be read: %s", problem);
  if (status)
    tw_program_free(&owned->program);
  else
    *program = &owned->program;
  return status;
}

void tw_program_free(tw_program *program) {
  if (!program)
    return;
  owned_program *owned = (owned_program *)program; /* its first member */
  tw_arena_free(&owned->arena);
  free(owned);
}
