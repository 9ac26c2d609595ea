"""A disk that is full: every command that writes says so in one message, exits with 1, and leaves nothing half-written."""

import os
import pathlib
import shutil
import subprocess

import numpy
import pytest

from conftest import BUILD, SOURCE
from artifacts import DRIVERS, artifact, program

ACCELERATOR = [f"--load-target={BUILD / 'lib/tilewright/libtilewright-target-accelerator.so'}", "--target=accelerator"]
LAYER = SOURCE / "templates/accelerator/test/layer.mlir"
BLUR = SOURCE / "examples/blur.mlir"
MLP = SOURCE / "examples/mlp-f32.mlir"
BLOCK = SOURCE / "examples/feed-forward-f32.mlir"
RECORDS = ["-target=accelerator", f"-I={SOURCE}", f"-I={SOURCE / 'templates/accelerator'}",
           SOURCE / "templates/accelerator/Chips.td"]
#: A disk of one page, and what each command would write there. Outputs shorter than a page find it filled.
PAGE = os.sysconf("SC_PAGE_SIZE")
COMMANDS = {
    "object": ["tw-compile", MLP, "-o", "{disk}/x.o"],
    "library": ["tw-compile", MLP, "-o", "{disk}/x.so"],
    "llvm": ["tw-compile", MLP, "-o", "{disk}/x.ll"],
    "source": ["tw-compile", LAYER, *ACCELERATOR, "-o", "{disk}/x.c"],
    "artifact": ["tw-compile", MLP, "--target=nvidia:A100", "-o", "{disk}/x.tw"],
    "stages": ["tw-compile", BLOCK, "--dump-stages", "{disk}"],
    "result": ["tw-run", BLUR, "--output", "{disk}/x.npy"],
    "trace": ["tw-run", LAYER, *ACCELERATOR, "--device=emulator", "--trace", "{disk}/x.json"],
    "passes": ["tw-opt", BLOCK, "-o", "{disk}/x.mlir"],
    "tables": ["tw-tblgen", "-gen-tables", *RECORDS, "-o", "{disk}/x.inc"],
    "reference": ["tw-tblgen", "-gen-reference", *RECORDS, "-o", "{disk}/x.md"],
    "project": ["tw-new-target", "acme", "--kind=simt", "--dir", "{disk}/acme"],
    "page": ["tw-conformance", *ACCELERATOR, "--filter=unit/*", "--html", "{disk}/x.html"],
    "cases": ["tw-conformance", *ACCELERATOR, "--filter=transpose/*", "--jobs=1", "--keep", "{disk}/cases"],
}
SHORT = {"passes", "reference", "stages"}


def can_mount():
    return shutil.which("unshare") and subprocess.run(
        ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=4k none /mnt"], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def mounts():
    if not can_mount():
        pytest.skip("cannot mount a file system of its own (not root)")


@pytest.mark.parametrize("name", COMMANDS)
def test_full_disk(mounts, tmp_path, name):
    disk = tmp_path / "disk"
    disk.mkdir()
    command = [str(BUILD / "bin" / COMMANDS[name][0]), *(str(word).format(disk=disk) for word in COMMANDS[name][1:])]
    fill = f"head -c {PAGE} /dev/zero > {disk}/zeros" if name in SHORT else "true"
    # Only this process and its children see the disk.
    script = f'mount -t tmpfs -o size={PAGE} none {disk} && {fill} && "$@" >{tmp_path}/out 2>{tmp_path}/err; status=$?; ' \
             f"find {disk} -mindepth 1 ! -name zeros >{tmp_path}/left; exit $status"
    result = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *command], cwd=tmp_path, timeout=300)
    message, left = (tmp_path / "err").read_text(), (tmp_path / "left").read_text().splitlines()
    if name == "cases":  # a case whose files cannot be kept has failed, with that reason
        message += (tmp_path / "out").read_text()
    assert "No space left on device" in message, message
    if name == "cases":  # the folder may stay, a file in it only if it is whole: the smallest ones fit
        assert result.returncode in (1, 2)
        left = [path for path in left if ".tmp" in pathlib.Path(path).name]
    else:
        assert result.returncode == 1, message
        who = f"{BLOCK}:0:0" if name == "stages" else COMMANDS[name][0]
        assert f"{who}: error: cannot write " in message, message
        assert message.count("error:") == 1, message
    assert not left


def on_small_disk(tmp_path, command, **environment):
    """Runs the command where `tmp_path`/disk holds one page; its exit status, its messages, and what it left there."""
    disk = tmp_path / "disk"
    disk.mkdir()
    # Only this process and its children see the disk.
    script = f'mount -t tmpfs -o size={PAGE} none {disk} && "$@" >{tmp_path}/out 2>{tmp_path}/err; status=$?; ' \
             f"find {disk} -mindepth 1 >{tmp_path}/left; exit $status"
    result = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *map(str, command)], cwd=tmp_path, timeout=300,
                            env={**os.environ, **environment})
    return result.returncode, (tmp_path / "err").read_text(), (tmp_path / "left").read_text().split()


@pytest.mark.parametrize("option", ["--output", "--save-input"])
def test_launch_on_a_full_disk(mounts, tmp_path, option):
    """tw-launch by the driver of the tests: an array that the disk does not hold."""
    path = artifact(tmp_path / "four.tw", [program()])
    numpy.save(tmp_path / "x.npy", numpy.arange(PAGE, dtype=numpy.float32))
    status, message, left = on_small_disk(
        tmp_path, [BUILD / "bin/tw-launch", path, "--input", tmp_path / "x.npy", option, tmp_path / "disk/y.npy"],
        LD_LIBRARY_PATH=str(DRIVERS), FAKE_LOG=str(tmp_path / "log"), FAKE_KERNELS=str(DRIVERS / "kernels.so"))
    assert status == 1 and not left
    assert message == f"tw-launch: error: cannot write '{tmp_path}/disk/y.npy': No space left on device\n"


@pytest.mark.parametrize("command", [
    ["tw-targets"], ["tw-targets", "cpu"], ["tw-targets", "cpu:zen4", "--html"], ["tw-targets", "cpu:zen4", "--json"],
    ["tw-opt", MLP], ["tw-compile", MLP, "--explain=html"], ["tw-compile", MLP, "-o", "-"], ["tw-run", BLUR],
    ["tw-tblgen", "-gen-reference", *RECORDS], ["tw-conformance", *ACCELERATOR, "--list"],
    ["tw-conformance", *ACCELERATOR, "--filter=unit/*", "--json"], ["tw-launch", "--help"]], ids=lambda c: "-".join(c[:1] + [
        str(word).strip("-") for word in c[1:] if str(word).startswith("--") and "=" not in str(word)]))
def test_full_standard_output(command):
    with open("/dev/full", "w") as full:
        result = subprocess.run([str(BUILD / "bin" / command[0]), *map(str, command[1:])], stdout=full,
                                stderr=subprocess.PIPE, text=True, timeout=300)
    if command[-2:] == ["-o", "-"]:
        assert result.returncode == 1 and "cannot tell what '-' shall be" in result.stderr, result
        return
    assert result.returncode == 1, result
    assert f"{command[0]}: error: cannot write" in result.stderr and "No space left on device" in result.stderr, result.stderr
    assert result.stderr.count("error:") == 1, result.stderr
