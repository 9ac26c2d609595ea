/*===- Zip.h - Members of a zip file ------------------------------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Finds members that are stored as they are in the bytes of a zip file, also of
 * one above 4 GiB.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_RUNTIME_C_ZIP_H
#define TILEWRIGHT_CORE_RUNTIME_C_ZIP_H

#include <stddef.h>
#include <stdint.h>

typedef struct tw_zip {
  const unsigned char *bytes;
  uint64_t count, directory, directory_bytes;
} tw_zip;

typedef struct tw_zip_member {
  const void *data; /* inside the file */
  size_t bytes;
  uint32_t checksum;
} tw_zip_member;

/* Finds the directory; null, or what is wrong. */
const char *tw_zip_open(const void *bytes, size_t count, tw_zip *zip);
/* Finds a member; null, or what is wrong. */
const char *tw_zip_find(const tw_zip *zip, const char *name, tw_zip_member *member);
/* Whether the bytes have their checksum. */
int tw_zip_intact(const tw_zip_member *member);

#endif /* TILEWRIGHT_CORE_RUNTIME_C_ZIP_H */
