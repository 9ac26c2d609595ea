"""The programs of examples/ on emulated SIMT targets: small sizes in CI, their own in the full mode."""

import re

import pytest

from conftest import FULL, SOURCE
from lanes import emulate, kernels, with_chips

#: Sizes of an example and what stands for them; prime or odd where the program allows it.
SMALLER = {
    "feed-forward-f32": {128: 19, 768: 72, 3072: 104},
    "feed-forward-bf16": {128: 19, 768: 72, 3072: 104},
    "feed-forward-int8": {128: 19, 768: 72, 3072: 104},
    "mlp-f32": {256: 23, 1024: 72},
    "attention-scores": {12: 3, 128: 37, 64: 24},
    "blur": {1084: 25, 1924: 41, 1080: 21, 1920: 37},
    "transformer-block": {},
}

#: Sizes of the programs that leave some open.
OPEN = {"transformer-block": ("--sizes", "37")}


@pytest.mark.parametrize("chip, name", with_chips(SMALLER))
def test_example(name, chip, tool, tmp_path):
    text = (SOURCE / "examples" / f"{name}.mlir").read_text()
    for size, smaller in SMALLER[name].items():
        text, count = re.subn(rf"(?<![0-9a-wyz_.]){size}(?=[x.<])", str(smaller), text)
        assert count
    path = tmp_path / f"{name}.mlir"
    path.write_text(text)
    emulate(tool, path, chip, "--modes", *OPEN.get(name, ()))


@pytest.mark.parametrize("chip", ["nvidia:H200", "amd:MI300X"])
def test_a_blur_is_one_launch(chip, tool, tmp_path):
    """The first pass is computed where the second one reads it, and no launch sets sums to zero."""
    text = (SOURCE / "examples" / "blur.mlir").read_text()
    for size, smaller in SMALLER["blur"].items():
        text = re.sub(rf"(?<![0-9a-wyz_.]){size}(?=[x.<])", str(smaller), text)
    (tmp_path / "blur.mlir").write_text(text)
    kernel, = kernels(emulate(tool, tmp_path / "blur.mlir", chip))
    assert kernel["blocks"] == -(-21 * 37 // 256)


@pytest.mark.skipif(not FULL, reason="minutes a program: full mode only")
@pytest.mark.parametrize("chip", ["nvidia:A100", "amd:MI300X"])
@pytest.mark.parametrize("name", SMALLER)
def test_example_in_its_own_size(name, chip, tool):
    emulate(tool, SOURCE / "examples" / f"{name}.mlir", chip, *OPEN.get(name, ()))
