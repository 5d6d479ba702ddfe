"""Relax modules with functions that call others, branches and PrimFuncs of plain loops, each with
what numpy computes of the same inputs."""

# ruff: noqa: SIM108  Branches of Relax are statements.

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from tvm import IRModule, relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

Arrays = Mapping[str, np.ndarray]
Case = tuple[IRModule, Callable[..., list[np.ndarray]]]
"""A module, and what gives the outputs of its inputs, in order."""


@I.ir_module
class Nested:
    """Functions that call functions, one of them twice, one for tuples."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((4, 8), "float32")):
        pair = Nested.both((x, w))
        first = pair[0]
        second = Nested.root(first)
        return R.subtract(second, pair[1])

    @R.function(private=True)
    def both(pair: R.Tuple(R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "float32"))) -> R.Tuple(
        R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "float32")
    ):
        a = Nested.root(pair[0])
        return (R.add(a, pair[1]), a)

    @R.function(private=True)
    def root(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        with R.dataflow():
            y = R.sqrt(R.abs(x))
            R.output(y)
        return y


def _nested(x, w):
    def root(a):
        return np.sqrt(np.abs(a))

    return [root(root(x) + w) - root(x)]


@I.ir_module
class Shapes:
    """A function of symbolic shape, called with two shapes and by another one of its kind."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((2, 8), "float32")):
        a = Shapes.flat(x)
        b = Shapes.flat(y)
        return (a, b)

    @R.function(private=True)
    def flat(x: R.Tensor(("n", 8), "float32")):
        n = T.int64()
        return Shapes.column(R.reshape(R.negative(x), (n * 8,)))

    @R.function(private=True)
    def column(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.reshape(R.abs(x), (n, 1))


@I.ir_module
class Closures:
    """Functions inside of main, one of which captures a tensor."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((4, 8), "float32")):
        @R.function
        def shifted(a: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
            return R.add(a, w)

        @R.function
        def negated(a: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
            return R.negative(a)

        once = shifted(x)
        return negated(shifted(once))


@I.ir_module
class Choices:
    """Branches in branches, in functions, of a computed condition, of what they capture."""

    @R.function
    def main(
        c: R.Tensor((), "bool"),
        d: R.Tensor((), "int32"),
        x: R.Tensor((4, 8), "float32"),
    ):
        with R.dataflow():
            e = R.negative(x)
            parts = R.split(x, 2, axis=0)
            R.output(e, parts)
        if c:
            s = R.abs(e)
            if d:
                y = R.add(s, e)
            else:
                y = e
        else:
            y = R.const(np.full((4, 8), 3, np.float32))
        if d:
            z = (parts[0], parts[1])
        else:
            z = (parts[1], R.negative(parts[0]))
        with R.dataflow():
            last = z[1]
            small = R.less(R.sum(y), R.const(0, "float32"))
            R.output(last, small)
        w = Choices.sign(small, y)
        return (y, z[0], last, w)

    @R.function(private=True)
    def sign(c: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")) -> R.Tensor(
        (4, 8), "float32"
    ):
        if c:
            y = R.negative(x)
        else:
            y = x
        return y


def _choices(c, d, x):
    y = (np.abs(x) - x if d else -x) if c else np.full((4, 8), 3, np.float32)
    z = (x[:2], x[2:]) if d else (x[2:], -x[:2])
    return [y, *z, -y if y.sum() < 0 else y]


@I.ir_module
class Known:
    """A condition that is a constant, and branches of different sizes."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        c = R.const(False, "bool")
        if c:
            y = R.negative(x)
        else:
            y = R.reshape(R.abs(x), (8, 4))
        return y


@I.ir_module
class Casts:
    """A cast to the shape that a tensor has, also inside of a branch."""

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        n = T.int64()
        m = T.int64()
        y = R.match_cast(x, R.Tensor((n, 8), "float32"))
        z = R.reshape(y, (n * 4, 2))
        if c:
            q = R.match_cast(z, R.Tensor((m, 2), "float32"))
            r = R.negative(q)
        else:
            r = R.abs(z)
        return r


@T.prim_func(private=True)
def doubled(X: T.Buffer((T.int64(4), T.int64(8)), "float32"), Y: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        Y[i, j] = X[i, j] * T.float32(2)


@T.prim_func(private=True)
def scanned(x: T.handle, y: T.handle, last: T.handle):
    X = T.match_buffer(x, (4, 8), "float32")
    Y = T.match_buffer(y, (4, 8), "float32")
    last_row = T.match_buffer(last, (8,), "float32")
    rows = T.alloc_buffer((4, 8), "float32")
    for j in range(8):
        total = T.alloc_buffer((1,), "float32", scope="local")
        total[0] = T.float32(0)
        for i in range(4):
            total[0] = total[0] + X[i, j]
            rows[3 - i, j] = total[0]
    for i, j in T.grid(4, 8):
        Y[i, j] = rows[i, 7 - j]
    for j in range(8):
        last_row[j] = rows[0, j]


@T.prim_func(private=True)
def accumulated(X: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(3, 8):
        X[i + 1, j] = X[i + 1, j] + X[i, j]


def plain_loops() -> IRModule:
    """PrimFuncs without blocks: one that calls another, one with two results, one in place."""
    builder = relax.BlockBuilder()
    ty, row = relax.TensorType((4, 8), "float32"), relax.TensorType((8,), "float32")
    inner = builder.add_func(doubled, "doubled")
    outer = builder.add_func(_calling(inner), "calling")
    scan, summing = builder.add_func(scanned, "scanned"), builder.add_func(accumulated, "added")
    in_place = builder.add_func(_calling_in_place(summing), "in_place")
    x = relax.Var("x", ty)
    with builder.function("main", [x]):
        with builder.dataflow():
            e = builder.emit(relax.op.negative(x))
            twice = builder.emit(relax.call_tir(outer, [e], ty))
            both = builder.emit(relax.call_tir(scan, [twice], [ty, row]))
            rows = builder.emit(relax.TupleGetItem(both, 0))
            summed = relax.op.call_tir_inplace(in_place, relax.Tuple([rows]), [0], ty)
            results = [rows, builder.emit(summed), builder.emit(relax.TupleGetItem(both, 1))]
            out = builder.emit_output(relax.Tuple(results))
        builder.emit_func_output(out)
    return builder.get()


def _calling(inner):
    """A PrimFunc that passes whole buffers to another one, also one of its own."""

    @T.prim_func(private=True)
    def calling(X: T.Buffer((4, 8), "float32"), Y: T.Buffer((4, 8), "float32")):
        half = T.alloc_buffer((4, 8), "float32")
        for i, j in T.grid(4, 8):
            half[i, j] = X[i, j] * T.float32(0.5)
        inner(half, Y)
        for i, j in T.grid(4, 8):
            half[i, j] = Y[i, j]
        inner(half, Y)

    return calling


def _calling_in_place(inner):
    @T.prim_func(private=True)
    def calling(X: T.Buffer((4, 8), "float32")):
        inner(X)

    return calling


def _plain_loops(x):
    rows = np.cumsum(-2 * x, axis=0, dtype=np.float32)[::-1]
    return [rows[:, ::-1], np.cumsum(rows[:, ::-1], axis=0, dtype=np.float32), rows[0]]


CASES: dict[str, Case] = {
    "nested": (Nested, _nested),
    "shapes": (Shapes, lambda x, y: [np.abs(x).reshape(-1, 1), np.abs(y).reshape(-1, 1)]),
    "closures": (Closures, lambda x, w: [-(x + w + w)]),
    "choices": (Choices, _choices),
    "known": (Known, lambda x: [np.abs(x).reshape(8, 4)]),
    "casts": (Casts, lambda c, x: [(-x if c else np.abs(x)).reshape(16, 2)]),
    "plain_loops": (plain_loops(), _plain_loops),
}
"""By the name of the entry that each is in one module with all of them."""
