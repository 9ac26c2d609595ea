"""Sectors of global memory that the kernels of products and convolutions touch, against those of the row pieces that they
copy."""

import json

import pytest

from conftest import FULL, in_turn, some
from lane_texts import convolution, product, product_sizes
from lanes import PRODUCTS, SECTOR, emulate, kernels, memory, tiles, touched, with_chips

def sectors_of_convolution(layout, size, channels, filters, taps, points, padding, block):
    """Of all pieces that blocks of `block` copy for 2 images: the taps one after the other; of a tap the points of a row for each
    channel, or the channels of each point, whichever lie together, and the filters' channels or the channels' filters. Rows of C
    are filters where its columns, which lie together, are points. Points of the padding are not copied."""
    h, w = points
    of_points, of_filters, block = *(block[1::-1] if layout == "nchw" else block[:2]), block[2]
    rows, cols = (x + 2 * padding - taps + 1 for x in points)
    image, weights = [], []
    for tap in range(taps * taps):
        y, x = (i - padding for i in divmod(tap, taps))
        for c in tiles(channels, block):
            for f in tiles(filters, of_filters):
                weights += ([[(i * channels + j) * taps * taps + tap for j in c] for i in f] if layout == "nchw" else
                            [[(tap * channels + j) * filters + i for i in f] for j in c])
            for p in tiles(cols, of_points):
                for row in range(max(0, -y), min(rows, h - y)):
                    inside = [x + i for i in p if 0 <= x + i < w]
                    image += ([[(j * h + row + y) * w + i for i in inside] for j in c] if layout == "nchw" else
                              [[((row + y) * w + i) * channels + j for j in c] for i in inside])
    return 2 * (len(tiles(filters, of_filters)) * touched(image, size) + rows * len(tiles(cols, of_points)) * touched(weights, size))


ORDERS = [(a, b) for a in (False, True) for b in (False, True)]

#: Of bytes lanes of these chips write 16 of a row at once, since fragments are loaded as matrices, or 16 bytes of a row by a lane;
#: 8-bit floats are widened before on the first two and the last but one. Batched, whose pitch is known between the matrices alone, and of
#: static sizes, too.
BYTES = ["nvidia:T4", "nvidia:A100", "nvidia:RTX4090", "nvidia:H100", "nvidia:H200", "nvidia:B200", "nvidia:RTX5090", "amd:RX7900", "amd:RX9070"]
SHORT = [(kind, *order) for order in ORDERS[::-1] for kind in ("i8", "f8E4M3FN")]
UNKNOWN = [*with_chips(PRODUCTS, each=2), ("amd:RX7900", ("f16", True, False)), ("amd:RX7900", ("f16", False, False)),
           ("nvidia:A100", ("f16", False, False)),
           *((chip, case) for i, chip in enumerate(BYTES) for j, case in enumerate(SHORT) if FULL or j == i),
           *((chip, ("i8", True, False)) for chip in BYTES[:4:3]),
           *(("amd:RX7900", ("i8", *order)) for order in ORDERS), ("amd:RX9070", ("i8", True, False))]


def has_unit(chip, case):
    return (chip, case[0]) != ("nvidia:T4", "bf16")


def whole_sectors(tool, path, chip, sizes):
    """Runs the product at `path`; its lanes meet in no bank, and both its copies and its stores fill sectors."""
    report = emulate(tool, path, chip, *(f"--sizes={size}" for size in sizes))
    kernel = max(kernels(report), key=lambda each: len(each["sites"]))
    assert memory(kernel, "scratchpad")["conflict_cycles"] == 0
    for writes in (False, True):
        far = [s for s in kernel["sites"] if s["memory"] == "global" and s["writes"] == writes]
        assert sum(s["transactions"] for s in far) * SECTOR <= 1.05 * sum(s["bytes"] for s in far)


@pytest.mark.parametrize("chip, case", some(sorted({each for each in UNKNOWN if has_unit(*each)})))
def test_product_of_unknown_sizes(chip, case, tool, tmp_path):
    """Copies and stores of results move single elements, and lanes side by side fill sectors; those that turn tiles, too."""
    kind, trans_a, trans_b = case
    path = tmp_path / "mm.mlir"
    path.write_text(product(kind, 128, 128, 128, trans_a, trans_b, dynamic=True))
    whole_sectors(tool, path, chip, [128] * 3)


