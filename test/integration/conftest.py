"""What the integration tests share: the tools of the build under test and a function that runs one."""

import itertools
import os
import pathlib
import re
import subprocess
import zlib

import pytest

import order

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD", SOURCE / "build" / "release"))
#: Set in the full mode of scripts/test.sh: run every seed, every shape.
FULL = os.environ.get("TILEWRIGHT_FULL") == "1"
CACHE = BUILD / "CMakeCache.txt"
#: What a C or C++ compiler by Clang is given to link the build's libraries: the sanitizers that they were built with, if any.
SANITIZERS = [f"-fsanitize={names}" for names in re.findall(r"^TILEWRIGHT_SANITIZE:.*?=(.+)$", CACHE.read_text(), re.M)
              ] if CACHE.exists() else []
#: "I/N" takes part I (from 0) of N of the tests: the parts together are all of them, each is spread over the files, chips and
#: types, and is the same every time. For the long runs of the full mode, which need not be made in one go.
SHARD = os.environ.get("TILEWRIGHT_SHARD", "")


def some(cases, each=2):
    """All of `cases` in the full mode; every `each`-th in CI, the first among them."""
    return list(cases)[::1 if FULL else each]


def in_turn(*factors):
    """A value of each factor: all such tuples in the full mode; in CI as many as the longest factor has values, each of which occurs."""
    if FULL:
        return list(itertools.product(*factors))
    return [tuple(values[i % len(values)] for values in factors) for i in range(max(map(len, factors)))]


def in_shard(name, shard):
    """Whether the test `name` is in `shard`, "I/N"."""
    part, _, parts = shard.partition("/")
    if not (part.isdigit() and parts.isdigit() and int(part) < int(parts)):
        raise pytest.UsageError(f"TILEWRIGHT_SHARD is '{shard}'; it is I/N with 0 <= I < N")
    return zlib.crc32(name.encode()) % int(parts) == int(part)


def pytest_collection_modifyitems(config, items):
    if SHARD:
        others = [item for item in items if not in_shard(item.nodeid, SHARD)]
        items[:] = [item for item in items if in_shard(item.nodeid, SHARD)]
        config.hook.pytest_deselected(items=others)


def pytest_xdist_make_scheduler(config, log):
    """Of `--dist loadfile`, which the whole suite is run with."""
    return order.scheduler(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def tool():
    """tool("tw-run", "file.mlir", ...) runs a tool and returns its standard output; fails with its messages."""

    def run(name, *arguments, timeout=600, expect=0):
        path = BUILD / "bin" / name
        if not path.exists():
            pytest.fail(f"{path} was not built")
        command = [str(path), *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        assert result.returncode == expect, (
            f"{' '.join(command)}\nexit status {result.returncode}, expected {expect}\n{result.stdout}{result.stderr}"
        )
        return result.stdout

    return run
