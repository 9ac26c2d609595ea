#!/usr/bin/env python3
"""A device behind the pipe protocol of docs/device-protocol.md, in its simplest form: this process. It loads shared
libraries ("so") and calls their functions.

    tw-run FILE.mlir --device "exec:python3 exec_device.py" --verify

--fault makes it one of the devices that go wrong: hang-OP and die-OP at the first request OP, wrong (one bit of what is
read), garbage (no JSON), old (version 0), refuse-OP, short (half of a payload, then nothing).
"""

import argparse
import ctypes
import json
import os
import struct
import sys
import tempfile
import time


class Refusal(Exception):
    """A request that cannot be granted; the device goes on."""


class HostDevice:
    def __init__(self, fault):
        self.fault, self.memory, self.library, self.seconds = fault, {}, None, 0.0
        self.calls = 0

    def hello(self, header, _):
        return {"version": 0 if self.fault == "old" else 1, "name": f"this process, for {header['chip']}",
                "kinds": ["so"], "timed": True}

    def allocate(self, header, _):
        buffer = ctypes.create_string_buffer(header["size"] + 64)
        address = (ctypes.addressof(buffer) + 63) // 64 * 64
        self.memory[address] = buffer
        return {"address": address}

    def release(self, header, _):
        del self.memory[header["address"]]
        return {}

    def write(self, header, payload):
        ctypes.memmove(header["address"], payload, len(payload))
        return {}

    def read(self, header, _):
        data = bytearray(ctypes.string_at(header["address"], header["size"]))
        if self.fault == "wrong":
            data[0] ^= 0x40
        return {}, bytes(data)

    def load(self, header, payload):
        if header["kind"] != "so":
            raise Refusal(f"no kind {header['kind']}")
        with tempfile.NamedTemporaryFile(suffix=".so", delete=False) as file:
            file.write(payload)
        self.library = ctypes.CDLL(file.name)
        os.unlink(file.name)
        return {}

    def launch(self, header, payload):
        sizes, arguments, at = header["arguments"], [], 0
        for size in sizes:
            assert size == 8
            arguments.append(ctypes.c_int64(struct.unpack_from("<q", payload, at)[0]))
            at += size
        start = time.perf_counter()
        status = getattr(self.library, header["kernel"])(*arguments)
        self.seconds += time.perf_counter() - start
        self.calls += 1
        if status:
            raise Refusal(f"{header['kernel']} returned {status}")
        return {}

    def wait(self, *_):
        seconds, self.seconds = self.seconds, 0.0
        return {"seconds": seconds}

    def counters(self, *_):
        return {"counters": {"calls": self.calls}}

    def close(self, *_):
        return {}


def serve(device, fault):
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while line := requests.readline():
        header = json.loads(line)
        payload = requests.read(header.get("payload", 0))
        op = header["op"]
        if fault == f"hang-{op}":
            time.sleep(3600)
        if fault == f"die-{op}":
            os._exit(3)
        try:
            if fault == f"refuse-{op}":
                raise Refusal("not today")
            result = getattr(device, op)(header, payload)
            answer, data = result if isinstance(result, tuple) else (result, b"")
            answer = {"ok": True, **answer, **({"payload": len(data)} if data else {})}
        except Refusal as refusal:
            answer, data = {"ok": False, "error": str(refusal)}, b""
        if fault == "short":
            data = data[: len(data) // 2]
        answers.write(b"what?\n" if fault == "garbage" else json.dumps(answer).encode() + b"\n" + data)
        answers.flush()
        if op == "close":
            return


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", default="")
    options = parser.parse_args()
    serve(HostDevice(options.fault), options.fault)
