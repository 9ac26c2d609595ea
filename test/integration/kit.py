"""What tests of projects of vendors share: an installation of the build under test, and commands with its compilers."""

import os
import shutil
import subprocess

import pytest

from conftest import BUILD, SANITIZERS

#: The compilers of the build under test, for the projects of the tests; the system's own take longer over MLIR's headers.
COMPILERS = {"CC": "clang-22", "CXX": "clang++-22"} if shutil.which("clang++-22") else {}


def run(*command, expect=0, env=None, **options):
    environment = {**os.environ, **COMPILERS, **(env or {})}
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, **options)
    assert result.returncode == expect, f"{command}\n{result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout + result.stderr


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """An installation of the build under test."""
    if SANITIZERS:
        pytest.skip("projects of vendors are built without the sanitizers of this build")
    if not (BUILD / "CMakeCache.txt").exists() or not shutil.which("cmake"):
        pytest.skip("no build tree to install from")
    where = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", where)
    return where
