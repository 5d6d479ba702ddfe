"""Device handles and status checks for calls of the user's functions in `__tvm_main__`."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType

from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.objects.attributes.operator_attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.objects.extern_kernel import ExternKernel, KernelArgument, kernels_of, with_kernels
from usmp.ops.accelerator_function import AcceleratorFunction
from usmp.tir.op_names import is_op


def take_devices(mod: IRModule) -> IRModule:
    """Add a device handle to the parameters of each PrimFunc that calls a function of the user.

    A module without such functions is returned as it is.
    """
    functions = _user_functions(mod)
    if not functions:
        return mod
    changed = IRModule(mod.functions, attrs=mod.attrs)
    for name in functions:
        changed.update_func(mod.get_global_var(name), _take_device(mod[name]))
    return changed


def pass_devices(mod: IRModule) -> IRModule:
    """Add handles of accelerators to the parameters of `__tvm_main__`, and pass them on.

    Handles come after tensors, in the order of the accelerators' names. `__tvm_main__` stops at the
    first function that returns a nonzero status, and returns this status. Functions that cannot
    fail return nothing:

        status: T.int32 = call_accel_main_0(x.data, y.data, accel_device)
        if status != 0:
            return status

    A module without such functions is returned as it is.

    Parameters
    ----------
    mod
        a module after `take_devices`, with `__tvm_main__`.
    """
    functions = _user_functions(mod)
    if not functions:
        return mod
    changed = IRModule(mod.functions, attrs=mod.attrs)
    changed.update_func(
        mod.get_global_var(MAIN_FUNCTION_NAME), _check_answers(mod[MAIN_FUNCTION_NAME], functions)
    )
    return changed


def _user_functions(mod: IRModule) -> dict[str, AcceleratorFunction]:
    """Return a map from the name of a PrimFunc to the user's function that it calls."""
    return {
        str(variable.name_hint): ACCELERATOR_FUNCTION_ATTR.required(func)
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc) and ACCELERATOR_FUNCTION_ATTR.is_on(func)
    }


def _take_device(func: tirx.PrimFunc) -> tirx.PrimFunc:
    device = _handle("device")

    def on_call(call: Call) -> Call:
        if not is_op(call, "tirx.call_extern"):
            return call
        return Call(call.op, [*call.args, device], call.attrs, call.ty_args, call.span, call.ty)

    body = tvm_ffi.structural_map(func.body, (Call, on_call))
    extended = tirx.PrimFunc([*func.params, device], body, func.ret_type, func.attrs)
    kernels = kernels_of(func).values()
    return with_kernels(extended, *map(_with_device, kernels)) if kernels else extended


def _with_device(kernel: ExternKernel) -> ExternKernel:
    """Return a kernel with the handle as argument. A kernel without state does not access the
    device through the handle, so calls with equal handles need not stay in order."""
    if kernel.keeps_state:
        return kernel
    handle = KernelArgument("device", 0, writes=False)
    return ExternKernel(
        str(kernel.symbol),
        [*kernel.arguments, handle],
        list(kernel.safe_distances),
        kernel.can_fail,
        kernel.keeps_state,
    )


def _check_answers(main: tirx.PrimFunc, functions: dict[str, AcceleratorFunction]) -> tirx.PrimFunc:
    names = sorted({str(function.accelerator) for function in functions.values()})
    devices = {name: _handle(f"{name.replace('-', '_')}_device") for name in names}
    statements: list[tirx.Stmt] = []
    for stmt in tirx.stmt_list(main.body):
        name = _called(stmt)
        if name not in functions:
            statements.append(stmt)
            continue
        device = devices[str(functions[name].accelerator)]
        call, arguments = stmt.value, [*stmt.value.args, device]
        if not functions[name].can_fail:
            statements.append(
                tirx.Evaluate(
                    Call(call.op, arguments, call.attrs, call.ty_args, call.span, call.ty)
                )
            )
            continue
        status = tirx.Var("status", "int32")
        statements += [
            tirx.Bind(status, Call(call.op, arguments, span=call.span, ret_ty=PrimType("int32"))),
            tirx.IfThenElse(status != 0, tirx.Return(status), None),
        ]
    statements.append(tirx.Return(tirx.IntImm("int32", 0)))
    return tirx.PrimFunc(
        [*main.params, *devices.values()],
        tirx.SeqStmt(statements),
        PrimType("int32"),
        main.attrs,
    )


def _called(stmt: tirx.Stmt) -> str:
    """Return the name of the PrimFunc that a statement calls, or ""."""
    operator = getattr(stmt.value, "op", None) if isinstance(stmt, tirx.Evaluate) else None
    return str(operator.name_hint) if isinstance(operator, GlobalVar) else ""


def _handle(name: str) -> tirx.Var:
    return tirx.Var(name, PointerType(PrimType("void")))
