"""Planning algorithms by name.

An algorithm sees buffers and pools only: no TIR, no Relax, no C. It is called with the buffers and
the memory pressure, and answers with a place for each buffer. Built-in ones are C++
(``src/usmp/solver``); anyone may register more, from Python too::

    @tvm_ffi.register_global_func("tir.usmp.algo.mine")
    def mine(buffers, memory_pressure):
        return {buffer: PoolAllocation(buffer.pool_candidates[0], ...) for buffer in buffers}

:func:`solve` needs no module: it places the buffers of any compiler.

Source: RFC 0009 of apache/tvm-rfcs, "Reference-level explanation", and TVM's
``tir.usmp.custom_algorithm``.
"""

from usmp.algorithms.registry import (
    BUILTIN_ALGORITHMS,
    DEFAULT_ALGORITHM,
    Algorithm,
    get_algorithm,
    get_custom_algorithm,
    registered_algorithms,
)
from usmp.algorithms.search import SearchedPlan, watched
from usmp_solver.problem import Buffer, Pool, Problem
from usmp_solver.solution import Solution, Status
from usmp_solver.solve import Progress, solve

__all__ = [
    "BUILTIN_ALGORITHMS",
    "DEFAULT_ALGORITHM",
    "Algorithm",
    "Buffer",
    "Pool",
    "Problem",
    "Progress",
    "SearchedPlan",
    "Solution",
    "Status",
    "get_algorithm",
    "get_custom_algorithm",
    "registered_algorithms",
    "solve",
    "watched",
]
