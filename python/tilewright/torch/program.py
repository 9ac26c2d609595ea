"""Compiles a text for a target: the seam to the package `tilewright`."""

import ctypes
import os
import pathlib
import re
import subprocess
import tempfile


class CompilerError(RuntimeError):
    """The compiler refused a text; the message is its diagnostic."""


class Program:
    def __init__(self, text, options):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-"))
        (folder / "graph.mlir").write_text(text)
        sdk = pathlib.Path(os.environ.get("TILEWRIGHT_SDK", pathlib.Path(__file__).resolve().parents[3] / "build/release"))
        done = subprocess.run([sdk / "bin/tw-compile", folder / "graph.mlir", "-o", folder / "graph.so", "--header", folder / "graph.h",
                               "--fp", options.fp, "--threads", str(options.threads), "--target", options.target], capture_output=True, text=True)
        if done.returncode:
            raise CompilerError(done.stderr.strip())
        self.library = ctypes.CDLL(str(folder / "graph.so"))
        function = self.library.graph
        function.restype = ctypes.c_int
        header = (folder / "graph.h").read_text()
        self.arguments = []
        for line in re.findall(r"^ \*   (?:in|out)\d+: (.*)$", header, re.M):
            shape = re.match(r"[^\[]*\[(.*?)\]", line)
            self.arguments.append([n.strip() for n in shape.group(1).split(",") if n.strip()] if shape else [])
        self.sizes = len(re.findall(r"int64_t n\d+", re.search(r"^int graph\((.*)\);", header, re.M).group(1)))
        types = [ctypes.c_int64] * self.sizes + [ctypes.c_void_p] * len(self.arguments)
        function.argtypes = types

        def launch(*slots):
            status = function(*slots)
            if status:
                raise RuntimeError(f"status {status}")
        self.launch = launch
        self.shapes = self.arguments


def compile_program(text, options):
    return Program(text, options)
