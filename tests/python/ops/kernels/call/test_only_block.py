"""Operators of one block, and others."""

from __future__ import annotations

from tvm import te, tirx, topi

from usmp.ops.kernels.call.only_block import only_block

DATA = te.placeholder((2, 3), "int8", "data")


def func_of(result):
    return te.create_prim_func([DATA, result]).with_attr("s_tir", True)


def test_one_block():
    func = func_of(topi.nn.relu(DATA))
    block = only_block(func)
    assert block.body.buffer.same_as(func.params[1])
    assert [int(axis.dom.extent) for axis in block.iter_vars] == [2, 3]


def test_others():
    assert only_block(func_of(topi.nn.relu(topi.add(DATA, DATA)))) is None
    assert only_block(func_of(topi.sum(DATA, 1))) is None
    assert only_block(func_of(te.compute((0, 3), lambda i, j: DATA[i, j]))) is None
    assert only_block(tirx.PrimFunc([], tirx.Evaluate(0))) is None
