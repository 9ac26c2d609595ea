"""Networks, compared with ONNX's reference in float64; quantised ones bit for bit. One program serves several batches
and lengths."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import tilewright.onnx
from networks import NETWORKS, quantised


def expected(build, inputs):
    """The outputs in float64, and those in float32."""
    model, _ = build(np.float64)
    wide = {k: v.astype(np.float64) if v.dtype.kind == "f" else v for k, v in inputs.items()}
    narrow = {k: v.astype(np.float32) if v.dtype.kind == "f" else v for k, v in inputs.items()}
    return ReferenceEvaluator(model).run(None, wide), narrow


def compare(made, exact):
    made = made if isinstance(made, tuple) else (made,)
    for got, want in zip(made, exact, strict=True):
        assert got.dtype == np.float32 and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("name", NETWORKS)
def test_forward(name):
    model, inputs = NETWORKS[name](np.float32)
    run = tilewright.onnx.load(model, dynamic=True, threads=1)
    texts = set()
    for batch in (2, 3, 1):
        exact, given = expected(NETWORKS[name], inputs(batch))
        compare(run(**given), exact)
        texts.add(run.text(**given))
    assert len(texts) == 1, "one program serves all sizes"


@pytest.mark.parametrize("target", ["nvidia:H200", "amd:MI300X"])
@pytest.mark.parametrize("name", ["residual", "transformer"])
def test_emulated_devices(name, target):
    model, inputs = NETWORKS[name](np.float32)
    exact, given = expected(NETWORKS[name], inputs(2))
    compare(tilewright.onnx.load(model, target=target, device="emulator", dynamic=False)(**given), exact)


@pytest.mark.parametrize("bind", [True, False])
def test_quantised(bind):
    """All scales are powers of 2, so that every sum is exact: bits are those of the reference."""
    model, inputs = quantised()
    run = tilewright.onnx.load(model, bind_weights=bind, threads=1)
    for batch in (1, 3):
        given = inputs(batch)
        for got, want in zip(run(**given), ReferenceEvaluator(model).run(None, given), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
