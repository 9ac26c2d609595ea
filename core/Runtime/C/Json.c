/*===- Json.c - A small reader of JSON --------------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Recursive descent over one text; depth is limited, so that no input exhausts
 * the stack.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { block_bytes = 16 << 10, deepest = 200 };

struct tw_block {
  struct tw_block *next;
  size_t used, size;
  _Alignas(16) char bytes[];
};

void *tw_arena_take(tw_arena *arena, size_t bytes) {
  if (bytes > (size_t)1 << 40)
    return NULL;
  bytes = (bytes + 15) & ~(size_t)15;
  struct tw_block *block = arena->blocks;
  if (!block || block->size - block->used < bytes) {
    size_t size = bytes > block_bytes ? bytes : block_bytes;
    block = calloc(1, sizeof(*block) + size);
    if (!block)
      return NULL;
    block->size = size;
    block->next = arena->blocks;
    arena->blocks = block;
  }
  void *memory = block->bytes + block->used;
  block->used += bytes;
  return memory;
}

void tw_arena_free(tw_arena *arena) {
  while (arena->blocks) {
    struct tw_block *next = arena->blocks->next;
    free(arena->blocks);
    arena->blocks = next;
  }
}

typedef struct reader {
  tw_arena *arena;
  const char *begin, *at, *end;
  char *problem;
  size_t capacity;
} reader;

static int wrong(reader *r, const char *what) {
  if (r->capacity && !r->problem[0])
    snprintf(r->problem, r->capacity, "%s at byte %zu", what, (size_t)(r->at - r->begin));
  return 0;
}

static void skip(reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
    ++r->at;
}

static int accept(reader *r, char c) {
  skip(r);
  if (r->at == r->end || *r->at != c)
    return 0;
  ++r->at;
  return 1;
}

static int word(reader *r, const char *text) {
  size_t length = strlen(text);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, text, length) != 0)
    return 0;
  r->at += length;
  return 1;
}

/* Four hexadecimal digits; -1 if there are none. */
static int code_unit(reader *r) {
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    char c = r->at < r->end ? *r->at++ : 0;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0)
      return -1;
    value = value * 16 + digit;
  }
  return value;
}

static char *encode(char *out, unsigned code) {
  if (code < 0x80) {
    *out++ = (char)code;
  } else if (code < 0x800) {
    *out++ = (char)(0xc0 | code >> 6);
    *out++ = (char)(0x80 | (code & 63));
  } else {
    if (code < 0x10000) {
      *out++ = (char)(0xe0 | code >> 12);
    } else {
      *out++ = (char)(0xf0 | code >> 18);
      *out++ = (char)(0x80 | (code >> 12 & 63));
    }
    *out++ = (char)(0x80 | (code >> 6 & 63));
    *out++ = (char)(0x80 | (code & 63));
  }
  return out;
}

static const char *string(reader *r) {
  if (!accept(r, '"'))
    return wrong(r, "expected a string"), NULL;
  const char *close = r->at;
  while (close < r->end && *close != '"')
    close += *close == '\\' && close + 1 < r->end ? 2 : 1;
  if (close >= r->end)
    return wrong(r, "a string without an end"), NULL;
  char *text = tw_arena_take(r->arena, (size_t)(close - r->at) + 1), *out = text;
  if (!text)
    return wrong(r, "no memory"), NULL;
  while (r->at < close) {
    if (*r->at != '\\') {
      *out++ = *r->at++;
      continue;
    }
    ++r->at;
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char letter = *r->at++;
    const char *known = letter ? strchr(letters, letter) : NULL;
    if (known) {
      *out++ = meanings[known - letters];
      continue;
    }
    int code = letter == 'u' ? code_unit(r) : -1;
    if (code >= 0xd800 && code < 0xdc00 && word(r, "\\u")) {
      int low = code_unit(r);
      code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : -1;
    }
    if (code <= 0)
      return wrong(r, "unknown escape in a string"), NULL;
    out = encode(out, (unsigned)code);
  }
  r->at = close + 1;
  return text;
}

static int number(reader *r, tw_json *value) {
  const char *first = r->at;
  int negative = word(r, "-"), overflow = 0, digits = 0;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; ++r->at, ++digits) {
    overflow |= __builtin_mul_overflow(value->number, (int64_t)10, &value->number);
    overflow |= __builtin_sub_overflow(value->number, (int64_t)(*r->at - '0'), &value->number);
  }
  value->kind = TW_NUMBER;
  if (r->at < r->end && (*r->at == '.' || *r->at == 'e' || *r->at == 'E')) {
    while (r->at < r->end && ((*r->at >= '0' && *r->at <= '9') || (*r->at && strchr("+-.eE", *r->at))))
      ++r->at;
    value->kind = TW_REAL;
    overflow = 0;
  } else if (!negative) {
    overflow |= __builtin_sub_overflow((int64_t)0, value->number, &value->number);
  }
  if (digits && !overflow)
    return 1;
  r->at = first;
  return wrong(r, digits ? "a number is too large" : "expected a value");
}

static tw_json *value(reader *r, int depth) {
  tw_json *node = tw_arena_take(r->arena, sizeof(*node));
  if (!node)
    return wrong(r, "no memory"), NULL;
  if (depth > deepest)
    return wrong(r, "too many nested values"), NULL;
  skip(r);
  int object = accept(r, '{');
  if (object || accept(r, '[')) {
    char closing = object ? '}' : ']';
    node->kind = object ? TW_OBJECT : TW_ARRAY;
    tw_json **end = &node->first;
    if (accept(r, closing))
      return node;
    do {
      const char *key = NULL;
      if (object && !(key = string(r)))
        return NULL;
      if (object && !accept(r, ':'))
        return wrong(r, "expected ':'"), NULL;
      tw_json *member = value(r, depth + 1);
      if (!member)
        return NULL;
      member->key = key;
      *end = member;
      end = &member->next;
      ++node->count;
    } while (accept(r, ','));
    if (!accept(r, closing))
      return wrong(r, object ? "expected ',' or '}'" : "expected ',' or ']'"), NULL;
    return node;
  }
  if (r->at < r->end && *r->at == '"') {
    node->kind = TW_STRING;
    return (node->text = string(r)) ? node : NULL;
  }
  if (word(r, "null"))
    return node;
  if (word(r, "true") || word(r, "false")) {
    node->kind = TW_BOOLEAN;
    node->number = r->at[-2] == 'u';
    return node;
  }
  return number(r, node) ? node : NULL;
}

const tw_json *tw_json_parse(tw_arena *arena, const char *text, size_t count, char *problem, size_t capacity) {
  reader r = {arena, text, text, text + count, problem, capacity};
  if (capacity)
    problem[0] = 0;
  tw_json *root = value(&r, 0);
  skip(&r);
  if (root && r.at != r.end)
    return wrong(&r, "expected the end"), NULL;
  return root;
}

const tw_json *tw_json_get(const tw_json *object, const char *key, tw_json_kind kind) {
  if (!object || object->kind != TW_OBJECT)
    return NULL;
  for (const tw_json *member = object->first; member; member = member->next)
    if (strcmp(member->key, key) == 0)
      return member->kind == kind ? member : NULL;
  return NULL;
}

int64_t tw_json_integer(const tw_json *object, const char *key, int64_t otherwise) {
  const tw_json *member = tw_json_get(object, key, TW_NUMBER);
  return member ? member->number : otherwise;
}

const char *tw_json_text(const tw_json *object, const char *key) {
  const tw_json *member = tw_json_get(object, key, TW_STRING);
  return member ? member->text : NULL;
}
