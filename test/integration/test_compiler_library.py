"""The compiler as an application in C has it: the header alone, one library, several threads, and every kind of bad input."""

import os
import subprocess

import pytest

from conftest import BUILD, SANITIZERS, SOURCE

ADD = """
#all = affine_map<(i) -> (i)>
func.func @add(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""

#: compile FILE NAME=VALUE ..: options, then what came of it, one line each.
PROGRAM = r"""
#define _POSIX_C_SOURCE 200809L
#include "tilewright/tilewright_compiler.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *severities[] = {"note", "remark", "warning", "error"};
static char text[1 << 20];
static size_t length;

static void print_messages(const twc_result *result) {
  for (size_t i = 0; i < twc_result_diagnostics(result); ++i) {
    twc_diagnostic d;
    if (twc_result_diagnostic(result, i, &d) != TWC_OK)
      exit(9);
    printf("%s:%lld:%lld: %s: %s\n", d.file, (long long)d.line, (long long)d.column, severities[d.severity], d.message);
  }
  twc_diagnostic beyond;
  if (twc_result_diagnostic(result, twc_result_diagnostics(result), &beyond) != TWC_BAD_OPTION)
    exit(9);
}

/* Compiles and calls in a loop; returns null if all was right. */
static void *work(void *given) {
  twc_options *options = given;
  for (int round = 0; round < 4; ++round) {
    twc_result *result, *other = NULL;
    if (twc_compile(options, "thread.mlir", text, length, &result) != TWC_OK || !twc_result_artifact(result, NULL))
      return "compile";
    twc_result_destroy(result);
    twc_program *program = twc_program_create(options, "thread.mlir", text, length, &result);
    twc_result_destroy(result);
    if (!program)
      return "create";
    for (int64_t n = 1; n < 20; ++n) {
      float a[20], b[20], c[20];
      for (int i = 0; i < n; ++i)
        a[i] = (float)i, b[i] = (float)round;
      void *arrays[] = {a, b, c};
      if (twc_program_call(program, &n, 1, arrays, 3, &other) != TWC_OK || other)
        return "call";
      for (int i = 0; i < n; ++i)
        if (c[i] != (float)(i + round))
          return "value";
    }
    int64_t bad = -1;
    void *arrays[] = {text, text, text};
    if (twc_program_call(program, &bad, 1, arrays, 3, &other) != TWC_BAD_CALL || !other)
      return "bad call";
    twc_result_destroy(other);
    if (twc_program_call(program, &bad, 1, arrays, 2, NULL) != TWC_BAD_CALL)
      return "bad count";
    twc_program_destroy(program);
  }
  return NULL;
}

int main(int argc, char **argv) {
  twc_options *options = twc_options_create();
  twc_result *result = NULL;
  FILE *file = fopen(argv[1], "rb");
  length = fread(text, 1, sizeof(text), file);
  fclose(file);
  int threads = 0;
  for (int i = 2; i < argc; ++i) {
    char *value = strchr(argv[i], '=');
    *value++ = 0;
    if (strcmp(argv[i], "run-threads") == 0) {
      threads = atoi(value);
      continue;
    }
    if (twc_options_set(options, argv[i], value, &result) != TWC_OK) {
      print_messages(result);
      twc_result_destroy(result);
      twc_options_destroy(options);
      return TWC_BAD_OPTION;
    }
  }
  pthread_t running[8];
  for (int i = 0; i < threads; ++i)
    pthread_create(&running[i], NULL, work, options);
  int failures = 0;
  for (int i = 0; i < threads; ++i) {
    void *failure;
    pthread_join(running[i], &failure);
    if (failure)
      printf("thread %d: %s\n", i, (const char *)failure), ++failures;
  }
  twc_status status = twc_compile(options, argv[1], text, length, &result);
  FILE *written = tmpfile(), *full = fopen("/dev/full", "wb");
  int error = twc_result_write(result, fileno(written)), refused = twc_result_write(result, fileno(full));
  size_t bytes;
  const void *artifact = twc_result_artifact(result, &bytes);
  rewind(written);
  char *again = malloc(bytes + 1);
  int same = fread(again, 1, bytes + 1, written) == bytes && memcmp(again, artifact ? artifact : again, bytes) == 0;
  rewind(written);
  error += twc_result_write(result, fileno(written)); /* the same afterwards */
  rewind(written);
  same += fread(again, 1, bytes + 1, written) == bytes && memcmp(again, artifact ? artifact : again, bytes) == 0;
  free(again);
  fclose(written);
  fclose(full);
  print_messages(result);
  printf("written %d, the same %d, a full disk %d\n", error, same, refused);
  printf("status %d of %s, artifact %s\n", twc_result_status(result), twc_version(), artifact ? "there" : "none");
  printf("signatures %s\n", twc_result_signatures(result));
  printf("header %zu, explanation %zu\n", strlen(twc_result_header(result)), strlen(twc_result_explanation(result)));
  if (artifact && bytes > 4)
    printf("begins with %.4s\n", (const char *)artifact + (memcmp(artifact, "\x7f" "ELF", 4) == 0));
  twc_result_destroy(result);
  twc_options_destroy(options);
  return failures ? 99 : (int)status;
}
"""


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiler")
    (folder / "app.c").write_text(PROGRAM)
    subprocess.run(["clang-22", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *SANITIZERS, f"-I{SOURCE}/core/include",
                    str(folder / "app.c"), "-o", str(folder / "app"), f"-L{BUILD}/lib", "-lTilewright", "-lpthread"], check=True)

    def run(text, *options, expect=0):
        path = folder / "program.mlir"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        result = subprocess.run([str(folder / "app"), str(path), *options], capture_output=True, text=True, timeout=300,
                                cwd=folder, env={**os.environ, "LD_LIBRARY_PATH": f"{BUILD}/lib"})
        assert result.returncode == expect, result
        assert result.stderr == "", "nothing is printed"
        return result.stdout

    return run


def test_a_library(application):
    text = application(ADD, "target=cpu:host", "header=add.h", "explain=json")
    assert "status 0 of 0.1.0, artifact there" in text and "begins with ELF" in text
    assert '"entry":"add"' in text and '"shape":[{"size":0}]' in text
    assert "header 0" not in text and "explanation 0" not in text


def test_an_artifact_is_written(application):
    """With a large constant, which lies in the compiler's memory, without one, and without code."""
    digits = bytes(i * 7 % 251 for i in range(80000)).hex().upper()
    large = ("func.func @f() -> tensor<20000xi32> {\n" f'  %c = arith.constant dense<"0x{digits}"> : tensor<20000xi32>\n'
             "  return %c : tensor<20000xi32>\n}\n")
    for text, options in ((ADD, ()), (large, ()), (large, ("output=o",)), (large, ("output=ll",))):
        assert "written 0, the same 2, a full disk 28" in application(text, *options)
    assert "written 0, the same 2, a full disk 0" in application(ADD, "output=none")


