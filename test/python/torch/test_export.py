"""Packages of `tilewright.torch.export`: run in a process without PyTorch, by tw-launch, on the emulator; what is refused."""

import collections
import copy
import json
import os
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

import tilewright
import tilewright.torch
from full_networks import LARGE
from networks import NETWORKS
from package_files import arrays_of
from settings import FULL, SOURCE
from test_networks import as_list, doubled, verify

LAUNCH = os.path.join(os.environ["TILEWRIGHT_SDK"], "bin/tw-launch")

#: Runs a package on arrays of a file and keeps the results; importing PyTorch fails.
WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy, tilewright
package = tilewright.load(sys.argv[1])
for case in sys.argv[2:]:
    given = numpy.load(case)
    made = package(*[given[str(i)] for i in range(len(given.files))])
    made = made if isinstance(made, (tuple, list)) else [made]
    numpy.savez(case.replace(".npz", ".made.npz"), *made)
"""


def without_torch(path, *cases):
    """The results of a package for each list of tensors, from another process."""
    files = []
    for number, case in enumerate(cases):
        files.append(str(path) + f".{number}.npz")
        np.savez(files[-1], **{str(i): v.numpy() for i, v in enumerate(case)})
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH, str(path), *files], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [[torch.from_numpy(a) for a in np.load(file.replace(".npz", ".made.npz")).values()] for file in files]


def network(name):
    torch.manual_seed(1)
    model, arguments = {**NETWORKS, **LARGE}[name]()
    return model.eval(), arguments


def export(model, args, path, **options):
    with torch.no_grad():
        tilewright.torch.export(model, tuple(args), path, **options)
    return tilewright.load(path)


@pytest.mark.parametrize("name", {**NETWORKS, **LARGE} if FULL else ["densenet", "lstm"])
def test_networks(name, tmp_path):
    """In a process without PyTorch, for two batches (the cache of `decode` has one), as near to float64 as torch.compile is held to."""
    model, arguments = network(name)
    batches = (2,) if name == "decode" else (3, 1)
    cases = [arguments(batch) for batch in batches]
    shapes = None if name == "decode" else tuple({0: Dim.DYNAMIC} for _ in cases[0])
    path = tmp_path / "net.tw"
    with torch.no_grad():
        tilewright.torch.export(model, tuple(arguments(2)), path, dynamic_shapes=shapes)
        exact = copy.deepcopy(model).double()
        for given, made in zip(cases, without_torch(path, *cases)):
            want = [w.contiguous() for w in as_list(model(*given))]
            verify([m.contiguous() for m in made], want, as_list(exact(*doubled(given))), name)


class Small(nn.Module):
    """A convolution with batch norm, a tied weight, and results of several kinds."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.second.weight = self.first.weight
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(1, 2)

    def forward(self, x, scale=1.0, *, extra=None):
        y = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        z = self.second(self.first(y)) * scale
        return {"z": z, "pair": (y, None), "batch": x.shape[0], "extra": [extra["a"] + 1, 2.5]}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    torch.manual_seed(0)
    model, path = Small().eval(), tmp_path_factory.mktemp("small") / "small.tw"
    x, extra = torch.randn(2, 3, 8, 8), {"a": torch.arange(4)}
    tilewright.torch.export(model, (x, 0.5), path, kwargs={"extra": extra}, keep_source=True, target=["cpu:host", "nvidia:H200"],
                            dynamic_shapes={"x": {0: Dim("batch", max=64)}, "scale": None, "extra": {"a": None}})
    return model, path, x, extra


def test_arguments_and_results_keep_their_form(small):
    model, path, x, extra = small
    with torch.no_grad():
        want = model(x, 0.5, extra=extra)
    net = tilewright.load(path)
    for given in (x, x.numpy(), x.contiguous(memory_format=torch.channels_last)):
        made = net(given, 0.5, extra=extra if isinstance(given, torch.Tensor) else {"a": extra["a"].numpy()})
        assert list(made) == ["z", "pair", "batch", "extra"] and made["batch"] == 2 and made["pair"][1] is None
        assert isinstance(made["pair"], tuple) and isinstance(made["extra"], list) and made["extra"][1] == 2.5
        kind = torch.Tensor if isinstance(given, torch.Tensor) else np.ndarray
        assert isinstance(made["z"], kind) and np.array_equal(made["extra"][0], extra["a"] + 1)
        assert np.allclose(made["z"], want["z"], atol=1e-6) and np.allclose(made["pair"][0], want["pair"][0], atol=1e-6)
    assert np.array_equal(net(scale=0.5, x=x.numpy(), extra={"a": extra["a"].numpy()})["z"], made["z"] if kind is np.ndarray else made["z"].numpy())


