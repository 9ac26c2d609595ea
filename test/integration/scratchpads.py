"""What tests of the template of a scratchpad chip share: its plugin, a program, and its programs as C and as LLVM IR."""

import ctypes
import subprocess

import pytest

from conftest import BUILD

PLUGIN = BUILD / "lib/tilewright/libtilewright-target-accelerator.so"
#: Of each element type: that of its sums, and the words of bias and ReLU on them.
WORDS = {"i8": ("i32", "arith.addi", "arith.maxsi", "0"), "bf16": ("f32", "arith.addf", "arith.maximumf", "0.0")}


def gemm(m, n, k, element):
    """relu(A B + bias)"""
    total, add, largest, zero = WORDS[element]
    a, b, sums = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}x{total}>"
    return f"""
    #ij = affine_map<(i, j) -> (i, j)>
    func.func @mm(%a: {a}, %b: {b}, %bias: tensor<{n}x{total}>) -> {sums} {{
      %z = arith.constant {zero} : {total}
      %e = tensor.empty() : {sums}
      %f = linalg.fill ins(%z : {total}) outs(%e : {sums}) -> {sums}
      %p = linalg.matmul ins(%a, %b : {a}, {b}) outs(%f : {sums}) -> {sums}
      %r = linalg.generic {{indexing_maps = [#ij, affine_map<(i, j) -> (j)>, #ij], iterator_types = ["parallel", "parallel"]}}
          ins(%p, %bias : {sums}, tensor<{n}x{total}>) outs(%e : {sums}) {{
        ^bb0(%x: {total}, %y: {total}, %o: {total}):
          %s = {add} %x, %y : {total}
          %t = {largest} %s, %z : {total}
          linalg.yield %t : {total}
      }} -> {sums}
      return %r : {sums}
    }}"""


#: What loads a chip, its name, and the folder of the header that declares what its cores call, in both forms.
NPU = PLUGIN, "accelerator:npu", BUILD / "templates/accelerator"


def as_library(tool, folder, program, form, chip=NPU):
    """The program as a library, and its text. LLVM IR is linked with the functions of the header."""
    plugin, target, records = chip
    source, library = folder / f"program.{form}", folder / f"program-{form}.so"
    tool("tw-compile", program, f"--load-target={plugin}", "--target", target, "-o", source)
    if form == "c":
        inline = ["-DTILEWRIGHT_INTRINSICS=\"reference.h\"", "-I", records]
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", *inline, source, "-lm", "-o", library], check=True)
    else:
        functions = folder / "intrinsics.c"
        functions.write_text((records / "reference.h").read_text().replace("static inline ", ""))
        subprocess.run(["clang-22", "-O2", "-Wno-override-module", "-shared", "-fPIC", source, functions, "-lm", "-o", library],
                       check=True)
    return ctypes.CDLL(str(library)), source.read_text()


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


@pytest.fixture(params=["c", "ll"])
def compiled(request, tool, tmp_path):
    """Compiles the text of a program; calls `name` in the text as it stands in this form."""

    def compile(text):
        program = tmp_path / "program.mlir"
        program.write_text(text)
        library, source = as_library(tool, tmp_path, program, request.param)
        called = lambda name: (f"@{name}(" if request.param == "ll" else f"{name}(") in source
        return library, called

    return compile
