"""FuseWindowSlices: readers of a part of a state's window read it in place."""

from __future__ import annotations

from collections import Counter

import tvm
from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule, TensorLoad, Var

from usmp.objects.attributes.module_attributes import STATES_ATTR
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    OPERATOR_STEPS_ATTR,
    OPERATORS_ATTR,
)
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.emit import OPAQUE
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.passes import ModulePass
from usmp.relax.replace_main import with_main_body
from usmp.relax.states import states_of
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.fusion.fuse_recorded_operators import fuse_grouped_operators
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name

_KNOWN = {
    *("op_pattern", "s_tir", "tirx.noalias"),
    *(OPERATOR_ATTR.name, OPERATORS_ATTR.name, OPERATOR_STEPS_ATTR.name),
}
"""Attributes that fusion keeps, or that are not needed afterwards."""


@tvm.transform.module_pass(opt_level=0, name="usmp.FuseWindowSlices")
class FuseWindowSlices(ModulePass):
    """Fuse an operator that only copies elements of a window into its only reader.

    A window is an `R.concat` that begins with a state that the run changes. It is live as long as
    the state (see `usmp.aot.state_windows`), so a copy of a part of it only adds bytes. All
    operators are PrimFuncs.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    ValueError
        a state is no parameter and result of `main`.
    """

    reads = (
        *(STATES_ATTR, OPERATORS_ATTR, OPERATOR_STEPS_ATTR, ACCELERATOR_FUNCTION_ATTR),
        *(CONTROL_FLOW_ATTR, OPERATOR_ATTR),
    )
    writes = (OPERATOR_STEPS_ATTR,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Fuse the copies in `main`."""
        main = main_function(mod)
        changed = {
            str(state.name) for state in states_of(main) if state.output >= 0 and not state.is_input
        }
        grouped = _grouped(mod, main, changed) if changed else None
        return mod if grouped is None else fuse_grouped_operators(grouped)


def _grouped(mod: IRModule, main: relax.Function, names: set[str]) -> IRModule | None:
    """Return the module in which each reader and its copies are a function to be fused, or None if
    there are none. `names` are those of changed states."""
    states = {param for param in main.params if param.name in names}
    bindings = [binding for block in main.body.blocks for binding in block.bindings]
    values = {binding.var: binding.value for binding in bindings}
    windows = {var for var, value in values.items() if _is_window(value, states)}
    uses = Counter(
        var for expr in [*values.values(), main.body.body] for var in nodes_of(expr, Var)
    )
    copies = {
        var: value
        for var, value in values.items()
        if uses[var] == 1 and _copies_part_of(mod, value, windows)
    }
    fused: dict[Var, Call] = {}
    builder = relax.BlockBuilder(mod)
    for var, value in values.items():
        if op_name(value) == "relax.call_tir" and var not in copies and _may_fuse(mod, value):
            read = [argument for argument in value.args[1].fields if argument in copies]
            if read:
                fused[var] = _call_of_group(builder, value, {arg: copies[arg] for arg in read})
    if not fused:
        return None
    fused_copies = {arg for var in fused for arg in values[var].args[1].fields if arg in copies}
    blocks = [
        type(block)(
            [
                relax.VarBinding(binding.var, fused.get(binding.var, binding.value))
                if binding.var in fused
                else binding
                for binding in block.bindings
                if binding.var not in fused_copies
            ]
        )
        for block in main.body.blocks
    ]
    return with_main_body(builder.get(), relax.SeqExpr(blocks, main.body.body))


def _is_window(value: relax.Expr, states: set[Var]) -> bool:
    if op_name(value) != "relax.concat" or not isinstance(value.args[0], relax.Tuple):
        return False
    return value.args[0].fields[0] in states


def _copies_part_of(mod: IRModule, value: relax.Expr, windows: set[Var]) -> bool:
    """Return whether the value only copies elements of a window."""
    if op_name(value) != "relax.call_tir" or len(value.args) != 2:
        return False
    arguments = value.args[1].fields
    if len(arguments) != 1 or arguments[0] not in windows:
        return False
    stores = nodes_of(mod[value.args[0]].body, tirx.BufferStore)
    return bool(stores) and all(isinstance(store.value, TensorLoad) for store in stores)


def _may_fuse(mod: IRModule, reader: Call) -> bool:
    """Return whether fusion loses no attribute of the operator."""
    attributes = mod[reader.args[0]].attrs or {}
    return set(attributes.keys()) <= _KNOWN and int(attributes.get("op_pattern", 0)) != OPAQUE


def _call_of_group(builder: relax.BlockBuilder, reader: Call, copies: dict[Var, Call]) -> Call:
    """Return a call of a new function that makes the copies and then calls the reader."""
    outside: list[relax.Expr] = []
    inside: list[relax.Expr] = []
    for argument in reader.args[1].fields:
        outside.append(copies[argument].args[1].fields[0] if argument in copies else argument)
        inside.append(relax.Var(f"arg{len(inside)}", outside[-1].ty))
    called = [str(call.args[0].name_hint) for call in [*copies.values(), reader]]
    names = [name.removeprefix("fused_") for name in called]
    block: list[relax.VarBinding] = []
    arguments: list[relax.Expr] = list(inside)
    for index, argument in enumerate(reader.args[1].fields):
        if argument in copies:
            copy = copies[argument]
            part = relax.DataflowVar(f"part{index}", argument.ty)
            value = relax.call_tir(copy.args[0], relax.Tuple([inside[index]]), argument.ty)
            block.append(relax.VarBinding(part, value))
            arguments[index] = part
    result = relax.Var("result", reader.ty)
    value = relax.call_tir(reader.args[0], relax.Tuple(arguments), reader.ty)
    block.append(relax.VarBinding(result, value))
    body = relax.SeqExpr([relax.DataflowBlock(block)], result)
    function = relax.Function(inside, body, reader.ty, attrs=None).with_attr("Primitive", True)
    variable: GlobalVar = builder.add_func(function, "fused_" + "_".join(names))
    return Call(variable, outside, ret_ty=reader.ty)