@pytest.mark.parametrize("call, message", [
    (lambda net, x, e: net(x, 0.5), "argument 'extra' is missing"),
    (lambda net, x, e: net(extra=e), "argument 'x' is missing"),
    (lambda net, x, e: net(x, 0.25, extra=e), "argument 'scale' is 0.25; the function was exported for 0.5"),
    (lambda net, x, e: net(x, 0.5, extra=e, more=1), "exported without an argument 'more'; it has x, scale, extra"),
    (lambda net, x, e: net(x, 0.5, 1, extra=e), r"exported with 2 arguments by position \(x, scale\), 3 were given"),
    (lambda net, x, e: net(x, 0.5, extra={"b": 1}), "argument 'extra' is a dict with 'b'; it has to be a dict with 'a'"),
    (lambda net, x, e: net(x[0], 0.5, extra=e), "argument 'x' has 3 dimensions; the function was exported for 4"),
    (lambda net, x, e: net(x.double(), 0.5, extra=e), "input 0 is float64"),
    (lambda net, x, e: net(x[:, :2], 0.5, extra=e), "input 0 has shape"),
    (lambda net, x, e: net(x.repeat(33, 1, 1, 1), 0.5, extra=e), "dimension 0 of input 0 is 66; 'forward' takes 1 to 64"),
])
def test_other_arguments_are_refused(small, call, message):
    _, path, x, extra = small
    with pytest.raises(tilewright.ArgumentError, match=message):
        call(tilewright.load(path), x, extra)


def test_what_a_package_has(small):
    """Batch norm is in the convolution, shared storage is stored once, members lie aligned; the manifest says the form."""
    model, path, x, extra = small
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    program, = manifest["programs"]
    held = [name for name in program["names"] if name.startswith("held")]
    assert [n for n in program["names"] if n not in held] == ["x", "extra['a']", "first.bias", "second.weight", "second.bias"]
    assert len(held) == 2 and len(program["weights"]) == len({w["file"] for w in program["weights"]}) == 5
    assert [a["target"] for a in program["artifacts"]] == [tilewright.describe("cpu:host")["target"] + ":" + tilewright.describe("cpu:host")["chip"],
                                                         "nvidia:H200"]
    assert program["ranges"] == {"0": [1, 64]}
    assert program["data"]["call"]["leaves"][0] == {"name": "x", "input": 0, "order": [0, 1, 2, 3]}


def test_on_the_emulator(small):
    model, path, x, extra = small
    net = tilewright.load(path, target="nvidia:H200", device="emulator")
    with torch.no_grad():
        want = model(x, 0.5, extra=extra)
    assert np.allclose(net(x, 0.5, extra=extra)["z"], want["z"], atol=1e-5)


def test_a_vendors_target(small, tmp_path):
    plugin = os.path.join(os.environ["TILEWRIGHT_SDK"], "lib/tilewright/libtilewright-target-accelerator.so")
    if not os.path.exists(plugin):
        pytest.skip(f"there is no {plugin}")
    model, x = nn.Sequential(nn.Linear(16, 8), nn.ReLU()), torch.randn(4, 16)
    net = export(model, (x,), tmp_path / "v.tw", target=["cpu:host", "accelerator:npu"], plugins=[plugin], keep_source=True)
    with zipfile.ZipFile(tmp_path / "v.tw") as archive:
        artifacts = json.loads(archive.read("manifest.json"))["programs"][0]["artifacts"]
    assert [a["target"] for a in artifacts][1] == "accelerator:npu"
    chip = tilewright.load(tmp_path / "v.tw", target="accelerator:npu", device="emulator", plugins=[plugin])
    with torch.no_grad():
        assert torch.allclose(net(x), model(x), atol=1e-6) and torch.allclose(chip(x), model(x), atol=1e-5)
    with pytest.raises(tilewright.PackageError, match="accelerator:npu: it runs on a device"):
        tilewright.load(tmp_path / "v.tw", target="accelerator")


