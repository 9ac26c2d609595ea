/*===- Json.h - A small reader of JSON ----------------------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * The header of an artifact as a tree. All nodes and texts live in an arena
 * that is freed as a whole.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_RUNTIME_C_JSON_H
#define TILEWRIGHT_CORE_RUNTIME_C_JSON_H

#include <stddef.h>
#include <stdint.h>

typedef struct tw_arena {
  struct tw_block *blocks;
} tw_arena;

/* Zeroed memory, aligned to 16; null if there is none. */
void *tw_arena_take(tw_arena *arena, size_t bytes);
void tw_arena_free(tw_arena *arena);

typedef enum tw_json_kind { TW_NULL, TW_BOOLEAN, TW_NUMBER, TW_REAL, TW_STRING, TW_ARRAY, TW_OBJECT } tw_json_kind;

typedef struct tw_json {
  tw_json_kind kind;
  int64_t number;               /* TW_NUMBER; TW_BOOLEAN: 0 or 1 */
  const char *text;             /* TW_STRING, ended by a zero */
  const char *key;              /* of this member, inside an object */
  struct tw_json *first, *next; /* members of an array or object; the member after this one */
  size_t count;                 /* members */
} tw_json;

/* The value in `text`, which may end with white space; null with `problem` ("expected ':' at byte 17") else. */
const tw_json *tw_json_parse(tw_arena *arena, const char *text, size_t count, char *problem, size_t capacity);

/* The member `key` of an object, of this kind; null if there is none. */
const tw_json *tw_json_get(const tw_json *object, const char *key, tw_json_kind kind);
/* The integer member `key`, or `otherwise`. */
int64_t tw_json_integer(const tw_json *object, const char *key, int64_t otherwise);
/* The text member `key`, or null. */
const char *tw_json_text(const tw_json *object, const char *key);

#endif /* TILEWRIGHT_CORE_RUNTIME_C_JSON_H */
