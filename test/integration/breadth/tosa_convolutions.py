"""TOSA operations over windows, matrix products and Fourier transforms."""

import itertools

import numpy as np

from breadth.case import Random, Tensor
from breadth.tosa import Program


def windows(image, kernel, stride, dilation=(1, 1, 1)):
    """(position in the kernel, the elements of N...C `image` that meet it)."""
    space = len(kernel)
    out = [(image.shape[1 + d] - (kernel[d] - 1) * dilation[d] - 1) // stride[d] + 1 for d in range(space)]
    for position in itertools.product(*(range(k) for k in kernel)):
        cut = tuple(slice(p * dilation[d], p * dilation[d] + (out[d] - 1) * stride[d] + 1, stride[d])
                    for d, p in enumerate(position))
        yield position, image[(slice(None), *cut)]


def pad(image, amounts, value=0):
    return np.pad(image, [(0, 0), *zip(amounts[::2], amounts[1::2]), (0, 0)], constant_values=value)


def ints(values):
    return f"array<i64: {', '.join(map(str, values))}>"


def convolution(random, name, kind, dims):
    """conv2d, conv3d and depthwise_conv2d with strides, dilations, padding and, for i8, zero points."""
    depthwise = name == "depthwise_conv2d"
    sizes, kernel = (7, 9, 6)[:dims], (3, 2, 2)[:dims]
    stride, dilation, padding = (2, 1, 1)[:dims], (1, 2, 1)[:dims], (1, 1, 0, 1, 1, 0)[:2 * dims]
    channels, features = 3, 2 if depthwise else 5
    weights = random(kind, *((*kernel, channels, features) if depthwise else (features, *kernel, channels)))
    image = random(kind, 2, *sizes, channels)
    result = "i32" if kind == "i8" else kind
    bias = random(result, channels * features if depthwise else features)
    points = (3, -2) if kind == "i8" else (0.0, 0.0)
    program = Program([image, weights, bias])
    operands = ["%a0", "%a1", "%a2", *(program.constant(kind, [point]) for point in points)]
    x = pad(image.data.astype(float), padding, points[0]) - points[0]
    w, total = weights.data.astype(float) - points[1], 0
    for position, seen in windows(x, kernel, stride, dilation):
        if depthwise:
            total = total + np.einsum("...c,cm->...cm", seen, w[position])
        else:
            total = total + np.einsum("...c,fc->...f", seen, w[(slice(None), *position)])
    total = total.reshape(*total.shape[:dims + 1], -1) + bias.data
    accumulator = result
    return program.case(kind, name, operands, [Tensor(result, total)],
                        f"acc_type = {accumulator}, dilation = {ints(dilation)}, pad = {ints(padding)}, stride = {ints(stride)}",
                        units=64)


def transposed(random):
    image, weights, bias = random("f32", 1, 4, 5, 3), random("f32", 2, 3, 2, 3), random("f32", 2)
    stride, out_pad = (2, 2), (0, 0, 0, 0)
    total = np.zeros((1, 3 * 2 + 3, 4 * 2 + 2, 2))
    for y, x, ky, kx in itertools.product(range(4), range(5), range(3), range(2)):
        total[:, y * 2 + ky, x * 2 + kx] += image.data[:, y, x] @ weights.data[:, ky, kx].T
    program = Program([image, weights, bias])
    zeros = [program.constant("f32", [0.0]) for _ in range(2)]
    return program.case("f32", "transpose_conv2d", ["%a0", "%a1", "%a2", *zeros], [Tensor("f32", total + bias.data)],
                        f"acc_type = f32, out_pad = {ints(out_pad)}, stride = {ints(stride)}", units=64)


def pools(random):
    image, kernel, stride, padding = random("f32", 2, 7, 9, 3), (3, 2), (2, 1), (1, 1, 0, 1)
    words = f"kernel = {ints(kernel)}, pad = {ints(padding)}, stride = {ints(stride)}"
    largest = np.max([seen for _, seen in windows(pad(image.data, padding, -np.inf), kernel, stride)], 0)
    yield Program([image]).case("f32", "max_pool2d", ["%a0"], [Tensor("f32", largest)], words)
    total = sum(seen for _, seen in windows(pad(image.data, padding), kernel, stride))
    count = sum(seen for _, seen in windows(pad(np.ones_like(image.data), padding), kernel, stride))
    program = Program([image])
    zeros = [program.constant("f32", [0.0]) for _ in range(2)]
    yield program.case("f32", "avg_pool2d", ["%a0", *zeros], [Tensor("f32", total / count)], "acc_type = f32, " + words, units=32)
    bytes_ = random("i8", 2, 7, 9, 3, low=-100, high=100)
    largest = np.max([seen for _, seen in windows(pad(bytes_.data, padding, -128), kernel, stride)], 0)
    yield Program([bytes_]).case("i8", "max_pool2d", ["%a0"], [Tensor("i8", largest)], words)


def products(random):
    for kind, result, points in (("f32", "f32", (0.0, 0.0)), ("i8", "i32", (2, -3))):
        a, b = random(kind, 2, 4, 9), random(kind, 2, 9, 5)
        program = Program([a, b])
        operands = ["%a0", "%a1", *(program.constant(kind, [point]) for point in points)]
        yield program.case(kind, "matmul", operands,
                           [Tensor(result, (a.data.astype(float) - points[0]) @ (b.data.astype(float) - points[1]))], units=32)


def transforms(random):
    real, imaginary = random("f32", 2, 4, 8), random("f32", 2, 4, 8)
    for inverse in (False, True):
        data = real.data + 1j * imaginary.data
        out = np.conj(np.fft.fft2(np.conj(data))) if inverse else np.fft.fft2(data)
        yield Program([real, imaginary]).case(str(inverse), "fft2d", ["%a0", "%a1"],
                                              [Tensor("f32", out.real), Tensor("f32", out.imag)],
                                              f"inverse = {str(inverse).lower()}, local_bound = false", units=64)
    out = np.fft.rfft2(real.data)
    yield Program([real]).case("f32", "rfft2d", ["%a0"], [Tensor("f32", out.real), Tensor("f32", out.imag)],
                               "local_bound = false", units=64)


def cases():
    random = Random(8)
    for name, dims in (("conv2d", 2), ("depthwise_conv2d", 2), ("conv3d", 3)):
        for kind in ("f32", "i8"):
            yield convolution(random, name, kind, dims)
    yield transposed(random)
    yield from pools(random)
    yield from products(random)
    yield from transforms(random)
