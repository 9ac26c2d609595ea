# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products on units of several rows: tile registers on this machine where it has them, 2 x 2 blocks under the emulator
of foreign programs. Shapes with every kind of tail, transposed operands, batches, signed and unsigned elements, fused
steps, blocks of k; sums are exact."""

import json
import random
import shutil
import struct
import subprocess

import numpy
import pytest

from conftest import FULL

LLVM = "/usr/lib/llvm-22/bin"
SIGNED, UNSIGNED = "arith.extsi", "arith.extui"


class Product:
    """C[b, i, j] = max(0, bias[j] + sum A[b, i, k] B[b, k, j]) as linalg on tensors."""

    def __init__(self, m, n, k, a="bf16", b="bf16", trans_a=False, trans_b=False, batch=0, fused=False, force=""):
        self.m, self.n, self.k, self.batch, self.fused, self.force = m, n, k, batch, fused, force
        self.trans_a, self.trans_b = trans_a, trans_b
        self.kinds = (a, b)
        self.float = a == "bf16"

    def __str__(self):
        words = [f"{self.m}x{self.n}x{self.k}", *self.kinds]
        words += [name for name in ("trans_a", "trans_b", "fused") if getattr(self, name)]
        return " ".join(words + ([f"batch {self.batch}"] if self.batch else []) + [self.force]).strip()

    def shapes(self):
        head = [self.batch] if self.batch else []
        return (head + ([self.k, self.m] if self.trans_a else [self.m, self.k]),
                head + ([self.n, self.k] if self.trans_b else [self.k, self.n]), head + [self.m, self.n])

    def mlir(self):
        element = {"bf16": "bf16", "s8": "i8", "u8": "i8"}
        sums = "f32" if self.float else "i32"
        tensor = lambda shape, kind: "tensor<" + "x".join(map(str, shape + [kind])) + ">"
        (sa, sb, sc), (ka, kb) = self.shapes(), (element[kind] for kind in self.kinds)
        ta, tb, tc, tbias = tensor(sa, ka), tensor(sb, kb), tensor(sc, sums), tensor([self.n], sums)
        head = "b, " if self.batch else ""
        maps = [f"affine_map<({head}i, j, k) -> ({head}{'k, i' if self.trans_a else 'i, k'})>",
                f"affine_map<({head}i, j, k) -> ({head}{'j, k' if self.trans_b else 'k, j'})>",
                f"affine_map<({head}i, j, k) -> ({head}i, j)>"]
        loops = ", ".join(['"parallel"'] * (len(sc)) + ['"reduction"'])
        widen = ["arith.extf"] * 2 if self.float else [UNSIGNED if kind == "u8" else SIGNED for kind in self.kinds]
        mul, add, top = ("mulf", "addf", "maximumf") if self.float else ("muli", "addi", "maxsi")
        steps, result = "", "%r"
        if self.fused:
            result = "%e"
            steps = f"""
  %e = linalg.generic {{indexing_maps = [affine_map<({head}i, j) -> ({head}i, j)>, affine_map<({head}i, j) -> (j)>,
                                        affine_map<({head}i, j) -> ({head}i, j)>],
                       iterator_types = [{", ".join(['"parallel"'] * len(sc))}]}}
      ins(%r, %bias : {tc}, {tbias}) outs(%empty : {tc}) {{
  ^bb0(%x: {sums}, %y: {sums}, %o: {sums}):
    %s = arith.{add} %x, %y : {sums}
    %t = arith.{top} %s, %zero : {sums}
    linalg.yield %t : {sums}
  }} -> {tc}"""
        force = f' attributes {{tilewright.force = "{self.force}"}}' if self.force else ""
        return f"""module{force} {{
func.func @compute(%A: {ta}, %B: {tb}, %bias: {tbias}) -> {tc} {{
  %zero = arith.constant {"0.0" if self.float else "0"} : {sums}
  %empty = tensor.empty() : {tc}
  %init = linalg.fill ins(%zero : {sums}) outs(%empty : {tc}) -> {tc}
  %r = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{loops}]}}
      ins(%A, %B : {ta}, {tb}) outs(%init : {tc}) {{
  ^bb0(%a: {ka}, %b: {kb}, %c: {sums}):
    %x = {widen[0]} %a : {ka} to {sums}
    %y = {widen[1]} %b : {kb} to {sums}
    %p = arith.{mul} %x, %y : {sums}
    %s = arith.{add} %c, %p : {sums}
    linalg.yield %s : {sums}
  }} -> {tc}{steps}
  return {result} : {tc}
}}
}}
"""

    def inputs(self, rng):
        low = lambda kind: 0 if kind == "u8" else -8
        data = [rng.integers(low(kind), 9, shape) for kind, shape in zip(self.kinds, self.shapes())]
        return data + [rng.integers(-8, 9, [self.n])]

    def result(self, a, b, bias):
        a = a.swapaxes(-1, -2) if self.trans_a else a
        b = b.swapaxes(-1, -2) if self.trans_b else b
        sums = a.astype(numpy.int64) @ b
        return numpy.maximum(sums + bias, 0) if self.fused else sums

    def bytes(self, array, kind):
        if kind == "bf16":
            return (array.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes()
        types = {"s8": numpy.int8, "u8": numpy.uint8, "f32": numpy.float32, "i32": numpy.int32}
        return array.astype(types[kind]).tobytes()


def products(rng, count, step):
    """Tails of every kind, then random ones."""
    kinds = [("bf16", "bf16"), ("s8", "s8"), ("u8", "s8"), ("s8", "u8"), ("u8", "u8")]
    fixed = [Product(2 * step, 2 * step, 4 * step), Product(1, 2 * step, 3), Product(step + 1, step - 1, step + 3),
             Product(5 * step, 3 * step, 2 * step, fused=True)]
    fixed += [Product(2 * step + 3, 3 * step + 5, 5 * step + 7, a, b, trans_a=ta, trans_b=tb)
              for a, b in kinds for ta in (False, True) for tb in (False, True)]
    fixed += [Product(3 * step, 2 * step + 1, 9 * step, *kinds[i], fused=True, batch=i) for i in range(4)]
    fixed += [Product(5 * step, 7 * step + 2, 16 * step, *kinds[i], fused=i % 2 == 0, force=f"k_block={4 * step}{more}")
              for i, more in enumerate(("", ",row_block=1,lane_block=0", ",rows_outside=1", ",lanes_on=m",
                                        ",rows_outside=1,lane_block=2"))]
    drawn = [Product(rng.randint(1, 5 * step), rng.randint(2, 5 * step), rng.randint(1, 8 * step), *rng.choice(kinds),
                     trans_a=rng.random() < 0.4, trans_b=rng.random() < 0.4, batch=rng.choice((0, 0, 2)),
                     fused=rng.random() < 0.5) for _ in range(count)]
    return fixed + drawn


def block_chip(tool):
    """The chip with tile registers, if this machine runs its code."""
    host = json.loads(tool("tw-targets", "cpu:host", "--json"))
    return any(unit["m"] > 2 for unit in host["units"]) and "cpu:sapphire-rapids"


def test_tile_registers_compute_what_the_reference_does(tool, tmp_path):
    chip = block_chip(tool)
    if not chip:
        pytest.skip("this machine has no tile registers")
    rng = random.Random(1)
    for number, product in enumerate(products(rng, 60 if FULL else 4, 16)):
        source = tmp_path / "product.mlir"
        product.force = ",".join(filter(None, ["unit_m=16", product.force]))
        source.write_text(product.mlir())
        tool("tw-run", source, "--target", chip, "--verify", *["--verify-stages"] * (FULL or number in (0, 3)))
        if number == 0:
            tool("tw-compile", source, "--target", chip, "-o", tmp_path / "product.ll")
            assert "@llvm.x86.tdpbf16ps(" in (tmp_path / "product.ll").read_text()


def test_steps_may_call_libm(tool, tmp_path):
    chip = block_chip(tool)
    if not chip:
        pytest.skip("this machine has no tile registers")
    source = tmp_path / "product.mlir"
    product = Product(48, 40, 64, fused=True, force="unit_m=16")
    source.write_text(product.mlir().replace("arith.maximumf %s, %zero", "math.tan %s"))
    tool("tw-run", source, "--target", chip, "--verify")


def program(product, arrays, want):
    """LLVM IR of a program that calls compute_in and exits with 0 if the result is `want`, else with 1."""
    literal = lambda name, data: (f"@{name} = constant [{len(data)} x i8] c\"" + "".join(f"\\{x:02X}" for x in data)
                                  + "\", align 64\n")
    sums = "f32" if product.float else "i32"
    kinds = (*product.kinds, sums, sums)
    data = "".join(literal(name, product.bytes(array, kind))
                   for name, array, kind in zip(("a", "b", "bias", "want"), (*arrays, want), kinds))
    stubs = "".join(f"define {result} @{name}({parameters}) {{ call void @llvm.trap() unreachable }}\n"
                    for result, name, parameters in (
                        ("ptr", "pthread_getspecific", "i32"), ("i32", "pthread_setspecific", "i32, ptr"),
                        ("ptr", "aligned_alloc", "i64, i64"), ("void", "free", "ptr"), ("ptr", "malloc", "i64"),
                        ("i32", "pthread_key_create", "ptr, ptr"), ("i32", "pthread_key_delete", "i32")))
    return f"""{data}
