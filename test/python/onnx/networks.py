"""Networks with random weights, written node by node: `NETWORKS` maps a name to a function of an element type, which
gives a model and its inputs for a batch."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """A graph under construction; names of values are what operations return."""

    def __init__(self, dtype, seed=0):
        self.dtype, self.random = np.dtype(dtype), np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs = [], [], []

    def input(self, name, shape, dtype=None):
        type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype or self.dtype))
        self.inputs.append(helper.make_tensor_value_info(name, type, shape))
        return name

    def constant(self, value, dtype=None):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype or self.dtype), name))
        return name

    def weight(self, *shape, scale=None):
        fan = np.prod(shape[1:]) if len(shape) > 1 else 1
        return self.constant(self.random.standard_normal(shape) * (scale or 1 / np.sqrt(fan)))

    def ints(self, *values):
        return self.constant(values, np.int64)

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}.{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, list(inputs), names, name=f"{kind.lower()}{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def model(self, *outputs, opset=17):
        values = [
            helper.make_value_info(o, helper.make_tensor_type_proto(TensorProto.UNDEFINED, None)) for o in outputs
        ]
        for value in values:
            value.ClearField("type")
        graph = helper.make_graph(self.nodes, "net", self.inputs, values, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def conv(b, x, inputs, outputs, kernel, **attributes):
    y = b.op("Conv", x, b.weight(outputs, inputs // attributes.get("group", 1), kernel, kernel),
             b.weight(outputs, scale=0.1), kernel_shape=[kernel, kernel], pads=[kernel // 2] * 4, **attributes)
    statistics = [
        b.constant(b.random.uniform(0.5, 1.5, outputs)),
        b.weight(outputs, scale=0.1),
        b.weight(outputs, scale=0.1),
        b.constant(b.random.uniform(0.5, 1.5, outputs))
    ]
    return b.op("BatchNormalization", y, *statistics)


def residual(dtype):
    """Convolutions with batch norm, a shortcut, squeeze and excite, depthwise, pools."""
    b = Builder(dtype)
    x = b.input("image", ["batch", 3, 16, 16])
    y = b.op("Relu", conv(b, x, 3, 8, 3, strides=[2, 2]))
    y = b.op("MaxPool", y, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    z = b.op("Relu", conv(b, y, 8, 8, 3, group=8))
    y = b.op("Relu", b.op("Add", y, conv(b, z, 8, 8, 1)))
    gate = b.op("Conv", b.op("GlobalAveragePool", y), b.weight(8, 8, 1, 1))
    y = b.op("Mul", y, b.op("HardSigmoid", gate))
    y = b.op("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2])
    y = b.op("Flatten", b.op("GlobalAveragePool", y))
    logits = b.op("Gemm", y, b.weight(5, 8), b.weight(5, scale=0.1), transB=1)
    return b.model(b.op("Softmax", logits, axis=-1)), lambda n: {"image": b.random.standard_normal((n, 3, 16, 16))}


def norm(b, x, width):
    return b.op("LayerNormalization", x, b.constant(np.ones(width)), b.weight(width, scale=0.1), axis=-1)


def linear(b, x, inputs, outputs):
    return b.op("Add", b.op("MatMul", x, b.constant(b.random.standard_normal((inputs, outputs)) / np.sqrt(inputs))),
                b.weight(outputs, scale=0.1))


def heads(b, x, shape, count):
    split = b.op("Reshape", x, b.op("Concat", shape, b.ints(count, -1), axis=0))
    return b.op("Transpose", split, perm=[0, 2, 1, 3])


def transformer(dtype):
    """Token ids with positions by the arithmetic of shapes that exporters write, a causal mask, attention, an MLP
    with exact GELU."""
    b, width = Builder(dtype), 16
    ids = b.input("ids", ["batch", "length"], np.int64)
    shape = b.op("Shape", ids)
    length = b.op("Gather", shape, b.constant(1, np.int64), axis=0)
    words = b.op("Gather", b.weight(50, width, scale=1), ids)
    places = b.op("Gather", b.weight(32, width, scale=1),
                  b.op("Range", b.constant(0, np.int64), length, b.constant(1, np.int64)))
    x = b.op("Add", words, places)
    y = norm(b, x, width)
    q, k, v = (heads(b, linear(b, y, width, width), shape, 4) for _ in range(3))
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = b.op("Div", scores, b.op("Sqrt", b.constant(width // 4)))
    one = b.op("Unsqueeze", length, b.ints(0))
    mask = b.op("Trilu", b.op("Expand", b.constant(1.0), b.op("Concat", one, one, axis=0)), upper=0)
    scores = b.op("Where", b.op("Equal", mask, b.constant(0.0)), b.constant(np.finfo(dtype).min), scores)
    mixed = b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    mixed = b.op("Reshape", mixed, b.ints(0, 0, width))
    x = b.op("Add", x, linear(b, mixed, width, width))
    y = linear(b, norm(b, x, width), width, 4 * width)
    y = b.op("Mul", b.op("Mul", y, b.constant(0.5)),
             b.op("Add", b.op("Erf", b.op("Div", y, b.constant(np.sqrt(2)))), b.constant(1.0)))
    x = b.op("Add", x, linear(b, y, 4 * width, width))
    return b.model(x, b.op("ReduceMean", x, axes=[1],
                           keepdims=0)), lambda n: {"ids": b.random.integers(0, 50, (n, 7 + n))}


def recurrent(dtype):
    """A bidirectional LSTM of dynamic length, a GRU on top, a classifier of the last state."""
    b = Builder(dtype)
    x = b.input("x", ["time", "batch", 6])
    w = [b.weight(2, 32, 6), b.weight(2, 32, 8), b.weight(2, 64, scale=0.1)]
    y, *_ = b.op("LSTM", x, *w, outputs=3, hidden_size=8, direction="bidirectional")
    y = b.op("Reshape", b.op("Transpose", y, perm=[0, 2, 1, 3]), b.ints(0, 0, -1))
    _, h = b.op("GRU", y, b.weight(1, 24, 16), b.weight(1, 24, 8), b.weight(1, 48, scale=0.1), outputs=2, hidden_size=8,
                linear_before_reset=1)
    return b.model(b.op("LogSoftmax", linear(b, b.op("Squeeze", h, b.ints(0)), 8, 3), axis=-1)), \
        lambda n: {"x": b.random.standard_normal((4 + n, n, 6))}


def pyramid(dtype):
    """Down and up again: transposed convolutions, resizing, concatenation, instance norm, PRelu, padding by
    reflection."""
    b = Builder(dtype)
    x = b.input("image", ["batch", 2, 8, 8])
    padded = b.op("Pad", x, b.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect")
    first = b.op("Conv", padded, b.weight(4, 2, 3, 3))
    first = b.op("PRelu", b.op("InstanceNormalization", first, b.constant(np.ones(4)), b.weight(4, scale=0.1)),
                 b.weight(4, 1, 1, scale=0.2))
    low = b.op("Conv", first, b.weight(8, 4, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2])
    up = b.op("ConvTranspose", low, b.weight(8, 4, 2, 2), strides=[2, 2])
    wide = b.op("Resize", low, "", b.constant([1, 1, 2, 2], np.float32), mode="linear",
                coordinate_transformation_mode="half_pixel")
    near = b.op("Resize", low, "", b.constant([1, 1, 2, 2], np.float32), mode="nearest",
                coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    y = b.op("Concat", first, up, wide, near, axis=1)
    half, rest = b.op("Split", y, b.ints(12, 12), outputs=2, axis=1)
    y = b.op("Mul", half, b.op("Sigmoid", rest))
    return b.model(b.op("DepthToSpace", b.op("Clip", y, b.constant(-0.5), b.constant(0.75)), blocksize=2)), \
        lambda n: {"image": b.random.standard_normal((n, 2, 8, 8))}


NETWORKS = {f.__name__: f for f in (residual, transformer, recurrent, pyramid)}


def quantised():
    """A convolution and a product between QuantizeLinear and DequantizeLinear, weights per channel: outputs are
    integers over 2^k."""
    b = Builder(np.float32)

    def scale(power):
        return b.constant(2.0 ** power)

    def through(x, power, zero):
        q = b.op("QuantizeLinear", x, scale(power), b.constant(zero, np.uint8))
        return b.op("DequantizeLinear", q, scale(power), b.constant(zero, np.uint8))

    def weights(shape, axis):
        q = b.constant(b.random.integers(-128, 128, shape), np.int8)
        return b.op("DequantizeLinear", q, b.constant(2.0**-b.random.integers(6, 9, shape[axis])),
                    b.constant(np.zeros(shape[axis]), np.int8), axis=axis)
    x = through(b.input("image", ["batch", 3, 8, 8]), -5, 128)
    y = b.op("Relu", b.op("Conv", x, weights((4, 3, 3, 3), 0), pads=[1, 1, 1, 1]))
    y = through(b.op("MaxPool", through(y, -3, 0), kernel_shape=[2, 2], strides=[2, 2]), -3, 0)
    y = b.op("MatMul", b.op("Reshape", y, b.ints(0, 64)), weights((64, 5), 1))
    return b.model(b.op("QuantizeLinear", y, scale(-1), b.constant(100, np.uint8)), y, opset=19), \
        lambda n: {"image": (b.random.integers(-200, 200, (n, 3, 8, 8)) / 64).astype(np.float32)}
