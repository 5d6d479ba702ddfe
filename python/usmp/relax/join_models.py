"""Several Relax modules joined into one, which has the entries of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import BaseFunc, GlobalVar, IRModule

from usmp.objects.attributes.annotations import STATE_TENSOR_ATTR
from usmp.objects.attributes.module_attributes import (
    CONCURRENT_ATTR,
    ENTRIES_ATTR,
    MODEL_FILES_ATTR,
    STATES_ATTR,
)
from usmp.objects.entries import check_entries
from usmp.objects.state_info import StateInfo
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.relax.entries import relax_entries
from usmp.relax.states import states_of
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.global_symbol import GLOBAL_SYMBOL_ATTR, with_new_symbol

_LISTS = {attribute.name for attribute in (CONCURRENT_ATTR, ENTRIES_ATTR, MODEL_FILES_ATTR)}
"""Attributes that list names, which are joined."""


def join_models(models: Mapping[str, IRModule], shared_state: bool = False) -> IRModule:
    """Join modules into one, so that they may run in turn in one memory.

    The `main` of a model becomes the entry with the model's name; if a model has several entries,
    each becomes `<model>_<entry>`.

    Parameters
    ----------
    models
        model name -> module.
    shared_state
        whether models share the states of equal names, as methods of one program do.

    Raises
    ------
    ValueError
        a name is not valid in C, two entries have one name, or two modules have different values of
        one attribute.
    """
    check_entries(list(models))
    entries = {name: relax_entries(mod) for name, mod in models.items()}
    renamed = {
        model: {e: model if own == [ONLY_ENTRY] else f"{model}_{e}" for e in own}
        for model, own in entries.items()
    }
    listed = [entry for names in renamed.values() for entry in names.values()]
    check_entries(listed)
    unique_names = UniqueNames(listed)
    functions: dict[GlobalVar, BaseFunc] = {}
    for model, mod in models.items():
        functions.update(_functions(model, mod, renamed[model], unique_names, shared_state))
    together = [
        [renamed[model][str(name)] for name in names]
        for model, mod in models.items()
        for names in CONCURRENT_ATTR.of(mod) or ()
    ]
    attrs = _attributes(models) | ENTRIES_ATTR.entry(listed)
    if together:
        attrs |= CONCURRENT_ATTR.entry(together)
    files = [name for mod in models.values() for name in MODEL_FILES_ATTR.of(mod) or ()]
    if files:
        attrs |= MODEL_FILES_ATTR.entry(files)
    return IRModule(functions).with_attrs(attrs)


def _functions(
    model: str,
    mod: IRModule,
    entries: Mapping[str, str],
    unique_names: UniqueNames,
    shared_state: bool,
) -> dict[GlobalVar, BaseFunc]:
    """Return the functions of a model, with names that no other model uses."""

    def owned(func: BaseFunc, name: str) -> BaseFunc:
        return func if shared_state else _with_own_states(func, model, is_entry=name in entries)

    # Add PrimFuncs by a builder, because then Relax knows the types of their variables.
    builder = relax.BlockBuilder()
    variables: dict[GlobalVar, GlobalVar] = {}
    functions: dict[GlobalVar, BaseFunc] = {}
    ordered = sorted(mod.functions.items(), key=lambda item: str(item[0].name_hint))
    for variable, func in ordered:
        name = str(variable.name_hint)
        if isinstance(func, tirx.PrimFunc):
            new_name = unique_names.unique(name)
            added = with_new_symbol(owned(func, name), new_name)
            variables[variable] = builder.add_func(added, new_name)
        else:
            variables[variable] = GlobalVar(entries.get(name) or unique_names.unique(name))
            if isinstance(variable.ty, relax.FuncType):
                # Relax derives the types of calls from the type of the variable.
                relax.expr._update_type(variables[variable], variable.ty)
    for variable, new in variables.items():
        func, name = mod.functions[variable], str(variable.name_hint)
        func = tvm_ffi.structural_map(
            owned(func, name), (GlobalVar, lambda used: variables.get(used, used))
        )
        if name in entries:
            func = func.with_attr(GLOBAL_SYMBOL_ATTR, str(new.name_hint))
        functions[new] = with_new_symbol(func, str(new.name_hint))
    return functions


def _with_own_states(func: BaseFunc, model: str, is_entry: bool) -> BaseFunc:
    """Return the function with the model's name prefixed to its states."""
    if isinstance(func, relax.Function) and is_entry:
        return _with_own_parameters(func, model)
    if not isinstance(func, tirx.PrimFunc):
        return func

    def rename(stmt: tirx.AllocBuffer) -> tirx.AllocBuffer:
        name = STATE_TENSOR_ATTR.of(stmt)
        return stmt if name is None else STATE_TENSOR_ATTR.put(stmt, f"{model}.{name}")

    body = tvm_ffi.structural_map(func.body, (tirx.AllocBuffer, rename))
    return func if body.same_as(func.body) else func.with_body(body)


def _with_own_parameters(func: relax.Function, model: str) -> relax.Function:
    states = {str(state.name): state for state in states_of(func) if not state.is_input}
    if not states:
        return func
    renamed = {
        param: relax.Var(f"{model}.{param.name}", param.ty)
        for param in func.params
        if str(param.name) in states
    }
    params = [renamed.get(param, param) for param in func.params]
    body = tvm_ffi.structural_map(func.body, (relax.Var, lambda var: renamed.get(var, var)))
    own = [
        s
        if s.is_input
        else StateInfo(f"{model}.{s.name}", s.output, s.initial_value, s.alignment, s.set_by)
        for s in states_of(func)
    ]
    changed = relax.Function(params, body, func.ret_ty, func.is_pure, func.attrs, func.span)
    return STATES_ATTR.put(changed, own)


def _attributes(models: Mapping[str, IRModule]) -> dict[str, Any]:
    """Return the attributes of all modules except lists of names; raise if values differ."""
    attrs: dict[str, Any] = {}
    first: dict[str, str] = {}
    for model, mod in models.items():
        for name, value in (mod.attrs or {}).items():
            if name in _LISTS:
                continue
            if name in attrs and not tvm_ffi.structural_equal(attrs[name], value):
                raise ValueError(
                    f'models "{first[name]}" and "{model}" have different values of the attribute '
                    f'"{name}"; one program has one'
                )
            attrs[name] = value
            first.setdefault(name, model)
    return attrs
