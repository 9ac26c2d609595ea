/*===- Manifest.c - Reads the manifest of a program -------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * JSON to structs; whatever a call would stumble over is refused here.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { newest_format = 2 };

int tw_newest_format(void) { return newest_format; }
const char *tw_version(void) { return TILEWRIGHT_VERSION; }

typedef struct reader {
  tw_arena *arena;
  tw_program *program;
  const char ***kernels;
  size_t *num_kernels;
  tw_error *error;
} reader;

static tw_status malformed(reader *r, const char *what) {
  return tw_fail(r->error, TW_BAD_FILE, "the manifest of program '%s' %s", r->program->name ? r->program->name : "?",
                 what);
}

static tw_status no_memory(reader *r) {
  return tw_fail(r->error, TW_NO_MEMORY, "no memory for the manifest of a program");
}

static int op_of(const char *name) {
  static const char *const names[] = {"+", "-", "*", "floordiv", "ceildiv", "mod", "max", "min", "<", "=="};
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i)
    if (strcmp(names[i], name) == 0)
      return TW_OP_ADD + (int)i;
  return -1;
}

/* An expression, or null with the failure in *status. */
static const tw_expression *expression(reader *r, const tw_json *json, tw_status *status) {
  tw_expression *result = tw_arena_take(r->arena, sizeof(*result));
  if (!result) {
    *status = no_memory(r);
    return NULL;
  }
  if (json && json->kind == TW_NUMBER) {
    result->op = TW_OP_NUMBER;
    result->value = json->number;
    return result;
  }
  if (json && json->kind == TW_OBJECT) {
    int variable = tw_json_get(json, "variable", TW_NUMBER) != NULL;
    result->op = variable ? TW_OP_VARIABLE : TW_OP_SIZE;
    result->value = tw_json_integer(json, variable ? "variable" : "size", -1);
    if (result->value >= 0 && (uint64_t)result->value < (variable ? r->program->num_variables : r->program->num_sizes))
      return result;
    *status = malformed(r, "names a size or variable that the program does not have");
    return NULL;
  }
  if (!json || json->kind != TW_ARRAY || json->count != 3 || json->first->kind != TW_STRING) {
    *status = malformed(r, "has something where an expression belongs");
    return NULL;
  }
  int op = op_of(json->first->text);
  if (op < 0) {
    *status = tw_fail(r->error, TW_BAD_FILE, "the manifest of program '%s' has the unknown operation '%s'",
                      r->program->name, json->first->text);
    return NULL;
  }
  result->op = (tw_op)op;
  result->a = expression(r, json->first->next, status);
  result->b = result->a ? expression(r, json->first->next->next, status) : NULL;
  return result->b ? result : NULL;
}

static tw_status expressions(reader *r, const tw_json *list, const tw_expression **results) {
  tw_status status = TW_OK;
  for (const tw_json *one = list->first; one; one = one->next)
    if (!(*results++ = expression(r, one, &status)))
      return status;
  return TW_OK;
}

/* The member `key` as an expression. */
static tw_status member(reader *r, const tw_json *object, const char *key, const tw_expression **result) {
  tw_status status = TW_OK;
  for (const tw_json *one = object->first; one; one = one->next)
    if (strcmp(one->key, key) == 0) {
      *result = expression(r, one, &status);
      return status;
    }
  return tw_fail(r->error, TW_BAD_FILE, "the manifest of program '%s' has a step without '%s'", r->program->name, key);
}

/* Whether `index` is below `count`; then it is stored. */
static int in_range(int64_t index, size_t count, size_t *result) {
  *result = (size_t)index;
  return index >= 0 && (uint64_t)index < count;
}

/* The buffer that "buffer" names, or in format 1 "array" or "temporary". */
static int buffer_of(reader *r, const tw_json *json, size_t *buffer) {
  const tw_program *program = r->program;
  if (tw_json_get(json, "buffer", TW_NUMBER))
    return in_range(tw_json_integer(json, "buffer", -1), program->num_buffers, buffer);
  if (tw_json_get(json, "array", TW_NUMBER))
    return in_range(tw_json_integer(json, "array", -1), program->num_arguments, buffer);
  int found = in_range(tw_json_integer(json, "temporary", -1), program->num_temporaries, buffer);
  *buffer += program->num_arguments;
  return found;
}

