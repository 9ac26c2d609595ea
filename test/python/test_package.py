"""Packages: round trips, alignment, mapping, several targets, damage, foreign machines."""

import json
import mmap
import os
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import tilewright
from sample_programs import LINEAR, MATMUL, elementwise

RANDOM = np.random.default_rng(2)


def data(*shape, dtype=np.float32):
    return (RANDOM.integers(-8, 8, shape) / 8).astype(dtype)


W, B = data(8, 4), data(4)


@pytest.fixture
def linear(tmp_path):
    """linear.tw with its weights."""
    path = tmp_path / "linear.tw"
    entry = tilewright.Entry([tilewright.build(LINEAR)], weights={1: W, 2: B}, names=["x", "w", "b"], ranges={0: (1, 64)},
                             data={"tree": [1, 2]})
    tilewright.save(path, entry, data={"made": "by a test"})
    return path


def test_round_trip(linear):
    package = tilewright.load(linear)
    x = data(5, 8)
    assert np.array_equal(package(x), x @ W + B)
    program = package["linear"]
    assert [str(a) for a in program.signature.inputs] == ["f32[n0,8]"] and program.names == ["x"]
    assert program.data == {"tree": [1, 2]} and package.data == {"made": "by a test"}
    assert np.array_equal(program.weights[1], W)
    y = np.empty((5, 4), np.float32)
    program.launch(5, x.ctypes.data, y.ctypes.data)
    assert np.array_equal(y, x @ W + B)


def test_ranges(linear):
    package = tilewright.load(linear)
    assert package(data(64, 8)).shape == (64, 4)
    with pytest.raises(tilewright.ArgumentError, match="dimension 0 of input 0 is 65; 'linear' takes 1 to 64"):
        package(data(65, 8))


def test_members_are_aligned_and_stored(linear):
    with zipfile.ZipFile(linear) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert sorted(names) == ["artifacts/0.so", "manifest.json", "weights/0", "weights/1"]
        raw = linear.read_bytes()
        for info in archive.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            header = raw[info.header_offset:info.header_offset + 30]
            begin = info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
            assert begin % 64 == 0
            if info.filename == "weights/0":
                assert raw[begin:begin + W.nbytes] == W.tobytes()


def test_same_package_same_bytes(tmp_path):
    for name in ("a.tw", "b.tw"):
        tilewright.save(tmp_path / name, tilewright.Entry([tilewright.build(LINEAR)], weights={1: W, 2: B}))
    assert (tmp_path / "a.tw").read_bytes() == (tmp_path / "b.tw").read_bytes()


def test_weights_are_mapped(tmp_path):
    """Opening reads the directory and the code; pages of weights stay on disk until they are used."""
    big = np.ones((1 << 22, 8), np.float32) # 128 MiB
    path = tmp_path / "big.tw"
    text = elementwise(shape=f"{1 << 22}x8")
    tilewright.save(path, tilewright.Entry([tilewright.build(text)], weights={1: big}))
    del big
    code = ("import resource, sys, tilewright\n"
            "import numpy as np\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "package = tilewright.load(sys.argv[1])\n"
            "assert package.only.weights[1].ctypes.data % 64 == 0\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n")
    result = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=True)
    assert int(result.stdout) < 32 << 10, "KiB"


def test_opening_needs_no_compiler(linear):
    code = ("import sys, tilewright, numpy as np\n"
            "from tilewright import _sdk\n"
            "def refuse(*_): raise AssertionError('the compiler was loaded')\n"
            "_sdk.load = refuse\n"
            "print(tilewright.load(sys.argv[1])(np.ones((2, 8), np.float32)).shape)\n")
    result = subprocess.run([sys.executable, "-c", code, str(linear)], capture_output=True, text=True, timeout=60,
                            env={**os.environ, "TILEWRIGHT_SDK": "/nowhere"})
    assert result.stdout.strip() == "(2, 4)", result


def test_several_programs_share_weights(tmp_path):
    add = tilewright.build(elementwise(name="add"))
    multiply = tilewright.build(elementwise(operation="arith.mulf", name="multiply"))
    weight, x = data(4, 8), data(4, 8)
    path = tmp_path / "two.tw"
    tilewright.save(path, {"add": tilewright.Entry([add], weights={1: weight}),
                           "multiply": tilewright.Entry([multiply], weights={1: weight})})
    package = tilewright.load(path)
    assert np.array_equal(package["add"](x), x + weight) and np.array_equal(package["multiply"](x), x * weight)
    with zipfile.ZipFile(path) as archive:
        assert sum(name.startswith("weights/") for name in archive.namelist()) == 1
    with pytest.raises(tilewright.PackageError, match=r"has 2 programs \(add, multiply\): name one"):
        package(x)
    with pytest.raises(tilewright.PackageError, match="has no program 'ad'; it has add, multiply"):
        package["ad"]


