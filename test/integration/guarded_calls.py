"""Programs of the host that are called with an input whose last byte is the last of a page before one without access: what reads beyond
it ends the process."""

import subprocess
import sys

import ml_dtypes
import numpy as np

TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i8": np.int8, "bf16": ml_dtypes.bfloat16}
CALL = """
import ctypes, mmap, sys
import ml_dtypes, numpy as np
library, inputs, others, output, result, *sizes = sys.argv[1:]
x, out, others = np.load(inputs), np.load(output), list(np.load(others).values())
page = mmap.PAGESIZE
room = -(-x.nbytes // page) * page
memory = mmap.mmap(-1, room + page)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.mprotect(ctypes.c_void_p(address + room), page, 0) == 0
ctypes.memmove(address + room - x.nbytes, x.ctypes.data, x.nbytes)
status = ctypes.CDLL(library).compute(*(ctypes.c_int64(int(size)) for size in sizes),
                                      ctypes.c_void_p(address + room - x.nbytes),
                                      *(each.ctypes.data_as(ctypes.c_void_p) for each in others), out.ctypes.data_as(ctypes.c_void_p))
assert status == 0, status
np.save(result, out)
"""


def call(tool, folder, text, x, out, *options, sizes=(), others=(), target="cpu:host"):
    """The result of `compute` for `x`, whose last byte is the last of a page before one without access; `sizes` are those
    that its type leaves open, `others` the inputs after it; `target` runs on this machine."""
    (folder / "program.mlir").write_text(text)
    tool("tw-compile", folder / "program.mlir", "--target", target, *options, "-o", folder / "program.so")
    as_bytes = lambda array: np.ascontiguousarray(array).view(np.uint8)
    np.save(folder / "x.npy", as_bytes(x))
    np.save(folder / "out.npy", as_bytes(out))
    np.savez(folder / "others.npz", *map(as_bytes, others))
    done = subprocess.run([sys.executable, "-c", CALL, *(str(folder / name) for name in
                          ("program.so", "x.npy", "others.npz", "out.npy", "result.npy")), *map(str, sizes)], capture_output=True, text=True)
    assert done.returncode == 0, f"{text}\nexit status {done.returncode}\n{done.stderr}"
    return np.load(folder / "result.npy").view(out.dtype).reshape(out.shape)