static tw_status read_argument(reader *r, const tw_json *json, void *result) {
  tw_array_type *argument = result;
  const tw_json *shape = tw_json_get(json, "shape", TW_ARRAY), *written = tw_json_get(json, "written", TW_BOOLEAN),
                *is_result = tw_json_get(json, "result", TW_BOOLEAN);
  argument->type = tw_json_text(json, "type");
  argument->element_bytes = tw_json_integer(json, "bytes", 0);
  if (!shape || !argument->type || !written || argument->element_bytes < 1 || argument->element_bytes > 64)
    return malformed(r, "has an argument without 'type', 'bytes', 'shape' or 'written'");
  argument->is_written = written->number != 0;
  argument->is_result = is_result ? is_result->number != 0 : argument->is_written;
  argument->rank = shape->count;
  argument->shape = tw_arena_take(r->arena, (shape->count + 1) * sizeof(*argument->shape));
  return argument->shape ? expressions(r, shape, argument->shape) : no_memory(r);
}

static tw_status read_temporary(reader *r, const tw_json *json, void *result) {
  tw_temporary *temporary = result;
  if (json->kind != TW_OBJECT)
    return malformed(r, "has a temporary that is no object");
  temporary->buffer = r->program->num_arguments + (size_t)(temporary - r->program->temporaries);
  if (tw_json_get(json, "buffer", TW_NUMBER) && !buffer_of(r, json, &temporary->buffer))
    return malformed(r, "has a temporary whose buffer does not exist");
  return member(r, json, "bytes", &temporary->bytes);
}

static int sextet(char c) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *found = c ? strchr(digits, c) : NULL;
  return found ? (int)(found - digits) : -1;
}

static tw_status read_constant(reader *r, const tw_json *json, void *result) {
  tw_constant *constant = result;
  const char *text = tw_json_text(json, "data");
  constant->bytes = tw_json_integer(json, "bytes", -1);
  if (!text || constant->bytes < 0 || !buffer_of(r, json, &constant->buffer))
    return malformed(r, "has a constant without 'buffer', 'bytes' or 'data'");
  char *data = tw_arena_take(r->arena, strlen(text) / 4 * 3 + 3);
  if (!data)
    return no_memory(r);
  uint32_t bits = 0;
  int held = 0;
  for (; sextet(*text) >= 0; ++text) {
    bits = bits << 6 | (uint32_t)sextet(*text);
    if ((held += 6) >= 8)
      data[constant->period++] = (char)(bits >> (held -= 8));
  }
  if (*text && *text != '=')
    return malformed(r, "has a constant whose data is not base64");
  if (constant->bytes > 0 && (constant->period == 0 || (uint64_t)constant->bytes % constant->period != 0))
    return malformed(r, "has a constant whose bytes are no multiple of its data");
  constant->data = data;
  return TW_OK;
}

static tw_status read_tensor(reader *r, const tw_json *json, tw_parameter *parameter) {
  const tw_json *sizes = tw_json_get(json, "sizes", TW_ARRAY), *pitches = tw_json_get(json, "pitches", TW_ARRAY),
                *box = tw_json_get(json, "box", TW_ARRAY);
  tw_tensor *tensor = &parameter->tensor;
  tensor->type = tw_json_text(json, "type");
  tensor->element_bytes = tw_json_integer(json, "bytes", 0);
  tensor->swizzle_bytes = (uint32_t)tw_json_integer(json, "swizzle", 0);
  if (!sizes || !pitches || !box || sizes->count < 1 || sizes->count > 5 || pitches->count + 1 != sizes->count ||
      box->count != sizes->count || !tensor->type || tensor->element_bytes < 1 ||
      !buffer_of(r, json, &parameter->buffer))
    return malformed(r, "has a tensor map without an array, 'type', 'bytes', 'sizes', 'pitches' or 'box'");
  parameter->kind = TW_TENSOR;
  tensor->rank = (uint32_t)sizes->count;
  tw_status status = expressions(r, sizes, parameter->sizes);
  if (!status)
    status = expressions(r, pitches, parameter->pitches);
  return status ? status : expressions(r, box, parameter->box);
}

