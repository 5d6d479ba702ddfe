"""Numbers of loads and stores of each PrimFunc in one run of the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tvm.ir import IRModule

from usmp.analysis.memory.facts import module_facts


def function_accesses(entries: Iterable[str], mod: IRModule) -> Counter[str]:
    """Count the loads and stores of each PrimFunc, over all calls that the entries make.

    The rules are those of `usmp.analysis.access_counts`. A function outside of the module that
    gets an address is assumed to access the memory once in each call.

    Parameters
    ----------
    entries
        names of the PrimFuncs that an application calls, each of which runs once.
    mod
        the module with the entries and their callees, in flat TIR.

    Returns
    -------
    Counter[str]
        Number of loads and stores, by the name of the PrimFunc that contains them.

    Raises
    ------
    ValueError
        recursion; TIR that is not flat.
    """
    facts = module_facts(mod)
    counts: Counter[str] = Counter()
    for entry in entries:
        liveness = facts.of(entry).liveness
        for use in [*liveness.parameter_use.values(), *liveness.allocation_use.values()]:
            for movement, count in use.movements.items():
                counts[movement.function] += count
    return counts
