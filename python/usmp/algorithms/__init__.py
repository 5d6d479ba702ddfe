"""Planning algorithms by name.

An algorithm sees buffers and pools only: no TIR, no Relax, no C. It is called with the buffers and
the memory pressure, and returns a pool and an offset for each buffer. The solver has the built-in
algorithms (`usmp_solver`, ``src/usmp_solver``); users may register more, from Python too::

    @tvm_ffi.register_global_func("tir.usmp.algo.mine")
    def mine(buffers, memory_pressure):
        return {buffer: PoolAllocation(buffer.pool_candidates[0], ...) for buffer in buffers}

Source: RFC 0009 of apache/tvm-rfcs, "Reference-level explanation", and TVM's
``tir.usmp.custom_algorithm``.
"""

from usmp.algorithms.does_not_fit import DoesNotFitError
from usmp.algorithms.least_need import LeastNeed
from usmp.algorithms.registry import (
    Algorithm,
    get_algorithm,
    get_custom_algorithm,
    registered_algorithms,
)
from usmp.algorithms.search import SearchedPlan, watched

__all__ = [
    "Algorithm",
    "DoesNotFitError",
    "LeastNeed",
    "SearchedPlan",
    "get_algorithm",
    "get_custom_algorithm",
    "registered_algorithms",
    "watched",
]