static tw_status read_parameter(reader *r, const tw_json *json, void *result) {
  tw_parameter *parameter = result;
  if (json->kind == TW_OBJECT && json->count > 0) {
    const tw_json *tensor = tw_json_get(json, "tensor_map", TW_OBJECT);
    if (tensor)
      return read_tensor(r, tensor, parameter);
    parameter->kind = strcmp(json->first->key, "value") == 0 ? TW_INTEGER : TW_POINTER;
    if (parameter->kind == TW_INTEGER)
      return member(r, json, "value", &parameter->value);
    if (buffer_of(r, json, &parameter->buffer))
      return TW_OK;
  }
  return malformed(r, "has a launch with an argument that is neither buffer, tensor map nor value");
}

/* Reads each member of `list` by `one` into an array of elements of `size` bytes. */
static tw_status read_list(reader *r, const tw_json *list, tw_status (*one)(reader *, const tw_json *, void *),
                           size_t size, void *results) {
  tw_status status = TW_OK;
  char *at = results;
  for (const tw_json *each = list ? list->first : NULL; each && !status; each = each->next, at += size)
    status = one(r, each, at);
  return status;
}

/* The number of a kernel in the list of the artifact, which grows. */
static tw_status number_kernel(reader *r, const char *name, size_t *result) {
  size_t number = 0, count = *r->num_kernels;
  while (number < count && strcmp((*r->kernels)[number], name) != 0)
    ++number;
  *result = number;
  if (number < count)
    return TW_OK;
  if ((count & (count - 1)) == 0) { /* the list doubles where its length is a power of two */
    const char **longer = tw_arena_take(r->arena, (count ? 2 * count : 1) * sizeof(*longer));
    if (!longer)
      return no_memory(r);
    if (count)
      memcpy(longer, *r->kernels, count * sizeof(*longer));
    *r->kernels = longer;
  }
  (*r->kernels)[(*r->num_kernels)++] = name;
  return TW_OK;
}

static tw_status read_launch(reader *r, const tw_json *json, tw_step *step) {
  const tw_json *grid = tw_json_get(json, "grid", TW_ARRAY), *arguments = tw_json_get(json, "arguments", TW_ARRAY);
  int64_t threads = tw_json_integer(json, "threads", 0), cluster = tw_json_integer(json, "cluster", 1),
          scratchpad = tw_json_integer(json, "scratchpad", 0);
  step->kind = TW_LAUNCH;
  step->kernel = tw_json_text(json, "launch");
  if (!step->kernel)
    step->kernel = tw_json_text(json, "kernel"); /* format 1 */
  if (!step->kernel || !grid || grid->count != 3 || !arguments || threads < 1 || threads > INT32_MAX || cluster < 1 ||
      cluster > INT32_MAX || scratchpad < 0 || scratchpad > INT32_MAX)
    return malformed(r, "has a launch without kernel, 'threads', 'grid' or 'arguments'");
  if (arguments->count > TW_MAX_OPERANDS)
    return malformed(r, "has a launch with too many arguments");
  step->threads = (uint32_t)threads;
  step->cluster = (uint32_t)cluster;
  step->scratchpad = (uint32_t)scratchpad;
  step->num_parameters = arguments->count;
  step->parameters = tw_arena_take(r->arena, (arguments->count + 1) * sizeof(*step->parameters));
  tw_status status = step->parameters ? number_kernel(r, step->kernel, &step->kernel_number) : no_memory(r);
  if (!status)
    status = expressions(r, grid, step->grid);
  return status ? status : read_list(r, arguments, read_parameter, sizeof(*step->parameters), step->parameters);
}

