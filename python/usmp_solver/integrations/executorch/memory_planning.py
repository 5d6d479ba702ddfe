"""`MemoryPlanning`: an algorithm for ExecuTorch's `MemoryPlanningPass`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch.fx import GraphModule

from usmp_solver.integrations.executorch.blocks import Block, blocks_of
from usmp_solver.integrations.executorch.control_flow import regions_of
from usmp_solver.integrations.executorch.in_place import share_in_place
from usmp_solver.integrations.executorch.interface import mutable_buffer_specs
from usmp_solver.integrations.executorch.memory_plan import MemoryPlan
from usmp_solver.integrations.executorch.operators import runs_in_place
from usmp_solver.integrations.executorch.placement import (
    Item,
    items_by_memory,
    live_bytes,
    solve_memory,
)
from usmp_solver.integrations.executorch.tensors import (
    DEFAULT_MEMORY,
    Spec,
    extend_lifetimes,
    memory_of,
    prepare,
)
from usmp_solver.solver import ALGORITHMS


class MemoryPlanning:
    """Places tensors by the solver, and outputs over inputs that die there.

    An instance is a value of `memory_planning_algo` of ExecuTorch's `MemoryPlanningPass`, or the
    only entry of a `MemoryPlanningAlgorithmSuite`. To a suite with more algorithms, pass the
    method `plan` instead. Instances have no state, so that one serves many programs and methods.

    Parameters
    ----------
    algorithm
        algorithm of `usmp_solver.solve`. "auto" stops after `work_budget`, "exact" when the plan is
        proved best.
    work_budget
        steps for each memory of each graph. The default of 200 million takes about a second.
    in_place
        whether an output may take the place of an input of the same form that is not read later. A
        function of a `torch._ops.OpOverload` selects operators; True means `runs_in_place`.

    Raises
    ------
    ValueError
        The algorithm is unknown, the budget is not positive, or `in_place` has another type.
    """

    def __init__(
        self,
        algorithm: str = "auto",
        *,
        work_budget: int | None = None,
        in_place: bool | Callable[[Any], bool] = True,
    ) -> None:
        if algorithm not in ALGORITHMS:
            raise ValueError(f'unknown algorithm "{algorithm}"; known: {", ".join(ALGORITHMS)}')
        if work_budget is not None and not (isinstance(work_budget, int) and work_budget > 0):
            raise ValueError(f"work_budget must be a whole number above 0, not {work_budget!r}")
        if not isinstance(in_place, bool) and not callable(in_place):
            raise ValueError(f"in_place is True, False or a function, not {in_place!r}")
        self.algorithm = algorithm
        self.work_budget = work_budget
        self.in_place = in_place

    def __call__(
        self,
        alignment: int,
        specs: Iterable[Spec],
        graph_module: GraphModule,
        graph_signature: Any = None,
        extra_padding: int = 0,
    ) -> MemoryPlan:
        """Place the tensors, and write their places into them; see `plan`."""
        plan = self.plan(alignment, specs, graph_module, graph_signature, extra_padding)
        plan.write()
        return plan

    def plan(
        self,
        alignment: int,
        specs: Iterable[Spec],
        graph_module: GraphModule,
        graph_signature: Any = None,
        extra_padding: int = 0,
    ) -> MemoryPlan:
        """Return the places of the tensors. ExecuTorch calls it once for each graph and device.

        Parameters
        ----------
        alignment
            divisor of offsets and sizes in bytes, a power of two.
        specs
            tensors to place (`TensorSpec`), with lifetimes.
        graph_module
            graph to whose node numbers the lifetimes refer; its inner graphs are already planned.
        graph_signature
            marks inputs that are state (`ExportGraphSignature`), or None.
        extra_padding
            bytes to add to each memory for kernels that read beyond its end.

        Raises
        ------
        ValueError
            A tensor has no lifetime, is in an unknown memory, or contradicts another one.
        """
        if not isinstance(extra_padding, int) or extra_padding < 0:
            raise ValueError(f"extra_padding is a number of bytes from 0 up, not {extra_padding!r}")
        tensors = prepare(alignment, specs)
        extend_lifetimes(graph_module)
        reserved = list(getattr(graph_module, "input_mem_buffer_sizes", None) or [])
        regions = regions_of(graph_module, reserved, graph_signature)
        kept = mutable_buffer_specs(graph_module.graph.nodes, graph_signature)

        best: MemoryPlan | None = None
        for in_place, blocks in self._ways_to_share(tensors, graph_module, kept):
            items = items_by_memory(dict.fromkeys(blocks.values()), regions)
            least = sum(map(live_bytes, items.values()))
            if best is None or least < sum(best):
                plan = self._place(items, alignment, in_place)
                best = plan if best is None else min(best, plan, key=sum)
            # This plan is best, because later choices have no fewer live bytes.
            if sum(best) == least:
                break
        assert best is not None
        for memory in set(map(memory_of, tensors)):
            best[memory] += extra_padding
        return best

    def _ways_to_share(
        self, tensors: list[Spec], graph_module: GraphModule, kept: set[Spec]
    ) -> Iterator[tuple[dict[Spec, Spec], dict[Spec, Block]]]:
        """Yield choices of in-place outputs, each with the resulting block of each tensor.

        If two inputs die, the choice between them does not change the live bytes, but it may change
        how well the blocks fit together.
        """
        if self.in_place is not False:
            allowed = runs_in_place if self.in_place is True else self.in_place
            for prefer_last in (False, True):
                blocks = blocks_of(tensors)
                yield share_in_place(graph_module, blocks, allowed, kept, prefer_last), blocks
        yield {}, blocks_of(tensors)

    def _place(
        self, items: dict[int, list[Item]], alignment: int, in_place: dict[Spec, Spec]
    ) -> MemoryPlan:
        sizes = [0] * (1 + max([DEFAULT_MEMORY, *items]))
        places: dict[Spec, tuple[int, int]] = {}
        is_optimal = True
        for memory, of_memory in items.items():
            solution = solve_memory(of_memory, memory, alignment, self.algorithm, self.work_budget)
            sizes[memory] = solution.peak
            is_optimal = is_optimal and solution.is_optimal
            for item, offset in zip(of_memory, solution.offsets.tolist(), strict=True):
                for spec, begin in item.tensors.items():
                    places[spec] = memory, offset + begin
        return MemoryPlan(sizes, places, in_place, is_optimal)
