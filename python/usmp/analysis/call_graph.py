"""Which PrimFunc calls which?"""

from __future__ import annotations

from functools import cached_property

import tvm_ffi
from tvm.ir import Call, IRModule

from usmp.analysis.calls import CallResolver, prim_funcs


class CallGraph:
    """The calls between the PrimFuncs of a module, by name.

    Parameters
    ----------
    mod: the module.
    """

    def __init__(self, mod: IRModule) -> None:
        self.calls = CallResolver(prim_funcs(mod))
        self.functions = self.calls.functions
        self._callees: dict[str, list[str]] = {}

    def callees(self, name: str) -> list[str]:
        """The PrimFuncs that `name` calls, each once, in the order of the text."""
        if name not in self._callees:
            found: dict[str, None] = {}

            def on_call(call: Call) -> None:
                callee = self.calls.resolve(call)
                if callee is not None:
                    found[callee.callee] = None

            tvm_ffi.structural_walk(self.functions[name].body, (Call, on_call), order="pre")
            self._callees[name] = list(found)
        return self._callees[name]

    @cached_property
    def callers(self) -> dict[str, list[str]]:
        """For each PrimFunc those that call it."""
        callers: dict[str, list[str]] = {name: [] for name in self.functions}
        for name in self.functions:
            for callee in self.callees(name):
                callers[callee].append(name)
        return callers

    def callees_first(self, root: str) -> list[str]:
        """`root` and all that it calls, to any depth, each after those that it calls.

        Raises
        ------
        ValueError: a PrimFunc that calls itself, directly or through others.
        """
        order: dict[str, None] = {}
        path: dict[str, None] = {}
        pending = [root]
        while pending:
            name = pending[-1]
            if name in order:
                pending.pop()
            elif name in path:
                # All that it calls is done.
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