@pytest.mark.parametrize("batch, dynamic", [(2, True), (2, False), (None, False)])
@pytest.mark.parametrize("chip, case", [(chip, case) for i, chip in enumerate(BYTES) for j, case in enumerate(SHORT)
                                        if FULL or (i, j) in ((1, 2), (3, 3))])
def test_product_of_bytes(chip, case, batch, dynamic, tool, tmp_path):
    """Batched, and of sizes that are known: a lane turns blocks of several rows of the array."""
    kind, trans_a, trans_b = case
    path = tmp_path / "mm.mlir"
    path.write_text(product(kind, 128, 128, 128, trans_a, trans_b, batch=batch, dynamic=dynamic))
    whole_sectors(tool, path, chip, product_sizes(128, 128, 128, trans_a, batch) if dynamic else [])


def stored(kernel):
    """Bytes of the sectors that stores touch over those that they write."""
    far = [s for s in kernel["sites"] if s["memory"] == "global" and s["writes"]]
    return sum(s["transactions"] for s in far) * SECTOR / sum(s["bytes"] for s in far)


#: Type, tail and tile for results of 2 bytes, and of 1 byte, four of whose units with 8 columns a subgroup has in a row.
RESULTS = [("f16.f16", "none", "64,64,1"), ("f16", "narrow", "64,64,1"), ("f16.f16", "residual", "64,64,1"),
           ("f16.f16", "bias-relu", "64,64,1"), ("i8", "narrow", "64,128,2")]
if FULL:
    RESULTS += [("bf16", "narrow", "64,64,1"), ("f16.f16", "gelu", "64,64,1"), ("ui8", "narrow", "64,128,2")]
#: Beside the chips of all tests one of each other generation.
RESULT_CHIPS = ["nvidia:A100", "nvidia:T4", "nvidia:L4", "nvidia:H100", "nvidia:B200", "nvidia:RTX5090"]


@pytest.mark.parametrize("chip, case", [
    (chip, case) for i, chip in enumerate(RESULT_CHIPS) for j, case in enumerate(RESULTS)
    if not (chip == "nvidia:T4" and case[0] in ("bf16", "ui8")) and (FULL or i == 0 or i % 3 == j % 3)])
def test_stores_of_short_results(chip, case, tool, tmp_path):
    """Units with 8 columns give lanes 2 neighbours of a row; what lanes store after an exchange fills sectors."""
    kind, tail, tile = case
    rows, cols, across = tile.split(",")
    path = tmp_path / "mm.mlir"
    path.write_text(f'module attributes {{tilewright.force = "block_m={rows},block_n={cols},subgroups_n={across},group=1"}} {{'
                    f'{product(kind, 128, 128, 64, tail=tail)}}}')
    report = emulate(tool, path, chip)
    kernel = max(kernels(report), key=lambda each: len(each["sites"]))
    assert kernel["units"] and memory(kernel, "scratchpad")["conflict_cycles"] == 0
    assert stored(kernel) <= 1.05
    far = memory(kernel, "global")  # the exchange asks for no byte more
    assert kernel["predicted"]["global_read_bytes"] == far["read_bytes"]
    assert kernel["predicted"]["global_written_bytes"] == far["written_bytes"] == 128 * 128 * (1 if "i8" in kind else 2)


@pytest.mark.parametrize("chip, kind, tail, size", [
    ("nvidia:A100", "f16.f16", "none", (256, 256, 128)), ("nvidia:H100", "f16", "narrow", (256, 256, 128)),
    ("nvidia:A100", "f16.f16", "residual", (256, 256, 128)), ("amd:RX7900", "i8", "narrow", (512, 512, 256)),
    ("amd:MI300X", "i8", "narrow", (1024, 1024, 64))])
def test_stores_of_small_products(chip, kind, tail, size, tool, tmp_path):
    """Of plans that take as long but for their results one is taken whose subgroups fill sectors."""
    path = tmp_path / "mm.mlir"
    path.write_text(product(kind, *size, tail=tail))
    assert stored(max(kernels(emulate(tool, path, chip)), key=lambda each: len(each["sites"]))) <= 1.05


