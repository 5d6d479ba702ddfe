"""Memory that changes its buffer and its type keeps its order of reads and writes."""

import ctypes
import re

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType

from usmp.codegen.llvm import compile_functions

TARGET = tvm.target.Target("llvm")


def stage(source, target, compute):
    """A private operator of four elements: target[i] = compute(source[i])."""
    pointers = [
        tirx.Var(name, PointerType(PrimType(dtype)))
        for name, dtype in (("source", source), ("target", target))
    ]
    views = [
        tirx.decl_buffer((4,), str(p.ty.element_type.dtype), f"{p.name}_view") for p in pointers
    ]
    index = tirx.Var("i", "int32")
    store = tirx.BufferStore(views[1], compute(views[0][index]), [index])
    declared = [tirx.DeclBuffer(v, data=p) for v, p in zip(views, pointers, strict=True)]
    loop = tirx.For(index, 0, 4, tirx.ForKind.SERIAL, store)
    return tirx.PrimFunc(pointers, tirx.SeqStmt([*declared, loop]))


def in_place_module(make_memory):
    """int32 -> float32 -> int32, all in the same 16 bytes, which hold the result in the end."""
    functions = {
        GlobalVar("copy"): stage("int32", "int32", lambda x: x + 0),
        GlobalVar("halve"): stage("int32", "float32", lambda x: tirx.Cast("float32", x) * 0.5),
        GlobalVar("scale"): stage("float32", "int32", lambda x: tirx.Cast("int32", x * 8.0)),
    }
    copy, halve, scale = functions
    given, result = (tirx.Var(n, PointerType(PrimType("int32"))) for n in ("given", "result"))
    memory, declarations = make_memory()
    integers, floats = tirx.decl_buffer((4,), "int32", "x"), tirx.decl_buffer((4,), "float32", "y")
    start = tirx.address_of(memory[0])
    data = {b: tirx.buffer_data(b) for b in (integers, floats)}
    calls = [
        (copy, given, data[integers]),
        (halve, data[integers], data[floats]),
        (scale, data[floats], data[integers]),
        (copy, data[integers], result),
    ]
    body = tirx.SeqStmt(
        [
            *declarations,
            tirx.DeclBuffer(integers, data=start),
            tirx.DeclBuffer(floats, data=start),
            *(tirx.Evaluate(Call(f, list(args), ret_ty=PrimType("int32"))) for f, *args in calls),
        ]
    )
    params = [given, result, *(d.data for d in declarations if isinstance(d, tirx.DeclBuffer))]
    return IRModule({**functions, GlobalVar("f"): tirx.PrimFunc(params, body)})


def pool():
    pointer = tirx.Var("pool_var", PointerType(PrimType("uint8")))
    memory = tirx.decl_buffer((16,), "uint8", "pool")
    return memory, [tirx.DeclBuffer(memory, data=pointer)]


def stack():
    memory = tirx.decl_buffer((4,), "int32", "scratch")
    return memory, [tirx.AllocBuffer(memory)]


@pytest.mark.parametrize("memory", [pool, stack])
def test_memory_that_changes_its_type(memory, link):
    library = link(compile_functions(in_place_module(memory), {"f": "f"}, TARGET))
    given, result = np.array([3, -5, 100, 7], "int32"), np.zeros(4, "int32")
    arrays = (given, result, np.zeros(4, "int32"))
    library.f(*(array.ctypes.data_as(ctypes.c_void_p) for array in arrays))
    assert result.tolist() == [12, -20, 400, 28]


@pytest.mark.parametrize("memory", [pool, stack])
def test_every_access_has_the_same_tag(memory):
    text = compile_functions(in_place_module(memory), {"f": "f"}, TARGET).inspect_source("ll")
    assert len(set(re.findall(r"!tbaa (!\d+)", text))) == 1
    assert "noalias" not in text


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_reads_stay_behind_writes(dtype, link):
    """A loop writes one element through one pointer and reads it through another.

    If that were taken for other memory, then it would be read once, before the loop.
    """
    given, written, read, output = (
        tirx.Var(name, PointerType(PrimType(kind)))
        for name, kind in (("given", "int32"), ("x", "int32"), ("y", dtype), ("output", dtype))
    )
    views = {
        pointer: tirx.decl_buffer((count,), str(pointer.ty.element_type.dtype), pointer.name)
        for pointer, count in ((given, 4), (written, 1), (read, 1), (output, 4))
    }
    index = tirx.Var("i", "int32")
    body = tirx.SeqStmt(
        [
            tirx.BufferStore(views[written], views[given][index], [0]),
            tirx.BufferStore(views[output], views[read][0], [index]),
        ]
    )
    loop = tirx.For(index, 0, 4, tirx.ForKind.SERIAL, body)
    declared = [tirx.DeclBuffer(view, data=pointer) for pointer, view in views.items()]
    func = tirx.PrimFunc(list(views), tirx.SeqStmt([*declared, loop]))
    library = link(compile_functions(IRModule({"f": func}), {"f": "f"}, TARGET))
    values = np.array([1.5, -2.0, 7.25, 3.0], "float32").view("int32")
    shared, result = np.zeros(1, "int32"), np.zeros(4, "int32")
    library.f(*(ctypes.c_void_p(a.ctypes.data) for a in (values, shared, shared, result)))
    assert result.tolist() == values.tolist()
