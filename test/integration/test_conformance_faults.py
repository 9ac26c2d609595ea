"""tw-conformance finds targets that are wrong in one place (test/plugins/Faults.cpp): the kind of case that must fail,
with what message, while the sound chip passes the same cases."""

import collections
import json
import platform
import re
import subprocess

import pytest

from conftest import BUILD, SANITIZERS, SOURCE

PLUGIN = BUILD / "test" / "plugins" / "faults" / "libtilewright-target-faults.so"
Fault = collections.namedtuple("Fault", "sound device filters family message extra", defaults=([],))

#: Another process executes the records of the sound chip, as a board would.
A100 = f"exec:{BUILD}/bin/tilewright-emulated-device nvidia:A100"
H100 = f"exec:{BUILD}/bin/tilewright-emulated-device nvidia:H100"
BLACKWELL = f"exec:{BUILD}/bin/tilewright-emulated-device nvidia:B200"
MI300X = f"exec:{BUILD}/bin/tilewright-emulated-device amd:MI300X"
F16 = "contraction/matmul/f16.f16.f32/*"
B200 = ["unit/*tcgen05_m128n64k16_f16*/run"]
SCALED = ["unit/*tcgen05_m128n64k32_mx_e4m3_f32*/run"]
SPARSE = ["unit/*tcgen05_sp_m128n64k32_f16_f32*/run", "unit/*tcgen05_sp_m128n64k64_i8_i32*/run"]
WRONG = r"elements wrong|is -?[\d.e+]+, expected"

FAULTS = {
    # Records of instructions that this machine executes.
    "layout-basis": Fault("sound", "host", ["unit/*madd_i16*/run", "contraction/matmul/i16*"], "unit", WRONG),
    "swapped-operands": Fault("sound", "host", ["unit/*fma_f32*/run", "contraction/matmul/f32*/33x47x29*"], "unit",
                              WRONG),
    "narrow-accumulator": Fault("sound", "host", ["unit/*2_fma_f32*/run", "contraction/matmul/f32*/33x47x29*"],
                                "contraction", WRONG),
    # Records of instructions that a board executes.
    "transposed-c": Fault("sound-mi300x", MI300X, ["unit/*16x16_f16*/run", F16], "unit", WRONG),
    "order-of-k": Fault("sound-a100", A100, ["unit/*k16_f16_f32/*/run", F16], "unit", WRONG),
    "wrong-signedness": Fault("sound-a100", A100, ["unit/*u8*/run", "contraction/matmul/i8.i8*/32x32x64*"],
                              "contraction", WRONG),
    "wrong-index": Fault("sound-h100", H100, ["unit/*wgmma_sp_m64n32k32_f16*/run", "unit/*mma_sp_ordered_m16n8k32_f16_f32*/run"],
                         "unit", WRONG),
    "wrong-index-in-block": Fault("sound-b200", BLACKWELL, SPARSE, "unit", WRONG),
    # What a lane does.
    "missing-zero-fill": Fault("sound-a100", "emulator", [F16], "contraction", WRONG + "|out-of-bounds"),
    "missing-wait": Fault("sound-a100", "emulator", [F16], "contraction", "missing-wait"),
    "missing-barrier": Fault("sound-mi300x", "emulator", [F16], "contraction", "race|uninitialised"),
    "wrong-barrier-mapping": Fault("sound-a100", "emulator", [F16], "contraction", "race|uninitialised|divergent"),
    "block-index": Fault("sound-mi300x", "emulator", [F16], "contraction", WRONG + "|out-of-bounds"),
    "untransposed-matrices": Fault("sound-a100", "emulator", [F16], "contraction", WRONG),
    "missing-engine-fence": Fault("sound-h100", "emulator", ["unit/*wgmma_m64n64k16_f16*/run"], "unit", "fence"),
    # What a lane does with accumulators in a memory of the block.
    "early-unit-commit": Fault("sound-b200", "emulator", B200, "unit", "missing-wait"),
    "missing-read-wait": Fault("sound-b200", "emulator", B200, "unit", "is nan, expected|reads in no order"),
    "missing-accesses-begin": Fault("sound-b200", "emulator", B200, "unit", "missing-fence|race"),
    "missing-accesses-end": Fault("sound-b200", "emulator", B200, "unit", "race"),
    "missing-free": Fault("sound-b200", "emulator", B200, "unit", "in-flight"),
    "missing-scale-copy": Fault("sound-b200", "emulator", SCALED + SPARSE, "unit", "finds (scales|the index of A) where nothing was copied"),
    # What a pass does.
    "bound": Fault("sound", "host", ["elementwise/add/f32/*", "reduction/sum/f32/*"], "elementwise", WRONG),
    "rounding": Fault("sound", "host", ["elementwise/convert/f32.bf16/*"], "elementwise", WRONG),
    # What does not answer.
    "hang": Fault("sound", "host", ["elementwise/add/f32/*"], "elementwise", "no answer within 10 seconds",
                  ["--timeout=10"]),
    "crash": Fault("sound", "host", ["elementwise/add/f32/*"], "elementwise",
                   "ended with status 1" if SANITIZERS else r"died of signal \d+"),
}


