"""A PyTorch program of all operators that take indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from support.index_sweep import Indices, Sweep, Tensors
from support.pytorch_models import nn, torch

F = nn.functional


class PyTorchSweep(Sweep):
    """A sweep whose operators are functions of `x` and of indices."""

    def __init__(self) -> None:
        super().__init__()
        generator = np.random.default_rng(1)
        self.data = {"x": generator.normal(size=(3, 5)).astype(np.float32)}
        self.functions: list[tuple[Callable, list[str]]] = []

    def read(self, function: Callable, *indices: Indices) -> str:
        """The name of the output of a function of `x` and indices."""
        names = [f"indices_{len(self.indices) + place}" for place in range(len(indices))]
        self.indices |= dict(zip(names, indices, strict=True))
        self.functions.append((function, names))
        self.outputs.append(f"output_{len(self.outputs)}")
        return self.outputs[-1]

    def write(self, function: Callable, indices: Indices) -> None:
        """The same of one that writes into `x`."""
        output = self.read(function, indices)
        self.written[output] = (self.functions[-1][1][0], self.data["x"])

    def module(self) -> nn.Module:
        """A module of all functions, whose arguments are `x` and the indices."""
        return _Functions(self.functions)

    def arguments(self, values: Tensors) -> list[torch.Tensor]:
        """The arguments of the module."""
        return [torch.from_numpy(np.array(values[name])) for name in ("x", *self.indices)]

    def reference(self, values: Tensors) -> dict[str, np.ndarray]:
        """What PyTorch computes of indices that are inside."""
        results = self.module()(*self.arguments(values))
        return {n: r.numpy() for n, r in zip(self.outputs, results, strict=True)}


class _Functions(nn.Module):
    def __init__(self, functions: Sequence[tuple[Callable, list[str]]]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, x, *indices):
        results = []
        for function, names in self.functions:
            results.append(function(x, *(indices[int(name.partition("_")[2])] for name in names)))
        return tuple(results)


def all_operators() -> PyTorchSweep:
    """Each operator of PyTorch that takes indices of the run."""
    sweep = PyTorchSweep()
    rows, columns = Indices((2,), (3,)), Indices((2,), (5,))
    of_rows, of_columns = Indices((2, 5), (3,)), Indices((3, 2), (5,))
    for dtype in ("int32", "int64"):
        sweep.read(lambda x, i: F.embedding(i, x), replace(rows, dtype=dtype))
        sweep.read(lambda x, i: x.index_select(1, i), replace(columns, dtype=dtype))
        sweep.read(lambda x, i: x[:, i], replace(columns, dtype=dtype))
    sweep.read(lambda x, i: x.gather(0, i), of_rows)
    sweep.read(lambda x, i: x.gather(1, i), of_columns)
    sweep.read(lambda x, i, j: x[i, j], rows, columns)
    sweep.read(lambda x, i, j: x[i.unsqueeze(1), j], rows, columns)
    sweep.write(lambda x, i: x.scatter(0, i, x[:2] * 2), of_rows)
    sweep.write(lambda x, i: x.scatter(1, i, 1.5), of_columns)
    sweep.write(lambda x, i: x.scatter(0, i, x[:2] * 2, reduce="add"), of_rows)
    sweep.write(lambda x, i: x.scatter(1, i, 1.5, reduce="multiply"), of_columns)
    sweep.write(lambda x, i: x.scatter_add(0, i, x[:2]), of_rows)
    sweep.write(lambda x, i: x.scatter_reduce(1, i, x[:, :2], "mean"), of_columns)
    sweep.write(lambda x, i: x.index_reduce(0, i, x[:2], "amax"), rows)
    sweep.write(lambda x, i: x.index_put((i,), x[:2] * 2), rows)
    sweep.write(lambda x, i: x.index_put((i,), x[:2], accumulate=True), rows)
    sweep.write(lambda x, i: x.index_copy(1, i, x[:, :2] * 3), columns)
    return sweep
