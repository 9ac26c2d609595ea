/*===- Npy.c - NumPy array files --------------------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * A strict reader of the header's dictionary, byte order and column-major
 * conversion, and the header for writing.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Npy.h"

#include <stdio.h>
#include <string.h>

/* The header's dictionary: string keys, values that are strings, booleans or tuples of integers. */
typedef struct reader {
  const char *at, *end;
  char *problem;
  size_t capacity;
} reader;

/* 8-bit floats are written as their bytes. */
static const char *const codes[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8",
                                    "u1", "u1", "u1", "u1", "u1", "f2", "u2", "f4", "f8"};

static const int one = 1;
static int is_little_endian(void) { return *(const char *)&one; }

static int wrong(reader *r, const char *what) {
  if (!r->problem[0])
    snprintf(r->problem, r->capacity, "%s", what);
  return 0;
}

static int peek(reader *r, char c) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n'))
    ++r->at;
  return r->at < r->end && *r->at == c;
}

static int expect(reader *r, char c) {
  char what[64];
  if (peek(r, c)) {
    ++r->at;
    return 1;
  }
  snprintf(what, sizeof(what), "has an unreadable header: expected '%c'", c);
  return wrong(r, what);
}

static int string(reader *r, char *value, size_t capacity) {
  if (!peek(r, '\'') && !peek(r, '"'))
    return wrong(r, "has an unreadable header: expected a string");
  char quote = *r->at++;
  const char *close = memchr(r->at, quote, (size_t)(r->end - r->at));
  if (!close)
    return wrong(r, "has an unreadable header: a string does not end");
  snprintf(value, capacity, "%.*s", (int)(close - r->at), r->at);
  r->at = close + 1;
  return 1;
}

static int boolean(reader *r, int *value) {
  for (*value = 0; *value <= 1; ++*value) {
    const char *word = *value ? "True" : "False";
    size_t length = strlen(word);
    (void)peek(r, 'T'); /* past white space */
    if ((size_t)(r->end - r->at) >= length && memcmp(r->at, word, length) == 0) {
      r->at += length;
      return 1;
    }
  }
  return wrong(r, "has an unreadable header: expected True or False");
}

static int tuple(reader *r, tw_npy *array) {
  array->rank = 0;
  if (!expect(r, '('))
    return 0;
  while (!peek(r, ')')) {
    int64_t value = 0;
    const char *first = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; ++r->at) {
      if (value > (int64_t)1 << 56)
        return wrong(r, "has a dimension that is too large");
      value = value * 10 + (*r->at - '0');
    }
    if (first == r->at)
      return wrong(r, "has an unreadable shape: expected a tuple of sizes");
    if (array->rank == TW_NPY_MOST_DIMENSIONS)
      return wrong(r, "has more than 64 dimensions");
    array->shape[array->rank++] = value;
    if (!peek(r, ','))
      break;
    ++r->at;
  }
  return expect(r, ')');
}

/* Reads the dictionary: the description of the elements, and order and shape. */
static int dictionary(reader *r, char *description, size_t capacity, tw_npy *array) {
  int have = 0; /* bits: 1 descr, 2 fortran_order, 4 shape */
  if (!expect(r, '{'))
    return 0;
  while (!peek(r, '}')) {
    char key[64], what[128];
    if (!string(r, key, sizeof(key)) || !expect(r, ':'))
      return 0;
    if (strcmp(key, "descr") == 0 && peek(r, '['))
      return wrong(r, "structured element types are not supported; expected one number type such as '<f4'");
    if (strcmp(key, "descr") == 0 && string(r, description, capacity)) {
      have |= 1;
    } else if (strcmp(key, "fortran_order") == 0 && boolean(r, &array->is_column_major)) {
      have |= 2;
    } else if (strcmp(key, "shape") == 0 && tuple(r, array)) {
      have |= 4;
    } else {
      snprintf(what, sizeof(what), "has an unreadable header at '%s'", key);
      return wrong(r, what);
    }
    if (!peek(r, ','))
      break;
    ++r->at;
  }
  if (!expect(r, '}'))
    return 0;
  return have == 7 ? 1 : wrong(r, "has a header without 'descr', 'fortran_order' or 'shape'");
}

/* The element type of a code without byte order; -1 for others. */
static int element_of(const char *code, int bfloat) {
  if (bfloat && (strcmp(code, "u2") == 0 || strcmp(code, "V2") == 0))
    return TW_BF16;
  /* How other programs call 8-bit floats: bytes without a meaning. */
  if (strcmp(code, "V1") == 0 || strcmp(code, "f1") == 0)
    return TW_U8;
  for (int i = 0; i <= TW_F64; ++i)
    if (i != TW_BF16 && strcmp(code, codes[i]) == 0)
      return i;
  return -1;
}