def launch(*arguments, expect=0):
    done = subprocess.run([LAUNCH, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == expect, done
    return done.stderr if expect else done.stdout


def test_tw_launch(small, tmp_path):
    model, path, x, extra = small
    np.save(tmp_path / "x.npy", x.numpy())
    np.save(tmp_path / "a.npy", extra["a"].numpy())
    exact = copy.deepcopy(model).double()
    with torch.no_grad():
        np.save(tmp_path / "z.npy", exact(x.double(), 0.5, extra=extra)["z"].numpy())
    launch(path, "--input", tmp_path / "x.npy", "--input", tmp_path / "a.npy", "--check-against", tmp_path / "z.npy")
    assert "size 0 of program 'forward' is 65; it is at most 64" in launch(path, "--size", 65, expect=1)


def test_the_example_in_c(tmp_path):
    """The package of examples/pytorch/ahead_of_time.py, by the program in C beside it."""
    folder = SOURCE / "examples/pytorch"
    made = subprocess.run([sys.executable, folder / "ahead_of_time.py", tmp_path], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0 and "largest error against float64" in made.stdout, made
    library = os.path.join(os.environ["TILEWRIGHT_SDK"], "lib")
    subprocess.run(["clang-22", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}/core/include", folder / "ahead_of_time.c", "-o",
                    tmp_path / "classify", f"-L{library}", "-ltilewright-runtime"], check=True)

    def classify(*arguments):
        return subprocess.run([tmp_path / "classify", *arguments], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "LD_LIBRARY_PATH": library})
    done = classify(tmp_path / "classifier.tw", "2")
    grey = tilewright.load(tmp_path / "classifier.tw")(np.full((1, 3, 64, 64), 0.5, np.float32))[0]
    assert "argument 0, input: of the caller" in done.stdout and "argument 1, 8.weight: of the package" in done.stdout, done
    assert done.stdout.endswith("".join(f"image {i}: class {grey.argmax()}, {grey.max():.4f}\n" for i in (0, 1))), done
    assert classify(tmp_path / "classifier.tw", "257").stderr == "classify: size 0 of program 'forward' is 257; it is at most 256\n"


@pytest.mark.parametrize("shapes", [None, ({0: Dim("rows", max=4096)},)], ids=["static", "dynamic"])
def test_weights_are_packed_once(shapes, tmp_path):
    """A package for this processor has the weights of products in packed form alone; results are those of weights as they are."""
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(512, 384), nn.ReLU(), nn.Linear(384, 256)).eval(), torch.randn(64, 512)
    net = export(model, (x,), tmp_path / "net.tw", dynamic_shapes=shapes)
    plain, packed, manifest = arrays_of(tmp_path / "net.tw")
    matrices = 4 * (512 * 384 + 384 * 256)
    assert plain == 4 * (384 + 256) and matrices <= packed <= 1.1 * matrices and manifest["format"] == 2
    assert {w.shape for w in net.only.weights.values()} == {(384,), (256,)} and net.only.names == ["input"]
    unbound = export(model, (x,), tmp_path / "plain.tw", bind=False, dynamic_shapes=shapes)
    assert arrays_of(tmp_path / "plain.tw")[:2] == (0, 0)
    for rows in (x, x[:5]) if shapes else (x,):
        exact = copy.deepcopy(model).double()(rows.double()).detach()
        for made in (net(rows), unbound(rows, weights=model.state_dict())):
            assert (made.double() - exact).abs().max() < 1e-5
    launch(tmp_path / "net.tw", *(["--size", 3] if shapes else []))


def test_strides(tmp_path):
    """Arguments that lie in another order go in without a copy, results come as eager's strides say."""
    def turned(x):
        return x.transpose(1, 2) * 2, x.contiguous(memory_format=torch.channels_last) + 1
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    net, want = export(turned, (x,), tmp_path / "t.tw"), turned(x)
    made = net(x)
    for m, w in zip(made, want):
        assert torch.equal(m, w) and m.stride() == w.stride()
    assert net.only.data["call"]["leaves"][0]["order"] == [0, 2, 3, 1]


