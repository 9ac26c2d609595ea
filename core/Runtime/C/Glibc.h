/*===- Glibc.h - Old versions of the loader's functions -----------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * glibc 2.34 moved the loader's functions from libdl to libc under a new version,
 * which a machine with an older glibc lacks. The old versions are still there,
 * so the runtime library is linked against those (and against libdl). The same
 * goes for the function that starts a program (tw-launch.c).
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_CORE_RUNTIME_C_GLIBC_H
#define TILEWRIGHT_CORE_RUNTIME_C_GLIBC_H

/* The oldest version that this family of processors has, such as "GLIBC_2.17" (cmake/TilewrightRuntime.cmake). */
#ifdef TILEWRIGHT_OLD_GLIBC
#define TW_OLD_GLIBC_AS(local, name) __asm__(".symver " #local ", " #name "@" TILEWRIGHT_OLD_GLIBC)
#define TW_OLD_GLIBC(name) TW_OLD_GLIBC_AS(name, name)
TW_OLD_GLIBC(dlopen);
TW_OLD_GLIBC(dlclose);
TW_OLD_GLIBC(dlsym);
TW_OLD_GLIBC(dlerror);
#endif

#endif /* TILEWRIGHT_CORE_RUNTIME_C_GLIBC_H */