/* Elements of the shape; -1 where their bytes are more than 2^48. */
static int64_t count_of(const tw_npy *array) {
  const int64_t most = (int64_t)1 << 48;
  int64_t count = 1, bytes = tw_element_bytes(array->type);
  int is_empty = 0;
  for (size_t d = 0; d < array->rank; ++d) {
    if (array->shape[d] > most)
      return -1;
    is_empty |= array->shape[d] == 0;
  }
  for (size_t d = 0; d < array->rank && !is_empty; ++d)
    if (__builtin_mul_overflow(count, array->shape[d], &count) || count > most / bytes)
      return -1;
  return is_empty ? 0 : count;
}

int tw_npy_parse(const char *bytes, size_t count, int bfloat, tw_npy *array, char *problem, size_t capacity) {
  const unsigned char *raw = (const unsigned char *)bytes;
  reader r = {bytes, bytes, problem, capacity};
  char description[64] = "", what[192];
  problem[0] = 0;
  memset(array, 0, sizeof(*array));
  if (count < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
    return wrong(&r, "is no .npy file: it does not begin with \\x93NUMPY");
  unsigned major = raw[6];
  size_t begin = major == 1 ? 10 : 12, length = raw[8] | (size_t)raw[9] << 8;
  if (major < 1 || major > 3) {
    snprintf(what, sizeof(what), "has format version %u; expected 1, 2 or 3", major);
    return wrong(&r, what);
  }
  if (major > 1 && count >= 12)
    length |= (size_t)raw[10] << 16 | (size_t)raw[11] << 24;
  if (count < begin || count - begin < length)
    return wrong(&r, "is cut off inside its header");
  r.at = bytes + begin;
  r.end = r.at + length;
  if (!dictionary(&r, description, sizeof(description), array))
    return 0;
  const char *code = description;
  char order = *code && strchr("<>|=", *code) ? *code++ : '=';
  int type = element_of(code, bfloat);
  if (type < 0) {
    snprintf(
        what, sizeof(what),
        "has element type '%s'; expected b1, i1 to i8, u1 to u8, f2, f4 or f8 (bf16: u2 in a file named *.bf16.npy; "
        "8-bit floats: u1, V1 or f1)",
        description);
    return wrong(&r, what);
  }
  array->type = (tw_element)type;
  array->count = count_of(array);
  if (array->count < 0)
    return wrong(&r, "has a shape whose size in bytes overflows");
  array->data = bytes + begin + length;
  size_t have = count - begin - length, promised = (size_t)(array->count * tw_element_bytes(array->type));
  if (have != promised) {
    snprintf(what, sizeof(what), "holds %zu bytes of data; its header promises %zu", have, promised);
    return wrong(&r, what);
  }
  array->is_swapped = order == (is_little_endian() ? '>' : '<') && tw_element_bytes(array->type) > 1;
  return 1;
}

/* Copies column-major elements in row-major order. */
static void copy_columns(const tw_npy *array, char *to) {
  int64_t index[TW_NPY_MOST_DIMENSIONS] = {0}, stride[TW_NPY_MOST_DIMENSIONS], next = 1;
  int64_t bytes = tw_element_bytes(array->type);
  for (size_t d = 0; d < array->rank; ++d) {
    stride[d] = next;
    next *= array->shape[d];
  }
  for (int64_t i = 0; i < array->count; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < array->rank; ++d)
      offset += index[d] * stride[d];
    memcpy(to + i * bytes, array->data + offset * bytes, (size_t)bytes);
    for (size_t d = array->rank; d-- > 0;) {
      if (++index[d] < array->shape[d])
        break;
      index[d] = 0;
    }
  }
}

void tw_npy_copy(const tw_npy *array, void *to) {
  int64_t bytes = tw_element_bytes(array->type);
  if (array->is_column_major && array->rank > 1)
    copy_columns(array, to);
  else if (array->count > 0)
    memcpy(to, array->data, (size_t)(array->count * bytes));
  for (int64_t i = 0; array->is_swapped && i < array->count; ++i)
    for (char *low = (char *)to + i * bytes, *high = low + bytes - 1; low < high; ++low, --high) {
      char kept = *low;
      *low = *high;
      *high = kept;
    }
}

size_t tw_npy_header(tw_element type, size_t rank, const int64_t *shape, char *header) {
  const char *order = tw_element_bytes(type) == 1 ? "|" : is_little_endian() ? "<" : ">";
  char *at = header + 10, *end = header + TW_NPY_MOST_HEADER;
  at += snprintf(at, (size_t)(end - at), "{'descr': '%s%s', 'fortran_order': False, 'shape': (", order, codes[type]);
  for (size_t d = 0; d < rank; ++d)
    at += snprintf(at, (size_t)(end - at), "%lld%s", (long long)shape[d], d + 1 < rank ? ", " : rank == 1 ? "," : "");
  at += snprintf(at, (size_t)(end - at), "), }");
  while ((at + 1 - header) % 64 != 0) /* the data begins at a multiple of 64 bytes */
    *at++ = ' ';
  *at++ = '\n';
  size_t length = (size_t)(at - header) - 10;
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = (char)(length & 255);
  header[9] = (char)(length >> 8);
  return length + 10;
}

int tw_npy_is_bfloat(const char *path, size_t length) {
  return length >= 9 && memcmp(path + length - 9, ".bf16.npy", 9) == 0;
}
