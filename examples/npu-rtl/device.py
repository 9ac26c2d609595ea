#!/usr/bin/env python3
# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The RTL behind the pipe protocol (docs/device-protocol.md): tw-run ... --device "exec:device.py build/libnpu.so".

With a second argument, appends one line of JSON to that file for each launch: its kernel and the clocks of each core."""

import ctypes
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import kernels

GLOBAL = 0x100000000
CLOCK_HZ = 1e9
COUNTERS = ("clocks", "copy_in", "copy_out", "array", "core_waits", "copy_in_waits", "copy_out_waits", "array_waits")


class Memory:
    """Places in the RTL's global memory: the first one that is large enough."""

    def __init__(self, size):
        self.size, self.taken = size, {}

    def allocate(self, size):
        size = -(-size // 64) * 64 + 64
        at = 0
        for begin, length in sorted(self.taken.items()):
            if begin - at >= size:
                break
            at = begin + length
        if at + size > self.size:
            raise kernels.Refused(f"{size} bytes of global memory asked for; the RTL has {self.size} in all")
        self.taken[at] = size
        return GLOBAL + at

    def check(self, address, size):
        for begin, length in self.taken.items():
            if begin <= address - GLOBAL and address - GLOBAL + size <= begin + length:
                return
        raise kernels.Refused(f"{size} bytes at {address:#x} lie in no array")


class Device:
    def __init__(self, library, log):
        self.path, self.log = Path(library).resolve(), log
        self.library = ctypes.CDLL(str(self.path), mode=ctypes.RTLD_GLOBAL)
        self.library.npu_run.restype = ctypes.c_char_p
        self.library.npu_global_bytes.restype = ctypes.c_uint64
        self.library.npu_begin()
        self.folder = tempfile.TemporaryDirectory()
        self.loads, self.seconds, self.totals = 0, 0.0, {}
        self.memory, self.code, self.names = None, None, []

    def hello(self, request, payload):
        return {"version": 1, "name": "npu-rtl under Verilator", "kinds": ["mlir"], "timed": True}, b""

    def load(self, request, payload):
        self.loads += 1
        folder = Path(self.folder.name) / str(self.loads)
        folder.mkdir()
        path, self.names = kernels.build(payload, folder, self.path)
        self.code = ctypes.CDLL(str(path))
        self.memory = Memory(self.library.npu_global_bytes())
        self.totals = {}
        return {}, b""

    def allocate(self, request, payload):
        return {"address": self.memory.allocate(request["size"])}, b""

    def release(self, request, payload):
        self.memory.taken.pop(request["address"] - GLOBAL, None)
        return {}, b""

    def write(self, request, payload):
        self.memory.check(request["address"], len(payload))
        self.library.npu_write_global(ctypes.c_uint64(request["address"]), payload, ctypes.c_uint64(len(payload)))
        return {}, b""

    def read(self, request, payload):
        size = request["size"]
        self.memory.check(request["address"], size)
        data = ctypes.create_string_buffer(max(1, size))
        self.library.npu_read_global(data, ctypes.c_uint64(request["address"]), ctypes.c_uint64(size))
        return {"payload": size}, data.raw[:size]

    def launch(self, request, payload):
        name, cores = request["kernel"], request["grid"][0]
        if name not in self.names:
            raise kernels.Refused(f"no kernel '{name}' was loaded; there are: {', '.join(self.names)}")
        function = ctypes.cast(getattr(self.code, "entry." + name), ctypes.c_void_p)
        counted = []
        for core in range(cores):
            numbers = (ctypes.c_uint64 * len(COUNTERS))()
            failure = self.library.npu_run(function, payload, core, numbers)
            if failure:
                raise kernels.Refused(f"kernel '{name}', core {core}: {failure.decode()}")
            counted.append(dict(zip(COUNTERS, numbers)))
        self.seconds += max(each["clocks"] for each in counted) / CLOCK_HZ
        total = self.totals.setdefault(name, dict.fromkeys(COUNTERS, 0))
        for each in counted:
            for key, value in each.items():
                total[key] += value
        if self.log:
            with open(self.log, "a") as log:
                log.write(json.dumps({"kernel": name, "cores": counted}) + "\n")
        return {}, b""

    def wait(self, request, payload):
        seconds, self.seconds = self.seconds, 0.0
        return {"seconds": seconds}, b""

    def counters(self, request, payload):
        return {"counters": {"kernels": [{"kernel": name} | total for name, total in self.totals.items()]}}, b""

    def close(self, request, payload):
        return {}, b""


REQUESTS = ("hello", "load", "allocate", "release", "write", "read", "launch", "wait", "counters", "close")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: device.py libnpu.so [LOG]")
    device = Device(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while line := source.readline():
        request = json.loads(line)
        payload = source.read(request.get("payload", 0))
        data = b""
        try:
            if request["op"] not in REQUESTS:
                raise kernels.Refused(f"unknown request '{request['op']}'")
            if device.memory is None and request["op"] not in ("hello", "load", "wait", "close"):
                raise kernels.Refused("nothing is loaded")
            answer, data = getattr(device, request["op"])(request, payload)
            answer = {"ok": True} | answer
        except kernels.Refused as why:
            answer = {"ok": False, "error": str(why)}
        sink.write(json.dumps(answer).encode() + b"\n" + data)
        sink.flush()
        if request["op"] == "close":
            return


if __name__ == "__main__":
    main()
