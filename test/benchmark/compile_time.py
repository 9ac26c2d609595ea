"""Times the compiler: one product, MLIR text to callable code.

    python compile_time.py [SIZE] [--target cpu:host]

`second` is the second compilation in one process, what each further program costs a process that compiles; `command` is
the wall time of the first `tw-compile` command, with start, dialects, code generator and link. Medians of 9.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import peers
import programs

BIN = pathlib.Path(peers.BUILD).parent / "release" / "bin"


def run(size, target, samples=9):
    """Seconds of each part, medians."""
    shape = {"kind": "gemm", "type": "f32", "m": size, "n": size, "k": size}
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "product.mlir"
        source.write_text(programs.gemm(shape))
        second, command = [], []
        for _ in range(samples):
            words = [BIN / "tw-run", source, "--target", target, "--time-compile", "--json"]
            out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            second.append(json.loads(out)["compile"])
            begin = time.perf_counter()
            subprocess.run([BIN / "tw-compile", source, "--target", target, "-o", f"{folder}/product.so"], check=True)
            command.append(time.perf_counter() - begin)
    result = {key: statistics.median(one[key] for one in second)
              for key in ("seconds", "parse_seconds", "pass_seconds", "llvm_seconds", "link_seconds")}
    return dict(result, size=size, target=target, command_seconds=statistics.median(command))


def line(result):
    return ("{size}^3 f32 for {target}: second compilation {seconds:.3f} s (parse {parse_seconds:.3f}, passes "
            "{pass_seconds:.3f}, LLVM {llvm_seconds:.3f}, link {link_seconds:.3f}), first command "
            "{command_seconds:.3f} s".format(**result))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("size", type=int, nargs="?", default=512)
    options.add_argument("--target", default="cpu:host")
    arguments = options.parse_args()
    result = run(arguments.size, arguments.target)
    folder = peers.BUILD / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compile.json").write_text(json.dumps(result, indent=1))
    print(line(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