def test_several_targets(tmp_path):
    path = tmp_path / "mm.tw"
    artifacts = [tilewright.build(MATMUL, target=target) for target in ("nvidia:H200", "cpu:host", "amd:MI300X")]
    w = data(32, 64, dtype=np.float16)
    tilewright.save(path, tilewright.Entry(artifacts, weights={1: w}, keep_source=True))
    a = data(64, 32, dtype=np.float16)
    expected = a.astype(np.float32) @ w.astype(np.float32)
    assert np.array_equal(tilewright.load(path)(a), expected)
    assert np.array_equal(tilewright.load(path, target="amd:MI300X", device="emulator")(a), expected)
    with pytest.raises(tilewright.PackageError, match="no code of 'mm' for this machine; nvidia:H200: it runs on a device"):
        tilewright.load(path, target="nvidia")


def changed(linear, change, **members):
    """The package with a changed manifest."""
    path = linear.with_name("changed.tw")
    with zipfile.ZipFile(linear) as old, zipfile.ZipFile(path, "w") as new:
        for info in old.infolist():
            contents = old.read(info)
            if info.filename == "manifest.json":
                manifest = json.loads(contents)
                change(manifest)
                contents = json.dumps(manifest).encode()
            new.writestr(info.filename, contents)
    return path


@pytest.mark.parametrize("change, message", [
    (lambda m: m.update(format=3), "has format 3; this version .* reads formats up to 2: take a newer one"),
    (lambda m: m["programs"][0]["artifacts"][0].update(triple="riscv64-unknown-linux-gnu"),
     "no code of 'linear' for this machine; cpu:.*: its code is for riscv64, this machine is"),
    (lambda m: m["programs"][0]["artifacts"][0].update(needs=["avx1024", "sse2"]), "this machine lacks avx1024"),
    (lambda m: m["programs"][0].pop("weights"), "its manifest is damaged"),
    (lambda m: m["programs"][0]["weights"][0].update(file="weights/7"), "it has no member 'weights/7'"),
    (lambda m: m["programs"][0]["weights"][0].update(file="weights/1"), "'weights/1' has 16 bytes, the program takes"),
])
def test_packages_of_others(linear, change, message):
    with pytest.raises(tilewright.PackageError, match=message):
        tilewright.load(changed(linear, change))


def test_truncated_at_any_length(linear):
    good = linear.read_bytes()
    path = linear.with_name("short.tw")
    for length in [*range(0, len(good), max(1, len(good) // 60)), len(good) - 1]:
        path.write_bytes(good[:length])
        with pytest.raises(tilewright.PackageError):
            tilewright.load(path)


def test_damaged_code_is_refused(linear):
    good = bytearray(linear.read_bytes())
    with zipfile.ZipFile(linear) as archive:
        info = archive.getinfo("artifacts/0.so")
        good[info.header_offset + 8000] ^= 1
    path = linear.with_name("damaged.tw")
    path.write_bytes(good)
    with pytest.raises(tilewright.PackageError, match="does not have its checksum|is damaged"):
        tilewright.load(path)


def test_random_damage_is_an_error_or_nothing(linear):
    """A changed byte is refused, or lies where it changes no code: in weights or padding."""
    good = linear.read_bytes()
    path = linear.with_name("damaged.tw")
    for at in RANDOM.integers(0, len(good), 150):
        bad = bytearray(good)
        bad[at] ^= 0x55
        path.write_bytes(bad)
        try:
            assert tilewright.load(path)(data(2, 8)).shape == (2, 4)
        except tilewright.PackageError:
            pass
        except tilewright.ArgumentError:
            pytest.fail(f"byte {at} is in no checksum")


def test_no_such_file(tmp_path):
    with pytest.raises(tilewright.PackageError, match="cannot read .*nothing.tw: No such file"):
        tilewright.load(tmp_path / "nothing.tw")


@pytest.mark.parametrize("entry, message", [
    (lambda: tilewright.Entry([]), "has no artifact"),
    (lambda: tilewright.Entry([tilewright.build(LINEAR)], weights={9: W}), "has 3 inputs; there is no input 9"),
    (lambda: tilewright.Entry([tilewright.build(LINEAR)], weights={1: W.T.copy()}), r"has shape \(4, 8\); the program takes"),
    (lambda: tilewright.Entry([tilewright.build(LINEAR)], names=["x"]), "3 inputs and 1 names"),
    (lambda: tilewright.Entry([tilewright.build(LINEAR), tilewright.build(elementwise())]), "one program has one interface"),
])
def test_entries_that_make_no_package(tmp_path, entry, message):
    with pytest.raises(tilewright.PackageError, match=message):
        tilewright.save(tmp_path / "x.tw", entry())
    assert not list(tmp_path.iterdir()), "nothing half-written"


def test_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(tilewright.PackageError, match="cannot write .*No such file"):
        tilewright.save(tmp_path / "none" / "x.tw", tilewright.Entry([tilewright.build(LINEAR)]))


def test_needed_features():
    """As the kernel of Linux calls them; a name for a set of others is none of its own."""
    from tilewright.artifact import Artifact
    codegen = {"triple": "x86_64-pc-linux-gnu", "cpu": "graniterapids", "features": "+64bit,+avx10.1,+avx512f,+avx512vnni,+amx-bf16,+sse4.1,-avx10.2"}
    assert Artifact(None, "so", "cpu:host", codegen).needs == ["amx_bf16", "avx512_vnni", "avx512f", "sse4_1"]
