"""A quantised model in ONNX's format: compiled for all batches, compared with ONNX's reference, and packed to run
without ONNX.

    scripts/run-example.sh --onnx [MODEL.onnx]      a model of your own: its inputs are filled with random numbers
"""

import pathlib
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import tilewright
import tilewright.onnx

#: A convolution on integers between QuantizeLinear and DequantizeLinear, as tools for quantisation write it, and a
#: classifier.
TEXT = """
<ir_version: 9, opset_import: ["" : 21]>
classifier (float[batch, 3, 32, 32] image) => (scores) {
    q = QuantizeLinear (image, step, middle)
    x = DequantizeLinear (q, step, middle)
    w = DequantizeLinear <axis = 0> (weights, scales, zeros)
    y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
    z = Relu (y)
    pooled = GlobalAveragePool (z)
    flat = Flatten (pooled)
    logits = Gemm <transB = 1> (flat, matrix, bias)
    scores = Softmax (logits)
}"""


def example():
    random = np.random.default_rng(0)
    model = parser.parse_model(TEXT)
    constants = {
        "step": np.float32(1 / 32), "middle": np.uint8(128),
        "weights": random.integers(-127, 128, (16, 3, 3, 3), dtype=np.int8),
        "scales": random.uniform(1e-3, 1e-2, 16).astype(np.float32), "zeros": np.zeros(16, np.int8),
        "matrix": random.standard_normal((10, 16)).astype(np.float32),
        "bias": random.standard_normal(10).astype(np.float32)}
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items())
    return model


def inputs_of(model, batch):
    """Random arrays for what the model takes."""
    random, made = np.random.default_rng(batch), {}
    bound = {i.name for i in model.graph.initializer}
    for value in model.graph.input:
        if value.name not in bound:
            tensor = value.type.tensor_type
            shape = [d.dim_value or batch for d in tensor.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            made[value.name] = (random.integers(0, 2, shape)
                                if dtype.kind in "iub" else random.standard_normal(shape)).astype(dtype)
    return made


def largest_error(made, wanted):
    made = made if isinstance(made, tuple) else (made,)
    return max(
        float(np.abs(np.asarray(a, np.float64) - b).max() / max(np.abs(b).max(), 1e-30))
        for a, b in zip(made, wanted, strict=True))


if __name__ == "__main__":
    model = onnx.load(sys.argv[1]) if len(sys.argv) > 1 else example()
    run, reference = tilewright.onnx.load(model), ReferenceEvaluator(model)

    start = time.perf_counter()
    run(**inputs_of(model, 1))
    print(f"compiled in {time.perf_counter() - start:.1f} s")
    for batch in (1, 3, 8):
        inputs = inputs_of(model, batch)
        error = largest_error(run(**inputs), reference.run(None, inputs))
        print(f"batch {batch}: error {error:.1e} of the largest element")
        assert error < 1e-4, "the compiled model is wrong"

    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder) / "model.tw"
        run.save(package)
        packed = tilewright.load(package)  # needs neither ONNX nor a compiler
        error = largest_error(packed(*inputs.values()), reference.run(None, inputs))
        print(f"error of the package of {package.stat().st_size} bytes: {error:.1e}")
        assert error < 1e-4, "the package is wrong"
