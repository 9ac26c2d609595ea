"""Element types of PyTorch and those of the text."""

import torch

OF_TORCH = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "i1",
    torch.float8_e4m3fn: "f8E4M3FN", torch.float8_e5m2: "f8E5M2", torch.float8_e4m3fnuz: "f8E4M3FNUZ", torch.float8_e5m2fnuz: "f8E5M2FNUZ",
}
TO_TORCH = {name: dtype for dtype, name in OF_TORCH.items()}
