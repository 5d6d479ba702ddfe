"""Memory planning of ExecuTorch; what is in `usmp_solver.integrations.executorch`, which needs no
TVM to be installed."""

from usmp_solver.integrations.executorch import (
    MemoryPlan,
    MemoryPlanning,
    is_element_wise,
    runs_in_place,
)

__all__ = ["MemoryPlan", "MemoryPlanning", "is_element_wise", "runs_in_place"]
