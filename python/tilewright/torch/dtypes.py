"""Element types of PyTorch and those of the text."""

import torch

OF_TORCH = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "i1",
}
TO_TORCH = {name: dtype for dtype, name in OF_TORCH.items()}
