"""How often does each PrimFunc access memory in one run of the model?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tvm.ir import IRModule

from usmp.analysis.memory.facts import module_facts


def function_accesses(entries: Iterable[str], mod: IRModule) -> Counter[str]:
    """Loads and stores of each PrimFunc, over all calls that the entries make.

    Counted as `usmp.analysis.access_counts` counts those of buffers: upper bounds, where a function
    outside of the module that gets an address counts once a call.

    Parameters
    ----------
    entries
        names of the PrimFuncs that an application calls, each of which runs once.
    mod
        the module with the PrimFuncs that they call, in flat TIR.

    Returns
    -------
    Counter[str]
        By the name of the PrimFunc in which the load or store stands.

    Raises
    ------
    ValueError
        recursion; TIR that is not flat.
    """
    facts = module_facts(mod)
    found: Counter[str] = Counter()
    for entry in entries:
        liveness = facts.of(entry).liveness
        for use in [*liveness.parameter_use.values(), *liveness.allocation_use.values()]:
            for movement, count in use.movements.items():
                found[movement.function] += count
    return found
