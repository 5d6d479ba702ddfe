"""PyTorch modules whose buffers a function changes, and what they hold run after run."""

from __future__ import annotations

import copy

import numpy as np

import usmp
from support.lazy import TorchModule, lazy
from support.main_calls import called
from support.pytorch_models import exported, torch
from usmp.aot_pipeline import lower_to_aot

pytree = lazy("torch.utils._pytree")
import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")

RUNS = 5


class Keeping(TorchModule):
    """A module of buffers and a function of itself and the inputs, which may change them."""

    def __init__(self, function, **buffers) -> None:
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs):
        return self.function(self, *inputs)


class Several(TorchModule):
    """Modules of the same inputs; the results by the names of the functions."""

    def __init__(self, functions, **buffers) -> None:
        super().__init__()
        for function in functions:
            copies = {name: value.clone() for name, value in buffers.items()}
            self.add_module(function.__name__, Keeping(function, **copies))

    def forward(self, *inputs):
        return {name: module(*inputs) for name, module in self.named_children()}


def cache(rows: int = 6):
    return torch.arange(rows * 4.0).reshape(1, 2, rows, 2)


def compare(module, *runs, tolerance: float = 1e-6) -> usmp.AOTExecutorFactoryModule:
    """Run after run as in PyTorch, and once more after a reset; returns what was built."""
    fresh = copy.deepcopy(module)
    mod = import_pytorch(exported(module, *runs[0]))
    factory = usmp.build(mod)
    names = [tensor.info.name for tensor in factory.interface.inputs]
    host = factory.load()
    different = set()
    for reference in (module, fresh):
        for inputs in runs:
            with torch.no_grad():
                expected = reference(*(each.clone() for each in inputs))
            given = dict(zip(names, (each.numpy() for each in inputs), strict=True))
            outputs = host.run(given)
            for name, tensor in zip(outputs, pytree.tree_leaves(expected), strict=True):
                try:
                    np.testing.assert_allclose(outputs[name], tensor.numpy(), rtol=tolerance)
                except AssertionError:
                    different.add(name)
        host.reset()
    assert different == set()
    return factory


def calls_of(module, *inputs) -> list[str]:
    """What the program calls, in order, if all that it keeps begins with zeros."""
    module = copy.deepcopy(module)
    for buffer in module.buffers():
        buffer.zero_()
    return called(lower_to_aot(import_pytorch(exported(module, *inputs)))["__tvm_main__"])
