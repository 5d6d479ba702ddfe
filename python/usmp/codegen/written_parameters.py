"""Which pointer parameters does a PrimFunc write through? The others are `const` in C."""

from __future__ import annotations

from collections.abc import Mapping

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op, TensorLoad, Var

from usmp.analysis.memory.access import Access, declared_access
from usmp.analysis.memory.addresses import address_of
from usmp.analysis.memory.calls import CallResolver

_READS = ("tirx.address_of", "tirx.buffer_data")


class WrittenParameters:
    """The answer for each PrimFunc of a module, by name; what is unknown counts as written."""

    def __init__(self, functions: Mapping[str, tirx.PrimFunc]) -> None:
        self._functions = functions
        self.calls = CallResolver(functions)
        self._written: dict[str, set[int]] = {}

    def of(self, name: str) -> set[int]:
        """Indices of the parameters of `name` that it, or a PrimFunc it calls, may write."""
        if name not in self._written:
            self._written[name] = set()
            params = {var: index for index, var in enumerate(self._functions[name].params)}
            self._written[name] = {params[var] for var in self.variables(name) if var in params}
        return self._written[name]

    def variables(self, name: str) -> set[Var]:
        """The pointers and buffers of `name` that it may write, parameters and views alike."""
        func = self._functions[name]
        views: dict[Var, Var] = {}
        written: set[Var] = set()

        def on_view(stmt: tirx.DeclBuffer) -> None:
            source = pointed(stmt.data)
            if source is not None:
                views[stmt.buffer] = source

        def on_bind(stmt: tirx.Bind) -> None:
            source = pointed(stmt.value)
            if source is not None:
                views[stmt.var] = source

        def on_store(stmt: tirx.BufferStore) -> None:
            written.add(stmt.buffer)

        def on_call(call: Call) -> None:
            if isinstance(call.op, Op) and call.op.name in _READS:
                return
            if declared_access(call) is not None:
                if declared_access(call) != Access.READ:
                    written.update(address_of(call).bases)
                return
            callee = self.calls.resolve(call)
            only = self.of(callee.callee) if callee is not None else None
            for index, argument in enumerate(callee.arguments if callee else call.args):
                source = pointed(argument)
                if source is not None and (only is None or index in only):
                    written.add(source)

        callbacks = [
            (tirx.DeclBuffer, on_view),
            (tirx.Bind, on_bind),
            (tirx.BufferStore, on_store),
            (Call, on_call),
        ]
        tvm_ffi.structural_walk(func.body, callbacks, order="pre")
        for var in list(written):
            while var in views:
                var = views[var]
                written.add(var)
        # A view of something that is written through another view need not be writable itself.
        return written


def pointed(expr: tirx.Expr | None) -> Var | None:
    """The pointer or buffer that a pointer expression is made from."""
    while isinstance(expr, Call) and isinstance(expr.op, Op):
        if expr.op.name == "tirx.address_of" and isinstance(expr.args[0], TensorLoad):
            return expr.args[0].source
        if expr.op.name not in ("tirx.buffer_data", "tirx.reinterpret"):
            return None
        expr = expr.args[0]
    return expr if isinstance(expr, Var) else None
