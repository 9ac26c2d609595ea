"""Programs that are more than one kernel on emulated SIMT targets: control flow, rows, transposes."""

import pathlib

import numpy as np
import pytest

from conftest import FULL
from lanes import CHIPS, emulate, kernels, with_chips
from scratchpads import PLUGIN

PROGRAMS = pathlib.Path(__file__).with_name("lane_programs")


def write(folder, text):
    path = folder / "program.mlir"
    path.write_text(text)
    return path


@pytest.mark.parametrize("chip, seed", with_chips(range(5)))
def test_control_flow_and_constants(chip, seed, tool):
    emulate(tool, PROGRAMS / "control.mlir", chip, "--seed", seed)


@pytest.mark.parametrize("chip, sizes", with_chips(["1,1", "5,31", "3,700", "130,65", "7,1031"]))
def test_rows(chip, sizes, tool):
    emulate(tool, PROGRAMS / "rows.mlir", chip, "--sizes", sizes, "--modes")


#: What people compile, with sizes that fit nothing: the file, and its dynamic sizes in turn.
WHOLE = [("decode-attention", "33"), ("group-norm", "2,12,5,7,12,12"), ("rotary-embedding", "11"), ("mixture-of-experts", "67"),
         ("lstm", "4"), ("depthwise-pointwise", "1,8,11"), ("upsampling", "5,7,10,14"), ("running-sums", "7,70"),
         ("quantised-linear", "70,129,65"), ("embedding", "3,7,19"), ("cross-entropy", "3,300"), ("argmax", "5,257"),
         ("layer-norm-gradient", "7,65"), ("batched-products", "2,65,33,67"), ("decode-attention", "0"), ("lstm", "0"),
         ("running-sums", "0,3"), ("argmax", "3,0"), ("batched-products", "2,3,0,4"),
         ("quantised-linear", "1,1,1"), ("dynamic-sums", "37")]


@pytest.mark.parametrize("chip, case", with_chips(WHOLE))
def test_whole_programs(chip, case, tool):
    emulate(tool, PROGRAMS / f"{case[0]}.mlir", chip, "--sizes", case[1], "--modes")


#: Where hosts of launches compute sizes: before lanes, and before cores, whose nests have sizes as affine symbols.
LAUNCHED = {"nvidia:A100": [], "accelerator:npu": [f"--load-target={PLUGIN}"]}


@pytest.mark.parametrize("chip", LAUNCHED)
def test_sizes_of_a_window_are_the_hosts(chip, tool):
    """The quotient of a size less one, which is negative where the size is 0: no launch computes it."""
    report = emulate(tool, PROGRAMS / "depthwise-pointwise.mlir", chip, *LAUNCHED[chip], "--sizes", "1,8,11")
    assert len(kernels(report)) == (1 if chip == "accelerator:npu" else 5)


@pytest.mark.parametrize("chip", LAUNCHED)
def test_quotients_of_negative_sizes(chip, tool, tmp_path):
    """As 64 bits divide them, towards zero and without a sign."""
    outputs = [tmp_path / f"{i}.npy" for i in range(4)]
    words = [*LAUNCHED[chip], *(word for path in outputs for word in ("--output", path)), "--input", tmp_path / "x.npy"]
    for n in (0, 1, 2, 3, 9):
        np.save(tmp_path / "x.npy", np.zeros(n, "f4"))
        tool("tw-run", PROGRAMS / "divided-sizes.mlir", "--target", chip, "--device", "emulator", *words)
        less = (n - 1) % 2**64
        expected = [5 if less // 2 >= 2**63 or less // 2 > 5 else less // 2, int((n - 3) / 2) + 3, less % 3,
                    n - 3 - 2 * int((n - 3) / 2) + 2]
        assert [np.load(path).tolist() for path in outputs] == [[1.0] * count for count in expected], n


@pytest.mark.parametrize("chip", LAUNCHED)
def test_a_size_that_a_lane_computes(chip, tool, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(20 * 16, dtype="f4").reshape(20, 16))
    for rows in (0, 7.5, 20):
        np.save(tmp_path / "rows.npy", np.array(rows, "f4"))
        tool("tw-run", PROGRAMS / "read-size.mlir", "--target", chip, "--device", "emulator", *LAUNCHED[chip], "--input",
             tmp_path / "x.npy", "--input", tmp_path / "rows.npy", "--output", tmp_path / "y.npy")
        assert (np.load(tmp_path / "y.npy") == 2 * np.load(tmp_path / "x.npy")[:int(rows)]).all()
        assert np.load(tmp_path / "y.npy").shape == (int(rows), 16)


@pytest.mark.parametrize("chip", CHIPS if FULL else CHIPS[1:4:2])
def test_states_of_loops(chip, tool):
    """The product of a state goes back into its array, which other blocks still read."""
    emulate(tool, PROGRAMS / "recurrences.mlir", chip, "--modes")


@pytest.mark.parametrize("threads", [1, 2])
def test_states_of_loops_on_the_host(threads, tool, tmp_path):
    """Several blocks in each dimension, and the first have their results before the last read the state."""
    text = (PROGRAMS / "recurrences.mlir").read_text().replace("97", "500").replace("70x", "200x")
    tool("tw-run", write(tmp_path, text), "--threads", threads, "--verify")


def wave(now, before, time):
    wide = np.pad(now, 1)
    return 0.5 * (wide[:-2] + wide[2:]) + now - before, now


