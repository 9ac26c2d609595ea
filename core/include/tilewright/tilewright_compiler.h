/*===- tilewright_compiler.h - The compiler for programs in C ------*- C -*-===//
 *
 * Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Compiles tensor programs in the calling process, as tw-compile does in its
 * own: text in, the bytes of a shared library or an artifact out. In
 * libTilewright.so; needs no header of LLVM.
 *
 *   twc_options *options = twc_options_create();
 *   twc_result *result;
 *   if (twc_options_set(options, "target", "cpu:host", &result) || twc_compile(options, "mlp.mlir", text, bytes,
 * &result)) for (size_t i = 0; i < twc_result_diagnostics(result); ++i) { twc_diagnostic d;
 *       twc_result_diagnostic(result, i, &d);
 *       fprintf(stderr, "%s:%lld:%lld: %s\n", d.file, (long long)d.line, (long long)d.column, d.message);
 *     }
 *   size_t size;
 *   const void *library = twc_result_artifact(result, &size);   // write it to a file and dlopen() it, or keep it
 *   twc_result_destroy(result);
 *
 * Where a function takes a `result`, that is an address for one, which then
 * belongs to the caller, or null. Nothing here aborts, prints or throws, and a crash
 * inside of the compiler becomes the status TWC_CRASHED. Functions may be called
 * by several threads at once, with objects of their own or with the same
 * options. Structs of this header never change; functions and names of options
 * are only ever added within a major version of the library.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_COMPILER_C_H
#define TILEWRIGHT_COMPILER_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TW_API
#define TW_API __attribute__((visibility("default")))
#endif

typedef enum twc_status {
  TWC_OK = 0,
  TWC_BAD_OPTION = 1,  /* an option's name or value, a target that is not known, a plugin that cannot be loaded */
  TWC_BAD_PROGRAM = 2, /* the program cannot be read or compiled: the diagnostics say what and where */
  TWC_CRASHED = 3,     /* the compiler crashed; what it held is lost to this process, later calls may fail */
  TWC_BAD_CALL = 4     /* a call of a program failed: sizes, memory, findings of the emulator */
} twc_status;

typedef enum twc_severity { TWC_NOTE = 0, TWC_REMARK = 1, TWC_WARNING = 2, TWC_ERROR = 3 } twc_severity;

/* One message. A note belongs to the last message before it that is none. */
typedef struct twc_diagnostic {
  twc_severity severity;
  const char *file; /* the name given to twc_compile, or what a location of the program names; "" where there is none */
  int64_t line;     /* from 1; 0: unknown */
  int64_t column;   /* from 1; 0: unknown */
  const char *message;
} twc_diagnostic;

typedef struct twc_options twc_options;
typedef struct twc_result twc_result;
/* A program that is loaded in this process. */
typedef struct twc_program twc_program;

/* What the library is: "0.1.0", and which version of LLVM it works with. */
TW_API const char *twc_version(void);
TW_API const char *twc_llvm_version(void);

/*===-- Options -------------------------------------------------------------===*/

TW_API twc_options *twc_options_create(void);
TW_API void twc_options_destroy(twc_options *options);
/* Names and values, all text, are those of tw-compile:
     target      "TARGET[:CHIP]"; "cpu:host" at first
     plugin      a target plugin to load (--load-target); may be set several times
     function    the function meant; without it the public ones
     fp          default, strict, reproducible or fast
     threads     1 to 1024 threads of parallel loops
     check-indices  yes: an index made of data that lies outside of its array is an error of the call; "no" at first
     output      what the artifact is, as the end of a file's name says it: so, o, ll, tw, c or a kind of code of the
                 target; without it "so" for processors, "tw" for devices; "none": no code
     soname      the name that a shared library carries
     header      file name of a C header to make; "" at first: none
     explain     "json": the decisions of the cost models
     reproducer  file that the input of a stage that crashes is written to
     device      of twc_program_create: host, emulator or model; "host" at first
   What is unknown is TWC_BAD_OPTION, and the messages of `result` offer the nearest names; a success makes no result.
 */
TW_API twc_status twc_options_set(twc_options *options, const char *name, const char *value, twc_result **result);

/*===-- Compiling -----------------------------------------------------------===*/

/* Compiles a program: `bytes` of MLIR text or bytecode; `name` is its file name in messages. */
TW_API twc_status twc_compile(const twc_options *options, const char *name, const void *text, size_t bytes,
                              twc_result **result);

TW_API twc_status twc_result_status(const twc_result *result);
/* The artifact; null where there is none. It lives as long as the result, as all below. */
TW_API const void *twc_result_artifact(const twc_result *result, size_t *bytes);
/* Writes the artifact to an open file, with large constants from where the compiler has them: called before
   twc_result_artifact, it makes no copy of them in memory. 0, or the errno of what the system refuses; then a part may
   have been written. */
TW_API int twc_result_write(const twc_result *result, int descriptor);
/* The public functions as JSON: an array of manifests as in artifacts (docs/runtime.md), those of functions of the host
   without steps. Of interest are "entry", "sizes" and "arguments": [{"type": "f32", "bytes": 4, "shape": [{"size": 0},
   4], "written": true, "result": true}, ..] in the order of the C function, "constraints", and "made": the sizes that
   the program makes of its data. tw_program_parse() reads one. An input with "bound": true holds what follows from
   constant arguments; the function that fills it is "bind", a manifest whose "inputs" are numbers of arguments.
   Of those in "releases" the program itself reads nothing: their addresses may be null. */
TW_API const char *twc_result_signatures(const twc_result *result);
/* The text of the header that the option "header" asks for. */
TW_API const char *twc_result_header(const twc_result *result);
/* What the option "explain" asks for. */
TW_API const char *twc_result_explanation(const twc_result *result);
TW_API size_t twc_result_diagnostics(const twc_result *result);
/* TWC_BAD_OPTION beyond the last. */
TW_API twc_status twc_result_diagnostic(const twc_result *result, size_t index, twc_diagnostic *diagnostic);
TW_API void twc_result_destroy(twc_result *result);

/*===-- Targets -------------------------------------------------------------===*/

/* What compilation for the target of `options` depends on, as the result's explanation: the JSON of tw-targets for one
   chip, with "form": "functions" (code of a processor), "launches" (an artifact for a device) or "source" (in C),
   "outputs": what the option "output" may be, and "refusal": why its functions do not run on this machine, empty if
   they do. */
TW_API twc_status twc_describe(const twc_options *options, twc_result **result);

/*===-- Programs in this process --------------------------------------------===*/

/* Compiles one function and loads it where the option "device" says: as code of this process, or on the emulator of
   kernels. Null after a failure. `result` says what happened and has the signature. */
TW_API twc_program *twc_program_create(const twc_options *options, const char *name, const void *text, size_t bytes,
                                       twc_result **result);
/* Calls it with arrays of the host. Several threads may call; one call of a program runs at a time. A success makes no
   result. Where a call fails because the program makes other sizes of its data than `sizes` says, they are in `sizes`
   afterwards: call again with arrays of these. */
TW_API twc_status twc_program_call(twc_program *program, int64_t *sizes, size_t num_sizes, void *const *arrays,
                                   size_t num_arrays, twc_result **result);
TW_API void twc_program_destroy(twc_program *program);

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_COMPILER_C_H */
