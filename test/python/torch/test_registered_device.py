"""Chips as devices of PyTorch. Each is registered in a process of its own (`device_checks.py`)."""

import os
import pathlib
import subprocess
import sys

import pytest

from settings import FULL, SOURCE

BUILD = pathlib.Path(os.environ["TILEWRIGHT_SDK"])
#: target, where it runs, plugins. The scaffold of a chip of lanes is registered by docs/bring-up.md.
CHIPS = [("accelerator", "emulator", "libtilewright-target-accelerator.so")]
if FULL:
    CHIPS += [("nvidia:H200", "emulator"), ("cpu:host", "host")]


@pytest.mark.parametrize("target, run, plugin", [(*chip, None)[:3] for chip in CHIPS],
                         ids=lambda value: str(value).split(":")[0])
def test_device(target, run, plugin):
    plugins = [str(BUILD / "lib/tilewright" / plugin)] if plugin else []
    result = subprocess.run(
        [sys.executable, str(SOURCE / "test/python/torch/device_checks.py"), target, run, *plugins],
        capture_output=True,
        text=True,
        timeout=900)
    print(result.stdout)
    output = result.stdout[-6000:] + result.stderr[-2000:]
    assert result.returncode == 0 and "failed check_" not in result.stdout, output
    assert result.stdout.count("passed check_") >= 17


#: In one process, since PyTorch takes seconds to load: `register` that is refused, with what is given and these variables.
CODE = """
import os
from tilewright.torch import device
for variables, options in {attempts}:
    os.environ.update(variables)
    try:
        device.register("orca", target="cpu:host", **options)
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_what_is_refused(tmp_path):
    """Without a compiler the message says what is missing, and nothing is left in the cache; a driver that is not there."""
    cache = {"TILEWRIGHT_CACHE_DIR": str(tmp_path)}
    attempts = [({"CXX": "no-such-compiler", **cache}, {"run": "host"}), ({"CXX": "false", **cache}, {"run": "host"}),
                ({}, {"run": "driver", "driver": "/nothing/libacme-driver.so"})]
    result = subprocess.run([sys.executable, "-c", CODE.format(attempts=attempts)], capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("SdkError") == 2, result.stdout
    assert "CXX is 'no-such-compiler', which is no command; install one (apt-get install g++)" in result.stdout
    assert "false does not compile the device for PyTorch" in result.stdout
    assert not list(tmp_path.rglob("*privateuse1*"))
    assert "DeviceError there is no driver /nothing/libacme-driver.so; build it: cc -shared" in result.stdout, result.stdout
