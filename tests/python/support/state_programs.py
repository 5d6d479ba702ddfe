"""Relax modules with states, made of flat operators that are lowered already."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import tvm
from tvm import relax
from tvm.ir import GlobalVar, IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.objects import StateInfo
from usmp.objects.state_info import updated_input

F4 = (4,)


@I.ir_module
class Operators:
    """All tensors have four int8 elements."""

    @T.prim_func(private=True)
    def add(a_ptr: T.handle("int8"), b_ptr: T.handle("int8"), to_ptr: T.handle("int8")):
        a = T.decl_buffer((4,), "int8", data=a_ptr)
        b = T.decl_buffer((4,), "int8", data=b_ptr)
        to = T.decl_buffer((4,), "int8", data=to_ptr)
        for i in range(4):
            to[i] = a[i] + b[i]

    @T.prim_func(private=True)
    def accumulate(total_ptr: T.handle("int8"), by_ptr: T.handle("int8")):
        """total[i] += by[3 - i], so that `by` must not be `total`."""
        total = T.decl_buffer((4,), "int8", data=total_ptr)
        by = T.decl_buffer((4,), "int8", data=by_ptr)
        for i in range(4):
            total[i] = total[i] + by[3 - i]

    @T.prim_func(private=True)
    def exchange(
        total_ptr: T.handle("int8"), by_ptr: T.handle("int8"), before_ptr: T.handle("int8")
    ):
        """What `total` was before, and `total` changed to `by` + 1."""
        total = T.decl_buffer((4,), "int8", data=total_ptr)
        by = T.decl_buffer((4,), "int8", data=by_ptr)
        before = T.decl_buffer((4,), "int8", data=before_ptr)
        for i in range(4):
            before[i] = total[i]
            total[i] = by[i] + T.int8(1)


class Graph:
    """A Relax `main` that grows: input `x`, and `s`, `r`, `q` for states."""

    def __init__(self, params: tuple[str, ...] = ("x", "s", "r", "q")) -> None:
        self.builder = relax.BlockBuilder()
        self.ty = relax.TensorType(F4, "int8")
        self.params = {name: relax.Var(name, self.ty) for name in params}
        self.functions = {v.name_hint: v for v in Operators.functions}

    def __getattr__(self, name: str) -> relax.Var:
        return self.__dict__["params"][name]

    def add(self, a: relax.Expr, b: relax.Expr) -> relax.Var:
        return self.builder.emit(relax.call_tir(self.functions["add"], (a, b), self.ty))

    def accumulate(self, total: relax.Expr, by: relax.Expr) -> relax.Var:
        callee = self.functions["accumulate"]
        return self.builder.emit(relax.op.call_tir_inplace(callee, (total, by), [0], self.ty))

    def exchange(self, total: relax.Expr, by: relax.Expr) -> tuple[relax.Var, relax.Var]:
        callee = self.functions["exchange"]
        both = self.builder.emit(
            relax.op.call_tir_inplace(callee, (total, by), [0, -1], [self.ty, self.ty])
        )
        return tuple(self.builder.emit(relax.TupleGetItem(both, i)) for i in range(2))

    def reshape(self, a: relax.Expr, shape: tuple[int, ...] = (2, 2)) -> relax.Var:
        return self.builder.emit(relax.op.reshape(a, shape))

    def join(self, values: Sequence[relax.Expr]) -> relax.Var:
        return self.builder.emit(relax.op.concat(list(values), 0))

    def cut(self, wide: relax.Expr, begin: int) -> relax.Var:
        return self.builder.emit(relax.op.strided_slice(wide, [0], [begin], [begin + F4[0]]))

    def split(self, wide: relax.Expr, count: int) -> list[relax.Var]:
        parts = self.builder.emit(relax.op.split(wide, count, 0))
        return [self.builder.emit(relax.TupleGetItem(parts, i)) for i in range(count)]

    def constant(self, value: int) -> relax.Expr:
        return relax.const(np.full(F4, value, np.int8))

    def finish(self, build: Callable[[Graph], list[relax.Expr]]) -> IRModule:
        for variable, func in Operators.functions.items():
            self.functions[variable.name_hint] = self.builder.add_func(func, variable.name_hint)
        with self.builder.function("main", list(self.params.values())):
            results = build(self)
            self.builder.emit_func_output(relax.Tuple(results))
        return self.builder.get()


def program(
    build: Callable[[Graph], list[relax.Expr]],
    states: Mapping[str, int],
    initial: Mapping[str, np.ndarray] | None = None,
    updated: Collection[str] = (),
) -> IRModule:
    """A module with the input `x` and the states, each with the index of its result; those in
    `updated` are inputs."""
    infos = [
        updated_input(name, output, "int8")
        if name in updated
        else StateInfo(name, output, tvm.runtime.tensor((initial or {}).get(name, np.int8(0))))
        for name, output in states.items()
    ]
    mod = Graph(("x", *states)).finish(build)
    main = mod["main"].with_attr("states", infos)
    functions = {v: f for v, f in mod.functions.items() if v.name_hint != "main"}
    return IRModule({**functions, GlobalVar("main"): main})
