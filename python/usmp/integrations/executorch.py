"""Memory planning for ExecuTorch: the names of `usmp_solver.integrations.executorch`, which does
not need TVM."""

from usmp_solver.integrations.executorch import (
    MemoryPlan,
    MemoryPlanning,
    is_element_wise,
    runs_in_place,
)

__all__ = ["MemoryPlan", "MemoryPlanning", "is_element_wise", "runs_in_place"]
