/*===- Library.c - Libraries of the machine ---------------------------------===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Opens drivers at run time.
 *
 *===----------------------------------------------------------------------===*/

#include "core/Runtime/C/Glibc.h"
#include "tilewright/tilewright_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

tw_status tw_open_library(const char *const *names, const char *driver, void **library, tw_error *error) {
  char reason[512] = "";
  for (const char *const *name = names; *name; ++name) {
    *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    if (*library)
      return TW_OK;
    const char *message = dlerror();
    /* Of the first name, or of a later one that is there but cannot be loaded. */
    if (message && (!reason[0] || !strstr(message, "No such file")))
      snprintf(reason, sizeof(reason), "%s", message);
  }
  return tw_fail(error, TW_NO_DRIVER, "no driver of %s on this machine: %s", driver, reason);
}

void tw_close_library(void *library) {
  if (library)
    dlclose(library);
}

tw_status tw_find_functions(void *library, const char *const *names, const char *driver, void **functions,
                            tw_error *error) {
  for (size_t i = 0; names[i]; ++i) {
    int optional = names[i][0] == '?';
    functions[i] = dlsym(library, names[i] + optional);
    if (!functions[i] && !optional)
      return tw_fail(error, TW_NO_DRIVER, "the driver of %s on this machine is too old: it lacks %s", driver, names[i]);
  }
  return TW_OK;
}
