"""States of several entries: share them, make unchanged ones constants, initialize together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import (
    INITIAL_STATES_ATTR,
    STATES_ATTR,
    STATES_FLAG_ATTR,
)
from usmp.objects.state_info import STATES_FLAG_NAME, StateInfo
from usmp.relax.limits import Limits
from usmp.relax.states import initial_array, states_of
from usmp.relax.static_shapes import main_function
from usmp.relax.symbolic_sizes import shown_type
from usmp.support.text.unique_names import UniqueNames


def share_states(modules: Mapping[str, IRModule]) -> dict[str, IRModule]:
    """Make states of equal names one state in all entries.

    A state that no entry changes becomes a constant. Nonzero initial values are set by whichever
    entry runs first. So entries that share a state, directly or through other entries, get the
    nonzero initial values of each other's states.

    Parameters
    ----------
    modules
        entry -> its module, in which the entry is `main`.

    Raises
    ------
    ValueError
        two entries have a state of one name with different types, initial values or alignments; or
        `states_of` raises.
    """
    types: dict[str, tuple[str, relax.TensorType]] = {}
    infos: dict[str, StateInfo] = {}
    changed: set[str] = set()
    known: dict[str, list[StateInfo]] = {}
    for entry, mod in modules.items():
        main = main_function(mod)
        known[entry] = [s for s in states_of(main, entry) if not s.is_input]
        params = {str(param.name): param for param in main.params}
        for state in known[entry]:
            name = str(state.name)
            if name in types:
                _check_same(state, params[name].ty, entry, infos[name], *types[name])
            else:
                types[name], infos[name] = (entry, params[name].ty), state
            if not _is_kept(main, state):
                changed.add(name)
    constant = infos.keys() - changed
    shared = {
        entry: _with_constants(mod, [s for s in known[entry] if str(s.name) in constant])
        for entry, mod in modules.items()
    }
    if len(modules) > 1:
        full = {n: _in_full(infos[n], types[n][1]) for n in infos if n in changed}
        names = {entry: [str(s.name) for s in known[entry]] for entry in modules}
        _set_together(shared, names, full)
    return shared


def check_initial_values(functions: Mapping[str, relax.Function], limits: Limits) -> None:
    """Check that the first runs of all entries set at most as many states as `limits.operators`.

    Entries also initialize states of other entries (see `share_states`), so a small file can ask
    for much code.

    Parameters
    ----------
    functions
        entry -> its function.
    limits
        limits of the model.

    Raises
    ------
    LimitError
        there are more initial values than operators allowed.
    ValueError
        `states_of` raises.
    """
    known = {e: [s for s in states_of(f) if not s.is_input] for e, f in functions.items()}
    states = {str(state.name): state for own in known.values() for state in own}
    names = {entry: [str(state.name) for state in own] for entry, own in known.items()}
    count = sum(
        len(members)
        for group, members in _groups(names, states)
        for own in names.values()
        if not group.isdisjoint(own)
    )
    limits.check_operators("the first runs of its entries set", count, "initial values of states")


def _check_same(
    state: StateInfo,
    ty: relax.TensorType,
    entry: str,
    first: StateInfo,
    first_entry: str,
    first_type: relax.TensorType,
) -> None:
    title = f'state "{state.name}"'
    described, before = shown_type(ty), shown_type(first_type)
    if described != before:
        raise ValueError(
            f'{title} is {before} in entry "{first_entry}", but {described} in entry "{entry}"; '
            "give states that are not the same different names"
        )
    if state.alignment != first.alignment:
        raise ValueError(
            f'{title} is aligned to {first.alignment} in entry "{first_entry}", but to '
            f'{state.alignment} in entry "{entry}"; it has one address'
        )
    values = initial_array(first, first_type), initial_array(state, ty)
    if values[0].tobytes() != values[1].tobytes():
        raise ValueError(
            f'{title} has one initial value in entry "{first_entry}", and another in entry '
            f'"{entry}"; it can have one'
        )


def _is_kept(main: relax.Function, state: StateInfo) -> bool:
    """Return whether a run is known to leave the state unchanged."""
    if state.output == -1:
        return True
    values = relax.analysis.get_var2val(main)

    def resolved(expr: relax.Expr) -> relax.Expr:
        while True:
            if isinstance(expr, relax.TupleGetItem):
                source = resolved(expr.tuple_value)
                if not isinstance(source, relax.Tuple):
                    return expr
                expr = source.fields[expr.index]
            elif isinstance(expr, tvm.ir.Var) and expr in values:
                expr = values[expr]
            else:
                return expr

    def leaves(expr: relax.Expr) -> list[relax.Expr]:
        resolved_expr = resolved(expr)
        if isinstance(resolved_expr, relax.Tuple):
            return [leaf for element in resolved_expr.fields for leaf in leaves(element)]
        return [resolved_expr]

    results = leaves(main.body.body)
    (param,) = (param for param in main.params if str(param.name) == str(state.name))
    return int(state.output) < len(results) and results[int(state.output)].same_as(param)


def _with_constants(mod: IRModule, constant: list[StateInfo]) -> IRModule:
    """Return the module with these states as constants, and without the results for them."""
    if not constant:
        return mod
    main = main_function(mod)
    types = {str(param.name): param.ty for param in main.params}
    values = {str(s.name): initial_array(s, types[str(s.name)]) for s in constant}
    dropped = {int(state.output) for state in constant}
    remaining = [
        s.with_output(
            s.output if s.output < 0 else s.output - sum(0 <= d < s.output for d in dropped)
        )
        for s in states_of(main)
        if str(s.name) not in values
    ]
    changed = mod.clone()
    func = STATES_ATTR.put(_without_results(main, dropped), remaining)
    changed.update_func(changed.get_global_var("main"), func)
    changed = relax.transform.Normalize()(changed)
    return relax.transform.BindParams(
        "main", {name: tvm.runtime.tensor(value) for name, value in values.items()}
    )(changed)


def _without_results(main: relax.Function, dropped: set[int]) -> relax.Function:
    """Return `main` without the results at these positions of the flattened result tuple."""
    leaves: list[tuple[relax.Expr, tvm.ir.Type]] = []

    def flatten(expr: relax.Expr, ty: tvm.ir.Type) -> None:
        if isinstance(ty, tvm.ir.TupleType):
            for index, element in enumerate(ty.fields):
                part = (
                    expr.fields[index]
                    if isinstance(expr, relax.Tuple)
                    else relax.TupleGetItem(expr, index)
                )
                flatten(part, element)
        else:
            leaves.append((expr, ty))

    flatten(main.body.body, main.body.body.ty)
    kept = [leaf for index, leaf in enumerate(leaves) if index not in dropped]
    if len(kept) == len(leaves):
        return main
    single = len(kept) == 1
    result = kept[0][0] if single else relax.Tuple([expr for expr, _ in kept])
    ty = kept[0][1] if single else tvm.ir.TupleType([ty for _, ty in kept])
    body = relax.SeqExpr(main.body.blocks, result)
    return relax.Function(main.params, body, ty, main.is_pure, main.attrs, main.span)


def _in_full(state: StateInfo, ty: relax.TensorType) -> StateInfo:
    """Return the state with its initial value broadcast, for entries that only initialize it."""
    value = tvm.runtime.tensor(initial_array(state, ty))
    return StateInfo(state.name, -1, value, state.alignment)


def _set_together(
    modules: dict[str, IRModule], names: Mapping[str, list[str]], states: Mapping[str, StateInfo]
) -> None:
    """Give each entry the initial values of the states that its group has (see `_groups`) but the
    entry lacks, and the name of the group's flag, which marks the first run."""
    groups = _groups(names, states)
    flags = UniqueNames(states)
    for group, members in groups:
        flag = flags.unique(STATES_FLAG_NAME)
        for entry, own in names.items():
            if not group & set(own):
                continue
            mod = modules[entry].clone()
            others = [states[name] for name in members if name not in own]
            main = mod["main"].with_attrs(
                INITIAL_STATES_ATTR.entry(others) | STATES_FLAG_ATTR.entry({flag: members})
            )
            mod.update_func(mod.get_global_var("main"), main)
            modules[entry] = mod


def _groups(
    names: Mapping[str, list[str]], states: Mapping[str, StateInfo]
) -> list[tuple[set[str], list[str]]]:
    """Group states that entries share, directly or through other entries. Return each group that
    has nonzero initial values, with the names of the states that have them, in order."""
    groups: list[set[str]] = []
    for own in names.values():
        mine = {name for name in own if name in states}
        met = [group for group in groups if group & mine]
        groups = [group for group in groups if not group & mine]
        groups.append(mine.union(*met))
    starting = {name for name, s in states.items() if np.any(_bytes_of(s))}
    return [
        (group, [name for name in states if name in group & starting])
        for group in groups
        if group & starting
    ]


def _bytes_of(state: StateInfo) -> np.ndarray:
    return np.frombuffer(state.initial_value.numpy().tobytes(), np.uint8)
