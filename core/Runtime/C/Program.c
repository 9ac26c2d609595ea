/*===- Program.c - Arguments, sizes and memory of a program ----------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * What a caller asks of a manifest before a call: shapes, bytes, workspace, constants.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Program.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tw_status tw_fail(tw_error *error, tw_status status, const char *format, ...) {
  if (error) {
    va_list values;
    va_start(values, format);
    error->status = status;
    vsnprintf(error->message, sizeof(error->message), format, values);
    va_end(values);
  }
  return status;
}

/* Where `name` begins in `text`, before `end`; `end` if it is not there. */
static const char *place_of(const char *name, const char *text, const char *end) {
  const char *found = strstr(text, name);
  return found && found < end ? found : end;
}

tw_status tw_check_failed(tw_error *error, tw_status status, const char *program, const char *message, int64_t code,
                          int64_t extent) {
  static const char index_name[] = "{index}", extent_name[] = "{extent}";
  if (!error)
    return status;
  (void)tw_fail(error, status, "program '%s' refuses its data: ", program);
  size_t at = strlen(error->message), room = sizeof(error->message);
  const char *end = message + strlen(message);
  while (message < end && at < room - 1) {
    const char *index = place_of(index_name, message, end), *size = place_of(extent_name, message, end);
    const char *next = index < size ? index : size;
    int count = snprintf(error->message + at, room - at, "%.*s", (int)(next - message), message);
    at += (size_t)count < room - at ? (size_t)count : room - at - 1;
    message = next;
    if (next == end)
      break;
    long long number = index < size ? (long long)(code > 0 ? code - 1 : code) : (long long)extent;
    count = snprintf(error->message + at, room - at, "%lld", number);
    at += (size_t)count < room - at ? (size_t)count : room - at - 1;
    message += index < size ? sizeof(index_name) - 1 : sizeof(extent_name) - 1;
  }
  return status;
}

/* The same of an expression over sizes alone. */
static int evaluate(const tw_expression *e, const int64_t *sizes, int64_t *result) {
  tw_scope in = {sizes, NULL};
  return tw_evaluate(e, &in, result);
}

tw_status tw_too_large(const tw_program *program, tw_error *error) {
  return tw_fail(error, TW_BAD_SIZES, "the sizes of program '%s' make something too large to count", program->name);
}

const char *tw_program_name(const tw_program *program) { return program->name; }
size_t tw_program_sizes(const tw_program *program) { return program->num_sizes; }
size_t tw_program_arguments(const tw_program *program) { return program->num_arguments; }
size_t tw_program_temporaries(const tw_program *program) { return program->num_temporaries; }

size_t tw_program_constants(const tw_program *program) { return program->num_constants; }

static tw_status check_index(const tw_program *program, size_t index, size_t count, const char *what, tw_error *error) {
  if (index < count)
    return TW_OK;
  return tw_fail(error, TW_BAD_ARGUMENT, "program '%s' has %zu %s; there is no number %zu", program->name, count, what,
                 index);
}

tw_status tw_program_argument(const tw_program *program, size_t index, tw_argument *argument, tw_error *error) {
  tw_status status = check_index(program, index, program->num_arguments, "arguments", error);
  if (status)
    return status;
  const tw_array_type *type = &program->arguments[index];
  *argument = (tw_argument){type->type, type->element_bytes, type->rank, type->is_written, type->is_result};
  return TW_OK;
}

/* What a constraint says that does not hold: "size - number" and "number - size" are bounds of one size. */
static tw_status refuse_sizes(const tw_program *program, const tw_constraint *constraint, const int64_t *sizes,
                              tw_error *error) {
  const tw_expression *e = constraint->expression;
  if (!constraint->is_equality && e->op == TW_OP_SUBTRACT) {
    int is_least = e->a->op == TW_OP_SIZE && e->b->op == TW_OP_NUMBER;
    const tw_expression *size = is_least ? e->a : e->b, *bound = is_least ? e->b : e->a;
    if (size->op == TW_OP_SIZE && bound->op == TW_OP_NUMBER)
      return tw_fail(error, TW_BAD_SIZES, "size %lld of program '%s' is %lld; it is at %s %lld", (long long)size->value,
                     program->name, (long long)sizes[size->value], is_least ? "least" : "most",
                     (long long)bound->value);
  }
  return tw_fail(error, TW_BAD_SIZES, "the sizes of program '%s' do not agree with each other", program->name);
}

