"""Results of emulated SIMT targets: products, convolutions and reductions of all types, with sizes of one, primes
and non-multiples, right in every mode of the engines that the kernels use.

In CI the cases are a covering array over one chip for each distinct set of units: every pair of two values of a chip, a
type, a form, a size occurs; of forms beside products on some of the chips. The full mode takes each chip and type with such an array of the other factors."""

import itertools
import json

import pytest

from conftest import FULL, some
from covering import pairwise
from lane_cases import cases, conflicts, lane_chips, run
from lane_texts import REDUCTIONS, TAILS, convolution, product, product_sizes, reduction
from lanes import emulate, kernels, with_chips


CHIPS = lane_chips()
#: Of one vendor, each with matrix units of its own.
AMD = [chip for chip in CHIPS if chip.startswith("amd:")]


def has_tail(case):
    return "tail" not in case or "kind" not in case or case["tail"] != "gelu" or case["kind"][0] in "fb"


@pytest.mark.parametrize("case", cases(
    (CHIPS, ["f16", "bf16", "f32", "f64", "i8", "ui8", "f16.f16", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ"]),
    {"m": [97, 1, 64, 13], "n": [64, 97, 1, 13], "k": [64, 13, 1, 97], "trans_a": [False, True],
     "trans_b": [False, True], "batch": [None, 1, 3], "tail": TAILS, "dynamic": [False, True]}, has_tail))
def test_products(case, tool, tmp_path):
    chip = case.pop("chip")
    words = ["--sizes", ",".join(map(str, product_sizes(**case)))] if case["dynamic"] else []
    assert not conflicts(run(tool, tmp_path, chip, product(**case), *words))


@pytest.mark.parametrize("chip, case", [
    # Fragments whose lanes take single elements: tiles keep the array's order.
    ("nvidia:H100", dict(kind="f64", m=97, n=1, k=97, trans_a=True, trans_b=True)),
    ("nvidia:A100", dict(kind="f64", m=64, n=13, k=97, trans_b=True)),
    # Rows so short that many of them lie in one row of the banks.
    ("nvidia:L4", dict(kind="f32", m=97, n=1, k=97, trans_a=True, trans_b=True))])
def test_no_lanes_meet_in_a_bank(chip, case, tool, tmp_path):
    assert not conflicts(run(tool, tmp_path, chip, product(**case)))


@pytest.mark.parametrize("case", [dict(kind="f8E4M3FN", m=96, n=208, k=272, tail="bias-relu"),
                                  dict(kind="i8", m=64, n=96, k=144, trans_a=True, batch=2),
                                  dict(kind="i8", m=144, n=64, k=256, trans_a=True, trans_b=True)])
def test_operands_are_turned_for_units_that_read_the_scratchpad(case, tool, tmp_path):
    """Units that take 8-bit elements along k alone: an array in another order is transposed into a buffer first."""
    report = run(tool, tmp_path, "nvidia:H100", f'module attributes {{tilewright.force = "group=4"}} {{ {product(**case)} }}')
    *turns, last = kernels(report)
    assert len(turns) == case.get("trans_a", False) + (not case.get("trans_b", False))
    assert not any(kernel["units"] for kernel in turns) and "wgmma" in json.dumps(last["units"])
    assert not conflicts(report)


def turns(case):
    """The operands that are in another order than along k: 1 is A, 2 is B."""
    return case["trans_a"] + 2 * (not case["trans_b"])


#: Types of operands whose order matters to lanes, and of convolutions.
KINDS = ["f16", "bf16", "f32", "i8", "f8E4M3FN"]


@pytest.mark.parametrize("case", cases(
    (CHIPS if FULL else CHIPS[::3], KINDS),
    {"m": [97, 64, 13], "n": [97, 64, 30], "k": [97, 64, 13], "trans_a": [False, True], "trans_b": [False, True],
     "batch": [None, 3], "tail": ["none", "bias-relu", "narrow"]},
    lambda case: not {"trans_a", "trans_b"} <= case.keys() or turns(case)))
def test_operands_that_a_launch_turns(case, tool, tmp_path):
    """Forced, since the buffers of small products are not worth it."""
    chip, which = case.pop("chip"), turns(case)
    text = f'module attributes {{tilewright.force = "transpose_before={which}"}} {{ {product(**case)} }}'
    report = run(tool, tmp_path, chip, text)
    assert len(kernels(report)) > 1 and not conflicts(report)  # both buffers may be of one launch
    decisions = json.loads(tool("tw-compile", tmp_path / "program.mlir", "--target", chip, "--explain=json"))
    found = [d["choice"]["transpose_before"] for d in decisions if d["decision"] == "contraction"]
    assert found == ([] if (chip, case["kind"]) == ("nvidia:T4", "bf16") else [which])  # T4 has no unit for bf16


@pytest.mark.parametrize("chip", ["amd:MI300X", "amd:RX9070", "nvidia:A100"])
@pytest.mark.parametrize("layout, which", [("nhwc", 2), ("nchw", 1)])
def test_convolutions_whose_filters_or_images_a_launch_turns(chip, layout, which, tool, tmp_path):
    """Channels lie behind the points of an image, or filters behind the channels."""
    text = convolution(layout, "i8", 1, 1, 1, 1, channels=32, filters=64)
    report = run(tool, tmp_path, chip, f'module attributes {{tilewright.force = "transpose_before={which}"}} {{ {text} }}')
    assert any(kernel["units"] for kernel in kernels(report)) and not conflicts(report)


@pytest.mark.parametrize("chip", ["amd:MI300X", "amd:RX9070", "nvidia:A100"])
@pytest.mark.parametrize("rows, case", [(2, dict(m=120, n=100, k=64, tail="bias-relu")), (2, dict(m=60, n=130, k=40, batch=3)),
                                        (5, dict(m=150, n=70, k=33, trans_a=True))])
def test_tiles_in_sweeps(chip, rows, case, tool, tmp_path):
    """Blocks that take tiles column after column, some rows of them at a time."""
    text = f'module attributes {{tilewright.force = "block_m=32,block_n=32,rasterisation_rows={rows}"}} {{ {product("f16", **case)} }}'
    report = run(tool, tmp_path, chip, text)
    assert any(kernel["units"] for kernel in kernels(report)) and not conflicts(report)


@pytest.mark.parametrize("chip, case", some(with_chips([
    dict(kind="i8", m=131, n=67, k=515, trans_a=True), dict(kind="i8", m=67, n=131, k=259, trans_b=True),
    dict(kind="i8", m=35, n=259, k=128), dict(kind="f32", m=97, n=35, k=67, trans_a=True, batch=3),
    dict(kind="f16", m=75, n=201, k=131, trans_a=True, trans_b=True, batch=2, tail="bias-relu"),
    dict(kind="bf16", m=201, n=45, k=96, trans_a=True), dict(kind="f16", m=33, n=47, k=17)], each=2, chips=AMD)), ids=str)
def test_rows_that_begin_anywhere(chip, case, tool, tmp_path):
    """Vectors go over the ends of rows, but not over that of the array, behind which nothing may be read; several steps of k."""
    text = f'module attributes {{tilewright.force = "block_m=32,block_n=32,subgroups_k=1"}} {{ {product(**case)} }}'
    report = run(tool, tmp_path, chip, text)
    assert kernels(report) and not conflicts(report)


@pytest.mark.parametrize("chip, case", with_chips([
    ("f16", "f32", 65, 101, 2), ("i8", "i32", 129, 745, 2), ("f16", "f32", 65, 101, 1), ("i8", "i32", 129, 745, 1),
    ("f16", "f32", 64, 3, 1)], each=2, chips=AMD), ids=str)
def test_rows_that_lie_in_each_other(chip, case, tool, tmp_path):
    """Of an image with one channel, windows that are a point or two apart: the next row of the sum begins before a vector ends, and side by
    side they are contiguous along both dimensions."""
    kind, sums, taps, points, apart = case
    image = f"tensor<1x1x{points + apart * (taps - 1)}x{kind}>"
    filters, result = f"tensor<64x1x{taps}x{kind}>", f"tensor<1x64x{points}x{sums}>"
    force = "block_m=16,block_n=16,block_k=64,subgroups_m=1,subgroups_n=1,subgroups_k=1" if points < 16 else ""
    report = run(tool, tmp_path, chip, f"""module attributes {{tilewright.force = "{force}"}} {{
      func.func @f(%x: {image}, %y: {filters}) -> {result} {{
      %z = arith.constant {"0.0" if sums == "f32" else "0"} : {sums}
      %e = tensor.empty() : {result}
      %i = linalg.fill ins(%z : {sums}) outs(%e : {result}) -> {result}
      %r = linalg.conv_1d_ncw_fcw {{dilations = dense<{apart}> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>}}
          ins(%x, %y : {image}, {filters}) outs(%i : {result}) -> {result}
      return %r : {result}
    }} }}""")
    assert any(kernel["units"] for kernel in kernels(report))


@pytest.mark.parametrize("chip, case", some(with_chips([("%k", 101, 0), ("99 - %k", 101, 0), ("%k", 97, 3)], each=len(CHIPS) // 2,
                                                       chips=CHIPS)), ids=str)
def test_rows_of_a_larger_array(chip, case, tool, tmp_path):
    """Rows of A that begin with a vector and end inside of one; that come in the reverse order; that begin inside of one."""
    k, rows, begin = case
    path = tmp_path / "program.mlir"
    path.write_text(f"""func.func @f(%A: memref<100x104xf16>, %B: memref<100x64xf16>, %C: memref<{rows}x64xf32>) {{
      affine.for %i = 0 to {rows} {{ affine.for %j = 0 to 64 {{ affine.for %k = 0 to 100 {{
        %a = affine.load %A[{k}, %i + {begin}] : memref<100x104xf16>
        %b = affine.load %B[%k, %j] : memref<100x64xf16>
        %c = affine.load %C[%i, %j] : memref<{rows}x64xf32>
        %x = arith.extf %a : f16 to f32
        %y = arith.extf %b : f16 to f32
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<{rows}x64xf32>
      }} }} }}
      return
    }}""")
    report = emulate(tool, path, chip, "--modes")
    assert any(kernel["units"] for kernel in kernels(report)) and not conflicts(report)


def has_channels(case):
    return case.get("groups", 1) == 1 or case.get("channels", 2) % 2 == 0 and case.get("filters", 2) % 2 == 0


@pytest.mark.parametrize("case", some(cases(
    (CHIPS if FULL else CHIPS[::2], KINDS),
    {"layout": ["nchw", "nhwc"], "stride": [1, 2], "dilation": [1, 2], "groups": [1, 2], "padding": [0, 1],
     "taps": [3, 1], "channels": [8, 32, 3, 1], "filters": [12, 37, 64, 1]}, has_channels)))
def test_convolutions(case, tool, tmp_path):
    chip = case.pop("chip")
    assert not conflicts(run(tool, tmp_path, chip, convolution(**case)))


def is_padded(case):
    return has_channels(case) and case.get("padding", 1) > 0


@pytest.mark.parametrize("case", some(cases(
    (CHIPS if FULL else CHIPS[::3], ["f16", "bf16", "f32", "f64", "i8"]),
    {"layout": ["nhwc", "nchw"], "stride": [1, 2, 3], "dilation": [1, 2], "groups": [1, 2], "padding": [1, 2, 3],
     "taps": [3, 1, 2], "channels": [32, 8, 6], "filters": [64, 37], "points": [(13, 11), (16, 16), (3, 32)]}, is_padded)))
def test_padding_takes_no_launch(case, tool, tmp_path):
    """Copies take zeros outside of the image, which no launch writes around it before; nothing there is read."""
    chip = case.pop("chip")
    decisions, report = padded(tool, tmp_path, chip, convolution(**case))
    if (chip, case["kind"]) == ("nvidia:T4", "bf16"):  # no unit takes them
        return
    (times,) = (d["padding"] for d in decisions if d["decision"] == "contraction")
    assert min(times, key=lambda each: each["seconds"])["padded"] == 0
    assert not conflicts(report)
    if "split" in [d["decision"] for d in decisions]:  # launches begin and end sums of parts
        return
    (kernel,) = kernels(report)
    assert kernel["units"]
    read = sum(s["bytes"] for s in kernel["sites"] if s["memory"] == "global" and not s["writes"])
    assert read == kernel["predicted"]["global_read_bytes"]


@pytest.mark.parametrize("chip", ["nvidia:A100", "nvidia:T4", "amd:MI300X"])
@pytest.mark.parametrize("points", [(3, 32), (16, 16)])
def test_where_two_padded_bytes_lie_together(chip, points, tool, tmp_path):
    """Of pairs of bytes that four subgroups load, no order of the lanes fills sectors and keeps writes apart in banks."""
    _, report = padded(tool, tmp_path, chip, convolution("nchw", "i8", 1, 1, 1, 2, taps=1, channels=32, filters=64, points=points))
    assert any(kernel["units"] for kernel in kernels(report)) and not conflicts(report)


def padded(tool, folder, chip, text):
    report = run(tool, folder, chip, text)
    return json.loads(tool("tw-compile", folder / "program.mlir", "--target", chip, "--explain=json")), report


@pytest.mark.parametrize("chip, sides", with_chips([("0, 2, 0, 0", "0, 0, 3, 0"), ("0, 0, 3, 0", "0, 0, 0, 0"), ("0, 1, 1, 8", "0, 1, 1, 0")],
                                                   chips=["nvidia:A100", "amd:MI300X"]))
def test_padding_on_some_sides(chip, sides, tool, tmp_path):
    """Rows before and columns behind, one side alone, and channels, whose sums go over them."""
    low, high = sides
    rows, cols, channels = (n + a + b for n, a, b in zip((12, 16, 24), map(int, low.split(",")[1:]), map(int, high.split(",")[1:])))
    text = f"""func.func @f(%x: tensor<2x12x16x24xf16>, %w: tensor<3x3x{channels}x64xf16>) -> tensor<2x{rows - 2}x{cols - 2}x64xf32> {{
      %zero = arith.constant 0.0 : f16
      %none = arith.constant 0.0 : f32
      %p = tensor.pad %x low[{low}] high[{high}] {{
      ^bb0(%a: index, %b: index, %c: index, %d: index):
        tensor.yield %zero : f16
      }} : tensor<2x12x16x24xf16> to tensor<2x{rows}x{cols}x{channels}xf16>
      %e = tensor.empty() : tensor<2x{rows - 2}x{cols - 2}x64xf32>
      %s = linalg.fill ins(%none : f32) outs(%e : tensor<2x{rows - 2}x{cols - 2}x64xf32>) -> tensor<2x{rows - 2}x{cols - 2}x64xf32>
      %r = linalg.conv_2d_nhwc_hwcf ins(%p, %w : tensor<2x{rows}x{cols}x{channels}xf16>, tensor<3x3x{channels}x64xf16>)
        outs(%s : tensor<2x{rows - 2}x{cols - 2}x64xf32>) -> tensor<2x{rows - 2}x{cols - 2}x64xf32>
      return %r : tensor<2x{rows - 2}x{cols - 2}x64xf32>
    }}"""
    report = run(tool, tmp_path, chip, text)
    assert len(kernels(report)) == 1 and not conflicts(report)


@pytest.mark.parametrize("chip, images", [("nvidia:A100", "2"), ("amd:MI350", "?"),
                                          *([("amd:MI300X", "2"), ("nvidia:T4", "?")] if FULL else [])])
def test_chains_of_padded_convolutions(chip, images, tool, tmp_path):
    """What follows a convolution runs on its sums, though the next one reads it with zeros around: one launch for each."""
    def padded(result, image, channels):
        return f"""{result} = tensor.pad {image} low[0, 1, 1, 0] high[0, 1, 1, 0] {{
        ^bb0(%a: index, %b: index, %c: index, %d: index):
          tensor.yield %zero : f16
        }} : tensor<{images}x9x12x{channels}xf16> to tensor<{images}x11x14x{channels}xf16>"""
    result, plain = f"tensor<{images}x9x12x32xf32>", "affine_map<(a, b, c, d) -> (a, b, c, d)>"
    count = "%n" if images == "?" else ""
    text = f"""func.func @f(%x: tensor<{images}x9x12x16xf16>, %w: tensor<3x3x16x32xf16>, %v: tensor<3x3x32x32xf16>) -> {result} {{
      %first = arith.constant 0 : index
      %n = tensor.dim %x, %first : tensor<{images}x9x12x16xf16>
      %zero = arith.constant 0.0 : f16
      %none = arith.constant 0.0 : f32
      {padded("%p", "%x", 16)}
      %e = tensor.empty({count}) : {result}
      %s = linalg.fill ins(%none : f32) outs(%e : {result}) -> {result}
      %r = linalg.conv_2d_nhwc_hwcf ins(%p, %w : tensor<{images}x11x14x16xf16>, tensor<3x3x16x32xf16>) outs(%s : {result}) -> {result}
      %o = tensor.empty({count}) : tensor<{images}x9x12x32xf16>
      %h = linalg.generic {{indexing_maps = [{plain}, {plain}], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
        ins(%r : {result}) outs(%o : tensor<{images}x9x12x32xf16>) {{
      ^bb0(%i: f32, %j: f16):
        %m = arith.maximumf %i, %none : f32
        %t = arith.truncf %m : f32 to f16
        linalg.yield %t : f16
      }} -> tensor<{images}x9x12x32xf16>
      {padded("%q", "%h", 32)}
      %z = linalg.conv_2d_nhwc_hwcf ins(%q, %v : tensor<{images}x11x14x32xf16>, tensor<3x3x32x32xf16>) outs(%s : {result}) -> {result}
      return %z : {result}
    }}"""
    first, second = kernels(run(tool, tmp_path, chip, text, *(["--sizes=2"] if images == "?" else [])))
    assert first["units"] and second["units"]


@pytest.mark.parametrize("chip, layout", [("nvidia:A100", "nhwc"), ("amd:MI300X", "nchw")])
def test_padding_of_floats_that_are_widened(chip, layout, tool, tmp_path):
    """The image and the filters are widened, neither of them with zeros around."""
    text = convolution(layout, "f8E4M3FN", 1, 1, 1, 1, channels=32, filters=64)
    assert [bool(kernel["units"]) for kernel in kernels(run(tool, tmp_path, chip, text))] == [False, False, True]


@pytest.mark.parametrize("chip, force", [("nvidia:H100", "group=4"), ("amd:MI350", "")])
@pytest.mark.parametrize("rows, k, cols, low, low_k", [(250, 120, 248, 3, 5), (256, 96, 256, 0, 0)])
def test_products_of_padded_matrices(chip, force, rows, k, cols, low, low_k, tool, tmp_path):
    """Engines that copy tiles write zeros outside of the array, before its begin, too."""
    pad = """tensor.pad {0} low[{1}, {2}] high[{3}, {4}] {{
      ^bb0(%a: index, %b: index):
        tensor.yield %zero : f16
      }} : tensor<{5}x{6}xf16> to tensor<{7}x{8}xf16>"""
    text = f"""module attributes {{tilewright.force = "{force}"}} {{
      func.func @f(%x: tensor<{rows}x{k}xf16>, %y: tensor<{k}x{cols}xf16>) -> tensor<256x256xf32> {{
      %zero = arith.constant 0.0 : f16
      %none = arith.constant 0.0 : f32
      %p = {pad.format("%x", low, low_k, 256 - low - rows, 128 - low_k - k, rows, k, 256, 128)}
      %q = {pad.format("%y", low_k, 0, 128 - low_k - k, 256 - cols, k, cols, 128, 256)}
      %e = tensor.empty() : tensor<256x256xf32>
      %s = linalg.fill ins(%none : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
      %r = linalg.matmul ins(%p, %q : tensor<256x128xf16>, tensor<128x256xf16>) outs(%s : tensor<256x256xf32>) -> tensor<256x256xf32>
      return %r : tensor<256x256xf32>
    }} }}"""
    (kernel,) = kernels(run(tool, tmp_path, chip, text))
    assert kernel["units"] and ("wgmma" in json.dumps(kernel["units"])) == bool(force)


@pytest.mark.parametrize("chip, case", [
    # Fewer bytes than a block's lanes write at once: narrower writes take no longer, and the reads meet in no bank.
    ("amd:MI250", dict(groups=2, padding=1, channels=32, filters=64)),
    # Rows of 32 bytes, which lanes turn: reads of matrices keep larger pieces than theirs apart.
    ("nvidia:A100", dict(groups=1, padding=0, channels=3, filters=12)),
    ("nvidia:B200", dict(groups=1, padding=0, channels=3, filters=12))])
def test_no_lanes_meet_in_a_small_tile(chip, case, tool, tmp_path):
    case = dict(layout="nhwc", stride=1, dilation=1, taps=1, **case)
    assert not conflicts(run(tool, tmp_path, chip, convolution(kind="i8", **case)))


def is_of_kind(case):
    return case.get("kind", "f")[0] in "fb" or case.get("op", "sum") in ("sum", "product", "max", "min")


@pytest.mark.parametrize("case", some(cases(
    (CHIPS if FULL else CHIPS[1::2], ["f32", "f16", "bf16", "f64", "i32", "i8", "f8E4M3FN"]),
    {"op": REDUCTIONS, "axis": ["last", "middle", "first", "two", "all"], "batch": [1, 3], "rows": [7, 1, 64],
     "cols": [13, 256, 1, 1031]}, is_of_kind)))
def test_reductions(case, tool, tmp_path):
    chip = case.pop("chip")
    run(tool, tmp_path, chip, reduction(**case))


@pytest.mark.parametrize("chip", CHIPS if FULL else CHIPS[::4])
def test_sums_of_columns_run_in_all_lanes(chip, tool, tmp_path):
    """A lane a column, whose sum stays in a register: each element is read once, each sum written once, behind its zero in one launch."""
    path = tmp_path / "sums.mlir"
    path.write_text(reduction("sum", "f32", "first", 64, 7, 1031))
    sums, = kernels(emulate(tool, path, chip))
    (memory,) = [m for m in sums["memories"] if m["memory"] == "global"]
    assert sums["lanes"] >= 1031 * 7 and memory["written_bytes"] == 2 * 4 * 7 * 1031
    assert memory["read_bytes"] == 4 * 1031 * 7 * 65


def test_every_pair_of_values_occurs():
    factors = {"a": [0, 1, 2], "b": ["x", "y"], "c": [None, 4, 5, 6], "d": [False, True]}

    def allowed(case):
        return not (case.get("a") == 1 and case.get("c") == 5) and not (case.get("b") == "y" and case.get("d"))

    array = pairwise(factors, allowed)
    assert array == pairwise(factors, allowed) and all(allowed(case) for case in array)
    for (a, xs), (b, ys) in itertools.combinations(factors.items(), 2):
        for x, y in itertools.product(xs, ys):
            assert any(case[a] == x and case[b] == y for case in array) == allowed({a: x, b: y}), (a, x, b, y)
    assert len(array) <= 15  # 12 are the fewest
