"""Packages of `tilewright.jax.export`: run in a process without JAX, bounds of sizes, captured arrays as weights, what is refused."""

import json
import subprocess
import sys
import zipfile

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tilewright
import tilewright.jax
from package_files import arrays_of
from tilewright.jax import UnsupportedError

W, B = np.linspace(-1, 1, 128, dtype=np.float32).reshape(16, 8), np.arange(8, dtype=np.float32)

WITHOUT_JAX = """
import sys
sys.modules["jax"] = None
import numpy, tilewright
x = numpy.load(sys.argv[2])
made = tilewright.load(sys.argv[1])({"x": x, "skip": None}, scale=numpy.float32(3))
assert list(made) == ["words", "y"] and made["y"][1] is None and made["words"].dtype == "uint32", made
numpy.save(sys.argv[3], made["y"][0])
"""


def layer(tree, *, scale):
    y = jax.nn.relu(tree["x"] @ jnp.asarray(W) + jnp.asarray(B)) * scale
    return {"y": (y, None), "words": jnp.arange(3, dtype=jnp.uint32) + jnp.uint32(2**31)}


def test_without_jax(tmp_path):
    """Structures and types are kept; captured arrays are weights of the package, small ones stand in its code."""
    x = np.linspace(0, 2, 80, dtype=np.float32).reshape(5, 16)
    path = tmp_path / "layer.tw"
    tilewright.jax.export(layer, ({"x": x, "skip": None},), path, kwargs={"scale": np.float32(3)}, threads=1)
    np.save(tmp_path / "x.npy", x)
    done = subprocess.run([sys.executable, "-c", WITHOUT_JAX, path, tmp_path / "x.npy", tmp_path / "y.npy"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), np.maximum(x.astype(float) @ W + B, 0) * 3, rtol=1e-5)
    with zipfile.ZipFile(path) as archive:
        program, = json.loads(archive.read("manifest.json"))["programs"]
    assert program["names"] == ["tree['x']", "scale", "captured.0"] and [w["input"] for w in program["weights"]] == [2]


def test_weights_are_packed_once(tmp_path):
    """Captured arrays are marked as constant; what products read of them is in the file in packed form alone, as the cost model has it."""
    w, x = (np.random.default_rng(i).standard_normal(s).astype(np.float32) for i, s in enumerate(((384, 512), (64, 512))))

    def product(x):
        return x @ jnp.asarray(w).T
    tilewright.jax.export(product, (x,), tmp_path / "export.tw", threads=1)
    tilewright.jax.jit(product, threads=1).save(tmp_path / "save.tw", x)
    for name in ("export.tw", "save.tw"):
        np.testing.assert_allclose(tilewright.load(tmp_path / name)(x), x.astype(np.float64) @ w.T, rtol=1e-4, atol=1e-4)
        plain, packed, manifest = arrays_of(tmp_path / name)
        assert (plain, packed) in ((w.nbytes, 0), (0, w.nbytes)) and [w["input"] for w in manifest["programs"][0]["weights"]] == [1]
    tilewright.jax.export(product, (x,), tmp_path / "source.tw", threads=1, keep_source=True)
    with zipfile.ZipFile(tmp_path / "source.tw") as archive:
        assert "%a1: tensor<384x512xf32> {tilewright.constant}" in archive.read("sources/0.mlir").decode()


def test_sizes_that_are_left_open(tmp_path):
    def both(x, y):
        return x @ jnp.asarray(W), (x * 2).sum(0) + y.sum()
    tilewright.jax.export(both, (np.ones((3, 16), np.float32), np.ones(3, np.float32)), tmp_path / "b.tw", dynamic_shapes=("b, _", "b"),
                          constraints=["b >= 2", "b <= 64"], threads=1, keep_source=True, target=["cpu:host", "nvidia:H200"])
    for options in ({}, {"target": "nvidia:H200", "device": "emulator"}):
        net = tilewright.load(tmp_path / "b.tw", **options)
        product, sums = net(np.ones((4, 16), np.float32), y=np.ones(4, np.float32))
        np.testing.assert_allclose(product, np.ones((4, 16)) @ W, atol=1e-5)
        assert sums.tolist() == [12.0] * 16
    with pytest.raises(tilewright.ArgumentError, match="dimension 0 of input 0 is 65; 'forward' takes 2 to 64"):
        net(np.ones((65, 16), np.float32), np.ones(65, np.float32))
    with pytest.raises(tilewright.ArgumentError, match="disagree"):
        net(np.ones((4, 16), np.float32), np.ones(5, np.float32))


def test_what_is_refused(tmp_path):
    x = np.ones(4, np.float32)
    with pytest.raises(tilewright.OptionError, match="names no chip"):
        tilewright.jax.export(jnp.sin, (x,), tmp_path / "r.tw", target=[])
    with pytest.raises(tilewright.OptionError, match="has its own dynamic_shapes"):
        tilewright.jax.export(tilewright.jax.jit(jnp.sin), (x,), tmp_path / "r.tw", dynamic_shapes=("n",))
    with pytest.raises(UnsupportedError):
        tilewright.jax.export(jnp.fft.fft, (x,), tmp_path / "r.tw")
    assert not list(tmp_path.iterdir()), "nothing half-written"
