/*===- Call.c - One call of a program --------------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Runs the steps of a manifest for the sizes of one call. The launches go to a function
 * of the caller: to a driver, or to any other device.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Limits.h"
#include "core/Runtime/C/Program.h"

#include <stdlib.h>
#include <string.h>

/* Memory that a step allocated; it lives until no buffer stands for it. */
typedef struct allocation {
  struct allocation *next;
  void *memory;
} allocation;

typedef struct call {
  const tw_program *program;
  const tw_host *host;
  tw_error *error;
  tw_scope in;
  int64_t *learned;                   /* the sizes, or null: what the program makes is written there */
  int64_t *variables, *new_variables; /* the second: right sides of an assignment */
  void **buffers, **new_buffers;
  allocation *allocations;
} call;

static tw_status value_of(call *c, const tw_expression *e, int64_t *result) {
  return tw_evaluate(e, &c->in, result) ? TW_OK : tw_too_large(c->program, c->error);
}

/* The operand of a kernel. */
static tw_status bind(call *c, const tw_parameter *parameter, tw_operand *operand) {
  operand->kind = parameter->kind;
  if (parameter->kind == TW_INTEGER)
    return value_of(c, parameter->value, &operand->integer);
  operand->pointer = c->buffers[parameter->buffer];
  if (parameter->kind == TW_POINTER)
    return TW_OK;
  tw_tensor *tensor = &operand->tensor;
  *tensor = parameter->tensor;
  tensor->base = operand->pointer;
  for (uint32_t d = 0; d < tensor->rank; ++d) {
    int64_t extent;
    tw_status status = value_of(c, parameter->sizes[d], &tensor->sizes[d]);
    if (!status)
      status = value_of(c, parameter->box[d], &extent);
    if (!status && d + 1 < tensor->rank)
      status = value_of(c, parameter->pitches[d], &tensor->pitches[d]);
    if (status)
      return status;
    if (extent < 1 || extent > UINT16_MAX)
      return tw_fail(c->error, TW_BAD_SIZES, "a tile of program '%s' would have extent %lld in dimension %u",
                     c->program->name, (long long)extent, d);
    tensor->box[d] = (uint32_t)extent;
    if (tensor->sizes[d] > INT32_MAX) /* coordinates of tiles have 32 bits */
      return tw_fail(
          c->error, TW_BAD_SIZES,
          "an array of program '%s' has %lld elements along dimension %u of its tiles; expected at most %lld",
          c->program->name, (long long)tensor->sizes[d], d, (long long)INT32_MAX);
  }
  return TW_OK;
}

static tw_status do_launch(call *c, const tw_step *step) {
  tw_operand operands[TW_MAX_OPERANDS];
  tw_start start = {.kernel = step->kernel,
                    .kernel_number = step->kernel_number,
                    .grid = {1, 1, 1},
                    .threads = step->threads,
                    .cluster = step->cluster,
                    .scratchpad = step->scratchpad,
                    .operands = operands,
                    .num_operands = step->num_parameters,
                    .predicted_seconds =
                        step->predicted_nanoseconds < 0 ? -1 : (double)step->predicted_nanoseconds * 1e-9,
                    .predicted_bytes = step->predicted_bytes};
  int empty = 0;
  for (int d = 0; d < 3; ++d) {
    int64_t extent, most = d == 0 ? TW_MAX_BLOCKS_X : TW_MAX_BLOCKS_YZ;
    tw_status status = value_of(c, step->grid[d], &extent);
    if (status)
      return status;
    if (extent > most)
      return tw_fail(c->error, TW_BAD_SIZES,
                     "kernel '%s' needs %lld blocks in dimension %d of its grid, devices have %lld", step->kernel,
                     (long long)extent, d, (long long)most);
    start.grid[d] = extent > 0 ? (uint32_t)extent : 0;
    empty |= extent <= 0;
  }
  if (empty)
    return TW_OK; /* nothing to compute */
  for (size_t p = 0; p < step->num_parameters; ++p) {
    tw_status status = bind(c, &step->parameters[p], &operands[p]);
    if (status)
      return status;
  }
  return c->host->start(c->host->context, &start, c->error);
}

