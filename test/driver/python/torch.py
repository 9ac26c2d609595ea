"""PyTorch for tests of test/gpu: arrays in the host's memory, on the clock of the drivers beside this folder.

A product takes `FAKE_LIBRARY_SECONDS` (default 9e-4) of that clock; everything else of it takes nothing.
"""

import ctypes
import os
import types

import numpy

__version__ = "2.0"
float16, bfloat16, float32, uint8 = numpy.float16, numpy.uint16, numpy.float32, numpy.uint8
_driver = ctypes.CDLL("libcuda.so.1")
_spent = 0.0


class Tensor(numpy.ndarray):
    def cuda(self):
        return self

    def data_ptr(self):
        return self.ctypes.data

    def __matmul__(self, other):
        global _spent
        _spent += float(os.environ.get("FAKE_LIBRARY_SECONDS", 9e-4))
        return numpy.asarray(self) @ numpy.asarray(other)


class Event:
    def __init__(self, enable_timing):
        self.event = ctypes.c_void_p()
        _driver.cuEventCreate(ctypes.byref(self.event), 0)

    def record(self):
        _driver.cuEventRecord(self.event, None)
        self.spent = _spent

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        milliseconds = ctypes.c_float()
        _driver.cuEventElapsedTime(ctypes.byref(milliseconds), self.event, end.event)
        return milliseconds.value + (end.spent - self.spent) * 1e3


def frombuffer(data, dtype):
    return numpy.frombuffer(data, dtype).view(Tensor)


def empty(shape, dtype, device):
    assert device == "cuda"
    return numpy.zeros(shape, dtype).view(Tensor)


def compile(function, mode):
    raise RuntimeError("no Triton")


cuda = types.SimpleNamespace(is_available=lambda: True, Event=Event,
                             current_stream=lambda: types.SimpleNamespace(cuda_stream=0x77))
chosen = []
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(preferred_blas_library=chosen.append),
                                 cudnn=types.SimpleNamespace(benchmark=False))
version = types.SimpleNamespace(cuda="13.0")
nn = types.SimpleNamespace(functional=types.SimpleNamespace())