class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x, cache):
        cache.add_(x)
        return x * self.weight, cache, x


class Counts(Writes):
    def forward(self, x):
        self.total += x
        return self.total * self.weight


def test_arguments_that_are_written_and_returned(tmp_path):
    net = export(Writes(), (torch.ones(3), torch.zeros(3)), tmp_path / "w.tw")
    for make in (torch.tensor, np.array):
        x, cache = make([1.0, 2.0, 3.0], dtype=torch.float32 if make is torch.tensor else np.float32), np.ones(3, np.float32)
        cache = torch.from_numpy(cache) if make is torch.tensor else cache
        y, other, same = net(x, cache)
        assert list(y) == list(x) == list(same) and list(cache) == list(other) == [2, 3, 4]
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(tilewright.ArgumentError, match="the function writes to argument 'cache'"):
        net(np.ones(3, np.float32), frozen)


def test_buffers_that_are_written(tmp_path):
    with pytest.raises(tilewright.torch.UnsupportedError, match="writes to its buffer 'total'.* bind=False"):
        export(Counts(), (torch.ones(3),), tmp_path / "c.tw")
    assert not list(tmp_path.iterdir())
    net = export(Counts(), (torch.ones(3),), tmp_path / "c.tw", bind=False)
    state = Counts().state_dict()
    assert torch.equal(net(torch.ones(3), weights=state), torch.ones(3)) and torch.equal(state["total"], torch.ones(3))
    assert torch.equal(net(torch.ones(3), weights=state), torch.full((3,), 2.0))


def test_weights_of_the_callers(tmp_path):
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)).eval()
    x = torch.randn(3, 4)
    net = export(model, (x,), tmp_path / "f.tw", bind=False)
    order = [name for name in [*dict(model.named_parameters()), *dict(model.named_buffers())] if not name.endswith("tracked")]
    assert net.only.names == ["input", *order] and net.only.weights == {}
    other = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)).eval()
    with torch.no_grad():
        assert torch.allclose(net(x, weights=other.state_dict()), other(x), atol=1e-6)
    with pytest.raises(tilewright.ArgumentError, match="no weights of its own; give 0.weight, 0.bias, 1.weight, 1.bias and 4 more by name"):
        net(x)
    with pytest.raises(tilewright.OptionError, match="freeze=True computes what follows from the weights"):
        export(model, (x,), tmp_path / "g.tw", bind=False, freeze=True)


Point = collections.namedtuple("Point", "x y")


def test_named_tuples_and_integers(tmp_path):
    """An integer that is dynamic is passed as an array of one; a namedtuple comes back as one of the same fields."""
    net = export(lambda x, n: Point(n + 1, x[:1] * n), (torch.ones(4), 3), tmp_path / "n.tw", dynamic_shapes=(None, Dim.DYNAMIC))
    made = net(np.ones(4, np.float32), 5)
    assert type(made).__name__ == "Point" and made.x == 6 and made.y == [5]


def test_random_numbers(tmp_path):
    net = export(lambda x: x + torch.rand(4), (torch.zeros(4),), tmp_path / "r.tw")
    x = np.zeros(4, np.float32)
    assert np.array_equal(net(x, seed=1), net(x, seed=1)) and not np.array_equal(net(x), net(x))


def test_derived_sizes(tmp_path):
    """A dimension that is twice another; one size of two arguments."""
    half = Dim("half", min=1, max=16)
    net = export(lambda x, y: (x.view(2, -1) * 2, y + x[:y.shape[0]]), (torch.ones(8), torch.ones(4)), tmp_path / "d.tw",
                 dynamic_shapes=({0: 2 * half}, {0: half}))
    made = net(np.ones(6, np.float32), np.ones(3, np.float32))
    assert made[0].shape == (2, 3) and made[1].tolist() == [2, 2, 2]
    with pytest.raises(tilewright.ArgumentError, match=r"sizes \(6, 4\) disagree"):
        net(np.ones(6, np.float32), np.ones(4, np.float32))
    net = export(lambda x: x.view(-1, 4).sum(1), (torch.ones(8),), tmp_path / "q.tw", dynamic_shapes=({0: 4 * Dim("quarter", max=9)},))
    assert net(np.ones(12, np.float32)).tolist() == [4, 4, 4]


