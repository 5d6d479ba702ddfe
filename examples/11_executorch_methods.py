"""Plan two methods of an ExecuTorch program that share a cache, which one of them only reads.

`share_mutable_buffers` gives the cache one place for both methods. Without it, `recall` reads a
constant copy of the cache, and methods that write states overwrite those of other methods.
`InitializedMutableBufferPass` stores the initial value of the cache in the program; without it, the
cache starts with what is in memory. Loading a method sets the cache to this value, so load all
methods before the first run.

    python examples/11_executorch_methods.py
"""

import warnings

import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.runtime import Runtime
from torch import nn

from usmp_solver.integrations.executorch import MemoryPlanning

ROWS, WIDTH = 4, 8
warnings.simplefilter("ignore")  # of ExecuTorch, about its own internals


class Cache(nn.Module):
    """Rows that are kept from one run to the next, all ones at first."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.ones(ROWS, WIDTH))


class Store(nn.Module):
    """Writes a row."""

    def __init__(self, cache: Cache) -> None:
        super().__init__()
        self.cache = cache

    def forward(self, row: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.cache.rows[position] = torch.relu(row)
        return position + 1


class Recall(nn.Module):
    """Reads all rows."""

    def __init__(self, cache: Cache) -> None:
        super().__init__()
        self.cache = cache

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        return weights @ self.cache.rows


cache = Cache()
modules = {"store": Store(cache), "recall": Recall(cache)}
sums = torch.ones(1, ROWS)
examples = {"store": (torch.ones(WIDTH), torch.tensor([0])), "recall": (sums,)}
with torch.no_grad():
    methods = {name: torch.export.export(modules[name], examples[name]) for name in modules}

for share in (True, False):
    config = ExecutorchBackendConfig(
        passes=[InitializedMutableBufferPass(["rows"])],
        memory_planning_pass=MemoryPlanningPass(MemoryPlanning(), share_mutable_buffers=share),
    )
    planned = to_edge(methods).to_executorch(config)
    sizes = {
        plan.name: plan.non_const_buffer_sizes for plan in planned.executorch_program.execution_plan
    }
    program = Runtime.get().load_program(planned.buffer)
    store, recall = (program.load_method(name) for name in methods)
    (before,) = recall.execute([sums])
    store.execute([torch.full((WIDTH,), 7.0), torch.tensor([2])])
    (after,) = recall.execute([sums])
    print(
        f"share_mutable_buffers={share}: sums {before[0, 0]:g}, then {after[0, 0]:g}; bytes {sizes}"
    )
