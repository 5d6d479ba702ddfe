"""The memories that a pointer may point to, and the accesses that compute it."""

from __future__ import annotations

from dataclasses import dataclass, field

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op, PointerType, TensorLoad

from usmp.tir.op_names import is_op
from usmp.tir.walk_expressions import walk_expressions

_POINTER_ARITHMETIC = (
    "tirx.buffer_data",
    "tirx.handle_add_byte_offset",
    "tirx.ptr_byte_offset",
    "tirx.reinterpret",
    "tirx.tvm_access_ptr",
    "tirx.type_annotation",
)
_FUNCTION_CALLS = ("tirx.call_", "tirx.tvm_call_")


@dataclass
class Address:
    """The value of an expression, as far as it may be an address.

    Parameters
    ----------
    bases
        buffers and variables whose memory the address may lie in, in program order.
    computed
        loads, calls and indices from which the address is computed.
    """

    bases: dict[tirx.Var, None] = field(default_factory=dict)
    computed: list[tirx.Expr] = field(default_factory=list)


def address_of(expr: tirx.Expr) -> Address:
    """Return the value of an expression as an address. The expression may be an integer, because
    TIR can cast a pointer to an integer."""
    address, passed = _address_and_arguments(expr)
    while passed:
        part, arguments = _address_and_arguments(passed.pop())
        address.bases.update(part.bases)
        passed += arguments
    return address


def _address_and_arguments(expr: tirx.Expr) -> tuple[Address, list[tirx.Expr]]:
    """Return the address of `expr` without the arguments of calls, and these arguments, because the
    result of a call may point to their memory."""
    if is_op(expr, "tirx.buffer_data"):
        expr = expr.args[0]
    if isinstance(expr, tirx.Var):
        return Address({expr: None}), []
    if is_op(expr, "tirx.address_of") and isinstance(expr.args[0], TensorLoad):
        return _address_of_element(expr.args[0]), []
    address = Address()
    passed: list[tirx.Expr] = []
    if is_constant(expr):
        return address, passed

    def on_call(call: Call) -> tvm_ffi.WalkResult:
        if is_op(call, "tirx.address_of") and isinstance(call.args[0], TensorLoad):
            element = _address_of_element(call.args[0])
            address.bases.update(element.bases)
            address.computed += element.computed
            return tvm_ffi.WalkResult.SKIP
        if isinstance(call.op, Op) and call.op.name in _POINTER_ARITHMETIC:
            return tvm_ffi.WalkResult.ADVANCE
        address.computed.append(call)
        if not _returns_a_number(call):
            passed.extend(call.args)
        return tvm_ffi.WalkResult.SKIP

    def on_load(load: TensorLoad) -> tvm_ffi.WalkResult:
        # Not a base, because a loaded address was stored before, and stored addresses escape.
        address.computed.append(load)
        return tvm_ffi.WalkResult.SKIP

    def on_variable(var: tirx.Var) -> tvm_ffi.WalkResult:
        address.bases[var] = None
        return tvm_ffi.WalkResult.SKIP

    walk_expressions([expr], {Call: on_call, TensorLoad: on_load, tirx.Var: on_variable})
    return address, passed


def _address_of_element(load: TensorLoad) -> Address:
    computed = [index for index in load.indices[:] if not is_constant(index)]
    return Address({load.source: None}, computed)


def _returns_a_number(call: Call) -> bool:
    """Return whether a call returns no address. Functions return addresses only as pointers, but
    operators also as integers."""
    if isinstance(call.ty, PointerType):
        return False
    return not isinstance(call.op, Op) or call.op.name.startswith(_FUNCTION_CALLS)


def is_constant(expr: tirx.Expr) -> bool:
    """Return whether an expression is a literal, so that it mentions no memory."""
    return type(expr) in (tirx.IntImm, tirx.FloatImm)
