"""PyTorch programs that change their inputs, and what becomes of the inputs, run after run."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import numpy as np
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

import usmp
from support.pytorch_models import exported, nn, torch
from usmp.frontend.pytorch.importer import import_pytorch

Function: TypeAlias = Callable[..., Any]

INTERFACES: dict[str, tuple[str, dict[str, str], dict[str, bool]]] = {
    "c": ("c", {}, {}),
    "llvm": ("llvm", {}, {}),
    "packed": ("c", {"interface-api": "packed"}, {}),
    "workspace": (
        "c",
        {},
        {"tir.usmp.use_workspace_io": True, "tir.usmp.debug": ["poison_dead_bytes"]},
    ),
}
"""How programs are called: target, options of the executor and of the passes."""


class Program(nn.Module):
    """A module of a function of its inputs, which may change them."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def imported(function: Function, *inputs: torch.Tensor, **options: Any) -> IRModule:
    """The program of a function, exported with copies of its inputs."""
    copies = (each.clone() for each in inputs)
    return import_pytorch(exported(Program(function), *copies, **options))


def built(mod: IRModule, interface: str) -> usmp.AOTExecutorFactoryModule:
    """The program, to be called in one of the `INTERFACES`."""
    target, executor, config = INTERFACES[interface]
    with PassContext(config=config):
        return usmp.build(mod, target=target, executor=usmp.Executor("aot", executor))


def compare(
    function: Function,
    factory: usmp.AOTExecutorFactoryModule,
    *first: torch.Tensor,
    runs: int = 3,
    tolerance: float = 1e-6,
) -> None:
    """Check outputs, and what becomes of each input, run after run as in PyTorch.

    Parameters
    ----------
    first
        the inputs of the first run. Those that no run updates are drawn anew for the others.
    """
    tensors = [tensor.clone() for tensor in first]
    infos = [tensor.info for tensor in factory.interface.inputs]
    updated = [info.name for info in infos if info.is_updated]
    given = {i.name: t.numpy().copy() for i, t in zip(infos, tensors, strict=True)}
    host = factory.load()
    for run in range(runs):
        for info, tensor in zip(infos, tensors, strict=True):
            if not info.is_updated and run and tensor.is_floating_point():
                tensor.copy_(torch.randn(tensor.shape))
                given[info.name] = tensor.numpy().copy()
        with torch.no_grad():
            returned = function(*tensors)
        expected = [] if returned is None else [*returned]
        outputs = host.run(given)
        assert list(outputs)[len(expected) :] == updated
        for output, tensor in zip(outputs.values(), expected, strict=False):
            np.testing.assert_allclose(output, tensor.numpy(), rtol=tolerance, atol=tolerance)
        for info, tensor in zip(infos, tensors, strict=True):
            array = given[info.name]
            np.testing.assert_allclose(
                array, tensor.numpy(), tolerance, tolerance, err_msg=info.name
            )
            if info.is_updated:
                np.testing.assert_array_equal(outputs[info.name], array)


STEPS: dict[str, Function] = {
    "add": lambda a, b, x: a.add_(b),
    "scale": lambda a, b, x: a.mul_(x),
    "copy": lambda a, b, x: a.copy_(b),
    "computed": lambda a, b, x: a.copy_(b * x - a),
    "row": lambda a, b, x: a[1].copy_(b[2]),
    "own_row": lambda a, b, x: a[1].copy_(a[2]),
    "rows": lambda a, b, x: a[:2].add_(b[2:]),
    "every_other": lambda a, b, x: a[::2].copy_(b[1::2]),
    "column": lambda a, b, x: a[:, 1].mul_(b[:, 0]),
    "shift": lambda a, b, x: a.copy_(torch.cat([a[1:], b[:1]])),
    "shift_back": lambda a, b, x: a.copy_(torch.cat([b[:1], a[:-1]])),
    "turn": lambda a, b, x: a.copy_(b.flip(0)),
    "turn_itself": lambda a, b, x: a.copy_(a.flip(0)),
    "exchange": lambda a, b, x: (old := a.clone(), a.copy_(b), b.copy_(old)),
    "zero": lambda a, b, x: a.zero_(),
    "mask": lambda a, b, x: a.masked_fill_(b > 0, 0.5),
    "element": lambda a, b, x: a.index_fill_(0, torch.tensor([3]), 2.0),
    "put": lambda a, b, x: a.index_copy_(0, torch.tensor([2, 0]), b[:2]),
    "accumulate": lambda a, b, x: a.index_add_(0, torch.tensor([1, 1]), b[2:]),
}
"""Changes of a tensor of four rows, by another one and a number."""


def random_program(random: Random) -> tuple[Function, list[torch.Tensor]]:
    """Draw changes of three inputs by each other, some of which are returned on the way; and
    inputs."""
    steps = [
        (random.choice(list(STEPS)), *random.sample(range(3), 2), random.random() < 0.4)
        for _ in range(random.randint(2, 7))
    ]

    def function(x, *tensors):
        returned = [x + 1]
        for name, a, b, is_returned in steps:
            STEPS[name](tensors[a], tensors[b], x)
            if is_returned:
                returned.append(tensors[a] + tensors[b] if a < b else tensors[b].clone())
        return tuple(returned)

    generator = torch.Generator().manual_seed(random.getrandbits(32))
    return function, [torch.rand(size, generator=generator) for size in ((1,), *[(4, 2)] * 3)]
