"""PyTorch: `torch.compile(model, backend="tilewright")`."""

import torch._dynamo

from .backend import UnsupportedError, backend

__all__ = ["UnsupportedError", "backend"]

if "tilewright" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="tilewright")
