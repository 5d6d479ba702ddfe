"""Compile two methods of a PyTorch module that share a cache, and compare them with PyTorch.

`torch.export` takes one method at a time, by the shapes of its example. Imported together, both are
functions of one program, and what either of them changes has one place in memory for both.

    python examples/09_pytorch_methods.py
"""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import nn

import usmp

POSITIONS, WIDTH, PROMPT = 64, 16, 8
warnings.simplefilter("ignore")  # of torch.export, about its own internals


class Attention(nn.Module):
    """Attends to all positions so far, whose keys and values it keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.projection = nn.Linear(WIDTH, 3 * WIDTH)
        self.register_buffer("keys", torch.zeros(1, POSITIONS, WIDTH))
        self.register_buffer("values", torch.zeros(1, POSITIONS, WIDTH))
        self.register_buffer("mask", torch.ones(POSITIONS, POSITIONS).tril() == 1)

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        query, key, value = self.projection(x).chunk(3, -1)
        self.keys[:, positions] = key
        self.values[:, positions] = value
        return nn.functional.scaled_dot_product_attention(
            query, self.keys, self.values, attn_mask=self.mask[positions]
        )


torch.manual_seed(0)
module = Attention().eval()
with TemporaryDirectory() as folder:
    files = {}
    for method, count in {"prefill": PROMPT, "decode": 1}.items():
        files[method] = Path(folder, f"{method}.pt2")
        example = (torch.zeros(1, count, WIDTH), torch.arange(count))
        torch.export.save(torch.export.export(module, example), files[method])
    factory = usmp.build(usmp.import_model(files), module_name="attention")

for buffer in factory.memory_plan.buffers:
    if buffer.name in ("keys", "values"):
        print(f"{buffer.name}: {buffer.size_bytes} bytes at {buffer.byte_offset}")
bound = factory.memory_plan.pool_bounds["global_workspace"]
print(f"workspace: {bound.lower_bound_bytes} bytes, optimal: {bound.optimal}")

tokens = torch.randn(1, POSITIONS, WIDTH)
steps = [range(PROMPT), *([position] for position in range(PROMPT, POSITIONS))]
largest = 0.0
for step in steps:
    positions = torch.tensor(step)
    x = tokens[:, positions]
    with torch.no_grad():
        expected = module(x, positions).numpy()
    inputs = {"x": x.numpy(), "positions": positions.numpy()}
    entry = "prefill" if len(step) > 1 else "decode"
    (output,) = factory.run(inputs, entry=entry).values()
    largest = max(largest, np.abs(output - expected).max())
print(f"{len(steps)} steps, differences from PyTorch below 1e-5: {largest < 1e-5}")
