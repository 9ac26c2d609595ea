/*===- Elements.h - Elements of arrays ----------------------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Element types of arrays on the host, their conversions, and random numbers.
 * Needs no mathematics library, so that values are the same on every machine.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_RUNTIME_C_ELEMENTS_H
#define TILEWRIGHT_CORE_RUNTIME_C_ELEMENTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the order of ElementType (core/Runtime/Array.h). */
typedef enum tw_element {
  TW_BOOL,
  TW_I8,
  TW_I16,
  TW_I32,
  TW_I64,
  TW_U8,
  TW_U16,
  TW_U32,
  TW_U64,
  TW_F8E4M3FN,
  TW_F8E5M2,
  TW_F8E4M3FNUZ,
  TW_F8E5M2FNUZ,
  TW_F8E8M0FNU,
  TW_F16,
  TW_BF16,
  TW_F32,
  TW_F64
} tw_element;

int64_t tw_element_bytes(tw_element type);
const char *tw_element_name(tw_element type); /* "bool", "u8", "bf16", "f8E5M2" */
int tw_element_is_float(tw_element type);
int tw_element_is_float8(tw_element type);
/* The type that a manifest calls "i1", "ui8", "index", "f32"; -1 for any other. */
int tw_element_of(const char *manifest_type);

double tw_half_to_double(uint16_t bits);
double tw_bfloat_to_double(uint16_t bits);
double tw_float8_to_double(tw_element type, uint8_t bits);
/* One rounding, to nearest even. */
uint16_t tw_double_to_half(double value);
uint16_t tw_double_to_bfloat(double value);
/* As arith.truncf of MLIR and ml_dtypes: what is too large becomes infinity (f8E5M2) or NaN. f8E8M0FNU, a power of two,
   has the exponent of |value| alone, as in MLIR. */
uint8_t tw_double_to_float8(tw_element type, double value);

/* Element `i` as a double (64-bit integers may round). */
double tw_element_get(tw_element type, const void *data, int64_t i);
/* Stores `value` rounded once (integers: truncated). */
void tw_element_set(tw_element type, void *data, int64_t i, double value);

/* Floats: standard normal. Integers: uniform in -8 to 7 (unsigned: 0 to 7). Booleans: either. `stream` tells the arrays
   of one seed apart. */
void tw_random_fill(tw_element type, void *data, int64_t count, uint64_t seed, uint64_t stream);

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_CORE_RUNTIME_C_ELEMENTS_H */
