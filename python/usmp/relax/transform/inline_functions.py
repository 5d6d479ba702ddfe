"""InlineFunctions: Relax functions are inlined into the entries that call them."""

from __future__ import annotations

from collections.abc import Mapping

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule, Var

from usmp.objects.attributes.module_attributes import CONCURRENT_ATTR, ENTRIES_ATTR, STATES_ATTR
from usmp.passes import ModulePass
from usmp.relax.entries import is_part, relax_entries
from usmp.support.errors import UnsupportedModelError
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name

_INVOCATIONS = ("relax.invoke_closure", "relax.invoke_pure_closure")


@tvm.transform.module_pass(opt_level=0, name="usmp.InlineFunctions")
class InlineFunctions(ModulePass):
    """Inline the Relax functions that entries call, transitively, and remove them.

    Local functions get their captured variables as arguments. Functions that passes outlined, as
    for an accelerator, stay. A module without functions to inline is returned as it is.

    Raises
    ------
    UnsupportedModelError
        a function is recursive, or a called function keeps states.
    ValueError
        see `relax_entries`.
    """

    reads = (ENTRIES_ATTR, CONCURRENT_ATTR, STATES_ATTR)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Inline into each entry."""
        entries = [name for name in relax_entries(mod) if _has_function(mod, name)]
        functions = _functions(mod)
        if all(str(variable.name_hint) in entries for variable in functions) and not any(
            _calls(func, functions) or nodes_of(func.body, relax.Function)
            for func in functions.values()
        ):
            return mod
        mod = _with_direct_calls(mod)
        functions = _functions(mod)
        calls = {variable: _calls(func, functions) for variable, func in functions.items()}
        changed = {v: f for v, f in mod.functions.items() if v not in functions}
        for name in entries:
            variable = mod.get_global_var(name)
            reached = _reached(variable, calls)
            for callee in reached:
                if STATES_ATTR.is_on(functions[callee]):
                    raise UnsupportedModelError(
                        f'function "{name}" calls "{callee.name_hint}", which keeps states; pass '
                        "them as arguments, and let the function that is called return them"
                    )
            callees = {callee: _matching_shapes(functions[callee]) for callee in reached}
            func = functions[variable]
            changed[variable] = func.inline_functions(callees) if callees else func
        return relax.transform.Normalize()(IRModule(changed, attrs=mod.attrs))


def _has_function(mod: IRModule, name: str) -> bool:
    return any(v.name_hint == name for v in mod.functions)


def _functions(mod: IRModule) -> dict[GlobalVar, relax.Function]:
    """Return the Relax functions that no pass outlined from another one."""
    return {
        variable: func
        for variable, func in mod.functions.items()
        if isinstance(func, relax.Function) and not is_part(func)
    }


def _calls(func: relax.Function, functions: Mapping[GlobalVar, relax.Function]) -> list[GlobalVar]:
    """Return those of `functions` that a function mentions, in order."""
    return [v for v in dict.fromkeys(nodes_of(func.body, GlobalVar)) if v in functions]


def _reached(entry: GlobalVar, calls: Mapping[GlobalVar, list[GlobalVar]]) -> list[GlobalVar]:
    """Return the functions that an entry calls, transitively.

    Raises
    ------
    UnsupportedModelError
        recursion.
    """
    done: dict[GlobalVar, None] = {}
    path: dict[GlobalVar, None] = {entry: None}
    waiting = [iter(calls[entry])]
    while waiting:
        callee = next(waiting[-1], None)
        if callee is None:
            waiting.pop()
            done[path.popitem()[0]] = None
        elif callee in path:
            names = [str(v.name_hint) for v in path]
            cycle = [*names[names.index(callee.name_hint) :], callee.name_hint]
            raise UnsupportedModelError(
                f'function "{callee.name_hint}" calls itself ({" -> ".join(cycle)}): how much '
                "memory that takes is not known at compile time; write out the steps"
            )
        elif callee not in done:
            path[callee] = None
            waiting.append(iter(calls[callee]))
    return [callee for callee in done if callee is not entry]


def _matching_shapes(func: relax.Function) -> relax.Function:
    """Return the function with an `R.match_cast` of each parameter of symbolic shape.

    TVM's inlining does not bind the shape variables of a signature, but casts do.
    """
    params, casts = [], []
    for param in func.params:
        if relax.analysis.tir_vars_in_type(param.ty):
            params.append(Var(param.name, relax.AnyType()))
            casts.append(relax.MatchCast(param, params[-1], param.ty))
        else:
            params.append(param)
    if not casts:
        return func
    body = relax.SeqExpr([relax.BindingBlock(casts), *func.body.blocks], func.body.body)
    return relax.Function(params, body, func.ret_ty, func.is_pure, func.attrs, func.span)


def _with_direct_calls(mod: IRModule) -> IRModule:
    """Lift local functions, and pass their captured variables as arguments."""
    functions = _functions(mod)
    if not any(nodes_of(func.body, relax.Function) for func in functions.values()):
        return mod
    parts = {v: f for v, f in mod.functions.items() if isinstance(f, relax.Function) and is_part(f)}
    whole = {v: f for v, f in mod.functions.items() if v not in parts}
    lifted = relax.transform.LambdaLift()(IRModule(whole, attrs=mod.attrs))
    changed = {v: f for v, f in lifted.functions.items()} | parts
    for variable, func in _functions(lifted).items():
        changed[variable] = _without_closures(func)
    normalized = relax.transform.Normalize()(IRModule(changed, attrs=mod.attrs))
    names = relax_entries(mod)
    return relax.transform.DeadCodeElimination(names)(normalized)


def _without_closures(func: relax.Function) -> relax.Function:
    """Replace closures by direct calls that pass the captured variables."""
    closures: dict[Var, Call] = {}

    def on_binding(binding: relax.VarBinding) -> None:
        value = binding.value
        if op_name(value) == "relax.make_closure":
            closures[binding.var] = value
        elif value in closures:
            closures[binding.var] = closures[value]

    def direct(call: Call) -> Call:
        if op_name(call) not in _INVOCATIONS or call.args[0] not in closures:
            return call
        function, captured = closures[call.args[0]].args
        return Call(function, [*call.args[1].fields, *captured.fields], span=call.span)

    tvm_ffi.structural_walk(func.body, (relax.VarBinding, on_binding))
    if not closures:
        return func
    body = tvm_ffi.structural_map(func.body, (Call, direct))
    return relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs, func.span)
