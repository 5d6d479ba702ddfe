"""The call graph of the PrimFuncs of a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from tvm import tirx

from usmp.analysis.memory.calls import (
    CallResolver,
    PossibleCall,
    PrimFuncCall,
    possible_calls,
)


class CallGraph:
    """The calls between the PrimFuncs of a module, by name.

    Parameters
    ----------
    functions
        the PrimFuncs of the module, by the names of their GlobalVars.
    calls_in
        returns the possible calls in a body, like `possible_calls`.
    """

    def __init__(
        self,
        functions: Mapping[str, tirx.PrimFunc],
        calls_in: Callable[[tirx.Stmt], Sequence[PossibleCall]] = possible_calls,
    ) -> None:
        self.calls = CallResolver(functions)
        self.functions = self.calls.functions
        self._calls_in = calls_in
        self._resolved: dict[str, list[PrimFuncCall | None]] = {}

    def resolved(self, name: str) -> list[PrimFuncCall | None]:
        """Return the `possible_calls` in the PrimFunc `name`, resolved; None for other callees."""
        if name not in self._resolved:
            calls = self._calls_in(self.functions[name].body)
            self._resolved[name] = [self.calls.resolve_possible(call) for call in calls]
        return self._resolved[name]

    def callees(self, name: str) -> list[str]:
        """Return the PrimFuncs that `name` calls, each once, in program order."""
        names = (call.callee for call in self.resolved(name) if call is not None)
        return list(dict.fromkeys(names))

    @cached_property
    def callers(self) -> dict[str, list[str]]:
        """The callers of each PrimFunc."""
        callers: dict[str, list[str]] = {name: [] for name in self.functions}
        for name in self.functions:
            for callee in self.callees(name):
                callers[callee].append(name)
        return callers

    def callees_first(self, root: str) -> list[str]:
        """Return `root` and its callees at any depth, each after its own callees.

        Raises
        ------
        ValueError
            a PrimFunc that calls itself, directly or through others.
        """
        order: dict[str, None] = {}
        path: dict[str, None] = {}
        pending = [root]
        while pending:
            name = pending[-1]
            if name in order:
                pending.pop()
            elif name in path:
                # All of its callees are in the order now.
                pending.pop()
                del path[name]
                order[name] = None
            else:
                path[name] = None
                for callee in self.callees(name):
                    if callee in path:
                        chain = [*list(path)[list(path).index(callee) :], callee]
                        raise ValueError(
                            f"recursion cannot be planned statically: {' -> '.join(chain)}"
                        )
                pending += [c for c in reversed(self.callees(name)) if c not in order]
        return list(order)
