"""Resolution of calls to PrimFuncs of the module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, Op, PointerType, StringImm

from usmp.tir.global_symbol import global_symbol
from usmp.tir.identity import identity
from usmp.tir.math_functions import NUMBERS_OF_MATH_FUNCTIONS

_CALLS_BY_NAME = (
    "tirx.call_extern",
    "tirx.call_pure_extern",
    "tirx.tvm_call_cpacked",
    "tirx.tvm_call_packed",
)


@dataclass(frozen=True)
class PrimFuncCall:
    """A call of another PrimFunc of the module.

    Parameters
    ----------
    callee
        name of the GlobalVar of the called PrimFunc.
    arguments
        the arguments; a call by name may pass a resource handle after them.
    first_argument
        index of the first argument in `call.args`; a call by name has the name first.
    """

    callee: str
    arguments: tuple[tirx.Expr, ...]
    first_argument: int


class CallResolver:
    """The PrimFuncs of a module, by GlobalVar and by global symbol.

    Parameters
    ----------
    functions
        the PrimFuncs, by the names of their GlobalVars.
    """

    def __init__(self, functions: Mapping[str, tirx.PrimFunc]) -> None:
        self.functions = dict(functions)
        self._resolved: dict[int, tuple[Call, PrimFuncCall | None]] = {}
        """A cache of resolved calls, by identity because comparing expressions is slow."""
        self._by_symbol = {name: name for name in self.functions}
        for name, func in self.functions.items():
            symbol = global_symbol(func)
            if symbol is not None:
                self._by_symbol[symbol] = name

    def resolve(self, call: Call) -> PrimFuncCall | None:
        """Return the call of a PrimFunc, or None if `call` calls no PrimFunc of the module.

        A PrimFunc may have the name of a function outside of the module. A call by that name is a
        call of the PrimFunc if number and kinds (pointer or not) of the arguments match. But if all
        arguments are numbers and <math.h> has such a function, that function is called instead.
        """
        if not _may_be_of_prim_func(call):
            return None
        key = identity(call)
        if key not in self._resolved:
            # Keep the call alive, so that no other object gets its identity.
            self._resolved[key] = call, self._resolve(call)
        return self._resolved[key][1]

    def _resolve(self, call: Call) -> PrimFuncCall | None:
        called = _name_of_called(call)
        if called is None or called not in self._by_symbol:
            return None
        if isinstance(call.op, GlobalVar):
            known = called in self.functions
            return PrimFuncCall(called, tuple(call.args[:]), first_argument=0) if known else None
        name, arguments = self._by_symbol[called], call.args[1:]
        if _is_mathematical(called, arguments) or not _takes(self.functions[name], arguments):
            return None
        return PrimFuncCall(name, tuple(arguments), first_argument=1)

    def resolve_possible(self, possible: PossibleCall) -> PrimFuncCall | None:
        """Return the called PrimFunc, like `resolve`, but skip names that no PrimFunc has."""
        return self.resolve(possible.call) if possible.name in self._by_symbol else None

    def passed(self, call: PrimFuncCall) -> list[tirx.Expr]:
        """Return the arguments for the parameters of the callee, without a resource handle."""
        return list(call.arguments[: len(self.functions[call.callee].params)])


class PossibleCall(NamedTuple):
    """A call whose callee may be a PrimFunc.

    Parameters
    ----------
    call
        the call.
    name
        GlobalVar name or global symbol of the callee; None if the callee is not a literal name.
    """

    call: Call
    name: str | None


def possible_calls(body: tirx.Stmt) -> list[PossibleCall]:
    """Return the calls in a body that may call PrimFuncs, for any module."""
    calls: list[PossibleCall] = []

    def on_call(call: Call) -> None:
        if _may_be_of_prim_func(call):
            calls.append(PossibleCall(call, _name_of_called(call)))

    tvm_ffi.structural_walk(body, (Call, on_call), order="pre")
    return calls


def _name_of_called(call: Call) -> str | None:
    if isinstance(call.op, GlobalVar):
        return str(call.op.name_hint)
    symbol = call.args[0] if call.args else None
    return str(symbol.value) if isinstance(symbol, StringImm) else None


def _may_be_of_prim_func(call: Call) -> bool:
    op = call.op
    return type(op) is GlobalVar or (type(op) is Op and op.name in _CALLS_BY_NAME)


def prim_funcs(mod: IRModule) -> dict[str, tirx.PrimFunc]:
    """Return the PrimFuncs of a module, by the names of their GlobalVars."""
    return {
        str(variable.name_hint): func
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc)
    }


def _is_mathematical(name: str, arguments: Sequence[tirx.Expr]) -> bool:
    """Return whether a function of <math.h> is called: TVM lowers T.exp(x) to such a call."""
    takes = NUMBERS_OF_MATH_FUNCTIONS.get(name)
    return takes == len(arguments) and not any(map(_is_pointer, arguments))


def _takes(func: tirx.PrimFunc, arguments: Sequence[tirx.Expr]) -> bool:
    pairs = zip(func.params, arguments, strict=False)
    return len(arguments) >= len(func.params) and all(
        _is_pointer(param) == _is_pointer(argument) for param, argument in pairs
    )


def _is_pointer(expr: tirx.Expr) -> bool:
    return tirx.is_buffer_var(expr) or isinstance(expr.ty, PointerType)
