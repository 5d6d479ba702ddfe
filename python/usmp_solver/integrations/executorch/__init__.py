"""Memory planning for ExecuTorch with the solver::

    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes import MemoryPlanningPass
    from usmp_solver.integrations.executorch import MemoryPlanning

    algorithm = MemoryPlanning()
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(algorithm))
    program = edge.to_executorch(config)

The import loads ExecuTorch and PyTorch, but not TVM.
"""

from usmp_solver.integrations.executorch.memory_plan import MemoryPlan
from usmp_solver.integrations.executorch.memory_planning import MemoryPlanning
from usmp_solver.integrations.executorch.operators import is_element_wise, runs_in_place

__all__ = ["MemoryPlan", "MemoryPlanning", "is_element_wise", "runs_in_place"]
