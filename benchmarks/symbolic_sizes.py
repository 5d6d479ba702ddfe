"""Compare the workspace of a transformer encoder with symbolic length and with fixed lengths.

    python benchmarks/symbolic_sizes.py [LENGTH ...]

The encoder has 2 layers of width 32 with 4 heads, and lengths of 1 to 128; needs PyTorch. For each
length, print the workspace of the model exported for this length alone, without and with
interleaved operators (the default); that of the model planned for the longest length
(`tir.usmp.dynamic=bound`); and the bytes that a run needs if offsets are computed from the length
(`expression`). The application provides inputs and outputs. Outputs are compared with PyTorch's.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from tvm.ir.transform import PassContext

import usmp
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.plain.size_expression import extent_at

LONGEST, WIDTH, HEADS, LAYERS = 128, 32, 4, 2
LENGTHS = (1, 2, 17, 64, 127, 128)


class Layer(nn.Module):
    """An encoder layer: attention and a feed-forward network, with residuals and normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.attended, self.fed = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Encode one sequence of shape [1, length, width]."""
        _, length, _ = x.shape
        query, key, value = (
            part(x).view(1, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        weights = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS), -1)
        joined = (weights @ value).transpose(1, 2).reshape(1, length, WIDTH)
        x = self.attended(x + self.output(joined))
        return self.fed(x + self.narrow(nn.functional.gelu(self.wide(x))))


def main(arguments: list[str]) -> None:
    """Print the table."""
    torch.manual_seed(0)
    model = nn.Sequential(*(Layer() for _ in range(LAYERS))).eval()
    bound = built(model, LONGEST, is_symbolic=True)
    computed = built(model, LONGEST, is_symbolic=True, dynamic="expression")
    table = Table(title="Bytes of workspace", title_justify="left")
    headings = ("one after the other", "interleaved", "bound", "expression", "largest error")
    for heading in ("length", *headings):
        table.add_column(heading, justify="right")
    for length in map(int, arguments) if arguments else LENGTHS:
        alone = (built(model, length, disabled) for disabled in (["StreamOperators"], []))
        row = [*map(workspace_bytes, (*alone, bound)), bytes_at(computed, length)]
        error = max(largest_error(model, factory, length) for factory in (bound, computed))
        table.add_row(str(length), *map(str, row), f"{error:.1e}")
    Console(width=100).print(table)


def built(
    model: nn.Module,
    length: int,
    disabled_pass: Sequence[str] = (),
    is_symbolic: bool = False,
    **options: object,
) -> AOTExecutorFactoryModule:
    """Build the model for one length, or for all lengths up to it."""
    dynamic = ({1: torch.export.Dim("length", max=length)},) if is_symbolic else None
    example = (torch.zeros(1, length, WIDTH),)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.pt2"
        torch.export.save(torch.export.export(model, example, dynamic_shapes=dynamic), path)
        config = {f"tir.usmp.{name}": value for name, value in options.items()}
        with PassContext(config=config, disabled_pass=list(disabled_pass)):
            return usmp.build(path)


def workspace_bytes(built: AOTExecutorFactoryModule) -> int:
    """Return the bytes of the workspace pools."""
    return built.interface.workspace_size_bytes


def bytes_at(built: AOTExecutorFactoryModule, length: int) -> int:
    """Return the workspace bytes that a run of this length needs."""
    (size,) = built.interface.workspace_sizes
    values = {built.interface.only_entry.sizes[0].name: length}
    for name, value in size.values:
        values[name] = extent_at(value, values)
    return extent_at(size.bytes, values)


def largest_error(model: nn.Module, built: AOTExecutorFactoryModule, length: int) -> float:
    """Return the largest difference from PyTorch's output."""
    data = np.random.default_rng(length).normal(size=(1, length, WIDTH)).astype("float32")
    (name,) = (tensor.info.name for tensor in built.interface.inputs)
    (output,) = built.run({str(name): data}).values()
    with torch.no_grad():
        return float(np.abs(output - model(torch.from_numpy(data)).numpy()).max())


if __name__ == "__main__":
    main(sys.argv[1:])
