"""Convolutions and poolings of linalg: their dimensions and what they compute stand in their names."""

import itertools

import numpy as np

from breadth.case import Random, Tensor, destination

#: name: (letters of image, filter, output); `g` groups, `m` a channel's multiplier.
CONVOLUTIONS = {
    "conv_1d": ("w", "w", "w"), "conv_2d": ("hw", "hw", "hw"), "conv_3d": ("dhw", "dhw", "dhw"),
    "conv_1d_nwc_wcf": ("nwc", "wcf", "nwf"), "conv_1d_ncw_fcw": ("ncw", "fcw", "nfw"),
    "conv_2d_nhwc_hwcf": ("nhwc", "hwcf", "nhwf"), "conv_2d_nhwc_fhwc": ("nhwc", "fhwc", "nhwf"),
    "conv_2d_nchw_fchw": ("nchw", "fchw", "nfhw"), "conv_2d_ngchw_fgchw": ("ngchw", "fgchw", "ngfhw"),
    "conv_2d_ngchw_gfchw": ("ngchw", "gfchw", "ngfhw"), "conv_2d_nhwgc_gfhwc": ("nhwgc", "gfhwc", "nhwgf"),
    "conv_3d_ndhwc_dhwcf": ("ndhwc", "dhwcf", "ndhwf"), "conv_3d_ncdhw_fcdhw": ("ncdhw", "fcdhw", "nfdhw"),
    "depthwise_conv_1d_nwc_wc": ("nwc", "wc", "nwc"), "depthwise_conv_1d_ncw_cw": ("ncw", "cw", "ncw"),
    "depthwise_conv_1d_nwc_wcm": ("nwc", "wcm", "nwcm"), "depthwise_conv_2d_nhwc_hwc": ("nhwc", "hwc", "nhwc"),
    "depthwise_conv_2d_nchw_chw": ("nchw", "chw", "nchw"), "depthwise_conv_2d_nhwc_hwcm": ("nhwc", "hwcm", "nhwcm"),
    "depthwise_conv_3d_ndhwc_dhwc": ("ndhwc", "dhwc", "ndhwc"),
    "depthwise_conv_3d_ncdhw_cdhw": ("ncdhw", "cdhw", "ncdhw"),
    "depthwise_conv_3d_ndhwc_dhwcm": ("ndhwc", "dhwcm", "ndhwcm"),
}
#: Those with zero points of both operands.
QUANTIZED = ["conv_2d_nhwc_hwcf", "conv_2d_nhwc_fhwc", "conv_2d_nchw_fchw", "conv_2d_nhwgc_gfhwc",
             "conv_2d_ngchw_gfchw", "conv_3d_ndhwc_dhwcf", "depthwise_conv_2d_nhwc_hwc",
             "depthwise_conv_2d_nhwc_hwcm"]
#: Those whose dynamic form is compiled in every run; all are in full mode.
SHORT = ["conv_1d", "conv_2d_nhwc_hwcf", "conv_2d_nchw_fchw", "depthwise_conv_2d_nhwc_hwc"]
POOLINGS = [f"pooling_{layout}_{how}" for layout in ("nhwc", "nchw", "nwc", "ncw", "ndhwc")
            for how in ("sum", "max", "min", "max_unsigned", "min_unsigned")
            if not (layout in ("nchw", "ncw") and ("min" in how or "unsigned" in how))
            and not (layout == "ndhwc" and "unsigned" in how)]

SIZES = {"n": 2, "g": 2, "c": 3, "f": 5, "m": 2}
KERNEL = {"w": 3, "h": 2, "d": 2}
OUTPUT = {"w": 9, "h": 4, "d": 3}


def image_size(letter, strides, dilations):
    return (OUTPUT[letter] - 1) * strides[letter] + (KERNEL[letter] - 1) * dilations[letter] + 1


def windows(image, letters, space, strides, dilations):
    """(position in the kernel, the image's elements that meet it: spatial sizes are those of the output)."""
    for position in itertools.product(*(range(KERNEL[letter]) for letter in space)):
        cut = [slice(None)] * len(letters)
        for letter, k in zip(space, position):
            start, step = k * dilations[letter], strides[letter]
            cut[letters.index(letter)] = slice(start, start + (OUTPUT[letter] - 1) * step + 1, step)
        yield position, image[tuple(cut)]


