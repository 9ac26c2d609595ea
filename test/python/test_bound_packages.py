"""Packages of programs that bind constant inputs: the packed form in the file, several targets, damage, memory."""

import json
import platform
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import tilewright
from sample_programs import constant_product as product
from tilewright.artifact import refusal

RANDOM = np.random.default_rng(5)
M, K, N = 16, 96, 80


def data(*shape):
    return (RANDOM.integers(-8, 8, shape) / 8).astype(np.float32)


X, W = data(M, K), data(K, N)


def saved(path, *targets, text=None, **options):
    artifacts = [tilewright.build(text or product(), target=target) for target in targets or ("cpu:host",)]
    tilewright.save(path, tilewright.Entry(artifacts, weights={1: W}, names=["x", "w"], **options))
    return path


@pytest.fixture
def one(tmp_path):
    return saved(tmp_path / "one.tw")


def members(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("manifest.json")), {i.filename: i.file_size for i in archive.infolist()}


def test_the_packed_form_takes_the_place_of_the_array(one):
    """The weight is in the file once, packed; results are those of the program that reads it as it is, bit for bit."""
    manifest, files = members(one)
    assert sorted(files) == ["artifacts/0.so", "bound/0", "manifest.json"] and W.nbytes <= files["bound/0"] < 1.3 * W.nbytes
    assert manifest["format"] == 2
    (facts,) = manifest["programs"]
    assert facts["weights"] == [{"input": 1}] and facts["artifacts"][0]["bound"] == "bound/0"
    assert [a["type"] for a in facts["signature"]["arguments"]] == ["f32", "f32", "f32"] and "bind" not in facts["signature"]
    assert facts["artifacts"][0]["signature"]["bind"]["releases"] == [1]
    package = tilewright.load(one)
    assert package.only.names == ["x"] and package.only.weights == {} and str(package.only.signature) == f"product(f32[{M},{K}]) -> f32[{M},{N}]"
    x = RANDOM.standard_normal((M, K)).astype(np.float32)
    assert np.array_equal(package(x), tilewright.compile(product(force="bound_vectors=0"))(x, W))


def test_the_same_bytes(one, tmp_path):
    assert saved(tmp_path / "again.tw").read_bytes() == one.read_bytes()


def test_without_bound_inputs_older_readers_read_it(tmp_path):
    manifest, files = members(saved(tmp_path / "plain.tw", text=product(force="bound_vectors=0")))
    assert manifest["format"] == 1 and "weights/0" in files and "signature" not in manifest["programs"][0]["artifacts"][0]


def test_what_is_read_as_it_is_stays(tmp_path):
    path = saved(tmp_path / "both.tw", text=product(also="transposed"))
    manifest, files = members(path)
    assert {"bound/0", "weights/0"} < set(files) and manifest["programs"][0]["artifacts"][0]["signature"]["bind"]["releases"] == []
    y, w = tilewright.load(path)(X)
    assert np.array_equal(y, X @ W) and np.array_equal(w, W.T)


def test_code_of_another_architecture_packs_when_it_is_loaded(tmp_path):
    """What cannot be packed here goes along as it is."""
    other = "cpu:x86-64" if platform.machine() == "aarch64" else "cpu:neoverse-v1"
    manifest, files = members(saved(tmp_path / "other.tw", other))
    (facts,) = manifest["programs"]
    assert sorted(files) == ["artifacts/0.so", "manifest.json", "weights/0"] and files["weights/0"] == W.nbytes
    assert facts["artifacts"][0]["signature"]["bind"]["releases"] == [1] and facts["weights"] == [{"input": 1, "file": "weights/0"}]


def test_several_targets(tmp_path):
    """Each processor's code has its own packed form, or packs when it is loaded; a device reads the array."""
    targets = ["cpu:host", "nvidia:H200", "cpu:x86-64-v3", "cpu:neoverse-v1"]
    path = saved(tmp_path / "several.tw", *targets, keep_source=True)
    manifest, files = members(path)
    (facts,) = manifest["programs"]
    here = {a["target"]: a for a in facts["artifacts"]}
    assert "weights/0" in files and "signature" not in here["nvidia:H200"] and "signature" in here["cpu:neoverse-v1"]
    for target in targets:
        if not target.startswith("cpu"):
            continue
        facts = next(facts for name, facts in here.items() if name == target or target == "cpu:host" and "bound" in facts)
        if refusal(facts["triple"], facts["needs"]):
            assert "bound" not in facts
            with pytest.raises(tilewright.PackageError, match="its code is for|this machine lacks"):
                tilewright.load(path, target=target)
        else:
            assert facts["bound"] in files and np.array_equal(tilewright.load(path, target=facts["target"])(X), X @ W)
    assert np.array_equal(tilewright.load(path, target="nvidia:H200", device="emulator")(X), X @ W)
    assert np.array_equal(tilewright.load(path, target="cpu:x86-64")(X), X @ W), "compiled from the source, packed when it was loaded"


