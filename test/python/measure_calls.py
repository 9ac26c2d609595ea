"""What a call from Python costs above the call of the C function: a program of 3 inputs and 1 result, tiny arrays, one thread.

    PYTHONPATH=python:test/python build/venv/bin/python test/python/measure_calls.py
"""

import ctypes
import timeit

import numpy as np

import tilewright
from sample_programs import LINEAR


def microseconds(call, number=20000):
    return min(timeit.repeat(call, number=number, repeat=9)) / number * 1e6


def measure():
    """Microseconds of: the C function in a loop in C (by a call of no array, which returns at once), a bare call through ctypes,
    `launch`, the call of arrays."""
    program = tilewright.compile(LINEAR)
    x, w, b, y = (np.ones(shape, np.float32) for shape in ((5, 8), (8, 4), (4,), (5, 4)))
    addresses = [array.ctypes.data for array in (x, w, b, y)]
    slots = (ctypes.c_int64 * 5)(5, *addresses)
    function = program._code._function
    program(x, w, b)
    bare = microseconds(lambda: function(slots))
    return {"function, arguments in place": bare,
            "program.launch(sizes, addresses)": microseconds(lambda: program.launch(5, *addresses)),
            "program(x, w, b), allocates the result": microseconds(lambda: program(x, w, b))}


if __name__ == "__main__":
    times = measure()
    bare = next(iter(times.values()))
    for what, time in times.items():
        print(f"| {what} | {time:.2f} us | {time - bare:+.2f} us |")
