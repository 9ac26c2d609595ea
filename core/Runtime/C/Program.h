/*===- Program.h - What the host does for one program -------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * A manifest (core/Transforms/Host/LaunchManifest.h describes its form) as structs:
 * read once, evaluated for each call.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_RUNTIME_C_PROGRAM_H
#define TILEWRIGHT_CORE_RUNTIME_C_PROGRAM_H

#include "core/Runtime/C/Json.h"
#include "tilewright/tilewright_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tw_op {
  TW_OP_NUMBER,   /* value */
  TW_OP_SIZE,     /* sizes[value] */
  TW_OP_VARIABLE, /* variables[value] */
  TW_OP_ADD,
  TW_OP_SUBTRACT,
  TW_OP_MULTIPLY,
  TW_OP_FLOORDIV,
  TW_OP_CEILDIV,
  TW_OP_MOD,
  TW_OP_MAX,
  TW_OP_MIN,
  TW_OP_LESS,
  TW_OP_EQUAL
} tw_op;

typedef struct tw_expression {
  tw_op op;
  int64_t value;
  const struct tw_expression *a, *b;
} tw_expression;

typedef struct tw_array_type {
  const char *type;
  int64_t element_bytes;
  size_t rank;
  const tw_expression **shape;
  int is_written, is_result;
} tw_array_type;

/* Memory that a call gets: number `buffer` points to it when the call begins. */
typedef struct tw_temporary {
  size_t buffer;
  const tw_expression *bytes;
} tw_temporary;

typedef struct tw_constant {
  size_t buffer;
  int64_t bytes;
  const char *data; /* repeated until `bytes` are full */
  size_t period;
  const char *shared; /* one memory for all programs of an artifact that have this name; null: this program's own */
} tw_constant;

/* One argument of a launch. */
typedef struct tw_parameter {
  tw_operand_kind kind;
  size_t buffer;              /* TW_POINTER, TW_TENSOR */
  const tw_expression *value; /* TW_INTEGER */
  tw_tensor tensor;           /* TW_TENSOR: what does not depend on sizes */
  const tw_expression *sizes[5], *pitches[5], *box[5];
} tw_parameter;

typedef enum tw_step_kind {
  TW_LAUNCH,
  TW_READ,     /* a variable from device memory */
  TW_ALLOCATE, /* fresh memory for a buffer */
  TW_ASSIGN,   /* variables */
  TW_RENAME,   /* buffers */
  TW_IF,
  TW_WHILE,
  TW_REQUIRE /* a size that follows from data */
} tw_step_kind;

typedef struct tw_step {
  tw_step_kind kind;
  struct tw_step *next;
  /* TW_LAUNCH */
  const char *kernel;
  size_t kernel_number;
  uint32_t threads, cluster, scratchpad;
  const tw_expression *grid[3];
  tw_parameter *parameters;
  size_t num_parameters;
  int64_t predicted_nanoseconds, predicted_bytes; /* -1: not known */
  /* TW_READ: `variable` = the integer of `bytes` bytes at `offset` elements of `buffer`; TW_ALLOCATE: `size` */
  size_t variable, buffer;
  int64_t bytes;
  const tw_expression *offset, *size;
  /* TW_ASSIGN, TW_RENAME: targets[i] become values[i] or sources[i] */
  size_t count, *targets, *sources;
  const tw_expression **values;
  /* TW_IF: `first` where the condition is not 0, else `second`; TW_WHILE: `first`, test, `second`, again */
  const tw_expression *condition;
  struct tw_step *first, *second;
  /* TW_REQUIRE: `produced` is `given`; with `has_argument`, extent `dimension` of `argument` */
  const tw_expression *produced, *given;
  size_t argument, dimension;
  int has_argument, is_index; /* the latter: `produced` is the code of an index */
  const char *message;        /* null: that of sizes that disagree */
  const tw_expression *extent;
} tw_step;

/* Sizes agree where `expression` is zero (`is_equality`), or else not negative. */
typedef struct tw_constraint {
  int is_equality;
  const tw_expression *expression;
} tw_constraint;

struct tw_program {
  const char *name;
  size_t num_sizes, num_variables, num_buffers, num_arguments, num_temporaries, num_constants, num_constraints;
  tw_array_type *arguments; /* buffers 0, 1, .. */
  tw_temporary *temporaries;
  tw_constant *constants;
  tw_constraint *constraints;
  tw_step *steps;
  const tw_expression *roundings; /* null: not known */
};

/* What expressions are evaluated over; no variables outside a call. */
typedef struct tw_scope {
  const int64_t *sizes, *variables;
} tw_scope;

/* The value of an expression; false where it does not exist: a division by zero, or too large. */
int tw_evaluate(const tw_expression *e, const tw_scope *in, int64_t *result);
/* Whether a call with these sizes makes sense. */
tw_status tw_check_sizes(const tw_program *program, const int64_t *sizes, tw_error *error);
/* The failure of a check of a program with a message: {index} in it is what `code` is of (the index itself where it is
   negative, else one more), {extent} the number of that name. */
tw_status tw_check_failed(tw_error *error, tw_status status, const char *program, const char *message, int64_t code,
                          int64_t extent);
/* The failure of sizes that make too much. */
tw_status tw_too_large(const tw_program *program, tw_error *error);

/* Calls `visit` for each launch of the program, nested ones too. */
void tw_program_visit(const tw_step *steps, void (*visit)(void *context, const tw_step *launch), void *context);

/* Bytes of constants beside the manifests; programs refer to them. */
typedef struct tw_data {
  const char *bytes;
  uint64_t count;
} tw_data;

/* Reads one manifest into `arena`. Kernels that `kernels` (of `num_kernels`, grown by the call, in `arena`) has already
   keep their number. `data`: that of the artifact; null for a manifest alone. */
tw_status tw_program_read(tw_arena *arena, const tw_json *manifest, const char ***kernels, size_t *num_kernels,
                          const tw_data *data, tw_program *program, tw_error *error);

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_CORE_RUNTIME_C_PROGRAM_H */
