/*===- Elements.c - Elements of arrays --------------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Sizes, names and conversions of element types.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Elements.h"

#include <string.h>

int64_t tw_element_bytes(tw_element type) {
  static const unsigned char bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 1, 1, 1, 1, 1, 2, 2, 4, 8};
  return bytes[type];
}

const char *tw_element_name(tw_element type) {
  static const char *const names[] = {"bool",       "i8",        "i16", "i32",      "i64",    "u8",
                                      "u16",        "u32",       "u64", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ",
                                      "f8E5M2FNUZ", "f8E8M0FNU", "f16", "bf16",     "f32",    "f64"};
  return names[type];
}

int tw_element_is_float(tw_element type) { return type >= TW_F8E4M3FN; }
int tw_element_is_float8(tw_element type) { return type >= TW_F8E4M3FN && type <= TW_F8E8M0FNU; }

int tw_element_of(const char *manifest_type) {
  static const char *const names[] = {"i1",         "i8",        "i16",  "i32",      "i64",    "ui8",
                                      "ui16",       "ui32",      "ui64", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ",
                                      "f8E5M2FNUZ", "f8E8M0FNU", "f16",  "bf16",     "f32",    "f64"};
  for (int i = 0; i <= TW_F64; ++i)
    if (strcmp(names[i], manifest_type) == 0)
      return i;
  return strcmp(manifest_type, "index") == 0 ? TW_I64 : -1;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

double tw_bfloat_to_double(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

double tw_half_to_double(uint16_t bits) {
  uint64_t sign = (uint64_t)(bits & 0x8000) << 48, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31)
    return double_of(sign | 0x7ff0000000000000 | fraction << 42);
  if (exponent == 0)
    return (sign ? -1.0 : 1.0) * (double)fraction * 0x1p-24;
  return double_of(sign | (exponent + 1008) << 52 | fraction << 42);
}

/* What differs between 8-bit floats (core/Transforms/Lower/Math/ExpandFloat8.cpp shows them in a table). */
typedef struct float8 {
  int fraction_bits, bias, largest; /* code of the largest number */
  int has_infinity, has_one_zero;
} float8;

static float8 float8_of(tw_element type) {
  static const float8 formats[] = {{3, 7, 0x7e, 0, 0}, {2, 15, 0x7b, 1, 0}, {3, 8, 0x7f, 0, 1}, {2, 16, 0x7f, 0, 1}};
  return formats[type - TW_F8E4M3FN];
}

double tw_float8_to_double(tw_element type, uint8_t bits) {
  if (type == TW_F8E8M0FNU) /* an exponent; no sign, no zero, one NaN */
    return double_of(bits == 0xff ? 0x7ff8000000000000 : (uint64_t)(bits - 127 + 1023) << 52);
  float8 format = float8_of(type);
  int magnitude = bits & 0x7f, exponent = magnitude >> format.fraction_bits;
  uint64_t sign = (uint64_t)(bits & 0x80) << 56;
  if (format.has_one_zero ? bits == 0x80 : magnitude > format.largest)
    return double_of(
        sign | (format.has_infinity && magnitude == format.largest + 1 ? 0x7ff0000000000000 : 0x7ff8000000000000));
  int fraction = magnitude & ((1 << format.fraction_bits) - 1);
  if (exponent > 0)
    fraction |= 1 << format.fraction_bits;
  else
    exponent = 1;
  double unit = double_of((uint64_t)(exponent - format.bias - format.fraction_bits + 1023) << 52);
  return (sign ? -1.0 : 1.0) * (double)fraction * unit;
}

/* |value|, which is finite, as a float with `fraction_bits` of fraction and the smallest normal exponent
   `min_exponent`: exponent and fraction in one number, of any size. */
static int64_t narrow_magnitude(double value, int fraction_bits, int min_exponent) {
  uint64_t bits = bits_of(value), fraction = bits & 0xfffffffffffff;
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  if (exponent < min_exponent - fraction_bits - 1)
    return 0; /* less than half of the smallest number; zeros and subnormal doubles too */
  uint64_t significand = fraction | (uint64_t)1 << 52;
  /* Bits below the last one that stays; a subnormal result loses one more for each power of two. */
  int lost = 52 - fraction_bits + (exponent < min_exponent ? min_exponent - exponent : 0);
  uint64_t kept = significand >> lost, rest = significand & (((uint64_t)1 << lost) - 1),
           half = (uint64_t)1 << (lost - 1);
  kept += rest > half || (rest == half && (kept & 1));
  /* The leading one of a normal number adds one to the exponent; a carry moves into it by itself. */
  return (int64_t)kept + (exponent < min_exponent ? 0 : (int64_t)(exponent - min_exponent) << fraction_bits);
}

