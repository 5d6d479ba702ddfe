"""PrimFuncs of several modules, merged with one copy of common ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import tvm_ffi
from tvm import tirx
from tvm.ir import GlobalVar, IRModule

from usmp.analysis.memory.facts import module_facts
from usmp.objects.attributes.operator_attributes import OPERATORS_ATTR
from usmp.ops.records import QuantizedOp, operators_of, with_operators
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.global_symbol import GLOBAL_SYMBOL_ATTR, with_new_symbol


@dataclass
class SharedFunctions:
    """The added functions; those that differ only in names and `usmp.ops.records` are merged.

    Parameters
    ----------
    taken
        names that no function may have.
    """

    taken: Iterable[str]
    functions: dict[GlobalVar, tirx.PrimFunc] = field(default_factory=dict)
    equal: dict[int, list[tuple[GlobalVar, tirx.PrimFunc, str]]] = field(default_factory=dict)
    """Structural hash -> variable, PrimFunc without name and record, and owner ("" if shared)."""
    names: UniqueNames = field(init=False)

    def __post_init__(self) -> None:
        self.names = UniqueNames(self.taken)

    def add_callees(
        self, mod: IRModule, caller: str, owner_of: Callable[[str], str] = lambda name: ""
    ) -> tirx.PrimFunc:
        """Add the callees of a PrimFunc of `mod`, and return the PrimFunc with its calls renamed.

        Parameters
        ----------
        owner_of
            returns the owner of a function that must not be shared, or ""; called callees first.
        """
        graph = module_facts(mod).graph
        replaced: dict[GlobalVar, GlobalVar] = {}
        for name in graph.callees_first(caller):
            variable, func = mod.get_global_var(name), graph.functions[name]
            owner = owner_of(name)
            if replaced:
                body = tvm_ffi.structural_map(
                    func.body, (GlobalVar, lambda used: replaced.get(used, used))
                )
                func = func if body.same_as(func.body) else func.with_body(body, func.span)
            if name == caller:
                return func
            new = self._shared(variable, func, owner)
            if not new.same_as(variable):
                replaced[variable] = new
        raise ValueError(f"there is no function {caller}")

    def add(self, variable: GlobalVar, func: tirx.PrimFunc) -> None:
        """Add a function under its own name, which must be unused."""
        self.names.unique(str(variable.name_hint))
        self.functions[variable] = func
        plain = _plain(func)
        self.equal.setdefault(tvm_ffi.structural_hash(plain), []).append((variable, plain, ""))

    def _shared(self, variable: GlobalVar, func: tirx.PrimFunc, owner: str) -> GlobalVar:
        """Return the equal function that is there already, or add this one."""
        plain = _plain(func)
        group = self.equal.setdefault(tvm_ffi.structural_hash(plain), [])
        for known, other, other_owner in group:
            if other_owner == owner and tvm_ffi.structural_equal(other, plain):
                self.functions[known] = _with_records(self.functions[known], func)
                return known
        name = self.names.unique(str(variable.name_hint))
        new = variable if name == str(variable.name_hint) else GlobalVar(name)
        self.functions[new] = func if new.same_as(variable) else with_new_symbol(func, name)
        group.append((new, plain, owner))
        return new


def _plain(func: tirx.PrimFunc) -> tirx.PrimFunc:
    if func.attrs and GLOBAL_SYMBOL_ATTR in func.attrs:
        func = func.without_attr(GLOBAL_SYMBOL_ATTR)
    return OPERATORS_ATTR.removed(func)


def _with_records(func: tirx.PrimFunc, other: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return `func` with the records of both functions, step by step."""
    ours, theirs = operators_of(func), operators_of(other)
    if ours == theirs:
        return func
    if len(ours) != len(theirs):
        # Records of different steps cannot be merged.
        return OPERATORS_ATTR.removed(with_operators(func, ())) if ours else func
    steps: list[list[QuantizedOp]] = [
        [*step, *(record for record in added if record not in step)]
        for step, added in zip(ours, theirs, strict=True)
    ]
    return with_operators(func, steps)