@pytest.mark.parametrize("target, kind, begin", [
    ("nvidia:H200", None, "TILE"), ("nvidia:H200", "ptx", "//"), ("amd:MI300X", "tw", "TILE"), ("cpu:host", "o", "ELF"),
    ("cpu:host", "ll", "; Mo")])
def test_kinds_of_output(application, target, kind, begin):
    text = application(ADD, f"target={target}", *([f"output={kind}"] if kind else []))
    assert begin in text.partition("begins with")[2], text


def test_no_output(application):
    assert "status 0 of 0.1.0, artifact none" in application(ADD, "output=none")


def test_header_of_c_plus_plus(tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text('#include "tilewright/tilewright_compiler.h"\n#include "tilewright/tilewright_runtime.h"\n')
    subprocess.run(["clang++-22", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                    f"-I{SOURCE}/core/include", str(source)], check=True)


def test_several_threads(application):
    assert "thread" not in application(ADD, "run-threads=4").replace("threads", "")


@pytest.mark.parametrize("option, message", [
    ("target=cpx", "unknown target 'cpx'; did you mean 'cpu'?"),
    ("target=nvidia:H20", "unknown chip of target 'nvidia' 'H20'; did you mean 'H200'?"),
    ("traget=cpu", "unknown option 'traget'; did you mean 'target'?"),
    ("fp=fats", "unknown value of 'fp' 'fats'; did you mean 'fast'?"),
    ("threads=0", "threads=0 is out of range; expected 1 to 1024"),
    ("threads=many", "threads=many is out of range"),
    ("device=hots", "unknown value of 'device' 'hots'; did you mean 'host'?"),
    ("explain=xml", "unknown value of 'explain' 'xml'"),
    ("plugin=/nowhere.so", "cannot load target plugin '/nowhere.so'"),
    ("output=exe", "unknown output for 'cpu:host': 'exe'"),
])
def test_bad_options(application, option, message):
    assert f"error: {message}" in application(ADD, option, expect=1)


@pytest.mark.parametrize("text, place, message", [
    ("", ":0:0", "is empty; expected MLIR text with a function"),
    (b"\0\1\2", ":0:0", "is binary; expected MLIR text or MLIR bytecode"),
    (b"ML\xefR\1\2\3", "", "error"),
    ("func.func @f(", ":1:", "error"),
    (ADD.replace("%a, %b :", "%a, %z :"), ":8:", "use of undeclared SSA value"),
    ("func.func @f(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {\n  return %a : tensor<4xcomplex<f32>>\n}", ":1:", "complex"),
    ("module { func.func private @f() }", ":1:", "has no public function with a body"),
    ("func.func @g() {\n  \"acme.op\"() : () -> ()\n  return\n}", ":2:", "unregistered dialect"),
])
def test_bad_programs(application, text, place, message):
    output = application(text, expect=2)
    assert any(place in line and message in line for line in output.splitlines()), output
    assert "artifact none" in output


def test_unknown_function(application):
    assert "unknown function 'ad'; did you mean 'add'?" in application(ADD, "function=ad", expect=2)


def test_the_library_has_no_symbols_of_c_plus_plus_in_its_interface():
    """What the header declares is exported, under names of C."""
    text = (SOURCE / "core/include/tilewright/tilewright_compiler.h").read_text()
    import re

    declared = set(re.findall(r"\b(twc_\w+)\(", "\n".join(line for line in text.splitlines() if line.startswith("TW_API"))))
    exported = subprocess.run(["/usr/lib/llvm-22/bin/llvm-nm", "-D", "--defined-only", str(BUILD / "lib/libTilewright.so")],
                              capture_output=True, text=True, check=True).stdout
    assert declared and declared <= {line.split()[-1].partition("@")[0] for line in exported.splitlines()}
