"""PyTorch: `torch.compile(model, backend="tilewright")`; `export` for packages that run without PyTorch."""

import torch._dynamo

from .ahead_of_time import export
from .backend import UnsupportedError, backend

__all__ = ["UnsupportedError", "backend", "export"]

if "tilewright" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="tilewright")
