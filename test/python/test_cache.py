"""The cache on disk: keys, damage, several processes, a full disk."""

import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

import tilewright
from sample_programs import LINEAR, elementwise


def entries(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def call(program):
    a = np.ones((4, 8), np.float32)
    return np.all(program(a, a) == 2)


def test_one_entry_for_each_meaning(isolated):
    for options in ({}, {}, {"fp": "fast"}, {"threads": 2}, {"function": "f"}):
        assert call(tilewright.compile(elementwise(), **options))
    tilewright.compile(elementwise(operation="arith.mulf"))
    assert len(entries(isolated)) == 5


def test_no_cache(isolated):
    assert call(tilewright.compile(elementwise(), cache=False))
    assert not isolated.exists()


def test_a_directory_of_the_caller(tmp_path, isolated):
    assert call(tilewright.compile(elementwise(), cache=tmp_path / "mine"))
    assert entries(tmp_path / "mine") and not isolated.exists()
    tilewright.Cache(tmp_path / "mine").clear()
    assert not entries(tmp_path / "mine")


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:100], lambda b: b"", lambda b: b[:50] + b"x" + b[51:],
                                    lambda b: b + b"x"])
def test_damaged_entries_are_compiled_again(isolated, damage):
    tilewright.compile(elementwise())
    (path,) = entries(isolated)
    good = path.read_bytes()
    replaced = path.with_name("new") # not in place: the loader has mapped the other
    replaced.write_bytes(damage(good))
    os.replace(replaced, path)
    assert call(tilewright.compile(elementwise()))
    assert path.read_bytes() == good


def test_a_second_process_compiles_nothing(isolated):
    code = ("import tilewright, numpy as np, sys\n"
            "sys.path.insert(0, sys.argv[1])\n"
            "from sample_programs import elementwise\n"
            "from tilewright import _capi\n"
            "if len(sys.argv) > 2: _capi.compile = None\n"
            "a = np.ones((4, 8), np.float32)\n"
            "assert np.all(tilewright.compile(elementwise())(a, a) == 2)\n")
    folder = str(pathlib.Path(__file__).parent)
    subprocess.run([sys.executable, "-c", code, folder], check=True, timeout=60)
    subprocess.run([sys.executable, "-c", code, folder, "cached"], check=True, timeout=60)


def test_several_processes_write_one_entry(isolated):
    code = ("import tilewright, numpy as np, sys, time\n"
            "sys.path.insert(0, sys.argv[1])\n"
            "from sample_programs import elementwise\n"
            "tilewright.version()\n"
            "print('ready', flush=True); sys.stdin.readline()\n"
            "a = np.ones((4, 8), np.float32)\n"
            "assert np.all(tilewright.compile(elementwise())(a, a) == 2)\n")
    processes = [subprocess.Popen([sys.executable, "-c", code, str(pathlib.Path(__file__).parent)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.wait(timeout=60) for process in processes] == [0] * len(processes)
    assert len(entries(isolated)) == 1, "no file of a writer is left"


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tilewright.CacheError, match="cannot write .*set TILEWRIGHT_CACHE_DIR to another directory"):
        tilewright.compile(elementwise(), cache=tmp_path / "file")


def test_a_full_disk(tmp_path, monkeypatch):
    """Nothing half-written is left, and the error says what helps."""
    code = ("import resource, signal, sys, tilewright\n"
            "sys.path.insert(0, sys.argv[1])\n"
            "from sample_programs import elementwise\n"
            "compiled = tilewright.build(elementwise(), cache=False)\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
            "from tilewright.cache import Cache\n"
            "try:\n"
            "    Cache(sys.argv[2]).put('ab' * 32, {}, lambda file: file.write(compiled.bytes))\n"
            "except tilewright.CacheError as error:\n"
            "    print(error)\n")
    result = subprocess.run([sys.executable, "-c", code, str(pathlib.Path(__file__).parent), str(tmp_path)],
                            capture_output=True, text=True, timeout=60)
    assert "cannot write" in result.stdout and "File too large" in result.stdout and "cache=False" in result.stdout, result
    assert not entries(tmp_path)


def test_from_the_cache_is_quick(isolated):
    tilewright.compile(LINEAR)
    begin = time.perf_counter()
    tilewright.compile(LINEAR)
    assert time.perf_counter() - begin < 0.1
