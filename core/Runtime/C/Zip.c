/*===- Zip.c - Members of a zip file --------------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * The end of the file names the directory, which names the members:
 *
 *   header, bytes | header, bytes | .. | directory | [end for large files] | end
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Zip.h"

#include <string.h>

enum {
  END_BYTES = 22,
  LARGE_END_BYTES = 56,
  LOCATOR_BYTES = 20,
  ENTRY_BYTES = 46,
  HEADER_BYTES = 30,
  LONGEST_COMMENT = 65535,
  STORED = 0,
  LARGE_FIELD = 1
};

/* A little-endian number of `bytes` bytes. */
static uint64_t number(const unsigned char *at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = bytes; i-- > 0;)
    value = value << 8 | at[i];
  return value;
}

static int is_at(const tw_zip *zip, uint64_t at, uint64_t bytes, const char *signature) {
  return at <= zip->count && bytes <= zip->count - at && memcmp(zip->bytes + at, signature, 4) == 0;
}

const char *tw_zip_open(const void *bytes, size_t count, tw_zip *zip) {
  *zip = (tw_zip){.bytes = bytes, .count = count};
  if (count < END_BYTES)
    return "it is too short";
  uint64_t at = count - END_BYTES, first = at > LONGEST_COMMENT ? at - LONGEST_COMMENT : 0;
  while (!is_at(zip, at, END_BYTES, "PK\5\6"))
    if (at-- == first)
      return "it has no directory";
  zip->directory_bytes = number(zip->bytes + at + 12, 4);
  zip->directory = number(zip->bytes + at + 16, 4);
  if (at >= LOCATOR_BYTES && is_at(zip, at - LOCATOR_BYTES, LOCATOR_BYTES, "PK\6\7")) {
    uint64_t large = number(zip->bytes + at - LOCATOR_BYTES + 8, 8);
    if (!is_at(zip, large, LARGE_END_BYTES, "PK\6\6"))
      return "it has no directory";
    zip->directory_bytes = number(zip->bytes + large + 40, 8);
    zip->directory = number(zip->bytes + large + 48, 8);
  }
  if (zip->directory > count || zip->directory_bytes > count - zip->directory)
    return "its directory lies outside";
  return NULL;
}

/* Numbers of a large member stand in an extra field, those first that do not fit elsewhere. */
static void read_large(const unsigned char *extra, uint64_t bytes, uint64_t *size, uint64_t *stored, uint64_t *offset) {
  uint64_t *wanted[] = {size, stored, offset};
  for (uint64_t at = 0; at + 4 <= bytes;) {
    uint64_t id = number(extra + at, 2), length = number(extra + at + 2, 2), next = at + 4;
    if (length > bytes - next)
      return;
    for (size_t i = 0; id == LARGE_FIELD && i < 3; ++i)
      if (*wanted[i] == UINT32_MAX && next + 8 <= at + 4 + length) {
        *wanted[i] = number(extra + next, 8);
        next += 8;
      }
    at += 4 + length;
  }
}

const char *tw_zip_find(const tw_zip *zip, const char *name, tw_zip_member *member) {
  uint64_t length = strlen(name), end = zip->directory + zip->directory_bytes;
  for (uint64_t at = zip->directory; at < end;) {
    if (!is_at(zip, at, ENTRY_BYTES, "PK\1\2"))
      return "its directory is damaged";
    const unsigned char *entry = zip->bytes + at;
    uint64_t names = number(entry + 28, 2), extra = number(entry + 30, 2), comment = number(entry + 32, 2);
    if (ENTRY_BYTES + names + extra + comment > end - at)
      return "its directory is damaged";
    at += ENTRY_BYTES + names + extra + comment;
    if (names != length || memcmp(entry + ENTRY_BYTES, name, length) != 0)
      continue;
    uint64_t stored = number(entry + 20, 4), size = number(entry + 24, 4), header = number(entry + 42, 4);
    read_large(entry + ENTRY_BYTES + names, extra, &size, &stored, &header);
    if (number(entry + 10, 2) != STORED || stored != size || !is_at(zip, header, HEADER_BYTES, "PK\3\4"))
      return "a member is damaged or compressed";
    uint64_t begin = header + HEADER_BYTES + number(zip->bytes + header + 26, 2) + number(zip->bytes + header + 28, 2);
    if (begin > zip->count || size > zip->count - begin)
      return "it ends inside a member";
    *member = (tw_zip_member){zip->bytes + begin, size, (uint32_t)number(entry + 16, 4)};
    return NULL;
  }
  return "it lacks a member";
}

int tw_zip_intact(const tw_zip_member *member) {
  uint32_t table[256], sum = UINT32_MAX;
  for (uint32_t i = 0; i < 256; ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit)
      table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
  }
  const unsigned char *bytes = member->data;
  for (size_t i = 0; i < member->bytes; ++i)
    sum = table[(sum ^ bytes[i]) & 0xff] ^ sum >> 8;
  return ~sum == member->checksum;
}
