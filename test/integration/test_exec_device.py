"""Devices behind the pipe protocol (docs/device-protocol.md): another process runs programs, or goes wrong."""

import json
import subprocess
import sys

import pytest

from conftest import BUILD, SOURCE

HOST = f"exec:{sys.executable} {SOURCE}/test/integration/exec_device.py"
EMULATED = f"exec:{BUILD}/bin/tilewright-emulated-device"
PROGRAM = """func.func @scores(%a: tensor<?x48xf32>, %b: tensor<48x20xf32>) -> tensor<?x20xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x48xf32>
  %empty = tensor.empty(%m) : tensor<?x20xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x20xf32>) -> tensor<?x20xf32>
  %c = linalg.matmul ins(%a, %b : tensor<?x48xf32>, tensor<48x20xf32>)
                     outs(%init : tensor<?x20xf32>) -> tensor<?x20xf32>
  return %c : tensor<?x20xf32>
}
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "scores.mlir"
    path.write_text(PROGRAM)
    return path


def test_another_process_runs_the_program(tool, program, tmp_path):
    result = json.loads(tool("tw-run", program, "--sizes=19", "--device", HOST, "--verify", "--benchmark", "--json",
                             "--output", tmp_path / "there.npy"))
    assert result["verify"]["passed"] and result["benchmark"]["seconds"] > 0
    assert result["device"]["name"] == "this process, for cpu:host"
    assert result["device"]["counters"]["calls"] == 1
    tool("tw-run", program, "--sizes=19", "--output", tmp_path / "here.npy")
    assert (tmp_path / "there.npy").read_bytes() == (tmp_path / "here.npy").read_bytes()


@pytest.mark.parametrize("chip", ["amd:MI300X", "nvidia:A100"])
def test_launches_go_through_the_pipe(tool, program, chip):
    result = json.loads(tool("tw-run", program, "--sizes=19", "--target", chip, "--device", f"{EMULATED} {chip}",
                             "--verify", "--json"))
    assert result["verify"]["passed"] and result["device"]["name"] == f"emulator of {chip}"
    assert result["device"]["counters"]["kernels"][0]["blocks"] > 0


def test_conformance_through_the_pipe(tool):
    report = json.loads(tool("tw-conformance", "--device", HOST, "--json", "--filter=unit/*fma_f32*",
                             "--filter=contraction/*/33x47x29/*", "--filter=performance/*f32.f32.f32*"))
    assert report["passed"] == len(report["cases"]) and report["device"] == HOST
    timed = [case for case in report["cases"] if case["family"] == "performance"]
    assert len(timed) == 1 and timed[0]["seconds"] > 0


FAULTS = {
    "hang-hello": "gave no answer within 8 seconds (request 'hello')",
    "hang-launch": "gave no answer within 8 seconds (request 'launch')",
    "die-load": "ended with status 3 (request 'load')",
    "die-wait": "ended with status 3 (request 'wait')",
    "garbage": "answers 'what?'; expected a JSON object with 'ok' on one line (request 'hello')",
    "old": "speaks version 0 of the protocol; this build speaks 1",
    "refuse-launch": "refuses 'launch': not today",
    "short": "gave no answer within 8 seconds (request 'read')",
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """Programs on faulty devices, by the fault; side by side, since some of them wait for seconds."""
    program = tmp_path_factory.mktemp("faulty") / "scores.mlir"
    program.write_text(PROGRAM)
    return {fault: subprocess.Popen(
        [BUILD / "bin" / "tw-run", program, "--sizes=4", "--device", f"{HOST} --fault={fault}",
         f"--timeout={8 if fault.startswith(('hang', 'short')) else 100}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for fault in FAULTS}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_device(faulty, fault):
    _, messages = faulty[fault].communicate(timeout=120)
    assert faulty[fault].returncode == 1 and FAULTS[fault] in messages, messages
    assert len(messages.strip().splitlines()) == 1, "one message"


def test_missing_program(program):
    command = [BUILD / "bin" / "tw-run", program, "--sizes=4", "--device=exec:/no/such/simulator"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 1 and "ended with status 127 (request 'hello')" in result.stderr, result.stderr


def test_no_common_kind_of_code(program):
    command = [BUILD / "bin" / "tw-run", program, "--sizes=4", "--target=amd:MI300X", "--device", HOST]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 1 and "the device loads so; for amd:MI300X there is " in result.stderr, result.stderr


@pytest.mark.parametrize("fault, message", [
    ("wrong", "elements wrong"), ("die-launch", "ended with status 3"),
    ("hang-wait", "gave no answer within 8 seconds")])
def test_conformance_names_the_case(fault, message):
    filters = ["--filter=elementwise/add/f32/*", "--filter=elementwise/sub/f32/*"]
    command = [BUILD / "bin" / "tw-conformance", "--device", f"{HOST} --fault={fault}", "--json", "--jobs=2",
               f"--timeout={16 if fault == 'hang-wait' else 200}", *filters]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 2, result.stderr
    report = json.loads(result.stdout)
    # Each case starts a device of its own after one that broke.
    assert report["failed"] == len(report["cases"]) == 2
    assert all(message in case["message"] for case in report["cases"]), report["cases"]
