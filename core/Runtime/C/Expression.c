/*===- Expression.c - Values of a manifest ---------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Integers over the sizes and variables of a call, with every overflow seen.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Program.h"

#include <stddef.h>

int tw_evaluate(const tw_expression *e, const tw_scope *in, int64_t *result) {
  if (e->op == TW_OP_VARIABLE && !in->variables) /* outside a call there is none */
    return 0;
  if (e->op <= TW_OP_VARIABLE) {
    *result = e->op == TW_OP_NUMBER ? e->value : e->op == TW_OP_SIZE ? in->sizes[e->value] : in->variables[e->value];
    return 1;
  }
  int64_t a, b;
  if (!tw_evaluate(e->a, in, &a) || !tw_evaluate(e->b, in, &b))
    return 0;
  switch (e->op) {
  case TW_OP_ADD:
    return !__builtin_add_overflow(a, b, result);
  case TW_OP_SUBTRACT:
    return !__builtin_sub_overflow(a, b, result);
  case TW_OP_MULTIPLY:
    return !__builtin_mul_overflow(a, b, result);
  case TW_OP_MAX:
    *result = a > b ? a : b;
    return 1;
  case TW_OP_MIN:
    *result = a < b ? a : b;
    return 1;
  case TW_OP_LESS:
    *result = a < b;
    return 1;
  case TW_OP_EQUAL:
    *result = a == b;
    return 1;
  default:
    break;
  }
  if (b == 0 || (a == INT64_MIN && b == -1))
    return 0;
  int64_t quotient = a / b, rest = a % b;
  int negative = (rest < 0) != (b < 0);
  if (e->op == TW_OP_MOD)
    *result = rest != 0 && negative ? rest + b : rest;
  else if (e->op == TW_OP_FLOORDIV)
    *result = quotient - (rest != 0 && negative);
  else
    *result = quotient + (rest != 0 && !negative);
  return 1;
}
