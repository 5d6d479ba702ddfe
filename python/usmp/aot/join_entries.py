"""The AoT modules of several entries as one: what they have in common stands there once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import tvm_ffi
from tvm import tirx
from tvm.ir import GlobalVar, IRModule

from usmp.analysis.buffer_extraction import is_plannable
from usmp.analysis.memory.facts import module_facts
from usmp.objects.attributes import (
    CONSTANT_DATA_ATTR,
    ENTRIES_ATTR,
    FLOAT_OPERATORS_ATTR,
    MAIN_FUNCTION_NAME,
    OPERATOR_ORDER_ATTR,
    OPERATORS_ATTR,
    PRUNED_CHANNELS_ATTR,
)
from usmp.objects.entries import concurrent_entries, entry_function_name
from usmp.ops.record import QuantizedOp, operators_of, with_operators
from usmp.support.unique_names import UniqueNames
from usmp.tir.global_symbol import GLOBAL_SYMBOL_ATTR, with_new_symbol
from usmp.tir.nodes import nodes_of


def join_entries(mod: IRModule, modules: Mapping[str, IRModule]) -> IRModule:
    """One module with the main functions of all entries, each under its entry's name.

    PrimFuncs that are equal, but for their names and the records of what they compute, become one,
    with all records. Entries that may run at once have operators of their own where these
    allocate memory, since an allocation has one place.

    Parameters
    ----------
    mod
        the module of all entries, whose attributes the result has.
    modules
        the module of each entry, as `LowerMain` made it.

    Raises
    ------
    ValueError
        recursion.
    """
    busy = {entry for pair in concurrent_entries(mod) for entry in pair}
    joined = _Joined([entry_function_name(entry) for entry in modules])
    for entry, alone in modules.items():
        joined.add(entry, alone, apart=entry in busy)
    attrs = {
        **(mod.attrs or {}),
        **_joint_attributes(list(modules.values())),
        ENTRIES_ATTR: list(modules),
    }
    return IRModule(joined.functions).with_attrs(attrs)


@dataclass
class _Joined:
    """The functions so far."""

    mains: list[str]
    functions: dict[GlobalVar, tirx.PrimFunc] = field(default_factory=dict)
    equal: dict[int, list[tuple[GlobalVar, tirx.PrimFunc, str]]] = field(default_factory=dict)
    """By structural hash: PrimFuncs, without name and record, and the entry that has it to
    itself."""
    names: UniqueNames = field(init=False)

    def __post_init__(self) -> None:
        self.names = UniqueNames(self.mains)

    def add(self, entry: str, alone: IRModule, apart: bool) -> None:
        """Add an entry and what it calls."""
        graph = module_facts(alone).graph
        replaced: dict[GlobalVar, GlobalVar] = {}
        allocating: set[str] = set()
        for name in graph.callees_first(MAIN_FUNCTION_NAME):
            variable, func = alone.get_global_var(name), graph.functions[name]
            if _allocates(func) or not allocating.isdisjoint(graph.callees(name)):
                allocating.add(name)
            if replaced:
                body = tvm_ffi.structural_map(
                    func.body, (GlobalVar, lambda used: replaced.get(used, used))
                )
                func = func if body.same_as(func.body) else func.with_body(body, func.span)
            if name == MAIN_FUNCTION_NAME:
                main = GlobalVar(entry_function_name(entry))
                self.functions[main] = with_new_symbol(func, str(main.name_hint))
            else:
                owner = entry if apart and name in allocating else ""
                new = self._operator(variable, func, owner)
                if not new.same_as(variable):
                    replaced[variable] = new

    def _operator(self, variable: GlobalVar, func: tirx.PrimFunc, owner: str) -> GlobalVar:
        """The function that is equal to this one; this one, if there is none."""
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


def _allocates(func: tirx.PrimFunc) -> bool:
    """Whether it has allocations that are planned, and not constant."""
    return any(
        is_plannable(stmt) and CONSTANT_DATA_ATTR not in stmt.annotations
        for stmt in nodes_of(func.body, tirx.AllocBuffer)
    )


def _plain(func: tirx.PrimFunc) -> tirx.PrimFunc:
    for name in (GLOBAL_SYMBOL_ATTR, OPERATORS_ATTR):
        if func.attrs and name in func.attrs:
            func = func.without_attr(name)
    return func


def _with_records(func: tirx.PrimFunc, other: tirx.PrimFunc) -> tirx.PrimFunc:
    """`func` with the records of both, step by step."""
    ours, theirs = operators_of(func), operators_of(other)
    if ours == theirs:
        return func
    if len(ours) != len(theirs):
        # What one of the two says of itself does not hold for both.
        return with_operators(func, ()).without_attr(OPERATORS_ATTR) if ours else func
    steps: list[list[QuantizedOp]] = [
        [*step, *(record for record in added if record not in step)]
        for step, added in zip(ours, theirs, strict=True)
    ]
    return with_operators(func, steps)


def _joint_attributes(modules: Collection[IRModule]) -> dict[str, object]:
    """What is said of the entries, said of all of them."""
    attrs: dict[str, object] = {}
    counted: dict[str, int] = {}
    pruned: dict[str, int] = {}
    orders: list[Mapping[str, int]] = []
    for mod in modules:
        for name, count in (mod.attrs or {}).get(PRUNED_CHANNELS_ATTR, {}).items():
            pruned[str(name)] = pruned.get(str(name), 0) + int(count)
        for name, count in (mod.attrs or {}).get(FLOAT_OPERATORS_ATTR, {}).items():
            counted[str(name)] = counted.get(str(name), 0) + int(count)
        if OPERATOR_ORDER_ATTR in (mod.attrs or {}):
            orders.append(mod.attrs[OPERATOR_ORDER_ATTR])
    if counted:
        attrs[FLOAT_OPERATORS_ATTR] = counted
    if pruned:
        attrs[PRUNED_CHANNELS_ATTR] = pruned
    if orders:
        # The most that any entry needs; of one with a single order nothing is known here.
        attrs[OPERATOR_ORDER_ATTR] = {
            str(name): max(int(order[name]) for order in orders) for name in orders[0]
        }
    return attrs
