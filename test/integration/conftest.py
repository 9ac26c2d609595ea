"""What the integration tests share: the tools of the build under test and a function that runs one."""

import os
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD", SOURCE / "build" / "release"))
#: Set in the full mode of scripts/test.sh: run every seed, every shape.
FULL = os.environ.get("TILEWRIGHT_FULL") == "1"


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