static tw_status do_read(call *c, const tw_step *step) {
  int64_t offset, number = 0;
  char raw[8] = {0};
  tw_status status = value_of(c, step->offset, &offset);
  const char *from = c->buffers[step->buffer];
  if (!status)
    status = c->host->read(c->host->context, raw, from + offset * step->bytes, step->bytes, c->error);
  memcpy(&number, raw, sizeof(number)); /* the host is little-endian, as devices are */
  int unused = 64 - 8 * (int)step->bytes;
  c->variables[step->variable] = (int64_t)((uint64_t)number << unused) >> unused;
  return status;
}

/* Gives back what no buffer stands for any more. */
static void release_unused(call *c) {
  for (allocation **link = &c->allocations; *link;) {
    allocation *one = *link;
    size_t b = 0;
    while (b < c->program->num_buffers && c->buffers[b] != one->memory)
      ++b;
    if (b < c->program->num_buffers) {
      link = &one->next;
      continue;
    }
    *link = one->next;
    c->host->release(c->host->context, one->memory);
    free(one);
  }
}

static tw_status do_allocate(call *c, const tw_step *step) {
  int64_t bytes;
  tw_status status = value_of(c, step->size, &bytes);
  if (!status && bytes < 0)
    status =
        tw_fail(c->error, TW_BAD_SIZES, "program '%s' would allocate %lld bytes", c->program->name, (long long)bytes);
  if (status)
    return status;
  allocation *one = calloc(1, sizeof(*one));
  if (!one)
    return tw_fail(c->error, TW_NO_MEMORY, "the host has no memory left");
  c->buffers[step->buffer] = NULL;
  release_unused(c);
  status = c->host->allocate(c->host->context, bytes > 0 ? bytes : 1, &one->memory, c->error);
  if (status) {
    free(one);
    return status;
  }
  one->next = c->allocations;
  c->allocations = one;
  c->buffers[step->buffer] = one->memory;
  return TW_OK;
}

static tw_status do_moves(call *c, const tw_step *step) {
  tw_status status = TW_OK;
  for (size_t i = 0; i < step->count && !status; ++i)
    if (step->kind == TW_ASSIGN)
      status = value_of(c, step->values[i], &c->new_variables[step->targets[i]]);
    else
      c->new_buffers[step->targets[i]] = c->buffers[step->sources[i]];
  for (size_t i = 0; i < step->count && !status; ++i)
    if (step->kind == TW_ASSIGN)
      c->variables[step->targets[i]] = c->new_variables[step->targets[i]];
    else
      c->buffers[step->targets[i]] = c->new_buffers[step->targets[i]];
  if (step->kind == TW_RENAME)
    release_unused(c);
  return status;
}

/* Compares an extent of a result with the caller's, or two sizes inside. */
static tw_status do_require(call *c, const tw_step *step) {
  int64_t produced, given;
  tw_status status = value_of(c, step->produced, &produced);
  if (!status)
    status = value_of(c, step->given, &given);
  if (status || produced == given)
    return status;
  if (step->message) {
    int64_t extent = 0;
    if (step->extent && (status = value_of(c, step->extent, &extent)))
      return status;
    return tw_check_failed(c->error, step->is_index ? TW_BAD_INDEX : TW_BAD_SIZES, c->program->name, step->message,
                           produced, extent);
  }
  if (!step->has_argument)
    return tw_fail(c->error, TW_BAD_SIZES,
                   "sizes inside of program '%s' disagree: it makes %lld of its data where an operation needs %lld",
                   c->program->name, (long long)produced, (long long)given);
  const tw_expression *extent = c->program->arguments[step->argument].shape[step->dimension];
  if (c->learned && extent->op == TW_OP_SIZE && produced >= 0)
    c->learned[extent->value] = produced;
  return tw_fail(
      c->error, TW_BAD_SIZES,
      "argument %zu of program '%s' has extent %lld in dimension %zu, but the program makes %lld of its data",
      step->argument, c->program->name, (long long)given, step->dimension, (long long)produced);
}

