"""Views of tensors that a segment keeps, as reshapes make them, go with the tensors."""

from __future__ import annotations

from tvm import tirx

from support.streamed_graphs import module
from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.tir.nodes import nodes_of
from usmp.transform import StreamOperators

MAIN = """
@T.prim_func
def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
    A = T.alloc_buffer((32,), "int8")
    B = T.alloc_buffer((32,), "int8")
    V = T.decl_buffer((8, 4), "int8", data=A.data)
    W = T.decl_buffer((32,), "int8", data=V.data)
    Z = T.decl_buffer((4, 8), "int8", data=B.data)
    Module.step(x, A.data)
    Module.step(W.data, B.data)
    Module.step(Z.data, y)
"""
STEP = """
@T.prim_func
def step(p: T.handle("int8"), q: T.handle("int8")):
    P = T.decl_buffer((32,), "int8", data=p)
    Q = T.decl_buffer((32,), "int8", data=q)
    for i in range(8):
        for j in range(4):
            Q[i * 4 + j] = P[i * 4 + j] + T.int8(1)
"""


def test_views_of_what_a_segment_keeps():
    streamed = StreamOperators([(0, 2)])(module(STEP, MAIN))
    views = nodes_of(streamed[MAIN_FUNCTION_NAME].body, tirx.DeclBuffer)
    assert [str(stmt.buffer.name) for stmt in views] == ["Z"]
    y: list[int | None] = [None] * 32
    Interpreter(streamed).call(MAIN_FUNCTION_NAME, [Pointer([*range(32)]), Pointer(y)])
    assert y == list(range(3, 35))
