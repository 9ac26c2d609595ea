"""PyTorch on the same arrays and the same stream: its libraries (cuBLASLt and cuDNN, or those of ROCm) and torch.compile."""

import sys

try:
    import torch
    if not torch.cuda.is_available():
        torch = None
except ImportError:
    torch = None


def prepare():
    """The libraries at their best: cuBLASLt for products, cuDNN's own search for convolutions."""
    choose = getattr(torch.backends.cuda, "preferred_blas_library", None)
    if choose and getattr(torch.version, "cuda", None):
        choose("cublaslt")
    torch.backends.cudnn.benchmark = True


def version():
    """Of PyTorch and of the vendor's libraries that it was built with."""
    if torch is None:
        return "none"
    built = next((f", {what} {number}" for what in ("cuda", "hip") if (number := getattr(torch.version, what, None))), "")
    return f"PyTorch {torch.__version__}{built}"


def kind_of(name):
    return {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[name]


def tensor(data, kind, shape):
    """Of the bytes of an array, on the device."""
    return torch.frombuffer(bytearray(data), dtype=kind_of(kind)).reshape(shape).cuda()


def stream():
    """The driver's handle of the stream that PyTorch uses now."""
    return torch.cuda.current_stream().cuda_stream


def seconds(work):
    """Of what `work()` puts on PyTorch's stream, on the device's clock."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def attention(inputs, causal):
    """scaled_dot_product_attention by each of PyTorch's kernels that take these arrays; the fastest is called."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q, k, v = (x.unsqueeze(0) for x in inputs)

    def by(backend):
        def call():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=1.0, is_causal=causal)
        return call

    times = {}
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
        call = by(backend)
        try:
            for _ in range(3):
                call()
            times[backend] = seconds(lambda: [call() for _ in range(10)])
        except RuntimeError:  # not built in, or not for these arrays
            pass
    best = min(times, key=times.get)
    print(f"attention {tuple(q.shape)}{', causal' if causal else ''}: {best}")
    return by(best)


def calls(shape, inputs, compiler=True):
    """{column: function that computes the shape}, on tensors of the arrays that the artifact gets. `compiler`: with
    torch.compile."""
    functional = torch.nn.functional
    kind = shape["kind"]
    if kind == "gemm":
        a, b = inputs
        def plain(): return a @ b
    elif kind == "gemm-bias-relu":
        a, b, bias = inputs
        # One kernel of cuBLASLt, which torch.relu behind torch.addmm is not.
        def plain(): return torch._addmm_activation(bias, a, b)
    elif kind == "conv":
        # Channels last in memory for both; PyTorch writes sizes in the order images, channels, rows, columns.
        x = inputs[0].permute(0, 3, 1, 2)
        w = inputs[1].permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
        def plain(): return functional.conv2d(x, w, stride=shape["stride"], padding=shape["padding"])
    elif kind == "softmax":
        (x,) = inputs
        def plain(): return functional.softmax(x, 1)
    elif kind == "layernorm":
        x, gain, bias = inputs
        def plain(): return functional.layer_norm(x, (shape["n"],), gain, bias)
    elif kind == "attention":
        plain = attention(inputs, shape["causal"])
    else:
        (x,) = inputs
        def plain(): return x + 1
    result = {"libraries": plain}
    if not compiler or kind == "attention":
        return result
    try:
        result["compiled"] = torch.compile(plain, mode="max-autotune-no-cudagraphs")
        result["compiled"]()
    except Exception as problem:  # no Triton, no compiler: the column stays empty
        print(f"torch.compile: {shape['name']}: {(str(problem).splitlines() or [''])[0]}", file=sys.stderr)
        result.pop("compiled", None)
    return result