@c = global [{want.size * 4} x i8] zeroinitializer, align 64
@space = global [4194304 x i8] zeroinitializer, align 4096
declare void @llvm.trap()
declare i32 @compute_in(ptr, ptr, ptr, ptr, ptr)
{stubs}
define void @_start() {{
  %status = call i32 @compute_in(ptr @a, ptr @b, ptr @bias, ptr @c, ptr @space)
  br label %loop
loop:
  %i = phi i64 [0, %0], [%next, %loop]
  %bad = phi i32 [%status, %0], [%worse, %loop]
  %pc = getelementptr i32, ptr @c, i64 %i
  %pw = getelementptr i32, ptr @want, i64 %i
  %x = load i32, ptr %pc
  %y = load i32, ptr %pw
  %d = xor i32 %x, %y
  %worse = or i32 %bad, %d
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {want.size}
  br i1 %more, label %loop, label %leave
leave:
  %wrong = icmp ne i32 %worse, 0
  %code = zext i1 %wrong to i64
  call void asm sideeffect "mov x8, #93\\0Asvc #0", "{{x0}},~{{x8}},~{{memory}}"(i64 %code)
  unreachable
}}
"""


@pytest.mark.skipif(not shutil.which("qemu-aarch64"), reason="qemu-aarch64 is not installed")
def test_blocks_of_two_rows_compute_the_product(tool, tmp_path):
    rng, numbers = random.Random(2), numpy.random.default_rng(2)
    chip = "cpu:neoverse-v1"
    codegen = json.loads(tool("tw-targets", chip, "--json"))["codegen"]
    llc = [f"{LLVM}/llc", "-O2", "-filetype=obj", f"-mtriple={codegen['triple']}", f"-mcpu={codegen['cpu']}"]
    source, main, start, binary = (tmp_path / name for name in ("product.mlir", "product.o", "start.ll", "product.elf"))
    for product in products(rng, 40 if FULL else 4, 4):
        product.force = ",".join(filter(None, ["unit_m=2", product.force]))
        source.write_text(product.mlir())
        tool("tw-compile", source, "--target", chip, "-o", main)
        arrays = product.inputs(numbers)
        want = product.result(*arrays)
        start.write_text(program(product, arrays, want))
        subprocess.run([*llc, str(start), "-o", str(tmp_path / "start.o")], check=True)
        subprocess.run([f"{LLVM}/ld.lld", "-static", "--gc-sections", str(main), str(tmp_path / "start.o"), "-o",
                        str(binary)], check=True)
        status = subprocess.run(["qemu-aarch64", "-cpu", "max", str(binary)]).returncode
        assert status == 0, f"{product}: exit status {status}"