/* "assign" or "rename": pairs of a target and what it becomes. */
static tw_status read_moves(reader *r, const tw_json *pairs, tw_step *step) {
  size_t bound = step->kind == TW_ASSIGN ? r->program->num_variables : r->program->num_buffers;
  step->targets = tw_arena_take(r->arena, (pairs->count + 1) * sizeof(*step->targets));
  step->sources = tw_arena_take(r->arena, (pairs->count + 1) * sizeof(*step->sources));
  step->values = tw_arena_take(r->arena, (pairs->count + 1) * sizeof(*step->values));
  if (!step->targets || !step->sources || !step->values)
    return no_memory(r);
  for (const tw_json *pair = pairs->first; pair; pair = pair->next) {
    tw_status status = TW_OK;
    if (pair->kind != TW_ARRAY || pair->count != 2 || pair->first->kind != TW_NUMBER ||
        !in_range(pair->first->number, bound, &step->targets[step->count]))
      return malformed(r, "assigns to something that it does not have");
    const tw_json *source = pair->first->next;
    if (step->kind == TW_ASSIGN && !(step->values[step->count] = expression(r, source, &status)))
      return status;
    if (step->kind == TW_RENAME &&
        (source->kind != TW_NUMBER || !in_range(source->number, bound, &step->sources[step->count])))
      return malformed(r, "renames a buffer that it does not have");
    ++step->count;
  }
  return TW_OK;
}

static tw_status read_steps(reader *r, const tw_json *list, tw_step **first);

/* The list of steps under `key`. */
static tw_status read_block(reader *r, const tw_json *json, const char *key, tw_step **first) {
  const tw_json *list = tw_json_get(json, key, TW_ARRAY);
  if (list)
    return read_steps(r, list, first);
  return tw_fail(r->error, TW_BAD_FILE, "the manifest of program '%s' has a step without '%s'", r->program->name, key);
}

static tw_status read_step(reader *r, const tw_json *json, tw_step *step) {
  tw_status status = TW_OK;
  const tw_json *moves;
  const char *key = json->kind == TW_OBJECT && json->first ? json->first->key : "";
  for (const tw_json *one = json->kind == TW_OBJECT ? json->first : NULL; one; one = one->next)
    for (size_t i = 0; i < 7; ++i) { /* the member that says what the step is may stand anywhere */
      static const char *const kinds[] = {"launch", "read", "allocate", "assign", "rename", "if", "while"};
      if (strcmp(one->key, kinds[i]) == 0)
        key = kinds[i];
    }
  if (strcmp(key, "read") == 0) {
    step->kind = TW_READ;
    step->bytes = tw_json_integer(json, "bytes", 0);
    if (!in_range(tw_json_integer(json, "read", -1), r->program->num_variables, &step->variable) ||
        !buffer_of(r, json, &step->buffer) ||
        (step->bytes != 1 && step->bytes != 2 && step->bytes != 4 && step->bytes != 8))
      return malformed(r, "has a read of something that it does not have");
    return member(r, json, "offset", &step->offset);
  }
  if (strcmp(key, "allocate") == 0) {
    step->kind = TW_ALLOCATE;
    if (!in_range(tw_json_integer(json, "allocate", -1), r->program->num_buffers, &step->buffer))
      return malformed(r, "allocates a buffer that it does not have");
    return member(r, json, "bytes", &step->size);
  }
  if ((moves = tw_json_get(json, "assign", TW_ARRAY)) || (moves = tw_json_get(json, "rename", TW_ARRAY))) {
    step->kind = strcmp(key, "assign") == 0 ? TW_ASSIGN : TW_RENAME;
    return read_moves(r, moves, step);
  }
  if (strcmp(key, "if") == 0 || strcmp(key, "while") == 0) {
    step->kind = key[0] == 'i' ? TW_IF : TW_WHILE;
    status = member(r, json, key, &step->condition);
    if (!status)
      status = read_block(r, json, step->kind == TW_IF ? "then" : "before", &step->first);
    return status ? status : read_block(r, json, step->kind == TW_IF ? "else" : "do", &step->second);
  }
  return read_launch(r, json, step);
}

static tw_status read_steps(reader *r, const tw_json *list, tw_step **first) {
  for (const tw_json *one = list->first; one; one = one->next) {
    tw_step *step = tw_arena_take(r->arena, sizeof(*step));
    tw_status status = step ? read_step(r, one, step) : no_memory(r);
    if (status)
      return status;
    *first = step;
    first = &step->next;
  }
  return TW_OK;
}