static tw_status do_steps(call *c, const tw_step *step);

static tw_status do_branch(call *c, const tw_step *step) {
  int64_t condition;
  tw_status status = TW_OK;
  if (step->kind == TW_IF) {
    status = value_of(c, step->condition, &condition);
    return status ? status : do_steps(c, condition ? step->first : step->second);
  }
  for (;;) {
    status = do_steps(c, step->first);
    if (!status)
      status = value_of(c, step->condition, &condition);
    if (status || !condition)
      return status;
    status = do_steps(c, step->second);
    if (status)
      return status;
  }
}

static tw_status do_steps(call *c, const tw_step *step) {
  tw_status status = TW_OK;
  for (; step && !status; step = step->next)
    switch (step->kind) {
    case TW_LAUNCH:
      status = do_launch(c, step);
      break;
    case TW_READ:
      status = do_read(c, step);
      break;
    case TW_ALLOCATE:
      status = do_allocate(c, step);
      break;
    case TW_ASSIGN:
    case TW_RENAME:
      status = do_moves(c, step);
      break;
    case TW_IF:
    case TW_WHILE:
      status = do_branch(c, step);
      break;
    case TW_REQUIRE:
      status = do_require(c, step);
      break;
    }
  return status;
}

static tw_status run(const tw_program *program, const int64_t *sizes, int64_t *learned, void *const *arrays,
                     void *const *constants, void *const *temporaries, const tw_host *host, tw_error *error) {
  tw_status status = tw_check_sizes(program, sizes, error);
  for (size_t i = 0; i < program->num_arguments && !status; ++i) {
    int64_t bytes;
    status = tw_program_bytes(program, i, sizes, &bytes, error);
    if (!status && bytes > 0 && (!arrays || !arrays[i]))
      status = tw_fail(error, TW_BAD_ARGUMENT, "argument %zu of program '%s' is a null pointer; expected %lld bytes", i,
                       program->name, (long long)bytes);
  }
  if (status)
    return status;
  void *few[64], **slots = few;
  size_t needed = 2 * (program->num_buffers + program->num_variables);
  if (needed > sizeof(few) / sizeof(*few) && !(slots = malloc(needed * sizeof(*slots))))
    return tw_fail(error, TW_NO_MEMORY, "the host has no memory left");
  memset(slots, 0, needed * sizeof(*slots));
  int64_t *variables = (int64_t *)(slots + 2 * program->num_buffers); /* both are of 64 bits */
  call c = {program,
            host,
            error,
            {sizes, variables},
            learned,
            variables,
            variables + program->num_variables,
            slots,
            slots + program->num_buffers,
            NULL};
  for (size_t i = 0; i < program->num_arguments; ++i)
    c.buffers[i] = arrays ? arrays[i] : NULL;
  for (size_t i = 0; i < program->num_constants; ++i)
    c.buffers[program->constants[i].buffer] = constants[i];
  for (size_t i = 0; i < program->num_temporaries; ++i)
    c.buffers[program->temporaries[i].buffer] = temporaries[i];
  status = do_steps(&c, program->steps);
  memset(c.buffers, 0, program->num_buffers * sizeof(*c.buffers));
  release_unused(&c);
  if (slots != few)
    free(slots);
  return status;
}

tw_status tw_program_run(const tw_program *program, const int64_t *sizes, void *const *arrays, void *const *constants,
                         void *const *temporaries, const tw_host *host, tw_error *error) {
  return run(program, sizes, NULL, arrays, constants, temporaries, host, error);
}

tw_status tw_program_learn(const tw_program *program, int64_t *sizes, void *const *arrays, void *const *constants,
                           void *const *temporaries, const tw_host *host, tw_error *error) {
  return run(program, sizes, sizes, arrays, constants, temporaries, host, error);
}
