"""Which PrimFunc of the module does a call call, and with which arguments?"""

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
        what it is called with; a call by name may pass a resource handle after them.
    first_argument
        where the arguments start in `call.args`; a call by name has the name first.
    """

    callee: str
    arguments: tuple[tirx.Expr, ...]
    first_argument: int


class CallResolver:
    """The PrimFuncs of a module, by GlobalVar and by the name that C code knows them by.

    Parameters
    ----------
    functions
        the PrimFuncs, by the names of their GlobalVars.
    """

    def __init__(self, functions: Mapping[str, tirx.PrimFunc]) -> None:
        self.functions = dict(functions)
        self._resolved: dict[int, tuple[Call, PrimFuncCall | None]] = {}
        """Calls by a GlobalVar or by name, since each is asked for several times; by identity, for
        to compare expressions makes one."""
        self._by_symbol = {name: name for name in self.functions}
        for name, func in self.functions.items():
            symbol = global_symbol(func)
            if symbol is not None:
                self._by_symbol[symbol] = name

    def resolve(self, call: Call) -> PrimFuncCall | None:
        """The called PrimFunc, or None if `call` is an operator or calls something else.

        A PrimFunc may have the name of a function outside of the module. A call by that name is a
        call of the PrimFunc if the arguments are such as it takes, in number and in which of them
        are pointers; but numbers alone go to a function of <math.h>, if there is one that takes so
        many.
        """
        if not _may_be_of_prim_func(call):
            return None
        key = identity(call)
        if key not in self._resolved:
            # The call is kept, so that no other one gets its identity.
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
        """As `resolve`; most calls are of functions by whose name the module has no PrimFunc."""
        return self.resolve(possible.call) if possible.name in self._by_symbol else None

    def passed(self, call: PrimFuncCall) -> list[tirx.Expr]:
        """The arguments for the parameters of the called PrimFunc, without a resource handle."""
        return list(call.arguments[: len(self.functions[call.callee].params)])


class PossibleCall(NamedTuple):
    """A call that may be one of a PrimFunc.

    Parameters
    ----------
    call
        the call.
    name
        of what it calls: that of a GlobalVar, or the one that C code knows; None if it has none.
    """

    call: Call
    name: str | None


def possible_calls(body: tirx.Stmt) -> list[PossibleCall]:
    """The calls of a body that may be calls of PrimFuncs, in whatever module it is."""
    found: list[PossibleCall] = []

    def on_call(call: Call) -> None:
        if _may_be_of_prim_func(call):
            found.append(PossibleCall(call, _name_of_called(call)))

    tvm_ffi.structural_walk(body, (Call, on_call), order="pre")
    return found


def _name_of_called(call: Call) -> str | None:
    if isinstance(call.op, GlobalVar):
        return str(call.op.name_hint)
    symbol = call.args[0] if call.args else None
    return str(symbol.value) if isinstance(symbol, StringImm) else None


def _may_be_of_prim_func(call: Call) -> bool:
    op = call.op
    return type(op) is GlobalVar or (type(op) is Op and op.name in _CALLS_BY_NAME)


def prim_funcs(mod: IRModule) -> dict[str, tirx.PrimFunc]:
    """The PrimFuncs of a module, by the names of their GlobalVars."""
    return {
        str(variable.name_hint): func
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc)
    }


def _is_mathematical(name: str, arguments: Sequence[tirx.Expr]) -> bool:
    """Whether a call is of <math.h>: TVM itself lowers T.exp(x) to a call by this name."""
    takes = NUMBERS_OF_MATH_FUNCTIONS.get(name)
    return takes == len(arguments) and not any(map(_is_pointer, arguments))


def _takes(func: tirx.PrimFunc, arguments: Sequence[tirx.Expr]) -> bool:
    pairs = zip(func.params, arguments, strict=False)
    return len(arguments) >= len(func.params) and all(
        _is_pointer(param) == _is_pointer(argument) for param, argument in pairs
    )


def _is_pointer(expr: tirx.Expr) -> bool:
    return tirx.is_buffer_var(expr) or isinstance(expr.ty, PointerType)