def test_programs_share_the_packed_form(tmp_path):
    artifact = tilewright.build(product())
    tilewright.save(tmp_path / "two.tw", {name: tilewright.Entry([artifact], weights={1: W}) for name in ("encode", "decode")})
    assert sum(name.startswith("bound/") for name in members(tmp_path / "two.tw")[1]) == 1
    assert np.array_equal(tilewright.load(tmp_path / "two.tw")["decode"](X), X @ W)


def changed(package, change, **contents):
    """The package with another manifest, and members with other contents (None: without)."""
    path = package.with_name("changed.tw")
    with zipfile.ZipFile(package) as old, zipfile.ZipFile(path, "w") as new:
        for info in old.infolist():
            member = contents.get(info.filename.split("/")[0], old.read(info))
            if info.filename == "manifest.json":
                manifest = json.loads(member)
                change(manifest, manifest["programs"][0], manifest["programs"][0]["artifacts"][0])
                member = json.dumps(manifest).encode()
            if member is not None:
                new.writestr(info.filename, member)
    return path


def test_bound_when_it_is_loaded(tmp_path):
    """Code for which nothing was packed packs here, if the package has the arrays."""
    path = changed(saved(tmp_path / "source.tw", keep_source=True), lambda m, p, a: a.pop("bound"), bound=None)
    assert "bound/0" not in members(path)[1]
    assert np.array_equal(tilewright.load(path)(X), X @ W)


def nothing(*_):
    pass


@pytest.mark.parametrize("change, contents, message", [
    (lambda m, p, a: m.update(format=3), {}, "has format 3; this version .* reads formats up to 2: take a newer one"),
    (nothing, {"bound": None}, "is no intact package: it has no member 'bound/0'"),
    (nothing, {"bound": b"short"}, "is no intact package: 'bound/0' has 5 bytes, the program takes i8"),
    (lambda m, p, a: a.pop("bound"), {}, "'product' has no array for input 1, which its code for cpu:.* reads"),
    (lambda m, p, a: a.pop("signature"), {}, "'product' has no array for input 1, which its code for cpu:.* reads"),
    (lambda m, p, a: a["signature"].pop("bind"), {}, "'product' has no array for input 1, which its code for cpu:.* reads"),
    (lambda m, p, a: a["signature"]["bind"].pop("releases"), {}, "its manifest is damaged"),
    (lambda m, p, a: a.update(triple="riscv64-unknown-linux-gnu"), {}, "its code is for riscv64, this machine is"),
])
def test_damaged_and_missing(one, change, contents, message):
    with pytest.raises(tilewright.PackageError, match=message):
        tilewright.load(changed(one, change, **contents))


def test_truncated(one):
    good, path = one.read_bytes(), one.with_name("short.tw")
    for length in range(100, len(good), len(good) // 40):
        path.write_bytes(good[:length])
        with pytest.raises(tilewright.PackageError, match="is no intact package"):
            tilewright.load(path)


def test_a_package_needs_the_array_of_a_packed_input(tmp_path):
    with pytest.raises(tilewright.PackageError, match="input 1 of 'product' is marked with tilewright.constant and cpu:.* packs it, so the package"):
        tilewright.save(tmp_path / "x.tw", tilewright.Entry([tilewright.build(product())]))
    assert not list(tmp_path.iterdir()), "nothing half-written"


def test_memory(tmp_path):
    """Loading and a call take the packed bytes from the file: at most 1.2 x the weight, which is not read twice."""
    k, n = 4096, 4096  # 64 MiB
    w = np.ones((k, n), np.float32)
    tilewright.save(tmp_path / "big.tw", tilewright.Entry([tilewright.build(product(1, k, n))], weights={1: w}))
    code = ("import re, sys, numpy as np, tilewright\n"
            "def peak(): return int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) << 10\n"
            "def anonymous(): return int(re.search(r'RssAnon:\\s+(\\d+)', open('/proc/self/status').read())[1]) << 10\n"
            "x, before, own = np.ones((1, 4096), np.float32), peak(), anonymous()\n"
            "package = tilewright.load(sys.argv[1])\n"
            "opened = peak()\n"
            "assert (package(x) == 4096).all()\n"
            "print(opened - before, peak() - before, anonymous() - own)\n")
    result = subprocess.run([sys.executable, "-c", code, str(tmp_path / "big.tw")], capture_output=True, text=True, timeout=60, check=True)
    opened, called, own = map(int, result.stdout.split())
    assert opened < 8 << 20, "mapped, not read"
    assert called <= 1.2 * w.nbytes and own < 8 << 20, "no copy"
