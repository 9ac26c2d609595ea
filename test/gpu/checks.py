"""Outputs of artifacts against float64: a sample of the elements, computed with Python's standard library or with NumPy."""

import array
import math
import mmap
import random
import struct

try:
    import numpy
except ImportError:
    numpy = None

EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23}
BYTES = {"f16": 2, "bf16": 2, "f32": 4}


class Array:
    """A .npy file, mapped; rows and single elements as Python floats."""

    def __init__(self, path, kind):
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        begin = 10 + struct.unpack_from("<H", data, 8)[0]
        header = eval(data[10:begin], {"__builtins__": {}})  # a literal dictionary, written by tw-launch
        self.kind, self.shape, self.data = kind, header["shape"], memoryview(data)[begin:]

    def at(self, *index):
        offset = 0
        for i, extent in zip(index, self.shape):
            offset = offset * extent + i
        return self.run(offset, 1)[0]

    def row(self, i):
        return self.run(i * self.shape[-1], self.shape[-1])

    def run(self, first, count):
        raw = self.data[first * BYTES[self.kind]:(first + count) * BYTES[self.kind]]
        if self.kind == "f32":
            return array.array("f", bytes(raw))
        if self.kind == "f16":
            return struct.unpack(f"<{count}e", raw)
        return [struct.unpack("<f", b"\0\0" + bytes(raw[2 * i:2 * i + 2]))[0] for i in range(count)]

    def numpy(self):
        if self.kind == "bf16":
            bits = numpy.frombuffer(self.data, numpy.uint16).astype(numpy.uint32) << 16
            return bits.view(numpy.float32).reshape(self.shape)
        return numpy.frombuffer(self.data, {"f16": numpy.float16, "f32": numpy.float32}[self.kind]).reshape(self.shape)


def sampled(count, most, chooser):
    """Up to `most` numbers below `count`, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({0, count - 1, *chooser.sample(range(count), most - 2)})


def products(shape, inputs, output, chooser):
    relu = shape["kind"] == "gemm-bias-relu"
    rows = sampled(shape["m"], 64 if numpy else 16, chooser)
    a, b = inputs[0], inputs[1]
    if numpy:
        wide = a.numpy()[rows].astype(numpy.float64) @ b.numpy().astype(numpy.float64)
        if relu:
            wide = numpy.maximum(wide + inputs[2].numpy().astype(numpy.float64), 0)
        return list(zip(output.numpy()[rows].astype(numpy.float64).ravel().tolist(), wide.ravel().tolist()))
    result = []
    wanted = {j: [b.at(k, j) for k in range(shape["k"])] for j in sampled(shape["n"], 16, chooser)}
    for i in rows:
        row = a.row(i)
        for j in wanted:
            value = math.fsum(x * y for x, y in zip(row, wanted[j]))
            result.append((output.at(i, j), max(value + inputs[2].at(j), 0.0) if relu else value))
    return result


def convolutions(shape, inputs, output, chooser):
    """Images n x h x w x c, filters taps x taps x c x f, results n x oh x ow x f."""
    x, w = inputs
    taps, stride, padding = shape["taps"], shape["stride"], shape["padding"]
    images, height, width, filters = output.shape
    result = []
    for place in sampled(images * height * width, 16, chooser):
        image, rest = divmod(place, height * width)
        i, j = divmod(rest, width)
        for f in sampled(filters, 4, chooser):
            terms = []
            for p in range(taps):
                for q in range(taps):
                    y, z = i * stride + p - padding, j * stride + q - padding
                    if 0 <= y < shape["h"] and 0 <= z < shape["w"]:
                        first = ((image * shape["h"] + y) * shape["w"] + z) * shape["c"]
                        terms += [e * w.at(p, q, c, f) for c, e in enumerate(x.run(first, shape["c"]))]
            result.append((output.at(image, i, j, f), math.fsum(terms)))
    return result


def rows_of(shape, inputs, output, chooser):
    result = []
    for i in sampled(shape["m"], 16, chooser):
        row = inputs[0].row(i)
        if shape["kind"] == "softmax":
            top = max(row)
            powers = [math.exp(x - top) for x in row]
            total = math.fsum(powers)
            expected = [x / total for x in powers]
        else:  # layernorm
            mean = math.fsum(row) / len(row)
            scale = 1 / math.sqrt(math.fsum((x - mean) ** 2 for x in row) / len(row) + 1e-5)
            expected = [(x - mean) * scale * g + b for x, g, b in
                        zip(row, inputs[1].run(0, len(row)), inputs[2].run(0, len(row)))]
        result += zip(output.row(i), expected)
    return result


def attentions(shape, inputs, output, chooser):
    """Rows of soft-max(q k^T) v of some heads, over all keys or those up to the query's; arrays heads x tokens x features."""
    tokens, result = shape["m"], []
    for place in sampled(shape["heads"] * tokens, 16 if numpy else 4, chooser):
        head = place // tokens * tokens
        query, keys = inputs[0].row(place), place % tokens + 1 if shape["causal"] else tokens
        if numpy:
            k, v = (each.numpy()[place // tokens][:keys].astype(numpy.float64) for each in inputs[1:])
            scores = k @ numpy.array(query, numpy.float64)
            powers = numpy.exp(scores - scores.max())
            expected = (powers @ v / powers.sum()).tolist()
        else:
            scores = [math.fsum(x * y for x, y in zip(query, inputs[1].row(head + j))) for j in range(keys)]
            powers = [math.exp(x - max(scores)) for x in scores]
            values = [inputs[2].row(head + j) for j in range(keys)]
            expected = [math.fsum(p * v[f] for p, v in zip(powers, values)) / math.fsum(powers) for f in range(shape["n"])]
        result += zip(output.row(place), expected)
    return result


def elements_of(shape, inputs, output, chooser):
    """x + 1, element by element."""
    return [(output.at(i), inputs[0].at(i) + 1) for i in sampled(shape["m"], 64, chooser)]


def pairs(shape, inputs, output):
    """(got, expected in float64) for a sample of the elements."""
    check = {"gemm": products, "gemm-bias-relu": products, "conv": convolutions, "increment": elements_of,
             "softmax": rows_of, "layernorm": rows_of, "attention": attentions}[shape["kind"]]
    return check(shape, inputs, output, random.Random(1))


def worst(shape, values):
    """The largest error over the tolerance by types of docs/runtime.md."""
    scale = max(abs(expected) for _, expected in values)
    # What an element is summed over, and the few operations around it.
    roundings = 8 + (shape["terms"] if "terms" in shape else shape["k"] if "k" in shape else
                     shape["n"] if shape["kind"] in ("softmax", "layernorm") else
                     shape["m"] + shape["n"] if shape["kind"] == "attention" else 1)
    result = 0.0
    for got, expected in values:
        tolerance = (EPSILON[shape["type"]] * (4 * abs(expected) + 2 * scale)
                     + 2.0**-23 * (16 + min(2 * roundings, 8 * math.sqrt(roundings))) * scale)
        error = abs(got - expected)
        result = max(result, error / tolerance if tolerance > 0 else 0.0) if error == error else math.inf
        if result == math.inf:
            break
    return result
