"""What is written over a dying input of another type stays behind the reads of it.

Without care, compilers take memory of two types to be different memory, and move the writes of a
loop before its reads: in these programs gcc -O3 and clang -O2 do, but for int8, a character's type.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tirx as T

import usmp
from support.c_program import run_as_program
from support.compilers import require
from support.levels import number
from support.small_digits import small_convolutions
from usmp.codegen.llvm import compile_functions
from usmp.codegen.sources.source import lowered_functions
from usmp.frontend.tflite.importer import import_tflite
from usmp.objects import TensorInfo
from usmp.transform import UnifiedStaticMemoryPlanner

N = 64
PAIRS = [("int32", "float32"), ("float32", "int8"), ("int16", "int32"), ("float32", "int32")]
"""Types of the input and of the output that overwrites it."""
COMPILERS = ["gcc", "clang"]


def program(source: str, written: str) -> tvm.IRModule:
    """Operators that are inlined into the main function: a = x, b[i] = 1 and z[i] = a[i + 1] in one
    loop, y = b. Only a and b are planned."""

    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def first(p: T.handle(source), q: T.handle(source)):
            P = T.decl_buffer((N + 1,), source, data=p)
            Q = T.decl_buffer((N + 1,), source, data=q)
            for i in range(N + 1):
                Q[i] = P[i]

        @T.prim_func(private=True)
        def second(p: T.handle(source), q: T.handle(written), r: T.handle(source)):
            P = T.decl_buffer((N + 1,), source, data=p)
            Q = T.decl_buffer((N,), written, data=q)
            R = T.decl_buffer((N,), source, data=r)
            for i in range(N):
                Q[i] = T.Cast(written, 1)
                R[i] = P[i + 1]

        @T.prim_func(private=True)
        def third(p: T.handle(written), q: T.handle(written)):
            P = T.decl_buffer((N,), written, data=p)
            Q = T.decl_buffer((N,), written, data=q)
            for i in range(N):
                Q[i] = P[i]

        @T.prim_func
        def __tvm_main__(x: T.handle(source), y: T.handle(written), z: T.handle(source)):
            a = T.alloc_buffer((N + 1,), source)
            b = T.alloc_buffer((N,), written)
            Mod.first(x, a.data)
            Mod.second(a.data, b.data, z)
            Mod.third(b.data, y)

    mod = Mod
    main = mod["__tvm_main__"].with_attrs(
        {
            "input_tensors": [TensorInfo("x", [N + 1], source)],
            "output_tensors": [TensorInfo("y", [N], written), TensorInfo("z", [N], source)],
        }
    )
    mod.update_func(mod.get_global_var("__tvm_main__"), main)
    return mod


@cache
def planned(source: str, written: str, target: str = "c") -> usmp.AOTExecutorFactoryModule:
    mod = tirx.transform.BindTarget(tvm.target.Target(target))(program(source, written))
    return usmp.AOTExecutorFactoryModule(UnifiedStaticMemoryPlanner()(mod), "default")


def distance(factory: usmp.AOTExecutorFactoryModule) -> int:
    """Bytes by which b starts below a."""
    offsets = {str(b.name): int(b.byte_offset) for b in factory.memory_plan.buffers}
    return offsets["a"] - offsets["b"]


def io(source: str, written: str) -> tuple[bytes, bytes]:
    """The bytes of the input, and those of both outputs."""
    x = (np.arange(N + 1) * 3 - 50).astype(source)
    return x.tobytes(), np.ones(N, written).tobytes() + x[1:].tobytes()


@pytest.mark.cc
@pytest.mark.parametrize(("source", "written"), PAIRS)
def test_the_output_lies_on_the_input(source, written):
    """In place where its elements are no larger, and else as far below as it grows."""
    larger = np.dtype(written).itemsize - np.dtype(source).itemsize
    assert distance(planned(source, written)) == max(0, N * larger)


@pytest.mark.cc
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize(("source", "written"), PAIRS)
def test_writes_stay_behind_reads(source, written, level, compiler, tmp_path, monkeypatch):
    require(compiler)
    monkeypatch.setenv("CC", compiler)
    given, expected = io(source, written)
    assert run_as_program(planned(source, written), tmp_path, [level], given) == expected


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(("source", "written"), PAIRS)
def test_writes_stay_behind_reads_in_object_files(source, written, tmp_path):
    require("gcc")
    given, expected = io(source, written)
    factory = planned(source, written, "llvm")
    assert distance(factory) == distance(planned(source, written))
    assert run_as_program(factory, tmp_path, ["-O3"], given) == expected


def llvm_text(factory: usmp.AOTExecutorFactoryModule) -> str:
    functions = lowered_functions(factory.ir_mod)
    mod = tvm.IRModule({v: functions[v.name_hint] for v in factory.ir_mod.functions})
    built = compile_functions(mod, {"__tvm_main__": "f"}, tvm.target.Target("llvm"))
    return built.inspect_source("ll")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "streaming"),
    [
        ("convolutions", False),
        ("convolutions", True),
        ("mlperf_ad01_float", True),
        ("mlperf_resnet8_int8", False),
        ("mlperf_resnet8_int8", True),
    ][: number(3, 5)],
)
def test_nothing_promises_that_memory_differs(shared_model, name, streaming):
    disabled = [] if streaming else ["StreamOperators"]
    config = {"tir.usmp.use_workspace_io": True}
    is_small = name == "convolutions"
    content = small_convolutions() if is_small else shared_model(name).read_bytes()
    with PassContext(opt_level=3, config=config, disabled_pass=disabled):
        factory = usmp.build(import_tflite(content))
    assert "restrict" not in factory.source + factory.header
    assert "noalias" not in factory.ir_mod.script(show_meta=False)
    # LLVM declares `memcpy` so itself, and calls it where it knows that memory differs.
    text = re.sub(r"^declare .*@llvm\.memcpy.*", "", llvm_text(factory), flags=re.MULTILINE)
    assert len(set(re.findall(r"!tbaa (!\d+)", text))) == 1
    # Of a parameter or a call.
    assert re.findall(r"(?<!!)noalias", text) == []
    if not streaming:
        # LLVM notes scopes of loops whose addresses it compares before it runs them on vectors.
        assert "alias.scope" not in text


@pytest.mark.cc
def test_planned_functions_lose_the_promise_of_the_unplanned():
    """Whoever compiles the planned module, TVM for instance, must not believe it any more."""
    mod = program("int32", "float32")
    functions = {v: f.with_attr("tirx.noalias", True) for v, f in mod.functions.items()}
    mod = tirx.transform.BindTarget(tvm.target.Target("c"))(tvm.IRModule(functions))
    planned = UnifiedStaticMemoryPlanner()(mod)
    assert [f for f in planned.functions.values() if "tirx.noalias" in f.attrs] == []
