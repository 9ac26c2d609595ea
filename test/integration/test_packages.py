"""Packages without Python: tw-launch and a program in C over the runtime library alone."""

import json
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from artifacts import LAUNCH
from conftest import BUILD, SANITIZERS, SOURCE

sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "test/python")]
os.environ.setdefault("TILEWRIGHT_SDK", str(BUILD))
if SANITIZERS:
    pytest.skip("a sanitized library is not loaded into Python", allow_module_level=True)
import tilewright
from sample_programs import LINEAR, MATMUL, constant_product
from test_check_indices import ROWS

V = np.arange(96 * 80, dtype=np.float32).reshape(96, 80) / 64
W, B = np.arange(32, dtype=np.float32).reshape(8, 4), np.array([1, 2, 3, 4], np.float32)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    linear = tilewright.build(LINEAR, cache=False)
    tilewright.save(folder / "linear.tw", tilewright.Entry([linear], weights={1: W, 2: B}, names=["x", "w", "b"]))
    matmul = [tilewright.build(MATMUL, target=target, cache=False) for target in ("nvidia:H200", "amd:MI300X")]
    tilewright.save(folder / "mm.tw", tilewright.Entry(matmul, weights={1: np.ones((32, 64), np.float16)}))
    packing = tilewright.build(constant_product(), cache=False)
    tilewright.save(folder / "packed.tw", tilewright.Entry([packing], weights={1: V}, names=["x", "w"]))
    tilewright.save(folder / "source.tw", tilewright.Entry([packing], weights={1: V}, keep_source=True))
    return folder


