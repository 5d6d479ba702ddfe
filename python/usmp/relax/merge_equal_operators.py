"""One PrimFunc for integer operators with equal code.

Two operators may run the same integer code and differ in their scales or in the tables that they
are passed, as TANH and LOGISTIC do. `usmp.ops.emit` makes a PrimFunc of each, because accelerators
need the difference. For the CPU, one PrimFunc is enough.
"""

from __future__ import annotations

from collections import defaultdict

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar, IRModule

from usmp.objects.attributes.operator_attributes import CODE_HASH_ATTR, SHARED_CODE_ATTR
from usmp.ops.emit import without_record
from usmp.ops.records import QuantizedOp, operator_of, with_operators
from usmp.ops.records.attributes import OPERATOR_ATTR


def merge_equal_operators(mod: IRModule) -> IRModule:
    """Merge PrimFuncs that differ only in their records (`usmp.ops.records`), and keep all records.

    The merged PrimFunc has the name of the first one, and all records as one step of the attribute
    `quantized_operators`.

    Parameters
    ----------
    mod
        a module whose integer operators are not fused yet.
    """
    groups = _equal_operators(mod)
    if not groups:
        return mod
    merged = {variable for group in groups for variable in group}
    kept = {variable: func for variable, func in mod.functions.items() if variable not in merged}
    used_names = {str(variable.name_hint) for variable in kept}
    builder = relax.BlockBuilder(IRModule(kept, attrs=mod.attrs))
    replacements: dict[GlobalVar, GlobalVar] = {}
    for group in groups:
        func = mod[group[0]]
        records: list[QuantizedOp] = []
        for variable in group:
            record = operator_of(mod[variable])
            if record is not None and record not in records:
                records.append(record)
        name, first = str(group[0].name_hint), SHARED_CODE_ATTR.of(func)
        if first is not None and first not in used_names:
            # The original (see SHARED_CODE_ATTR) was removed, so its name is unused.
            name = first
        used_names.add(name)
        replacement = builder.add_func(with_operators(without_record(func), [records]), name)
        replacements.update(dict.fromkeys(group, replacement))
    result = builder.get()
    for variable, func in kept.items():
        if isinstance(func, relax.Function):
            renamed = tvm_ffi.structural_map(
                func, (GlobalVar, lambda used: replacements.get(used, used))
            )
            result.update_func(variable, renamed)
    return result.with_attrs(mod.attrs) if mod.attrs else result


def _equal_operators(mod: IRModule) -> list[list[GlobalVar]]:
    """Return groups of operators with equal code. In each group, originals precede copies."""
    by_hash: defaultdict[int, list[list[GlobalVar]]] = defaultdict(list)
    operators = [
        variable
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc) and OPERATOR_ATTR.is_on(func)
    ]
    # Sort copies behind their original, so that the original's name is kept.
    operators.sort(key=lambda v: (SHARED_CODE_ATTR.is_on(mod[v]), len(v.name_hint), v.name_hint))
    for variable in operators:
        func = mod[variable]
        groups = by_hash[CODE_HASH_ATTR.required(func)]
        plain = without_record(func)
        for group in groups:
            if tvm_ffi.structural_equal(without_record(mod[group[0]]), plain):
                group.append(variable)
                break
        else:
            groups.append([variable])
    return [group for groups in by_hash.values() for group in groups]
