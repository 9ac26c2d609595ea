"""Instructions of compiled GEMM kernels: matrix instructions are there, and nothing is spilled."""

import json
import os
import re
import subprocess

import pytest

from conftest import BUILD, FULL, SOURCE
from lane_texts import REDUCTIONS, TAILS, convolution, is_float, product, reduction
from lanes import ARCHITECTURES, PTXAS, report_without_spills

LLVM = "/usr/lib/llvm-22/bin"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "mm.mlir"
    path.write_text(product("f16", 1024, 1024, 1024))
    return path


def plan(tool, program, chip):
    decisions = json.loads(tool("tw-compile", program, "--target", chip, "--explain=json"))
    return next(d for d in decisions if d["decision"] == "contraction")["choice"]


@pytest.mark.skipif(not PTXAS, reason="ptxas is not installed")
@pytest.mark.parametrize("chip, architecture", [("A100", "sm_80"), ("H100", "sm_90a"), ("B200", "sm_100a"),
                                                ("RTX5090", "sm_120a")])
def test_registers_by_ptxas(chip, architecture, program, tool, tmp_path):
    ptx = tmp_path / "mm.ptx"
    tool("tw-compile", program, "--target", f"nvidia:{chip}", "-o", ptx)
    assert f".target {architecture}" in ptx.read_text()
    report = report_without_spills(ptx, architecture)
    registers = max(map(int, re.findall(r"Used (\d+) registers", report)))
    # The model leaves room for addresses and counters; more than it says would cost blocks at a time.
    assert registers <= 1.15 * plan(tool, program, f"nvidia:{chip}")["registers"] + 8, report


#: What the numbers of registers are pinned for; another release shares registers out in its own way.
PINNED_RELEASE = "release 13.0"


@pytest.mark.parametrize("chip, architecture, kind, tail, columns, registers", [
    ("H100", "sm_90a", "f16", "none", 128, 208), ("H100", "sm_90a", "bf16", "gelu", 64, 144),
    ("A100", "sm_80", "f16", "none", 128, 206), ("A100", "sm_80", "bf16", "gelu", 64, 135),
    ("B200", "sm_100a", "f16", "none", 128, 195), ("B200", "sm_100a", "bf16", "gelu", 64, 142),
    ("RTX5090", "sm_120a", "f16", "none", 128, 206), ("RTX5090", "sm_120a", "bf16", "gelu", 64, 120)])