static int is_special(double value) { return (bits_of(value) >> 52 & 0x7ff) == 0x7ff; } /* infinity or NaN */

/* A 16-bit float. */
static uint16_t narrow(double value, int fraction_bits, int min_exponent) {
  uint16_t sign = (uint16_t)(bits_of(value) >> 48 & 0x8000);
  uint16_t infinity = (uint16_t)(0x7fff >> fraction_bits << fraction_bits);
  if (is_special(value))
    return (uint16_t)(sign | infinity | (value != value ? 1 << (fraction_bits - 1) : 0));
  int64_t packed = narrow_magnitude(value, fraction_bits, min_exponent);
  return (uint16_t)(sign | (packed >= infinity ? infinity : packed));
}

static uint8_t exponent_of(double value) {
  int exponent = (int)(bits_of(value) >> 52 & 0x7ff) - 1023;
  return (uint8_t)(exponent > 127 ? 0xff : exponent < -127 ? 0 : exponent + 127);
}

uint8_t tw_double_to_float8(tw_element type, double value) {
  if (type == TW_F8E8M0FNU)
    return exponent_of(value);
  float8 format = float8_of(type);
  uint8_t sign = (uint8_t)(bits_of(value) >> 56 & 0x80);
  int64_t packed = is_special(value) ? 0x80 : narrow_magnitude(value, format.fraction_bits, 1 - format.bias);
  if (packed > format.largest) {
    if (format.has_one_zero)
      return 0x80;
    return (uint8_t)(sign | (format.has_infinity ? (value != value ? 0x7e : 0x7c) : 0x7f));
  }
  return (uint8_t)(format.has_one_zero && packed == 0 ? 0 : sign | packed);
}

uint16_t tw_double_to_half(double value) { return narrow(value, 10, -14); }
uint16_t tw_double_to_bfloat(double value) { return narrow(value, 7, -126); }

double tw_element_get(tw_element type, const void *data, int64_t i) {
  const char *p = (const char *)data + i * tw_element_bytes(type);
  uint64_t raw = 0;
  memcpy(&raw, p, (size_t)tw_element_bytes(type));
  float single;
  switch (type) {
  case TW_BOOL:
    return raw != 0;
  case TW_I8:
    return (int8_t)raw;
  case TW_I16:
    return (int16_t)raw;
  case TW_I32:
    return (int32_t)raw;
  case TW_I64:
    return (double)(int64_t)raw;
  case TW_U8:
  case TW_U16:
  case TW_U32:
  case TW_U64:
    return (double)raw;
  case TW_F8E4M3FN:
  case TW_F8E5M2:
  case TW_F8E4M3FNUZ:
  case TW_F8E5M2FNUZ:
  case TW_F8E8M0FNU:
    return tw_float8_to_double(type, (uint8_t)raw);
  case TW_F16:
    return tw_half_to_double((uint16_t)raw);
  case TW_BF16:
    return tw_bfloat_to_double((uint16_t)raw);
  case TW_F32:
    memcpy(&single, p, sizeof(single));
    return single;
  case TW_F64:
    return double_of(raw);
  }
  return 0;
}

void tw_element_set(tw_element type, void *data, int64_t i, double value) {
  uint64_t raw = 0;
  float single = (float)value;
  switch (type) {
  case TW_BOOL:
    raw = value != 0;
    break;
  case TW_I8:
  case TW_I16:
  case TW_I32:
  case TW_I64:
    raw = (uint64_t)(int64_t)value;
    break;
  case TW_U8:
  case TW_U16:
  case TW_U32:
  case TW_U64:
    raw = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    break;
  case TW_F8E4M3FN:
  case TW_F8E5M2:
  case TW_F8E4M3FNUZ:
  case TW_F8E5M2FNUZ:
  case TW_F8E8M0FNU:
    raw = tw_double_to_float8(type, value);
    break;
  case TW_F16:
    raw = tw_double_to_half(value);
    break;
  case TW_BF16:
    raw = tw_double_to_bfloat(value);
    break;
  case TW_F32:
    memcpy(&raw, &single, sizeof(single));
    break;
  case TW_F64:
    raw = bits_of(value);
    break;
  }
  size_t bytes = (size_t)tw_element_bytes(type);
  memcpy((char *)data + (size_t)i * bytes, &raw, bytes);
}
