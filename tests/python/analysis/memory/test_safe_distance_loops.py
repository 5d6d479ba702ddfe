"""Distances where loops may not run, are long, or hold many accesses, and variables are odd."""

import tracemalloc

import pytest
from tvm import tirx
from tvm.script import tirx as T

from support.safe_distances import distance


def test_loops_that_may_not_run():
    """The first iteration of the outer loop, or the last, does nothing; inner loops count though
    no index mentions them."""

    @T.prim_func
    def first(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
        for i in range(4):
            for _ in range(i):
                y[7] = x[0]

    @T.prim_func
    def last(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
        for i in range(4):
            for _ in range(3 - i):
                y[i] = T.int8(1)
        for i in range(4):
            y[i] = x[i]

    assert distance(first, "x", "y") == 8
    assert distance(last, "x", "y") == 3


def test_loops_that_are_long():
    """Of too many iterations no arrays are made: nothing is known then."""

    @T.prim_func
    def func(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
        for i in range(30000):
            for j in range(i, i + 30000):
                for k in range(j):
                    y[T.min(k, 7)] = x[j % 8]

    assert distance(func, "x", "y") == 8


def copied_at(variables, bound):
    """A PrimFunc that copies 8 bytes at an index, which is i by way of these Binds."""
    x, y = (tirx.decl_buffer((8,), "int8", name) for name in ("x", "y"))
    i = index = tirx.Var("i", "int32")
    stmts = []
    for _ in range(variables):
        variable = tirx.Var("v", "int32")
        stmts.append(tirx.Bind(variable, bound(index)))
        index = variable
    stmts.append(tirx.BufferStore(y, x[index], [index]))
    return tirx.PrimFunc([x, y], tirx.For(i, 0, 8, tirx.ForKind.SERIAL, tirx.SeqStmt(stmts)))


@pytest.mark.slow
def test_bound_again_and_again():
    """A variable is looked into once, however often it is mentioned; what is too deep is not
    known."""
    zero = tirx.IntImm("int32", 0)
    assert distance(copied_at(40, lambda v: tirx.Sub(tirx.Add(v, v), v)), "x", "y") == 0
    assert distance(copied_at(2000, lambda v: tirx.Add(v, zero)), "x", "y") == 8


@pytest.mark.slow
def test_many_accesses_in_long_loops():
    """The work has a limit, beyond which the iterations of a loop are taken together."""
    memories = [tirx.decl_buffer((10**6,), "int8", name) for name in ("x", "y")]
    x, y = memories

    def copies(stores, iterations):
        i = tirx.Var("i", "int32")
        indices = [i * stores + k for k in range(stores)]
        body = tirx.SeqStmt([tirx.BufferStore(y, x[at], [at]) for at in indices])
        return tirx.PrimFunc(memories, tirx.For(i, 0, iterations, tirx.ForKind.SERIAL, body))

    assert distance(copies(90, 1000), "x", "y") == 0
    assert distance(copies(90, 10000), "x", "y") == 90 * 10000
    assert distance(copies(101, 2), "x", "y") == 10**6


def test_variable_of_two_loops():
    """TIR that is not in SSA form: what such a variable is worth is not known."""
    x, y = (tirx.decl_buffer((8,), "int8", name) for name in ("x", "y"))
    i = tirx.Var("i", "int32")
    serial = tirx.ForKind.SERIAL
    all_ones = tirx.For(i, 0, 8, serial, tirx.BufferStore(y, tirx.const(1, "int8"), [i]))
    once = tirx.IfThenElse(i < 1, all_ones, None)
    body = tirx.SeqStmt([once, tirx.BufferStore(y, x[i], [i])])
    func = tirx.PrimFunc([x, y], tirx.For(i, 0, 8, serial, body))
    assert distance(func, "x", "y") == 8


def test_of_a_long_loop_the_ends_are_looked_at():
    @T.prim_func
    def func(x: T.Buffer((1 << 30,), "int8"), y: T.Buffer((1 << 30,), "int8")):
        for k in range(2):
            for j in range(k + 1):
                for i in range((1 << 30) - 1):
                    y[i + j] = x[i + j]

    tracemalloc.start()
    found = distance(func, "x", "y")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == (1 << 30) - 1
    assert peak < 1 << 26
