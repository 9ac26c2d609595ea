/*===- ManifestSteps.c - Reads the steps of a program ----------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Launches with their operands, reads, allocations, moves and control flow.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/ManifestReader.h"

#include <string.h>

static tw_status read_tensor(tw_reader *r, const tw_json *json, tw_parameter *parameter) {
  const tw_json *sizes = tw_json_get(json, "sizes", TW_ARRAY), *pitches = tw_json_get(json, "pitches", TW_ARRAY),
                *box = tw_json_get(json, "box", TW_ARRAY);
  tw_tensor *tensor = &parameter->tensor;
  tensor->type = tw_json_text(json, "type");
  tensor->element_bytes = tw_json_integer(json, "bytes", 0);
  tensor->swizzle_bytes = (uint32_t)tw_json_integer(json, "swizzle", 0);
  if (!sizes || !pitches || !box || sizes->count < 1 || sizes->count > 5 || pitches->count + 1 != sizes->count ||
      box->count != sizes->count || !tensor->type || tensor->element_bytes < 1 ||
      !tw_read_buffer(r, json, &parameter->buffer))
    return tw_read_malformed(r, "has a tensor map without an array, 'type', 'bytes', 'sizes', 'pitches' or 'box'");
  parameter->kind = TW_TENSOR;
  tensor->rank = (uint32_t)sizes->count;
  tw_status status = tw_read_expressions(r, sizes, parameter->sizes);
  if (!status)
    status = tw_read_expressions(r, pitches, parameter->pitches);
  return status ? status : tw_read_expressions(r, box, parameter->box);
}

static tw_status read_parameter(tw_reader *r, const tw_json *json, void *result) {
  tw_parameter *parameter = result;
  if (json->kind == TW_OBJECT && json->count > 0) {
    const tw_json *tensor = tw_json_get(json, "tensor_map", TW_OBJECT);
    if (tensor)
      return read_tensor(r, tensor, parameter);
    parameter->kind = strcmp(json->first->key, "value") == 0 ? TW_INTEGER : TW_POINTER;
    if (parameter->kind == TW_INTEGER)
      return tw_read_member(r, json, "value", &parameter->value);
    if (tw_read_buffer(r, json, &parameter->buffer))
      return TW_OK;
  }
  return tw_read_malformed(r, "has a launch with an argument that is neither buffer, tensor map nor value");
}

/* The number of a kernel in the list of the artifact, which grows. */
static tw_status number_kernel(tw_reader *r, const char *name, size_t *result) {
  size_t number = 0, count = *r->num_kernels;
  while (number < count && strcmp((*r->kernels)[number], name) != 0)
    ++number;
  *result = number;
  if (number < count)
    return TW_OK;
  if ((count & (count - 1)) == 0) { /* the list doubles where its length is a power of two */
    const char **longer = tw_arena_take(r->arena, (count ? 2 * count : 1) * sizeof(*longer));
    if (!longer)
      return tw_read_no_memory(r);
    if (count)
      memcpy(longer, *r->kernels, count * sizeof(*longer));
    *r->kernels = longer;
  }
  (*r->kernels)[(*r->num_kernels)++] = name;
  return TW_OK;
}

static tw_status read_launch(tw_reader *r, const tw_json *json, tw_step *step) {
  const tw_json *grid = tw_json_get(json, "grid", TW_ARRAY), *arguments = tw_json_get(json, "arguments", TW_ARRAY);
  int64_t threads = tw_json_integer(json, "threads", 0), cluster = tw_json_integer(json, "cluster", 1),
          scratchpad = tw_json_integer(json, "scratchpad", 0);
  step->kind = TW_LAUNCH;
  step->kernel = tw_json_text(json, "launch");
  if (!step->kernel)
    step->kernel = tw_json_text(json, "kernel"); /* format 1 */
  if (!step->kernel || !grid || grid->count != 3 || !arguments || threads < 1 || threads > INT32_MAX || cluster < 1 ||
      cluster > INT32_MAX || scratchpad < 0 || scratchpad > INT32_MAX)
    return tw_read_malformed(r, "has a launch without kernel, 'threads', 'grid' or 'arguments'");
  if (arguments->count > TW_MAX_OPERANDS)
    return tw_read_malformed(r, "has a launch with too many arguments");
  step->threads = (uint32_t)threads;
  step->cluster = (uint32_t)cluster;
  step->scratchpad = (uint32_t)scratchpad;
  const tw_json *predicted = tw_json_get(json, "predicted", TW_OBJECT);
  step->predicted_nanoseconds = predicted ? tw_json_integer(predicted, "nanoseconds", -1) : -1;
  step->predicted_bytes = predicted ? tw_json_integer(predicted, "bytes", -1) : -1;
  step->num_parameters = arguments->count;
  step->parameters = tw_arena_take(r->arena, (arguments->count + 1) * sizeof(*step->parameters));
  tw_status status = step->parameters ? number_kernel(r, step->kernel, &step->kernel_number) : tw_read_no_memory(r);
  if (!status)
    status = tw_read_expressions(r, grid, step->grid);
  return status ? status : tw_read_list(r, arguments, read_parameter, sizeof(*step->parameters), step->parameters);
}

