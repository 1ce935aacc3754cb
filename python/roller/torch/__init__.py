"""roller in PyTorch.

    import roller.torch
    model = torch.compile(model, backend="roller", options={"profile": "h100"})
    print(roller.torch.explain(model, (x,), profiles=["h100", "l4"]))
"""
import torch._dynamo

from .backend import backend
from .explain import Explanation, explain
from .export import ExportError, Exported, export
from .op import TorchOp, op

__all__ = ["ExportError", "Explanation", "Exported", "TorchOp", "backend", "explain", "export", "op"]

if "roller" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, "roller")