#: The file of loops over two states, and for each of its loops what an iteration makes of these.
STATES = {
    "old-states": [wave, lambda a, b, t: (b, a), lambda a, b, t: (a + b, b) if t % 2 else (b, a), lambda a, b, t: (a, b - a)],
    "taken-states": [lambda a, b, t: (a + b, b if t % 2 else a), lambda a, b, t: (a + b, b if t % 2 else a),
                     lambda a, b, t: (-b, a if t % 2 else 2 * a), lambda a, b, t: (2 * a if t else -a, a[1:3])]}


@pytest.mark.parametrize("place", [[], ["--target", "nvidia:A100", "--device", "emulator", "--modes"]], ids=["host", "lanes"])
@pytest.mark.parametrize("times", [0, 1, 4])
@pytest.mark.parametrize("name", STATES)
def test_states_that_pass_into_each_other(name, times, place, tool, tmp_path):
    """Against NumPy, since the plain path to float64 begins with the same passes."""
    x, y = (np.random.default_rng(seed).standard_normal(70).astype(np.float32) for seed in (1, 2))
    words, right = [], []
    for given, array in (("x", x), ("y", y), ("times", np.array(times))):
        np.save(tmp_path / f"{given}.npy", array)
        words += ["--input", tmp_path / f"{given}.npy"]
    for step in STATES[name]:
        states = x.astype(float), y.astype(float)
        for time in range(times):
            states = step(*states, time)
        right += states
    words += [word for i in range(len(right)) for word in ("--output", tmp_path / f"{i}.npy")]
    tool("tw-run", PROGRAMS / f"{name}.mlir", *words, "--verify", *place)
    for i, each in enumerate(right):
        found = np.load(tmp_path / f"{i}.npy")
        np.testing.assert_allclose(found, each[:len(found)], atol=1e-4)


@pytest.mark.parametrize("place", [[], ["--target", "nvidia:A100", "--device", "emulator"]], ids=["host", "lanes"])
def test_sizes_that_no_reshape_can_have_are_refused(place, tool):
    """12 channels in 4 groups, but 5 gains and 7 biases."""
    tool("tw-run", PROGRAMS / "group-norm.mlir", "--sizes", "2,12,5,7,5,7", *place, expect=1)


def row_loads(report):
    """Loads and sectors of the kernels that reduce rows: of sites in global memory, several sectors an execution."""
    loads = [site for kernel in kernels(report) for site in kernel["sites"]
             if site["memory"] == "global" and not site["writes"]]
    return sum(site["executions"] for site in loads), sum(site["transactions"] for site in loads)


@pytest.mark.parametrize("chip, kind", with_chips(["f32", "f16", "bf16", "i8", "f64"]))
def test_rows_of_unknown_pitch_take_vectors(chip, kind, tool, tmp_path):
    """Vectors of 16 bytes where the run's pitch allows them, as many loads as with known sizes; single elements else."""
    wide = {"f16": "f32", "bf16": "f32", "i8": "i32"}.get(kind, kind)
    add, extend = ("addi", "extsi") if kind == "i8" else ("addf", "extf")
    widen = f"%w = arith.{extend} %x : {kind} to {wide}" if wide != kind else ""

    def rows(m, n):
        return f"""func.func @rows(%a: tensor<{m}x{n}x{kind}>, %s: tensor<{m}x{wide}>) -> tensor<{m}x{wide}> {{
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}}
      ins(%a : tensor<{m}x{n}x{kind}>) outs(%s : tensor<{m}x{wide}>) {{
    ^bb0(%x: {kind}, %t: {wide}):
      {widen}
      %y = arith.{add} %t, {"%w" if widen else "%x"} : {wide}
      linalg.yield %y : {wide}
  }} -> tensor<{m}x{wide}>
  return %r : tensor<{m}x{wide}>
}}
"""
    known, path = row_loads(emulate(tool, write(tmp_path, rows(64, 1024)), chip)), write(tmp_path, rows("?", "?"))
    aligned = row_loads(emulate(tool, path, chip, "--sizes", "64,1024"))
    odd = row_loads(emulate(tool, path, chip, "--sizes", "64,1023", "--modes"))
    elements = 16 // (int(kind.strip("bfi")) // 8)
    assert aligned[0] <= 1.1 * known[0] and aligned[1] <= 1.1 * known[1], (aligned, known)
    assert odd[0] >= 0.9 * min(elements, 4) * aligned[0], (odd, aligned)  # both read the 64 sums that they go on with, too
    for sizes in ("3,8", "5,17", "1,4096"):
        emulate(tool, path, chip, "--sizes", sizes, "--modes")


def transpose(kind, order, shape):
    sizes = "x".join(map(str, shape)) + "x" + kind
    result = "x".join(str(shape[d]) for d in order) + "x" + kind
    return (f"func.func @t(%a: tensor<{sizes}>) -> tensor<{result}> {{\n  %e = tensor.empty() : tensor<{result}>\n"
            f"  %t = linalg.transpose ins(%a : tensor<{sizes}>) outs(%e : tensor<{result}>) permutation = {list(order)}\n"
            f"  return %t : tensor<{result}>\n}}\n")


@pytest.mark.parametrize("chip, kind", with_chips(["i8", "f16", "f32", "f64", "bf16"]))
def test_transposes_meet_in_no_bank(chip, kind, tool, tmp_path):
    for order, shape in [((1, 0), (96, 64)), ((1, 0), (37, 101)), ((0, 2, 1), (3, 70, 41)), ((2, 0, 1), (33, 2, 65))]:
        report = emulate(tool, write(tmp_path, transpose(kind, order, shape)), chip, "--modes")
        (kernel,) = kernels(report)
        scratchpad = [m for m in kernel["memories"] if m["memory"] != "global"]
        assert scratchpad and all(m["conflict_cycles"] == 0 for m in scratchpad), kernel["memories"]