static tw_status read_constraint(reader *r, const tw_json *json, void *result) {
  tw_constraint *constraint = result;
  tw_status status = TW_OK;
  if (json->kind != TW_OBJECT || json->count != 1 ||
      (strcmp(json->first->key, "zero") != 0 && strcmp(json->first->key, "nonnegative") != 0))
    return malformed(r, "has a constraint that is neither 'zero' nor 'nonnegative'");
  constraint->is_equality = json->first->key[0] == 'z';
  constraint->expression = expression(r, json->first, &status);
  return status;
}

/* Room for the members of a list; null without memory. */
static void *room(reader *r, const tw_json *list, size_t size, size_t *count) {
  *count = list ? list->count : 0;
  return tw_arena_take(r->arena, (*count + 1) * size);
}

tw_status tw_program_read(tw_arena *arena, const tw_json *manifest, const char ***kernels, size_t *num_kernels,
                          tw_program *program, tw_error *error) {
  reader r = {arena, program, kernels, num_kernels, error};
  const int64_t most = 1 << 20;
  int64_t format = tw_json_integer(manifest, "format", 0), sizes = tw_json_integer(manifest, "sizes", -1),
          variables = tw_json_integer(manifest, "variables", 0);
  if (format > newest_format)
    return tw_fail(error, TW_BAD_VERSION,
                   "the manifest of a program has format %lld; this library (%s) reads formats up to %d",
                   (long long)format, tw_version(), newest_format);
  if (format < 1)
    return malformed(&r, "has no format");
  program->name = tw_json_text(manifest, "entry");
  const tw_json *arguments = tw_json_get(manifest, "arguments", TW_ARRAY),
                *temporaries = tw_json_get(manifest, "temporaries", TW_ARRAY),
                *constants = tw_json_get(manifest, "constants", TW_ARRAY),
                *constraints = tw_json_get(manifest, "constraints", TW_ARRAY),
                *steps = tw_json_get(manifest, format == 1 ? "launches" : "steps", TW_ARRAY);
  if (!program->name || sizes < 0 || sizes > most || variables < 0 || variables > most || !arguments || !temporaries ||
      !steps)
    return malformed(&r, format == 1 ? "lacks 'sizes', 'entry', 'arguments', 'temporaries' or 'launches'"
                                     : "lacks 'sizes', 'entry', 'arguments', 'temporaries' or 'steps'");
  program->num_sizes = (size_t)sizes;
  program->num_variables = (size_t)variables;
  program->arguments = room(&r, arguments, sizeof(*program->arguments), &program->num_arguments);
  program->temporaries = room(&r, temporaries, sizeof(*program->temporaries), &program->num_temporaries);
  program->constants = room(&r, constants, sizeof(*program->constants), &program->num_constants);
  program->constraints = room(&r, constraints, sizeof(*program->constraints), &program->num_constraints);
  if (!program->arguments || !program->temporaries || !program->constants || !program->constraints)
    return no_memory(&r);
  size_t fewest = arguments->count + temporaries->count;
  int64_t buffers = tw_json_integer(manifest, "buffers", (int64_t)fewest);
  if (buffers < (int64_t)arguments->count || buffers > most)
    return malformed(&r, "has fewer buffers than arguments");
  program->num_buffers = (size_t)buffers;

  tw_status status = read_list(&r, arguments, read_argument, sizeof(*program->arguments), program->arguments);
  if (!status)
    status = read_list(&r, temporaries, read_temporary, sizeof(*program->temporaries), program->temporaries);
  if (!status)
    status = read_list(&r, constants, read_constant, sizeof(*program->constants), program->constants);
  if (!status)
    status = read_list(&r, constraints, read_constraint, sizeof(*program->constraints), program->constraints);
  return status ? status : read_steps(&r, steps, &program->steps);
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
  owned_program *owned = calloc(1, sizeof(*owned));
  *program = NULL;
  if (!owned)
    return tw_fail(error, TW_NO_MEMORY, "no memory for the manifest of a program");
  const tw_json *json = tw_json_parse(&owned->arena, manifest, count, problem, sizeof(problem));
  tw_status status = json ? tw_program_read(&owned->arena, json, &kernels, &num_kernels, &owned->program, error)
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