tw_status tw_check_sizes(const tw_program *program, const int64_t *sizes, tw_error *error) {
  if (program->num_sizes && !sizes)
    return tw_fail(error, TW_BAD_ARGUMENT, "program '%s' takes %zu sizes; none are given", program->name,
                   program->num_sizes);
  for (size_t i = 0; i < program->num_sizes; ++i)
    if (sizes[i] < 0)
      return tw_fail(error, TW_BAD_SIZES, "size %zu of program '%s' is %lld; sizes are 0 or more", i, program->name,
                     (long long)sizes[i]);
  for (size_t i = 0; i < program->num_constraints; ++i) {
    int64_t value;
    if (!evaluate(program->constraints[i].expression, sizes, &value))
      return tw_too_large(program, error);
    if (program->constraints[i].is_equality ? value != 0 : value < 0)
      return refuse_sizes(program, &program->constraints[i], sizes, error);
  }
  return TW_OK;
}

tw_status tw_program_shape(const tw_program *program, size_t index, const int64_t *sizes, int64_t *shape,
                           int64_t *size_of, tw_error *error) {
  tw_status status = check_index(program, index, program->num_arguments, "arguments", error);
  if (!status && shape)
    status = tw_check_sizes(program, sizes, error);
  if (status)
    return status;
  const tw_array_type *type = &program->arguments[index];
  for (size_t d = 0; d < type->rank; ++d) {
    if (size_of)
      size_of[d] = type->shape[d]->op == TW_OP_SIZE ? type->shape[d]->value : -1;
    if (!shape)
      continue;
    if (!evaluate(type->shape[d], sizes, &shape[d]))
      return tw_too_large(program, error);
    if (shape[d] < 0)
      return tw_fail(error, TW_BAD_SIZES, "argument %zu of program '%s' would have extent %lld in dimension %zu", index,
                     program->name, (long long)shape[d], d);
  }
  return TW_OK;
}

double tw_program_roundings(const tw_program *program, const int64_t *sizes) {
  int64_t value;
  if (!program->roundings)
    return -1;
  return evaluate(program->roundings, sizes, &value) && value >= 0 ? (double)value : 0x1p63;
}

tw_status tw_program_bytes(const tw_program *program, size_t index, const int64_t *sizes, int64_t *bytes,
                           tw_error *error) {
  tw_status status = check_index(program, index, program->num_arguments, "arguments", error);
  if (!status)
    status = tw_check_sizes(program, sizes, error);
  if (status)
    return status;
  const tw_array_type *type = &program->arguments[index];
  *bytes = type->element_bytes;
  for (size_t d = 0; d < type->rank; ++d) {
    int64_t extent;
    if (!evaluate(type->shape[d], sizes, &extent) || __builtin_mul_overflow(*bytes, extent, bytes))
      return tw_too_large(program, error);
    if (extent < 0)
      return tw_fail(error, TW_BAD_SIZES, "argument %zu of program '%s' would have extent %lld in dimension %zu", index,
                     program->name, (long long)extent, d);
  }
  return TW_OK;
}

tw_status tw_program_temporary(const tw_program *program, size_t index, const int64_t *sizes, int64_t *bytes,
                               tw_error *error) {
  tw_status status = check_index(program, index, program->num_temporaries, "temporaries", error);
  if (!status)
    status = tw_check_sizes(program, sizes, error);
  if (status)
    return status;
  if (!evaluate(program->temporaries[index].bytes, sizes, bytes))
    return tw_too_large(program, error);
  if (*bytes < 1)
    *bytes = 1;
  return TW_OK;
}

tw_status tw_program_workspace(const tw_program *program, const int64_t *sizes, int64_t *bytes, tw_error *error) {
  *bytes = 0;
  for (size_t i = 0; i < program->num_temporaries; ++i) {
    int64_t one;
    tw_status status = tw_program_temporary(program, i, sizes, &one, error);
    if (status)
      return status;
    if (__builtin_add_overflow(*bytes, one, bytes) || __builtin_add_overflow(*bytes, (int64_t)255, bytes))
      return tw_too_large(program, error);
    *bytes &= ~(int64_t)255;
  }
  return TW_OK;
}

const char *tw_program_constant_shared(const tw_program *program, size_t index) {
  return index < program->num_constants ? program->constants[index].shared : NULL;
}

tw_status tw_program_constant(const tw_program *program, size_t index, int64_t *bytes, void *data, tw_error *error) {
  tw_status status = check_index(program, index, program->num_constants, "constants", error);
  if (status)
    return status;
  const tw_constant *constant = &program->constants[index];
  *bytes = constant->bytes;
  for (int64_t i = 0; data && i < constant->bytes; i += (int64_t)constant->period)
    memcpy((char *)data + i, constant->data, constant->period);
  return TW_OK;
}

void tw_program_visit(const tw_step *steps, void (*visit)(void *context, const tw_step *launch), void *context) {
  for (; steps; steps = steps->next) {
    if (steps->kind == TW_LAUNCH)
      visit(context, steps);
    tw_program_visit(steps->first, visit, context);
    tw_program_visit(steps->second, visit, context);
  }
}
