"""Which PrimFunc of the module does a call call, and with which arguments?"""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, Op, StringImm

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
    callee: name of the GlobalVar of the called PrimFunc.
    arguments: what it is called with; a call by name may pass a resource handle after them.
    first_argument: where the arguments start in `call.args`; a call by name has the name first.
    """

    callee: str
    arguments: tuple[tirx.Expr, ...]
    first_argument: int


class CallResolver:
    """The PrimFuncs of a module, by GlobalVar and by the name that C code knows them by."""

    def __init__(self, mod: IRModule) -> None:
        self.functions: dict[str, tirx.PrimFunc] = {
            variable.name_hint: func
            for variable, func in mod.functions.items()
            if isinstance(func, tirx.PrimFunc)
        }
        self._by_symbol = {name: name for name in self.functions}
        for name, func in self.functions.items():
            symbol = func.attrs.get("global_symbol") if func.attrs else None
            if symbol is not None:
                self._by_symbol[str(symbol)] = name

    def resolve(self, call: Call) -> PrimFuncCall | None:
        """The called PrimFunc, or None if `call` is an operator or calls something else."""
        if isinstance(call.op, GlobalVar):
            name = str(call.op.name_hint)
            if name in self.functions:
                return PrimFuncCall(name, tuple(call.args), first_argument=0)
        elif isinstance(call.op, Op) and call.op.name in _CALLS_BY_NAME:
            symbol, *arguments = call.args
            if isinstance(symbol, StringImm) and symbol.value in self._by_symbol:
                name = self._by_symbol[symbol.value]
                # With too few arguments it is a namesake: exp(x) of <math.h> is not exp(x, y).
                if len(arguments) >= len(self.functions[name].params):
                    return PrimFuncCall(name, tuple(arguments), first_argument=1)
        return None