/* "assign" or "rename": pairs of a target and what it becomes. */
static tw_status read_moves(tw_reader *r, const tw_json *pairs, tw_step *step) {
  size_t bound = step->kind == TW_ASSIGN ? r->program->num_variables : r->program->num_buffers;
  step->targets = tw_arena_take(r->arena, (pairs->count + 1) * sizeof(*step->targets));
  step->sources = tw_arena_take(r->arena, (pairs->count + 1) * sizeof(*step->sources));
  step->values = tw_arena_take(r->arena, (pairs->count + 1) * sizeof(*step->values));
  if (!step->targets || !step->sources || !step->values)
    return tw_read_no_memory(r);
  for (const tw_json *pair = pairs->first; pair; pair = pair->next) {
    tw_status status = TW_OK;
    if (pair->kind != TW_ARRAY || pair->count != 2 || pair->first->kind != TW_NUMBER ||
        !tw_read_index(pair->first->number, bound, &step->targets[step->count]))
      return tw_read_malformed(r, "assigns to something that it does not have");
    const tw_json *source = pair->first->next;
    if (step->kind == TW_ASSIGN && !(step->values[step->count] = tw_read_expression(r, source, &status)))
      return status;
    if (step->kind == TW_RENAME &&
        (source->kind != TW_NUMBER || !tw_read_index(source->number, bound, &step->sources[step->count])))
      return tw_read_malformed(r, "renames a buffer that it does not have");
    ++step->count;
  }
  return TW_OK;
}

/* The list of steps under `key`. */
static tw_status read_block(tw_reader *r, const tw_json *json, const char *key, tw_step **first) {
  const tw_json *list = tw_json_get(json, key, TW_ARRAY);
  if (list)
    return tw_read_steps(r, list, first);
  return tw_fail(r->error, TW_BAD_FILE, "the manifest of program '%s' has a step without '%s'", r->program->name, key);
}

/* A size that follows from data, of a result or inside, and what it has to be. */
static tw_status read_require(tw_reader *r, const tw_json *json, tw_step *step) {
  step->kind = TW_REQUIRE;
  step->has_argument = tw_json_get(json, "argument", TW_NUMBER) || tw_json_get(json, "dimension", TW_NUMBER);
  if (step->has_argument &&
      (!tw_read_index(tw_json_integer(json, "argument", -1), r->program->num_arguments, &step->argument) ||
       !tw_read_index(tw_json_integer(json, "dimension", -1), r->program->arguments[step->argument].rank,
                      &step->dimension)))
    return tw_read_malformed(r, "requires a size of something that it does not have");
  step->is_index = tw_json_integer(json, "index", 0) != 0;
  step->message = tw_json_text(json, "message");
  tw_status status = tw_read_member(r, json, "require", &step->produced);
  for (const tw_json *one = json->first; one && !status; one = one->next)
    if (strcmp(one->key, "extent") == 0)
      status = tw_read_member(r, json, "extent", &step->extent);
  return status ? status : tw_read_member(r, json, "equals", &step->given);
}

static tw_status read_step(tw_reader *r, const tw_json *json, tw_step *step) {
  tw_status status = TW_OK;
  const tw_json *moves;
  const char *key = json->kind == TW_OBJECT && json->first ? json->first->key : "";
  for (const tw_json *one = json->kind == TW_OBJECT ? json->first : NULL; one; one = one->next)
    for (size_t i = 0; i < 8; ++i) { /* the member that says what the step is may stand anywhere */
      static const char *const kinds[] = {"launch", "read", "allocate", "assign", "rename", "if", "while", "require"};
      if (strcmp(one->key, kinds[i]) == 0)
        key = kinds[i];
    }
  if (strcmp(key, "read") == 0) {
    step->kind = TW_READ;
    step->bytes = tw_json_integer(json, "bytes", 0);
    if (!tw_read_index(tw_json_integer(json, "read", -1), r->program->num_variables, &step->variable) ||
        !tw_read_buffer(r, json, &step->buffer) ||
        (step->bytes != 1 && step->bytes != 2 && step->bytes != 4 && step->bytes != 8))
      return tw_read_malformed(r, "has a read of something that it does not have");
    return tw_read_member(r, json, "offset", &step->offset);
  }
  if (strcmp(key, "allocate") == 0) {
    step->kind = TW_ALLOCATE;
    if (!tw_read_index(tw_json_integer(json, "allocate", -1), r->program->num_buffers, &step->buffer))
      return tw_read_malformed(r, "allocates a buffer that it does not have");
    return tw_read_member(r, json, "bytes", &step->size);
  }
  if ((moves = tw_json_get(json, "assign", TW_ARRAY)) || (moves = tw_json_get(json, "rename", TW_ARRAY))) {
    step->kind = strcmp(key, "assign") == 0 ? TW_ASSIGN : TW_RENAME;
    return read_moves(r, moves, step);
  }
  if (strcmp(key, "if") == 0 || strcmp(key, "while") == 0) {
    step->kind = key[0] == 'i' ? TW_IF : TW_WHILE;
    status = tw_read_member(r, json, key, &step->condition);
    if (!status)
      status = read_block(r, json, step->kind == TW_IF ? "then" : "before", &step->first);
    return status ? status : read_block(r, json, step->kind == TW_IF ? "else" : "do", &step->second);
  }
  return strcmp(key, "require") == 0 ? read_require(r, json, step) : read_launch(r, json, step);
}

tw_status tw_read_steps(tw_reader *r, const tw_json *list, tw_step **first) {
  for (const tw_json *one = list->first; one; one = one->next) {
    tw_step *step = tw_arena_take(r->arena, sizeof(*step));
    tw_status status = step ? read_step(r, one, step) : tw_read_no_memory(r);
    if (status)
      return status;
    *first = step;
    first = &step->next;
  }
  return TW_OK;
}
