"""Programs of ExecuTorch: planned by an algorithm, and run by the portable runtime."""

from __future__ import annotations

import time
import warnings
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from executorch.exir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    to_edge,
)
from executorch.exir.memory_planning import Verifier
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime
from torch.utils._pytree import tree_leaves

# PyTorch and ExecuTorch warn of what they deprecate themselves.
warnings.filterwarnings("ignore", category=FutureWarning)


@dataclass
class Recorded:
    """An algorithm that keeps its plans, one for each graph, the outermost last; and the seconds
    of CPU time that they took."""

    algorithm: Any
    plans: list[Any] = field(default_factory=list)
    seconds: float = 0.0

    def __call__(self, *arguments: Any) -> Any:
        """Plan."""
        start = time.process_time()
        self.plans.append(self.algorithm(*arguments))
        self.seconds += time.process_time() - start
        return self.plans[-1]


@dataclass(frozen=True)
class Planned:
    """A program, and what is known of its plan."""

    manager: Any
    method: str = "forward"

    @property
    def graph_module(self) -> torch.fx.GraphModule:
        """With places in the descriptions of tensors."""
        return self.manager.exported_program(self.method).graph_module

    @property
    def sizes(self) -> list[int]:
        """Bytes by memory."""
        plans = {plan.name: plan for plan in self.manager.executorch_program.execution_plan}
        return list(plans[self.method].non_const_buffer_sizes)

    @property
    def bytes(self) -> int:
        """Of all memories."""
        return sum(self.sizes)

    def run(self, inputs: tuple[Any, ...]) -> list[bytes]:
        """The bytes of the outputs that the portable runtime gives for the inputs."""
        method = Runtime.get().load_program(self.manager.buffer).load_method(self.method)
        # NumPy has no bfloat16.
        return [
            each.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            for each in method.execute(tree_leaves(inputs))
        ]

    def verify(self, **allocates: bool) -> None:
        """By ExecuTorch's own verifier."""
        names = ("alloc_graph_input", "alloc_graph_output", "alloc_mutable_buffers")
        verifier = Verifier(
            self.graph_module,
            *(allocates.get(name, True) for name in names),
            self.manager.exported_program(self.method).graph_signature,
        )
        verifier.verify_storage_reuse()
        verifier.verify_graph_input_output()


def plan(
    model: torch.nn.Module | dict[str, Any],
    inputs: tuple[Any, ...],
    algorithm: Any = None,
    dynamic_shapes: Any = None,
    config: dict[str, Any] | None = None,
    **options: Any,
) -> Planned:
    """A program of a model, with memory planned by the algorithm; None is ExecuTorch's default.

    `config` is for `ExecutorchBackendConfig`, the other options are for `MemoryPlanningPass`.
    """
    edge = lowered(model, inputs, dynamic_shapes)
    return planned(edge, algorithm, config, **options)


def lowered(
    model: torch.nn.Module | dict[str, Any], inputs: tuple[Any, ...], dynamic_shapes: Any = None
) -> EdgeProgramManager:
    """A model as a program whose memory is not planned yet."""
    keywords = inputs[-1] if inputs and isinstance(inputs[-1], dict) else {}
    arguments = inputs[:-1] if keywords else inputs
    with torch.no_grad():
        exported = torch.export.export(
            model, arguments, keywords or None, dynamic_shapes=dynamic_shapes
        )
    return to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))


def planned(
    edge: EdgeProgramManager, algorithm: Any, config: dict[str, Any] | None = None, **options: Any
) -> Planned:
    """The program with memory planned by the algorithm; that which is lowered stays as it is."""
    passes = MemoryPlanningPass(algorithm, **options)
    settings = ExecutorchBackendConfig(memory_planning_pass=passes, **(config or {}))
    return Planned(deepcopy(edge).to_executorch(settings))
