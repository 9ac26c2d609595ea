# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of a vendor outside of the tree, examples/arm-sme: its tests, its lines, and its programs of floats executed
by qemu-aarch64 at both vector lengths. Shapes with every kind of tail; sums are exact in the accumulator."""

import json
import pathlib
import random
import shutil
import struct
import subprocess

import numpy
import pytest

from conftest import BUILD, FULL, SOURCE

EXAMPLE = SOURCE / "examples/arm-sme"
PLUGIN = BUILD / "lib/tilewright/libtilewright-target-sme.so"
SYSROOT = pathlib.Path("/usr/aarch64-linux-gnu")
LLVM = "/usr/lib/llvm-22/bin"
KINDS = {"f32": ("f32", numpy.float32), "f16": ("f16", numpy.float16), "bf16": ("bf16", numpy.uint16)}


def program(bits, m, n, k, kind, trans_a, trans_b, fused):
    """C[i, j] = sum A[i, k] B[k, j], or max(0, that + bias[j]), as linalg on tensors; on ZA tiles, however small."""
    a, b = (f"{k}x{m}" if trans_a else f"{m}x{k}"), (f"{n}x{k}" if trans_b else f"{k}x{n}")
    maps = ", ".join(f"affine_map<(i, j, k) -> ({dims})>"
                     for dims in ("k, i" if trans_a else "i, k", "j, k" if trans_b else "k, j", "i, j"))
    epilogue = f"""
  %e = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}}
      ins(%r, %bias : tensor<{m}x{n}xf32>, tensor<{n}xf32>) outs(%empty : tensor<{m}x{n}xf32>) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    %t = arith.maximumf %s, %zero : f32
    linalg.yield %t : f32
  }} -> tensor<{m}x{n}xf32>"""
    return f"""module attributes {{tilewright.force = "unit_m={bits // 32}"}} {{
func.func @product(%A: tensor<{a}x{kind}>, %B: tensor<{b}x{kind}>, %bias: tensor<{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{m}x{n}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %r = linalg.matmul indexing_maps = [{maps}]
      ins(%A, %B : tensor<{a}x{kind}>, tensor<{b}x{kind}>) outs(%init : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>{epilogue if fused else ""}
  return {"%e" if fused else "%r"} : tensor<{m}x{n}xf32>
}}
}}
"""


class Device:
    """The example's device behind its pipe (docs/device-protocol.md)."""

    def __init__(self, server, bits):
        self.process = subprocess.Popen(
            ["qemu-aarch64", "-L", str(SYSROOT), "-cpu", f"max,sme{bits}=on", str(server)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, op, payload=b"", **words):
        header = {"op": op, **words, **({"payload": len(payload)} if payload else {})}
        self.process.stdin.write(json.dumps(header).encode() + b"\n" + payload)
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer, self.process.stdout.read(answer.get("payload", 0))

    def call(self, library, arrays, result_bytes):
        """Loads the library and calls `product`; (answer, the bytes of its last argument)."""
        assert self("load", library.read_bytes(), kind="so")[0]["ok"]
        # Between guards, at addresses that only the element aligns.
        guard, places = b"\xff" * 260, []
        for data in (*arrays, b"\xff" * result_bytes):
            address = self("allocate", size=len(data) + 2 * len(guard))[0]["address"]
            self("write", guard + data + guard, address=address)
            places.append(address)
        slots = struct.pack(f"<{len(places)}q", *(place + len(guard) for place in places))
        answer, _ = self("launch", slots, kernel="product", arguments=[8] * len(places))
        for place, data in zip(places, (*arrays, None)):
            size = len(data) if data is not None else result_bytes
            _, got = self("read", address=place, size=size + 2 * len(guard))
            assert got[:260] == guard and got[-260:] == guard, "written outside of an array"
            self("release", address=place)
        return answer, got[260:-260]

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if not shutil.which("qemu-aarch64") or not (SYSROOT / "lib/crt1.o").exists():
        pytest.skip("needs the packages qemu-user and libc6-dev-arm64-cross")
    path = tmp_path_factory.mktemp("sme") / "device"
    subprocess.run([str(SOURCE / "examples/device-server/build.sh"), str(path)], check=True)
    return path


def compiled(tool, folder, bits, text, name="product"):
    source, library = folder / f"{name}.mlir", folder / f"{name}.so"
    source.write_text(text)
    explained = tool("tw-compile", source, f"--load-target={PLUGIN}", "--target", f"sme:sme{bits}", "--explain", "-o", library)
    return library, explained


def shapes(bits, rng):
    words = bits // 32
    fixed = [(2 * words, 4 * words, 16, 0, 0, 0), (1, words + 1, 3, 0, 0, 0), (words - 1, 3 * words + 5, 7, 1, 0, 1),
             (2 * words + 3, 2 * words - 1, 33, 0, 1, 1), (4 * words, 2 * words, 64, 1, 1, 0)]
    drawn = [(rng.randint(2, 5 * words), rng.randint(2, 5 * words), rng.randint(1, 90), *(rng.randint(0, 1) for _ in range(3)))
             for _ in range(40 if FULL else 2)]
    return fixed + drawn


@pytest.mark.parametrize("bits", (256, 512))
def test_floats_under_the_emulator_of_the_processor(tool, server, tmp_path, bits):
    rng, numbers = random.Random(bits), numpy.random.default_rng(bits)
    device = Device(server, bits)
    assert device("hello", version=1, chip=f"sme:sme{bits}")[0]["kinds"] == ["so"]
    for kind, (element, storage) in KINDS.items():
        for m, n, k, trans_a, trans_b, fused in shapes(bits, rng):
            library, explained = compiled(tool, tmp_path, bits, program(bits, m, n, k, element, trans_a, trans_b, fused))
            assert "mopa_" in explained, f"no outer product for {m}x{n}x{k}"
            a, b, bias = (numbers.integers(-8, 9, shape) for shape in ((m, k), (k, n), (n,)))
            want = a @ b
            want = numpy.maximum(want + bias, 0) if fused else want

            def stored(array, transposed):
                array = numpy.ascontiguousarray(array.T if transposed else array, numpy.float32)
                return (array.view(numpy.uint32) >> 16 if kind == "bf16" else array).astype(storage).tobytes()

            inputs = (stored(a, trans_a), stored(b, trans_b), bias.astype(numpy.float32).tobytes())
            answer, data = device.call(library, inputs, 4 * m * n)
            assert answer["ok"], answer
            got = numpy.frombuffer(data, numpy.float32).reshape(m, n)
            assert (got == want).all(), f"{kind} {m}x{n}x{k} {trans_a} {trans_b} {fused}: {numpy.argwhere(got != want)[:4]}"
    device.close()


def test_another_vector_length_is_refused(tool, server, tmp_path):
    """Code for 512 bits would leave parts of C unwritten on vectors of 256: the entry check returns 3."""
    library, _ = compiled(tool, tmp_path, 512, program(512, 16, 32, 8, "f32", 0, 0, 0))
    device = Device(server, 256)
    answer, data = device.call(library, (b"\0" * 512, b"\0" * 1024, b"\0" * 128), 2048)
    assert not answer["ok"] and "returned 3" in answer["error"], answer
    assert data == b"\xff" * 2048
    device.close()


def test_its_own_tests(tmp_path):
    """The RUN lines below examples/arm-sme/test, against the plugin of this build."""
    (tmp_path / "lit.site.cfg.py").write_text(f"""import lit.formats
config.name = "arm-sme"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = "{EXAMPLE}/test"
config.test_exec_root = "{tmp_path}/results"
config.substitutions += [("%plugin-dir", "{PLUGIN.parent}"), ("%plugin", "{PLUGIN}")]
config.environment["PATH"] = "{BUILD}/bin:{LLVM}:" + config.environment["PATH"]
""")
    result = subprocess.run([f"{LLVM}/lit", "-sv", str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_units_by_their_records(tool):
    """The functional models of all units, of integers too, which the emulator of the processor computes wrongly."""
    report = json.loads(tool("tw-conformance", f"--load-target={PLUGIN}", "--target", "sme:sme512", "--filter", "unit/*model",
                             "--json"))
    assert report["failed"] == 0 and report["refused"] == 0 and report["passed"] == 8, report


@pytest.mark.parametrize("bits", (256, 512))
def test_conformance_of_its_plans(tool, bits):
    """Decisions, packing and tails for the chip, run on this machine with the units by their records: integers too."""
    families = ("unit/*", "contraction/*", "convolution/*", "epilogue/*") if bits == 256 else ("unit/*f16*", "contraction/*/nn*")
    some = [f"--filter={family}" for family in families]
    report = json.loads(tool("tw-conformance", f"--load-target={PLUGIN}", "--target", f"sme:sme{bits}", "--device", "model",
                             "--json", "--timeout=400", *(["--full"] if FULL else some), timeout=7200 if FULL else 900))
    bad = [(case["name"], case.get("message")) for case in report["cases"] if case["status"] in ("failed", "refused")]
    assert not bad
    assert report["device"] == "model" and report["failed"] == report["refused"] == 0
    products = [case for case in report["cases"] if case["family"] == "contraction" and case["status"] == "passed"]
    assert {"i8", "bf16", "f16", "f32"} <= {case["types"].split(".")[0] for case in products}


def test_lines():
    output = subprocess.run([str(EXAMPLE / "count-lines.sh")], capture_output=True, text=True)
    assert output.returncode == 0 and output.stdout.rstrip().endswith("all"), output.stdout
