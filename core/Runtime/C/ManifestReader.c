/*===- ManifestReader.c - Parts of manifests -------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Expressions, numbers of buffers, failures.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/ManifestReader.h"

#include <string.h>

tw_status tw_read_malformed(tw_reader *r, const char *what) {
  return tw_fail(r->error, TW_BAD_FILE, "the manifest of program '%s' %s", r->program->name ? r->program->name : "?",
                 what);
}

tw_status tw_read_no_memory(tw_reader *r) {
  return tw_fail(r->error, TW_NO_MEMORY, "no memory for the manifest of a program");
}

static int op_of(const char *name) {
  static const char *const names[] = {"+", "-", "*", "floordiv", "ceildiv", "mod", "max", "min", "<", "=="};
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i)
    if (strcmp(names[i], name) == 0)
      return TW_OP_ADD + (int)i;
  return -1;
}

const tw_expression *tw_read_expression(tw_reader *r, const tw_json *json, tw_status *status) {
  tw_expression *result = tw_arena_take(r->arena, sizeof(*result));
  if (!result) {
    *status = tw_read_no_memory(r);
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
    *status = tw_read_malformed(r, "names a size or variable that the program does not have");
    return NULL;
  }
  if (!json || json->kind != TW_ARRAY || json->count != 3 || json->first->kind != TW_STRING) {
    *status = tw_read_malformed(r, "has something where an expression belongs");
    return NULL;
  }
  int op = op_of(json->first->text);
  if (op < 0) {
    *status = tw_fail(r->error, TW_BAD_FILE, "the manifest of program '%s' has the unknown operation '%s'",
                      r->program->name, json->first->text);
    return NULL;
  }
  result->op = (tw_op)op;
  result->a = tw_read_expression(r, json->first->next, status);
  result->b = result->a ? tw_read_expression(r, json->first->next->next, status) : NULL;
  return result->b ? result : NULL;
}

tw_status tw_read_expressions(tw_reader *r, const tw_json *list, const tw_expression **results) {
  tw_status status = TW_OK;
  for (const tw_json *one = list->first; one; one = one->next)
    if (!(*results++ = tw_read_expression(r, one, &status)))
      return status;
  return TW_OK;
}

tw_status tw_read_member(tw_reader *r, const tw_json *object, const char *key, const tw_expression **result) {
  tw_status status = TW_OK;
  for (const tw_json *one = object->first; one; one = one->next)
    if (strcmp(one->key, key) == 0) {
      *result = tw_read_expression(r, one, &status);
      return status;
    }
  return tw_fail(r->error, TW_BAD_FILE, "the manifest of program '%s' has a step without '%s'", r->program->name, key);
}

int tw_read_index(int64_t index, size_t count, size_t *result) {
  *result = (size_t)index;
  return index >= 0 && (uint64_t)index < count;
}

int tw_read_buffer(tw_reader *r, const tw_json *json, size_t *buffer) {
  const tw_program *program = r->program;
  if (tw_json_get(json, "buffer", TW_NUMBER))
    return tw_read_index(tw_json_integer(json, "buffer", -1), program->num_buffers, buffer);
  if (tw_json_get(json, "array", TW_NUMBER))
    return tw_read_index(tw_json_integer(json, "array", -1), program->num_arguments, buffer);
  int found = tw_read_index(tw_json_integer(json, "temporary", -1), program->num_temporaries, buffer);
  *buffer += program->num_arguments;
  return found;
}

tw_status tw_read_list(tw_reader *r, const tw_json *list, tw_status (*one)(tw_reader *, const tw_json *, void *),
                       size_t size, void *results) {
  tw_status status = TW_OK;
  char *at = results;
  for (const tw_json *each = list ? list->first : NULL; each && !status; each = each->next, at += size)
    status = one(r, each, at);
  return status;
}