@pytest.mark.parametrize("function, args, message", [
    (lambda x: torch.fft.fft(x).real, (torch.ones(4),), r"(?s)aten::_fft_r2c at .*test_export.py:\d+: .*is one program"),
    (lambda x: x.nonzero(), (torch.ones(4),), r"aten::nonzero at .*test_export.py:\d+"),
    (lambda x: x + 1 if x.sum() > 0 else x, (torch.ones(4),), "torch.export does not capture this model: "),
    (lambda x: x.new_zeros(int(x[0])), (torch.ones(4),), "a result has a size that follows from values|does not capture"),
])
def test_what_is_not_compiled(function, args, message, tmp_path):
    with pytest.raises(tilewright.torch.UnsupportedError, match=message):
        export(function, args, tmp_path / "u.tw")
    assert not list(tmp_path.iterdir()), "nothing half-written"


def test_reproducible(tmp_path):
    net = export(nn.Linear(8, 4), (torch.ones(2, 8),), tmp_path / "r.tw", fp="reproducible", threads=1)
    assert net(torch.ones(2, 8)).shape == (2, 4)


@pytest.mark.parametrize("options, message", [
    ({"target": "cpu:hots"}, "hots"),
    ({"target": []}, "names no chip"),
    ({"fp": "fats"}, "'fats'"),
])
def test_options(options, message, tmp_path):
    with pytest.raises((tilewright.OptionError, ValueError), match=message):
        export(torch.relu, (torch.ones(4),), tmp_path / "o.tw", **options)


def test_examples_that_do_not_fit(tmp_path):
    with pytest.raises(tilewright.torch.UnsupportedError, match="In the example a dynamic size has to be 2 or more"):
        export(torch.relu, (torch.ones(1, 4),), tmp_path / "o.tw", dynamic_shapes=({0: Dim("batch")},))
    with pytest.raises(tilewright.OptionError, match="args is a Tensor; it has to be the tuple"):
        tilewright.torch.export(torch.relu, torch.ones(4), tmp_path / "o.tw")


def test_a_training_model_says_what_to_do(tmp_path):
    with pytest.raises(tilewright.torch.UnsupportedError, match=r"writes to its buffer .*running_mean.*call model.eval\(\) first"):
        export(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), (torch.ones(2, 3, 8, 8),), tmp_path / "t.tw")


def test_of_an_exported_program(tmp_path):
    """What torch.export gave before, unchanged afterwards."""
    model = nn.LSTM(4, 8, batch_first=True).eval()
    x = torch.randn(2, 5, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(model, (x,))
    before = [str(n.target) for n in exported.graph.nodes]
    net = export(exported, (x,), tmp_path / "p.tw")
    assert before == [str(n.target) for n in exported.graph.nodes]
    with torch.no_grad():
        for made, want in zip(torch.utils._pytree.tree_leaves(net(x)), torch.utils._pytree.tree_leaves(model(x))):
            assert torch.allclose(made, want, atol=1e-6)


def test_narrow_types(tmp_path):
    """bf16 weights are stored as they are; a quantised weight stays 8 bits wide."""
    model = nn.Linear(64, 32, dtype=torch.bfloat16)
    x = torch.randn(3, 64, dtype=torch.bfloat16)
    net = export(model, (x,), tmp_path / "b.tw")
    assert torch.equal(net(x), model(x).detach()) and (tmp_path / "b.tw").stat().st_size < 64 * 32 * 2 + 60000


def test_quantised(tmp_path):
    """Zero points of weights are known, so that products run on integers; weights stay 8 bits wide."""
    quantised = pytest.importorskip("quantised")
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32)).eval()
    x = torch.randn(8, 64)
    model = quantised.quantise(model, [x], quantised.x86())
    net = export(model, (x,), tmp_path / "q.tw", keep_source=True)
    with torch.no_grad():
        assert (net(x) - model(x)).abs().max() < 0.02
    with zipfile.ZipFile(tmp_path / "q.tw") as archive:
        assert " i32" in archive.read("sources/0.mlir").decode() and {str(w.dtype) for w in net.only.weights.values()} >= {"int8"}