def test_registers_are_pinned(chip, architecture, kind, tail, columns, registers, tool, tmp_path):
    """The exact number of registers of kernels in tiles that do not depend on the cost model. Where a change of the code is meant to
    change it, the new number is written here."""
    if not PTXAS:
        pytest.skip("ptxas is not installed")
    if PINNED_RELEASE not in (version := subprocess.run([PTXAS, "--version"], capture_output=True, text=True).stdout):
        pytest.skip(f"registers are pinned for ptxas of {PINNED_RELEASE}, not {version.splitlines()[-1]}")
    path, ptx = tmp_path / "program.mlir", tmp_path / "program.ptx"
    force = f"block_m=128,block_n={columns},block_k=32,subgroups_m=2,subgroups_n=2,subgroups_k=1,group=1"
    path.write_text(f'module attributes {{tilewright.force = "{force}"}} {{{product(kind, 4096, 4096, 4096, tail=tail)}}}')
    tool("tw-compile", path, "--target", f"nvidia:{chip}", "-o", ptx)
    done = subprocess.run([PTXAS, "-v", f"--gpu-name={architecture}", str(ptx), "-o", str(tmp_path / "program.cubin")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"Used (\d+) registers", done.stderr) == [str(registers)], done.stderr


ARTIFACT_CHIPS = pytest.mark.parametrize("chip, architecture", [("A100", "sm_80"), ("H200", "sm_90a"), ("RTX5090", "sm_120a")])


def compile_with(path, program, chip, output):
    """tw-compile with this PATH and no other word of where an assembler may be."""
    bare = {key: value for key, value in os.environ.items() if key not in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH")}
    return subprocess.run([BUILD / "bin" / "tw-compile", program, "--target", f"nvidia:{chip}", "-o", output],
                          capture_output=True, text=True, env={**bare, "PATH": path})


def images(artifact, architecture):
    """The code in an artifact by its kind, in the order of the file."""
    first, rest = artifact.read_bytes().split(b"\n", 1)
    size = int(first.split()[2])
    header = json.loads(rest[:size])
    assert header["architecture"] == architecture
    rest, found = rest[size + 1:], {}
    for image in header["images"]:
        found[image["kind"]], rest = rest[:image["bytes"]], rest[image["bytes"]:]
    assert rest == b""
    return found


@ARTIFACT_CHIPS
def test_artifact_holds_ptx_and_cubin(chip, architecture, program, tmp_path):
    """Text for later chips, then machine code for this one."""
    if not PTXAS:
        pytest.skip("ptxas is not installed")
    done = compile_with(os.path.dirname(PTXAS), program, chip, tmp_path / "mm.tw")
    assert done.returncode == 0, done.stderr
    both = images(tmp_path / "mm.tw", architecture)
    assert list(both) == ["ptx", "cubin"]
    assert f".target {architecture}".encode() in both["ptx"] and both["cubin"][:4] == b"\x7fELF"
    assert re.search(rb"\.entry (\w+)\(", both["ptx"]).group(1) in both["cubin"]


@ARTIFACT_CHIPS
def test_without_an_assembler(chip, architecture, program, tmp_path):
    """The text alone; a cubin is refused with what would be right."""
    (tmp_path / "nothing").mkdir()
    nowhere = str(tmp_path / "nothing")
    done = compile_with(nowhere, program, chip, tmp_path / "mm.tw")
    assert done.returncode == 0, done.stderr
    assert list(images(tmp_path / "mm.tw", architecture)) == ["ptx"]
    refused = compile_with(nowhere, program, chip, tmp_path / "mm.cubin")
    assert refused.returncode == 1 and not (tmp_path / "mm.cubin").exists()
    assert ("a cubin needs 'ptxas', which is neither on the path nor under CUDA_ROOT, CUDA_HOME or CUDA_PATH; write .ptx, which "
            "the driver compiles") in refused.stderr


@pytest.mark.parametrize("chip, instruction", [("MI250", "v_mfma_f32"), ("MI300X", "v_mfma_f32"), ("MI350", "v_mfma_f32"),
                                               ("RX7900", "v_wmma_f32"), ("RX9070", "v_wmma_f32")])
def test_matrix_instructions_of_a_step(chip, instruction, program, tool, tmp_path):
    assembly = tmp_path / "mm.s"
    tool("tw-compile", program, "--target", f"amd:{chip}", "-o", assembly)
    text = assembly.read_text()
    assert set(re.findall(r"\.[sv]gpr_spill_count: (\d+)", text)) == {"0"}
    assert set(re.findall(r"\.private_segment_fixed_size: (\d+)", text)) == {"0"}
    # The loop over k multiplies all units of a subgroup's tile, once or unrolled.
    choice = plan(tool, program, f"amd:{chip}")
    tiles = choice["units_per_subgroup"][0] * choice["units_per_subgroup"][1]
    count = text.count(instruction)
    assert count >= tiles and count % tiles == 0, (count, choice)

    # The file that a device loads says the same: its notes, and the instructions that are in it.
    code = tmp_path / "mm.hsaco"
    tool("tw-compile", program, "--target", f"amd:{chip}", "-o", code)
    notes = subprocess.run([f"{LLVM}/llvm-readelf", "--notes", str(code)], check=True, capture_output=True, text=True).stdout
    assert set(re.findall(r"\.[sv]gpr_spill_count: +(\d+)", notes)) == {"0"}, notes
    assert set(re.findall(r"\.private_segment_fixed_size: +(\d+)", notes)) == {"0"}, notes
    registers = max(map(int, re.findall(r"\.vgpr_count: +(\d+)", notes)))
    assert registers <= 1.15 * choice["registers"] + 16, (registers, choice)
    machine = subprocess.run([f"{LLVM}/llvm-objdump", "-d", str(code)], check=True, capture_output=True, text=True).stdout
    assert len(re.findall(rf"\b{instruction}", machine)) == count


#: Types of A and B by the name that tests give them; "f16.f16": sums in f16 too.
KINDS = {**{kind: kind for kind in ("f16", "bf16", "f32", "f64", "i8", "ui8", "f16.f16")},
         "f8": "f8E4M3FN", "bf8": "f8E5M2", "fnuz": "f8E4M3FNUZ", "bfnuz": "f8E5M2FNUZ"}
ORDERS = {f"{'t' if a else 'n'}{'t' if b else 'n'}": (a, b) for a in (False, True) for b in (False, True)}
#: What a convolution is beside its layout and type.
WINDOWS = {"": dict(stride=1, dilation=1, groups=1, padding=1, channels=64, filters=128),
           "-strided": dict(stride=2, dilation=1, groups=1, padding=0, channels=32, filters=37),
           "-dilated": dict(stride=1, dilation=2, groups=1, padding=1, channels=3, filters=64),
           "-grouped": dict(stride=1, dilation=1, groups=2, padding=1, channels=64, filters=128),
           "-point": dict(stride=1, dilation=1, groups=1, padding=0, taps=1, channels=64, filters=128)}


def kernels():
    """Programs whose chosen kernels must keep everything in registers: of aligned sizes, and of odd ones and of sizes that only
    the run shows, which copy single elements."""
    programs = {}
    for name, kind in KINDS.items():
        for order, (a, b) in ORDERS.items():
            programs[f"{name}-{order}"] = product(kind, 1024, 1024, 1024, a, b)
        for tail in TAILS[1:]:
            if tail != "gelu" or is_float(kind):
                programs[f"{name}-{tail}"] = product(kind, 1024, 1016, 1024, tail=tail)
        programs[f"{name}-batched"] = product(kind, 200, 192, 256, batch=16)
        programs[f"{name}-odd-nn"] = product(kind, 1001, 1003, 1005)
    for name in ("f16", "bf16", "i8", "f8", "f32"):
        for tail in ("residual", "narrow"):
            programs[f"{name}-dynamic-{tail}"] = product(KINDS[name], 1000, 1016, 1024, tail=tail, dynamic=True)
    for name in ("f16", "f32", "i8", "f8"):
        for order, (a, b) in ORDERS.items():
            programs[f"{name}-odd-{order}"] = product(KINDS[name], 1001, 1003, 1005, a, b)
            programs[f"{name}-dynamic-{order}"] = product(KINDS[name], 1000, 1016, 1024, a, b, dynamic=True)
    for name in ("f16", "i8", "f8", "f32"):  # in the largest tiles
        for tail in TAILS:
            if tail != "gelu" or is_float(KINDS[name]):
                programs[f"{name}-large-{tail}"] = product(KINDS[name], 4096, 4096, 4096, tail=tail)
    for i, (window, how) in enumerate(WINDOWS.items()):
        for name in ("f16", "bf16", "f32", "f64", "i8", "f8"):
            for layout in ("nchw", "nhwc")[:2 if i < 2 or name in ("f16", "i8") else 1]:
                programs[f"{layout}-{name}{window}"] = convolution(layout, KINDS[name], **how)
    for i, op in enumerate(REDUCTIONS):
        for j, name in enumerate(("f32", "f16", "bf16", "f64", "f8")):
            for axis in ("last", "first", "middle", "two", "all")[:3 if op in ("softmax", "norm") else 5]:
                if j < 2 and axis == "last" or (i + j) % 5 == ("last", "first", "middle", "two", "all").index(axis):
                    programs[f"{op}-{name}-{axis}"] = reduction(op, KINDS[name], axis, 8, 33, 1031)
    for name in ("f32", "f64", "f16"):  # one step of k and no loop, with stores that are checked
        for k in (8, 13, 16, 20, 32):
            programs[f"{name}-short-{k}"] = product(name, 1001, 1003, k, trans_b=True, batch=4)
    for op in ("softmax", "norm"):  # rows in one launch, with the most elements a lane
        for name in ("f32", "bf16", "f64"):
            programs[f"{op}-{name}-long"] = reduction(op, KINDS[name], "last", 64, 64, 8192)
    for path in [*(SOURCE / "examples").glob("*.mlir"), *(SOURCE / "test/integration/lane_programs").glob("*.mlir")]:
        programs[path.stem] = path.read_text()
    for axis in ("last", "first"):
        programs[f"sum-i8-{axis}"] = reduction("sum", "i8", axis, 8, 32, 1024)
    return programs


KERNELS = kernels()
NVIDIA = {chip: name for chip, name in ARCHITECTURES.items() if chip not in ("A10", "L40S")}  # units and levels as of A100 and L4
AMD = ["MI250", "MI300X", "MI350", "RX7900", "RX9070"]
#: One chip of each set of units, and programs that make lanes hold the most there.
MOST_HELD = [("T4", "i8-dynamic-narrow"), ("T4", "f32-odd-nt"), ("T4", "f32-tt"), ("A100", "f16-dynamic-residual"),
             ("RTX4090", "f16-dynamic-residual"), ("RTX4090", "i8-dynamic-narrow"), ("H100", "i8-odd-nn"),
             ("B200", "bf16-dynamic-narrow"), ("MI300X", "f16-dynamic-residual"), ("MI250", "i8-dynamic-residual"),
             ("MI350", "f32-dynamic-nn"), ("RX7900", "i8-dynamic-narrow"), ("RX9070", "f16-dynamic-residual"),
             ("RX9070", "f32-odd-nn"), ("RTX4090", "f8-nn"), ("RTX4090", "f8-dynamic-narrow"), ("H100", "f8-nt"),
             ("H100", "f8-odd-nn"), ("MI300X", "fnuz-nn"), ("MI300X", "fnuz-odd-nn"), ("MI350", "f8-nn"),
             ("MI350", "f8-dynamic-narrow"), ("RX9070", "f8-odd-nn"), ("B200", "f8-narrow"), ("RTX5090", "f8-nn"),
             ("RX7900", "f32-nn"), ("RX7900", "f32-tt"), ("RX9070", "f64-nt"), ("RX9070", "f64-gelu"), ("RX7900", "f16-batched"),
             ("H100", "f16-gelu"), ("H100", "f16-large-gelu"), ("L4", "f16-gelu"), ("L4", "f32-residual"), ("T4", "f64-batched"),
             ("T4", "f32-large-residual"), ("RTX5090", "f64-residual"), ("T4", "bf8-narrow"), ("L4", "bf8-narrow"),
             ("H100", "f8-large-narrow"), ("H200", "f8-large-none"), ("H200", "f8-nn"),
             ("MI350", "f32-dynamic-residual"), ("A100", "transformer-block"), ("RX7900", "transformer-block"), ("RX7900", "f32-short-16"), ("H100", "f32-short-16"),
             ("H100", "norm-f32-long"), ("MI300X", "softmax-bf16-long"), ("RX9070", "decode-attention"),
             ("B200", "f8-large-gelu"), ("RX9070", "i8-batched"), ("RX9070", "nchw-f64-grouped"),
             # Bytes of both operands that lanes turn, 16 of a row.
             ("RTX5090", "i8-dynamic-tn"), ("T4", "i8-dynamic-tn"), ("H100", "f8-dynamic-tn"), ("RX7900", "i8-dynamic-tn"),
             # Conditions of lanes in all steps of a sum; long tails on one subgroup a SIMD.
             ("MI350", "i8-odd-nt"), ("MI250", "f16-odd-tt"), ("MI250", "i8-odd-nt"), ("MI250", "i8-large-narrow"),
             # Addresses of rows, of the first iteration of an outer loop and of this one.
             ("MI300X", "dynamic-sums"), ("RX9070", "dynamic-sums")]


@pytest.mark.skipif(not PTXAS, reason="ptxas is not installed")
@pytest.mark.parametrize("kind, tail, trans_b, cluster, tile", [
    (*case, tile) for i, case in enumerate([
        ("f16", "none", False, 1), ("bf16", "none", True, 2), ("f16", "gelu", True, 2), ("f16", "residual", False, 2),
        *([("f16", "narrow", False, 2), ("f16", "bias-relu", True, 1), ("i8", "none", True, 2), ("f8E4M3FN", "none", True, 1),
           ("f16", "gelu", False, 1), ("f16", "residual", True, 1)] if FULL else [])])
    for j, tile in enumerate([(128, 256), (256, 128), (128, 128)]) if FULL or (i + j) % 2 == 0])
def test_roles_keep_their_registers(tile, kind, tail, trans_b, cluster, tool, tmp_path):
    """Products of a group fed by a copying role, in the tiles that large matrices take: no spill, and no message that ptxas
    puts units one after the other or ignores how registers are shared out (C75xx)."""
    path, ptx = tmp_path / "program.mlir", tmp_path / "program.ptx"
    force = f"block_m={tile[0]},block_n={tile[1]},cluster={cluster}"
    path.write_text(f'module attributes {{tilewright.force = "{force}"}} {{'
                    f'{product(kind, 4096, 4096, 4096, trans_b=trans_b, tail=tail)}}}')
    tool("tw-compile", path, "--target", "nvidia:H100", "-o", ptx)
    assert "wgmma.mma_async" in ptx.read_text()
    done = subprocess.run([PTXAS, "-v", "--gpu-name=sm_90a", str(ptx), "-o", str(tmp_path / "program.cubin")],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "C75" not in done.stderr, done.stderr
    assert re.findall(r"(\d+) bytes spill", done.stderr) and not re.findall(r"[1-9]\d* bytes spill", done.stderr), done.stderr


def turns(assembly):
    """Loops that execute one access for the lanes with one description after the other."""
    blocks = re.split(r"^(\.LBB\w+):", assembly, flags=re.M)
    return [label for label, code in zip(blocks[1::2], blocks[2::2])
            if "v_readfirstlane" in code and re.search(rf"s_cbranch_execnz {label}\b", code)]


@pytest.mark.parametrize("chip, name", [
    (chip, name) for i, chip in enumerate([*NVIDIA, *AMD]) for j, name in enumerate(KERNELS)
    if FULL or (chip, name) in MOST_HELD or j == 7 * i % len(KERNELS) and not any(chip == other for other, _ in MOST_HELD)])
def test_nothing_is_spilled(chip, name, tool, tmp_path):
    """Nor do lanes take turns because a description of an array is in their registers."""
    path = tmp_path / "program.mlir"
    path.write_text(KERNELS[name])
    if chip in AMD:
        tool("tw-compile", path, "--target", f"amd:{chip}", "-o", tmp_path / "program.s")
        text = (tmp_path / "program.s").read_text()
        assert set(re.findall(r"\.[sv]gpr_spill_count: (\d+)", text)) == {"0"}
        assert set(re.findall(r"\.private_segment_fixed_size: (\d+)", text)) == {"0"}
        assert not turns(text)
        return
    if not PTXAS:
        pytest.skip("ptxas is not installed")
    ptx = tmp_path / "program.ptx"
    tool("tw-compile", path, "--target", f"nvidia:{chip}", "-o", ptx)
    report_without_spills(ptx, NVIDIA[chip])