def convolve(image, weights, letters, space, strides, dilations):
    data, kernel, out = letters
    total = 0
    for position, seen in windows(image, data, space, strides, dilations):
        at = tuple(position[space.index(letter)] if letter in space else slice(None) for letter in kernel)
        rest = "".join(letter for letter in kernel if letter not in space)
        total = total + np.einsum(f"{data},{rest}->{out}", seen, weights[at])
    return total


def attributes(space, strides, dilations):
    def dense(values):
        return f"dense<[{', '.join(str(values[letter]) for letter in space)}]> : tensor<{len(space)}xi64>"
    return f" {{dilations = {dense(dilations)}, strides = {dense(strides)}}}"


def shapes(letters, space, strides, dilations):
    data, kernel, out = letters
    return ([image_size(x, strides, dilations) if x in space else SIZES[x] for x in data],
            [KERNEL[x] if x in space else SIZES[x] for x in kernel],
            [OUTPUT[x] if x in space else SIZES[x] for x in out])


def cases():
    random = Random(1)
    for name, letters in CONVOLUTIONS.items():
        space = [x for x in letters[0] if x in "dhw"]
        plain = {"w": 1, "h": 1, "d": 1}
        for dynamic, strides, dilations in [(False, plain, plain), (True, {"w": 2, "h": 1, "d": 1}, {"w": 1, "h": 2, "d": 1})]:
            fixed = len(letters[0]) == len(space)  # the plain ones have no strides
            if fixed:
                strides = dilations = plain
            image, weights, out = shapes(letters, space, strides, dilations)
            words = "" if fixed else attributes(space, strides, dilations)
            suffix = "-dynamic" if dynamic else ""
            long = dynamic and name not in SHORT
            a, b, c = (random("f32", *shape, dynamic=dynamic) for shape in (image, weights, out))
            expected = convolve(a.data, b.data, letters, space, strides, dilations) + c.data
            yield destination(f"linalg.{name}{suffix}", f"linalg.{name}{words}", [a, b], c, expected, units=32, long=long)
            if name not in QUANTIZED:
                continue
            a, b = (random("i8", *shape, dynamic=dynamic) for shape in (image, weights))
            c = random("i32", *out, dynamic=dynamic)
            points = [Tensor("i32", 3), Tensor("i32", -2)]
            expected = convolve(a.data.astype(int) - 3, b.data.astype(int) + 2, letters, space, strides, dilations)
            yield scalars(destination(f"linalg.{name}_q{suffix}", f"linalg.{name}_q{words}", [a, b, *points], c,
                                      expected + c.data, long=long), points)
    for name in POOLINGS:
        yield from pooling(name, random)


def scalars(case, tensors):
    """`case` with those of its inputs, of rank 0, that the operation wants as scalars."""
    case.text = case.text.replace("tensor<i32>", "i32")
    case.text = case.text.replace("tensor<f32>", "f32")
    return case


def pooling(name, random):
    _, letters, how = name.split("_", 2)
    space = [x for x in letters if x in "dhw"]
    for dynamic in (False, True):
        strides = {"w": 2, "h": 2, "d": 1} if dynamic else {"w": 1, "h": 1, "d": 1}
        dilations = {"w": 1, "h": 1, "d": 1}
        kind = "i32" if "unsigned" in how else "f32"
        image, _, out = shapes((letters, "", letters), space, strides, dilations)
        a, c = (random(kind, *shape, dynamic=dynamic, low=0) for shape in (image, out))
        kernel = random(kind, *(KERNEL[x] for x in space), dynamic=dynamic)
        combine = {"sum": np.add, "max": np.maximum, "min": np.minimum}[how.split("_")[0]]
        expected = c.data
        for _, seen in windows(a.data, letters, space, strides, dilations):
            expected = combine(expected, seen)
        yield destination(f"linalg.{name}{'-dynamic' if dynamic else ''}",
                          f"linalg.{name}{attributes(space, strides, dilations)}", [a, kernel], c, expected)