@pytest.mark.parametrize("chip, kind", [("nvidia:A100", "f16"), ("nvidia:H100", "bf16"), ("nvidia:T4", "f16")])
def test_stores_of_short_results_of_unknown_pitch(chip, kind, tool, tmp_path):
    """Lanes move single elements, those of 16 lanes a sector."""
    path = tmp_path / "mm.mlir"
    path.write_text('module attributes {tilewright.force = "block_m=64,block_n=64,subgroups_n=1"} {'
                    f'{product(kind, 128, 128, 64, tail="narrow", dynamic=True)}}}')
    report = emulate(tool, path, chip, "--sizes=128", "--sizes=64", "--sizes=128")
    assert stored(max(kernels(report), key=lambda each: len(each["sites"]))) <= 1.05


@pytest.mark.parametrize("case", [dict(n=132), dict(n=196, kind="bf16")])
def test_stores_of_a_group(case, tool, tmp_path):
    """Units of a group of subgroups, in rows that begin at any multiple of 4 elements: lanes of one subgroup exchange."""
    case = {"kind": "f16", **case}
    path = tmp_path / "mm.mlir"
    path.write_text('module attributes {tilewright.force = "group=4"} {'
                    f'{product(case["kind"], 128, case["n"], 128, trans_b=True, tail="narrow")}}}')
    (kernel,) = (k for k in kernels(emulate(tool, path, "nvidia:H100")) if k["units"])
    assert "wgmma" in json.dumps(kernel["units"])
    assert stored(kernel) <= 2  # 16 columns, 32 bytes of a row, lie in two sectors at most


@pytest.mark.parametrize("case, tail", in_turn(
    [dict(m=120, n=126), dict(m=120, n=124, kind="bf16"), dict(m=97, n=99),
     dict(m=120, n=112, kind="i8", tile="block_m=64,block_n=128,subgroups_n=2"), dict(m=64, n=128, batch=3),
     dict(m=120, n=126, dynamic=True), dict(m=64, n=64, k=2048, tile="")], ["narrow", "residual"]))
def test_short_results_at_edges(case, tail, tool, tmp_path):
    """Results of tiles that the array cuts, of any pitch, of batches and of sizes that only the run shows are right."""
    case = {"kind": "f16", "k": 64, "tile": "block_m=64,block_n=64", **case}
    tile, kind = case.pop("tile"), case.pop("kind")
    if tail == "residual" and kind == "f16":
        kind = "f16.f16"
    path = tmp_path / "mm.mlir"
    path.write_text(f'module attributes {{tilewright.force = "{tile}"}} {{{product(kind, **case, tail=tail)}}}' if tile else
                    product(kind, **case, tail=tail))
    sizes = product_sizes(case["m"], case["n"], case["k"]) if case.get("dynamic") else []
    emulate(tool, path, "nvidia:A100", *(f"--sizes={size}" for size in sizes))


#: Layout, type, taps along a side, points of the image and zeros around it. Its rows begin at whole sectors; those of a window's
#: second tap do not, nor do those of the first one where zeros are around.
WINDOWS = [(layout, kind, taps, points, padding)
           for taps, points, padding in ((1, (16, 16), 0), (1, (4, 32), 0), (3, (6, 32), 0), (3, (6, 32), 1), (5, (3, 16), 2))
           for layout in ("nchw", "nhwc") for kind in ("f16", "f32")]


@pytest.mark.parametrize("chip, case", [each for i, each in enumerate(with_chips(WINDOWS)) if FULL or i % 4 in (0, 3)])
def test_convolution(chip, case, tool, tmp_path):
    """Copies touch the sectors of the row pieces that they copy once, whichever dimension of the image lies inside. In CI each window
    with both types and both layouts, each of these once."""
    layout, kind, taps, points, padding = case
    path = tmp_path / "conv.mlir"
    path.write_text(convolution(layout, kind, 1, 1, 1, padding, taps, channels=64, filters=64, points=points))
    decisions = json.loads(tool("tw-compile", path, "--target", chip, "--explain=json"))
    (block,) = (d["choice"]["block"] for d in decisions if d["decision"] == "contraction")
    (kernel,) = (k for k in kernels(emulate(tool, path, chip)) if k["units"])
    assert memory(kernel, "scratchpad")["conflict_cycles"] == 0
    far = [s for s in kernel["sites"] if s["memory"] == "global"]
    moved = sum(s["transactions"] for s in far if not s["writes"])
    least = sectors_of_convolution(layout, int(kind[1:]) // 8, 64, 64, taps, points, padding, block)
    assert least <= moved <= 1.05 * least
    if taps == 1:  # rows of results begin at whole sectors, too
        assert sum(s["transactions"] for s in far) * SECTOR <= 1.05 * sum(s["bytes"] for s in far)
