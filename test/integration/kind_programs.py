# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of scripts/kind-shares.py: of each file of tests that compiles whole programs some that differ in form.

    python test/integration/kind_programs.py FOLDER         writes them there, `python` as the tests have it

A program names no chip, so that all kinds of chips compile the same. Forced fields stay: those that a chip does not know say nothing there.
"""

import itertools
import pathlib
import sys

import dynamic_programs
import lane_texts
import test_block_scaled
import test_breadth
import test_chains
import test_convolutions
import test_cross_entropy
import test_lane_columns
import test_lane_neighbours
import test_lookups
import test_masks
import test_online_reductions
import test_padding
import test_producers
import test_result_sizes
import test_strided_loads
import test_transposed_results
import test_wide_arrays
from random_programs.__main__ import FAMILIES

#: A matrix product: type, sizes, and which of transposed operands, batch, what follows and dynamic sizes differ from the usual.
PRODUCTS = [
    ("f32", 1024, 1024, 1024, {}), ("f32", 37, 29, 41, {"tail": "gelu"}), ("f32", 1, 4096, 4096, {"trans_b": True}),
    ("f64", 130, 70, 90, {"trans_a": True, "tail": "residual"}), ("f16", 4096, 4096, 4096, {"tail": "bias-relu"}),
    ("f16", 64, 64, 16384, {"trans_b": True}), ("f16", 200, 200, 200, {"dynamic": True, "tail": "narrow"}),
    ("f16.f16", 256, 256, 256, {"trans_a": True}), ("bf16", 512, 512, 512, {"batch": 12, "trans_b": True}),
    ("bf16", 100, 100, 100, {"batch": 3, "dynamic": True, "tail": "gelu"}), ("i8", 1024, 1024, 1024, {"tail": "narrow"}),
    ("i8", 33, 65, 127, {"trans_a": True, "trans_b": True}), ("ui8", 128, 256, 512, {"trans_b": True, "tail": "bias-relu"}),
    ("f8E4M3FN", 256, 256, 256, {"trans_b": True, "tail": "narrow"}), ("f8E5M2FNUZ", 65, 67, 129, {}), ("i32", 96, 80, 64, {}),
]

#: A convolution: order of its arrays, type, stride, dilation, groups, padding, and more.
CONVOLUTIONS = [
    ("nchw", "f32", 1, 1, 1, 1, {"channels": 64, "filters": 64, "points": (28, 28)}), ("nhwc", "f16", 2, 1, 1, 1, {}),
    ("nchw", "f16", 1, 1, 1, 0, {"taps": 1, "channels": 64, "filters": 128}), ("nhwc", "i8", 1, 2, 1, 2, {"channels": 32}),
    ("nchw", "bf16", 1, 1, 4, 1, {}), ("nhwc", "f32", 1, 1, 8, 1, {"filters": 8}),
]


def of_products():
    for kind, m, n, k, more in PRODUCTS:
        yield f"product-{kind}-{m}-{n}-{k}", lane_texts.product(kind, m, n, k, **more)
    for (kind, dynamic), turned in zip(zip(("f32", "bf16", "i8") * 3, dynamic_programs.SUBSETS), itertools.cycle((False, True))):
        yield f"product-dynamic-{kind}-{dynamic}", dynamic_programs.product(kind, 200, 300, 400, dynamic, trans_b=turned)
    for number, case in enumerate(test_transposed_results.CASES[::3]):
        yield f"product-transposed-result-{number}", test_transposed_results.product(*case)
    for number, (sizes, source, more) in enumerate([((256, 1024, 512), "i8", {}), ((67, 83, 97), "u8", {"of": "ab", "turned": "b"}),
                                                    ((61, 150, 70), "bf16", {"dynamic": True, "scale": "rows"})]):
        yield f"product-computed-operand-{number}", test_producers.program(*sizes, source, **more)
    for form, a, b in [("chain", "f8E4M3FN", "f8E5M2"), ("generic", "f8E5M2", "f8E4M3FN"), ("tosa", "f8E4M3FN", "f8E4M3FN")]:
        yield f"product-scaled-{form}", test_block_scaled.program(form, 64, 96, 512, a, b)
    yield "product-wide", test_wide_arrays.PROGRAMS["product"]


def of_convolutions():
    for layout, kind, stride, dilation, groups, padding, more in CONVOLUTIONS:
        yield f"convolution-{layout}-{kind}-{stride}{dilation}{groups}", lane_texts.convolution(layout, kind, stride, dilation, groups,
                                                                                               padding, **more)
    for seed in range(0, test_convolutions.SEEDS, 9):
        yield f"convolution-random-{seed}", test_convolutions.Convolution(seed).text()
    for _, kind, order, channels, results, dynamic in test_strided_loads.STRIDED_WEIGHTS[::2]:
        yield f"convolution-weights-{kind}-{order}", test_strided_loads.convolution(order, kind, channels, results, dynamic)
    for name in list(test_padding.POOLINGS)[::2]:
        yield f"pooling-{name}", test_padding.pooling(*test_padding.POOLINGS[name])
    _, image = test_padding.padded("%x", "%zh", "f16", [1, 3, 32, 32], [0, 0, 3, 3], [0, 0, 3, 3])
    _, sums = test_padding.padded("%q", "%mh", "f16", [1, 32, 16, 16], [0, 0, 1, 1], [0, 0, 1, 1])
    yield "stem", test_padding.STEM.format(image=image, sums=sums)


def of_chains():
    for name, sizes in [("f32", (2, 96, 64)), ("f16", (8, 1024, 64)), ("bf16", (1, 70, 36))]:
        yield f"attention-{name}", test_chains.attention(*sizes, name)
    for mask, element in zip(("causal", "window", "every second 64 keys", "rows without a key"), ("f16", "f32", "bf16", "f32")):
        yield f"attention-{mask}", test_masks.masked_attention(2, 256, 64, mask, element, keys=320)
    yield "soft-max-product", test_online_reductions.soft_max_product(300, 20)
    yield "two-products", test_chains.two_products(512, 256, 1024, 256)
    yield "blurs", test_chains.blurs(250)
    yield "stencils", test_padding.stencil(1)
    yield "swiglu", test_lane_columns.swiglu(64, 512, 1024, 512, "f16")
    yield "rms-product", test_lane_columns.rms_product(64, 512, 256, "f16")
    yield "layer-norm-product", test_lane_columns.layer_norm_product(48, 256, 192, "bf16")
    yield "cross-entropy", test_cross_entropy.cross_entropy(2048, 1024, 64)
    yield "loss", test_cross_entropy.loss(512, 1000)


def of_nests():
    for op, axis in zip(lane_texts.REDUCTIONS, itertools.cycle(("last", "middle", "first", "two", "all"))):
        kind = "f32" if axis != "middle" else "f16"
        if op in ("softmax", "norm"):
            axis = "last"
        yield f"reduction-{op}-{axis}", lane_texts.reduction(op, kind, axis, 4, 130, 1000)
    for dynamic in ("", "r", "rl"):
        yield f"soft-max-{dynamic}", dynamic_programs.softmax(300, 5000, dynamic)
        yield f"norm-{dynamic}", dynamic_programs.layer_norm(300, 768, dynamic)
    for kind, shape, order, more in [("f32", (1000, 1030), (1, 0), {}), ("f16", (8, 64, 12, 64), (0, 2, 1, 3), {"operand": True}),
                                     ("i8", (3, 224, 224), (1, 2, 0), {}), ("f32", (300, 400), (1, 0), {"dynamic": (0, 1)})]:
        yield f"transposition-{kind}-{'x'.join(map(str, shape))}", lane_texts.transposition(kind, shape, order, **more)
    for kinds, shape in [(("f32", "f32"), (4096, 1023)), (("f16", "f32"), ("?", "?")), (("i8", "i8"), (7, 65))]:
        yield f"sum-{'-'.join(kinds)}-{'x'.join(map(str, shape))}", test_lane_neighbours.program(*kinds, shape)
    samples, rows, _ = test_lookups.CASES["four"]
    yield "lookups", test_lookups.program(samples, rows)
    yield "concatenation", test_result_sizes.JOIN
    yield "a-loop-that-shrinks", test_result_sizes.SHRINK


def of_operations():
    """Every thirtieth of those that have a program each."""
    for case in test_breadth.CASES[::30]:
        yield f"operation-{case.name}", case.text


def of_seeds():
    for family, count in (("any", 14), ("rows", 10), ("windows", 8)):
        for seed in range(count):
            yield f"random-{family}-{seed}", FAMILIES[family](seed).text


FAMILIES_OF_PROGRAMS = (of_products, of_convolutions, of_chains, of_nests, of_operations, of_seeds)


def programs() -> dict[str, str]:
    return dict(itertools.chain.from_iterable(family() for family in FAMILIES_OF_PROGRAMS))


if __name__ == "__main__":
    for name, text in programs().items():
        (pathlib.Path(sys.argv[1]) / f"{name.replace(' ', '-').replace(',', '')}.mlir").write_text(text)
