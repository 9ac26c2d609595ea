"""Programs on a device, over a library of the driver's name that works on the host's memory (test/driver)."""

import os
import subprocess
import sys

import pytest

import tilewright
from conftest import BUILD, SOURCE
from sample_programs import MATMUL

DRIVERS = BUILD / "test" / "driver"

CODE = r"""
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import tilewright
from artifacts import program
from tilewright.artifact import Artifact
from tilewright.compiler import load_artifact

facts = program()
header = __import__("json").dumps({"format": 2, "target": "nvidia:H100", "architecture": "sm_90a", "programs": [facts],
                                   "images": [{"kind": "cubin", "bytes": 5}]}).encode()
contents = b"TILEWRIGHT 2 %d\n" % len(header) + header + b"\ncubin"
artifact = Artifact(tilewright.Signature(facts), "tw", "nvidia:H100", {"triple": ""}, contents=contents)
four = load_artifact(artifact)
for n in (3, 1, 100):
    x = np.arange(n, dtype=np.float32)
    assert np.array_equal(four(x), 4 * x), four(x)
x, y = np.arange(8, dtype=np.float32), np.empty(8, np.float32)
four.launch(8, x.ctypes.data, y.ctypes.data) # addresses of the device are those of the host here
assert np.array_equal(y, 4 * x)
try:
    four.launch(-1, x.ctypes.data, y.ctypes.data)
except tilewright.CallError as error:
    print(error)
"""


def run(code, *arguments, **environment):
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


def test_launches_and_copies(tmp_path):
    result = run(CODE, SOURCE / "test/integration", LD_LIBRARY_PATH=str(DRIVERS), FAKE_LOG=str(tmp_path / "log"),
                 FAKE_KERNELS=str(DRIVERS / "kernels.so"))
    assert result.returncode == 0 and "size 0 of program 'four' is -1; sizes are 0 or more" in result.stdout, result
    assert "launch" in (tmp_path / "log").read_text().lower()


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="this machine has the driver")
def test_no_driver():
    with pytest.raises(tilewright.DeviceError, match="no driver of NVIDIA on this machine"):
        tilewright.compile(MATMUL, target="nvidia:H200")


def test_the_host_is_no_such_device():
    with pytest.raises(tilewright.OptionError, match="programs of 'cpu:host' are no launches of a device"):
        tilewright.compile(MATMUL, device="gpu")


PACKAGED = r"""
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import tilewright
from artifacts import program
from tilewright.artifact import Artifact

n = 8
facts = program()
facts["arguments"][0]["shape"] = facts["arguments"][1]["shape"] = [n]
facts["sizes"] = 0
facts = __import__("json").loads(__import__("json").dumps(facts).replace('{"size": 0}', str(n)))
header = __import__("json").dumps({"format": 2, "target": "nvidia:H100", "architecture": "sm_90a", "programs": [facts],
                                   "images": [{"kind": "cubin", "bytes": 5}]}).encode()
contents = b"TILEWRIGHT 2 %d\n" % len(header) + header + b"\ncubin"
artifact = Artifact(tilewright.Signature(facts), "tw", "nvidia:H100", {"triple": ""}, contents=contents)
x = np.arange(n, dtype=np.float32)
tilewright.save(sys.argv[2], tilewright.Entry([artifact], weights={0: x}, names=["x"]))
package = tilewright.load(sys.argv[2], device="gpu")
assert np.array_equal(package(), 4 * x)
print(package)
"""


def test_a_package_with_weights(tmp_path):
    result = run(PACKAGED, SOURCE / "test/integration", tmp_path / "four.tw", LD_LIBRARY_PATH=str(DRIVERS),
                 FAKE_KERNELS=str(DRIVERS / "kernels.so"), FAKE_LOG=str(tmp_path / "log"))
    assert "four() -> f32[8] for nvidia:H100 on gpu" in result.stdout, result