def run(chip, device, filters, *extra):
    patience = [] if any(option.startswith("--timeout") for option in extra) else ["--timeout=400"]
    command = [BUILD / "bin" / "tw-conformance", f"--load-target={PLUGIN}", "--target", f"faults:{chip}", "--device",
               device, "--json", *patience, *extra, *[f"--filter={filter}" for filter in filters]]
    result = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert result.returncode in (0, 2), result.stderr
    return result.returncode, json.loads(result.stdout)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the faulty records are of this architecture")
@pytest.mark.parametrize("chip", FAULTS)
def test_fault_is_found(chip):
    fault = FAULTS[chip]
    status, report = run(chip, fault.device, fault.filters, *fault.extra)
    failures = [case for case in report["cases"] if case["status"] == "failed"]
    assert status == 2 and failures, report
    assert any(case["family"] == fault.family and re.search(fault.message, case["message"]) for case in failures), failures
    for case in failures:
        assert case["name"] in case["command"] and str(PLUGIN) in case["command"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the faulty records are of this architecture")
@pytest.mark.parametrize("sound, device", sorted({(fault.sound, fault.device) for fault in FAULTS.values()}))
def test_sound_chip_passes(sound, device):
    filters = sorted({filter for fault in FAULTS.values() if (fault.sound, fault.device) == (sound, device)
                      for filter in fault.filters})
    status, report = run(sound, device, filters)
    assert status == 0 and report["passed"] > 0 and report["refused"] == 0, [
        case for case in report["cases"] if case["status"] != "passed"]


def test_compilation_proves_fences(tmp_path):
    """No code is written where lanes do not publish what an engine reads, whatever a run would show."""
    for chip, expect in (("sound-h100", 0), ("missing-engine-fence", 1)):
        output = tmp_path / f"{chip}.ll"
        result = subprocess.run([BUILD / "bin" / "tw-compile", SOURCE / "examples/gemm-bias-gelu.mlir", f"--load-target={PLUGIN}",
                                 "--target", f"faults:{chip}", "-o", output], capture_output=True, text=True, timeout=300)
        assert result.returncode == expect and output.exists() == (expect == 0), result.stderr
    assert "lets an engine use scratchpad memory that lanes wrote without publishing it" in result.stderr
    assert "note: 'nvvm.mbarrier.init' writes here" in result.stderr


def test_every_fault_of_the_plugin_is_tested(tool):
    listed = json.loads(tool("tw-targets", "faults:sound", "--json", f"--load-target={PLUGIN}"))
    assert listed["target"] == "faults"
    text = (SOURCE / "test" / "plugins" / "Faults.cpp").read_text()
    table = text[text.index("const Fault faults[]"):]
    chips = re.findall(r'^    \{"([\w-]+)", "', table, re.MULTILINE)
    assert set(chips) == set(FAULTS) | {fault.sound for fault in FAULTS.values()}
