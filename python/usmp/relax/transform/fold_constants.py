"""FoldConstants: operators of constants are computed at compile time."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import relax, tirx
from tvm.ir import GlobalVar, IRModule, PointerType

from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.passes import ModulePass
from usmp.relax.count_iterations import iterations_of
from usmp.relax.fold_exact_calls import fold_exact_calls
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import calls_outside, op_name
from usmp.transform.define_arithmetic import define_arithmetic

_MOST_ITERATIONS = 1 << 31
"""Most iterations at compile time, about ten seconds. Operators beyond it run with the model."""


@tvm.transform.module_pass(opt_level=0, name="usmp.FoldConstants")
class FoldConstants(ModulePass):
    """Run TVM's FoldConstant, except on operators that must not run in this process.

    These call C functions, take addresses, run for long, are control flow, or have integer
    arithmetic that LLVM does not define, as division by zero. TVM compiles operators and runs them
    in this process, where a division by zero would end it. NumPy folds the operators whose results
    it computes exactly.
    """

    reads = (CONTROL_FLOW_ATTR,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Fold the calls in Relax functions."""
        return _fold_constants(mod)


def _fold_constants(mod: IRModule) -> IRModule:
    apart = _take_long(mod) | _undefined(mod)
    hidden = {
        variable: func
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc)
        and (
            variable in apart
            or calls_outside(func)
            or _takes_addresses(func)
            or CONTROL_FLOW_ATTR.of(func)
        )
    }
    folded = IRModule(mod.functions, attrs=mod.attrs)
    for variable in hidden:
        folded.update_func(variable, relax.ExternFunc(variable.name_hint))
    folded = relax.transform.FoldConstant()(fold_exact_calls(folded))
    for variable, func in hidden.items():
        folded.update_func(variable, func)
    return folded


def _takes_addresses(func: tirx.PrimFunc) -> bool:
    """Return whether parameters are pointers. TVM would pass the address of a tensor's struct, and
    the function would overwrite the struct."""
    return any(isinstance(param.ty, PointerType) for param in func.params)


def _undefined(mod: IRModule) -> set[GlobalVar]:
    """Return functions called on constants alone whose arithmetic may overflow or divide by
    zero."""
    called = {v: mod[v] for v in _called_on_constants(mod) if isinstance(mod[v], tirx.PrimFunc)}
    mains = {v: f for v, f in mod.functions.items() if isinstance(f, relax.Function)}
    defined = define_arithmetic(IRModule({**mains, **called}))
    return {variable for variable in called if calls_outside(defined[variable])}


def _take_long(mod: IRModule) -> set[GlobalVar]:
    """Return functions called on constants alone whose calls would exceed `_MOST_ITERATIONS` in
    all."""
    iterations: dict[GlobalVar, int] = {}
    long: set[GlobalVar] = set()
    total = 0

    def is_in_time(callee: GlobalVar) -> bool:
        nonlocal total
        if callee not in iterations:
            iterations[callee] = iterations_of(mod[callee])
        if total + iterations[callee] > _MOST_ITERATIONS:
            long.add(callee)
            return False
        total += iterations[callee]
        return True

    _called_on_constants(mod, is_in_time)
    return long


def _called_on_constants(
    mod: IRModule, is_folded: Callable[[GlobalVar], bool] = lambda callee: True
) -> set[GlobalVar]:
    """Return functions called on constants alone. The result of a call is a constant if `is_folded`
    returns True for the callee, call by call."""
    called: set[GlobalVar] = set()
    for function in mod.functions.values():
        if not isinstance(function, relax.Function):
            continue
        constants: set[tvm.ir.Var] = set()
        for binding in nodes_of(function.body, relax.VarBinding):
            value = binding.value
            if not constants.issuperset(_read(value)):
                continue
            if op_name(value) == "relax.call_tir":
                called.add(value.args[0])
                if not is_folded(value.args[0]):
                    continue
            constants.add(binding.var)
    return called


def _read(value: tvm.ir.Expr) -> list[tvm.ir.Var]:
    return [var for var in nodes_of(value, tvm.ir.Var) if not isinstance(var, GlobalVar)]