def launch(*arguments, expect=0):
    result = subprocess.run([LAUNCH, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert result.returncode == expect, result
    return result


def test_tw_launch(packages, tmp_path):
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "reference.npy", (x @ W + B).astype(np.float64))
    text = launch(packages / "linear.tw", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy", "--check-against",
                  tmp_path / "reference.npy", "--benchmark", "--json").stdout
    report = json.loads(text)
    assert np.array_equal(np.load(tmp_path / "y.npy"), x @ W + B)
    assert report["target"] == "host" and report["benchmark"]["seconds"] > 0


def test_a_bad_index_is_named(tmp_path):
    """Code of a processor that checks indices says which one was outside."""
    tilewright.save(tmp_path / "rows.tw", tilewright.Entry([tilewright.build(ROWS, name="rows.mlir", check_indices=True, cache=False)]))
    np.save(tmp_path / "table.npy", np.zeros((50, 16), np.float32))
    np.save(tmp_path / "ids.npy", np.array([1, -4, 60], np.int64))
    text = launch(tmp_path / "rows.tw", "--input", tmp_path / "table.npy", "--input", tmp_path / "ids.npy", expect=1).stderr
    assert "program 'rows' refuses its data: rows.mlir:11:10: index -4 is outside of dimension 0 of argument 0" in text


@pytest.mark.parametrize("options, message", [
    (["--target", "acme"], "has no code of this program for acme; it has none"),
    (["--program", "lin"], "has no program 'lin'"),
])
def test_what_the_package_lacks(packages, options, message):
    assert message in launch(packages / "linear.tw", "--size", 3, *options, expect=1).stderr


def test_code_of_a_device_needs_its_driver(packages):
    assert "no driver of NVIDIA" in launch(packages / "mm.tw", expect=1).stderr
    assert "no driver of AMD" in launch(packages / "mm.tw", "--target", "amd", expect=1).stderr


def test_truncated_and_damaged(packages, tmp_path):
    good = (packages / "linear.tw").read_bytes()
    path = tmp_path / "bad.tw"
    for length in [2, 30, *range(100, len(good), max(1, len(good) // 40)), len(good) - 1]:
        path.write_bytes(good[:length])
        assert "is no intact package" in launch(path, "--size", 3, expect=1).stderr
    random = np.random.default_rng(3)
    for at in random.integers(0, len(good), 150):
        bad = bytearray(good)
        bad[at] ^= 0x55
        path.write_bytes(bad)
        result = subprocess.run([LAUNCH, path, "--size", "3"], capture_output=True, text=True, timeout=60)
        assert result.returncode in (0, 1), (at, result)


def changed(package, path, change, **others):
    """The package with another manifest, and members with other contents (None: without)."""
    with zipfile.ZipFile(package) as old, zipfile.ZipFile(path, "w") as new:
        for info in old.infolist():
            contents = others.get(info.filename.split("/")[0], old.read(info))
            if contents is None:
                continue
            if info.filename == "manifest.json":
                manifest = json.loads(contents)
                change(manifest, manifest["programs"][0])
                contents = json.dumps(manifest).encode()
            new.writestr(info.filename, contents)
    return path


@pytest.mark.parametrize("change, message", [
    (lambda m, p: m.update(format=3), "has format 3; this library .* reads packages up to 2: take a newer one"),
    (lambda m, p: p["artifacts"][0].update(triple="riscv64-unknown-linux-gnu"), "cpu:.*: its code is for riscv64, this machine is"),
    (lambda m, p: p["artifacts"][0].update(needs=["avx1024"]), "cpu:.*: this machine lacks avx1024"),
    (lambda m, p: p["weights"][0].update(file="weights/1"), "a weight has another size than the program takes"),
    (lambda m, p: p["weights"][0].update(file="weights/7"), "is no intact package: .*weights/7"),
    (lambda m, p: p.pop("weights"), "a program lacks 'weights'"),
])
def test_packages_of_others(packages, tmp_path, change, message):
    path = changed(packages / "linear.tw", tmp_path / "changed.tw", change)
    assert re.search(message, launch(path, "--size", 3, expect=1).stderr)


def packed_result(path, folder):
    """What tw-launch makes of a package of constant_product, for an x of ones and zeros."""
    x = (np.arange(16 * 96).reshape(16, 96) % 3 == 0).astype(np.float32)
    np.save(folder / "x.npy", x)
    launch(path, "--input", folder / "x.npy", "--output", folder / "y.npy")
    return np.array_equal(np.load(folder / "y.npy"), x @ V)


def test_packed_weights(packages, tmp_path):
    """The packed form is mapped; without it the code packs the array when it is loaded."""
    assert packed_result(packages / "packed.tw", tmp_path)
    path = changed(packages / "source.tw", tmp_path / "load.tw", lambda m, p: p["artifacts"][0].pop("bound"), bound=None)
    assert packed_result(path, tmp_path)


def nothing(*_):
    pass


@pytest.mark.parametrize("change, others, message", [
    (nothing, {"bound": None}, "is no intact package: .*bound/0"),
    (nothing, {"bound": b"short"}, "a weight has another size than the program takes .bound/0"),
    (lambda m, p: p["artifacts"][0].pop("bound"), {}, "it has no array that its code binds"),
    (lambda m, p: p["artifacts"][0].pop("signature"), {}, "it has no array for a weight that its code reads"),
    (lambda m, p: p["artifacts"][0]["signature"].pop("bind"), {}, "it has no array for a weight that its code reads"),
    (lambda m, p: p["artifacts"][0]["signature"]["arguments"].pop(2), {}, "its code does not say what it binds"),
    (lambda m, p: p["artifacts"][0]["signature"]["bind"].update(entry="product_fill"), {}, ""),
    (lambda m, p: p["artifacts"][0].update(needs=["avx1024"]), {}, "this machine lacks avx1024"),
])
def test_damaged_packed_weights(packages, tmp_path, change, others, message):
    path = changed(packages / "packed.tw", tmp_path / "changed.tw", change, **others)
    if message:
        assert re.search(message, launch(path, expect=1).stderr)
    else: # a name that nobody asks for, since the bytes are there
        launch(path)


def test_the_packed_form_is_mapped(tmp_path):
    """tw-launch takes 1.2 x the weight at most."""
    w = np.ones((4096, 4096), np.float32) # 64 MiB
    tilewright.save(tmp_path / "big.tw", tilewright.Entry([tilewright.build(constant_product(1, 4096, 4096), cache=False)], weights={1: w}))
    assert (tmp_path / "big.tw").stat().st_size < 1.1 * w.nbytes
    code = ("import resource, subprocess, sys\n"
            "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    result = subprocess.run([sys.executable, "-c", code, LAUNCH, tmp_path / "big.tw"], capture_output=True, text=True, timeout=60, check=True)
    assert int(result.stdout) << 10 <= 1.2 * w.nbytes


def test_bounds_of_sizes(packages, tmp_path):
    """Constraints that a front end has added are held where code of the host is called, too."""
    def bound(manifest, program):
        program["signature"]["constraints"] = [{"nonnegative": ["-", 64, {"size": 0}]}]
    path = changed(packages / "linear.tw", tmp_path / "bounded.tw", bound)
    launch(path, "--size", 64)
    assert "size 0 of program 'linear' is 65; it is at most 64" in launch(path, "--size", 65, expect=1).stderr


APPLICATION = r"""
#include "tilewright/tilewright_runtime.h"
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  (void)argc;
  tw_error error;
  tw_package *package;
  tw_function *linear;
  if (tw_package_open(argv[1], &package, &error) || tw_function_load(package, NULL, NULL, &linear, &error))
    return fprintf(stderr, "%s\n", error.message), 1;
  const tw_program *program = tw_function_program(linear);
  const void *weights;
  int holds[2];
  if (tw_package_weight(package, "linear", program, 1, &weights, &error) || ((const float *)weights)[5] != 5 ||
      tw_package_holds(package, "linear", program, 0, &holds[0], &error) || holds[0] ||
      tw_package_holds(package, "linear", program, 1, &holds[1], &error) || !holds[1] ||
      strcmp(tw_package_argument_name(package, "linear", program, 2), "b") ||
      tw_package_argument_name(package, "linear", program, 3))
    return 2;
  int64_t rows = 2;
  float x[16], y[8];
  for (int i = 0; i < 16; ++i)
    x[i] = 1;
  void *arrays[] = {x, NULL, NULL, y};
  if (tw_function_call(linear, &rows, arrays, &error))
    return 3;
  rows = -1;
  if (tw_function_call(linear, &rows, arrays, &error) != TW_BAD_SIZES)
    return 4;
  printf("%s of %zu: %g %g %g %g\n", tw_package_name(package, 0), tw_package_count(package), y[0], y[1], y[6], y[7]);
  tw_function_unload(linear);
  tw_package_close(package);
  return 0;
}
"""


def test_a_program_in_c(packages, tmp_path):
    source = tmp_path / "app.c"
    source.write_text(APPLICATION)
    subprocess.run(["clang-22", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}/core/include", str(source), "-o",
                    str(tmp_path / "app"), f"-L{BUILD}/lib", "-ltilewright-runtime"], check=True)
    result = subprocess.run([tmp_path / "app", packages / "linear.tw"], capture_output=True, text=True, timeout=60,
                            env={**os.environ, "LD_LIBRARY_PATH": f"{BUILD}/lib"})
    sums = W.sum(0) + B
    assert result.stdout == f"linear of 1: {sums[0]:g} {sums[1]:g} {sums[2]:g} {sums[3]:g}\n", result
