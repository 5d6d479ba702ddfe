"""How often each buffer is read and written, by the text and by running it."""

import re
from collections import Counter
from random import Random

import numpy as np
import pytest
import tvm
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.levels import number
from support.planned_programs import run
from support.tir_interpreter import Interpreter
from support.tir_programs import draw_program
from support.tir_statements import Statements
from usmp.analysis import extract_buffer_info
from usmp.analysis.access_counts import access_counts
from usmp.analysis.memory.access import Access
from usmp.analysis.memory.facts import analyze_liveness
from usmp.analysis.stmt_pool_allocations import create_array_buffer_info
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.objects.target.targets import accelerator_target
from usmp.transform import AssignPoolInfo

TARGET = tvm.target.Target("c")
CHOICES = re.compile(r"\bif\b|while|if_then_else|Select|break|continue|Cast\(.int32., .*[<>=]")
DATA = tvm.runtime.tensor(np.arange(4, dtype="int8"))


def counted(mod):
    """The counts of each buffer of `main`, by name."""
    mod = AssignPoolInfo()(tirx.transform.BindTarget(TARGET)(mod))
    buffers = extract_buffer_info(mod["main"], mod).buffer_info_stmts
    found = access_counts("main", mod, buffers)
    assert list(found) == create_array_buffer_info(buffers)
    return {info.name_hint: list(kinds) for info, kinds in found.items()}


def counts(mod):
    """For each buffer the (bytes of an element, bytes of an access, reads, writes)."""
    return {
        name: [(kind.element_bytes, kind.size_bytes, kind.reads, kind.writes) for kind in kinds]
        for name, kinds in counted(mod).items()
    }


def test_loops_multiply():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((12,), "int8")
            b = T.alloc_buffer((3,), "int32")
            unused = T.alloc_buffer((3,), "int32")  # noqa: F841
            for i in range(3):
                b[i] = 0
                for j in range(4):
                    b[i] = b[i] + T.Cast("int32", a[i * 4 + j]) * T.Cast("int32", a[0])

    assert counts(Mod) == {
        "a": [(1, 1, 24, 0)],
        "b": [(4, 4, 12, 3 + 12)],
        "unused": [],
    }


def test_calls_add_up():
    """A view, a parameter, and scratch of a function that is called four times."""

    @I.ir_module
    class Mod:
        @T.prim_func
        def op(p: T.handle("int8"), q: T.handle("int8")):
            P = T.decl_buffer((8,), "int8", data=p)
            Q = T.decl_buffer((8,), "int8", data=q)
            scratch = T.alloc_buffer((8,), "int8")
            for i in range(8):
                scratch[i] = P[i]
            for i in range(8):
                Q[i] = scratch[i]

        @T.prim_func
        def main():
            a = T.alloc_buffer((8,), "int8")
            b = T.alloc_buffer((8,), "int8")
            Mod.op(a.data, b.data)
            for _ in range(3):
                Mod.op(b.data, a.data)

    assert counts(Mod) == {
        "a": [(1, 1, 8, 24)],
        "b": [(1, 1, 24, 8)],
        "scratch": [(1, 1, 32, 32)],
    }


def test_both_branches_count():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((8,), "int8")
            b = T.alloc_buffer((8,), "int8")
            for i in range(8):
                if i < 2:
                    b[i] = a[i]
                else:
                    b[i] = T.if_then_else(i < 4, a[i - 1], T.int8(0))

    assert counts(Mod) == {"a": [(1, 1, 16, 0)], "b": [(1, 1, 0, 16)]}


def test_a_vector_is_one_access():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((16,), "int16")
            b = T.alloc_buffer((16,), "int16")
            for i in range(4):
                b[T.Ramp(i * 4, 1, 4)] = a[T.Ramp(i * 4, 1, 4)]

    assert counts(Mod) == {"a": [(2, 8, 4, 0)], "b": [(2, 8, 0, 4)]}


def test_unknown_iterations_count_ten_times():
    """The condition is tested once more, and C may evaluate the start of a loop again."""

    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            n = T.alloc_buffer((1,), "int32")
            a = T.alloc_buffer((8,), "int8")
            while n[0] < 5:
                a[0] = T.int8(1)

    assert counts(Mod) == {"n": [(4, 4, 12, 0)], "a": [(1, 1, 0, 10)]}


def test_a_function_outside_moves_all_bytes_once_a_call():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((6,), "int16")
            b = T.alloc_buffer((7,), "int8")
            c = T.alloc_buffer((5,), "int8")
            for i in range(3):
                T.evaluate(T.call_extern("int32", "f", a.data, T.address_of(b[i])))
            T.evaluate(
                T.call_extern(
                    "int32", "g", T.tvm_access_ptr(T.type_annotation("int8"), c.data, 0, 5, 1)
                )
            )

    assert counts(Mod) == {"a": [(1, 12, 3, 3)], "b": [(1, 7, 3, 3)], "c": [(1, 5, 1, 0)]}


def test_identical_constants_count_together():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op():
            k = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            a = T.alloc_buffer((4,), "int8")
            for i in range(4):
                a[i] = k[i]

        @T.prim_func
        def main():
            k = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            a = T.alloc_buffer((4,), "int8")
            a[0] = k[0] + k[1]
            Mod.op()

    assert counts(Mod) == {
        "k": [(1, 1, 6, 0)],
        "a": [(1, 1, 0, 1)],
        "a_1": [(1, 1, 0, 4)],
    }


def test_accesses_are_told_by_target():
    @I.ir_module
    class Mod:
        @T.prim_func
        def fast(p: T.handle("int8")):
            P = T.decl_buffer((8,), "int8", data=p)
            for i in range(8):
                P[i] = T.int8(1)

        @T.prim_func
        def main():
            a = T.alloc_buffer((8,), "int8")
            Mod.fast(a.data)
            for i in range(5):
                a[i] = a[i + 1]

    accel = accelerator_target("accel")
    Mod.update_func(Mod.get_global_var("fast"), Mod["fast"].with_attr("target", accel))
    found = [(kind.target.kind.name, kind.reads, kind.writes) for kind in counted(Mod)["a"]]
    assert found == [("ext_dev", 0, 8), ("c", 5, 5)]


class Counting(Interpreter):
    """An interpreter that counts the (reads, writes) of allocations by name."""

    def __init__(self, mod, **how):
        super().__init__(mod, **how)
        self.memories = {}
        self.reads, self.writes = Counter(), Counter()

    def execute(self, stmt, variables):
        super().execute(stmt, variables)
        if isinstance(stmt, tirx.AllocBuffer):
            memory = variables[stmt.buffer].memory
            self.memories[id(memory)] = memory, str(stmt.buffer.name)

    def store(self, address, index, itemsize, value):
        super().store(address, index, itemsize, value)
        self.count(self.writes, address, itemsize)

    def load(self, address, index, itemsize):
        self.count(self.reads, address, itemsize)
        return super().load(address, index, itemsize)

    def count(self, counter, address, itemsize):
        _, name = self.memories.get(id(address.memory), (None, None))
        if name:
            counter[name, itemsize] += 1


def counted_by_running(program):
    """The reads and the writes by name and bytes, and the same by the text."""
    mod = program.mod
    interpreter = Counting(mod)
    run(program, mod, interpreter)
    reads, writes = Counter(), Counter()
    for stmt, use in analyze_liveness(MAIN_FUNCTION_NAME, mod).allocation_use.items():
        for movement, count in use.movements.items():
            kind = str(stmt.buffer.name), movement.size_bytes
            reads[kind] += count if movement.access & Access.READ else 0
            writes[kind] += count if movement.access & Access.WRITE else 0
    return (interpreter.reads, interpreter.writes), (reads, writes)


@pytest.mark.slow
@settings(
    max_examples=number(12, 100),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**32 - 1))
def test_no_run_of_a_random_program_accesses_more(seed):
    ran, counted = counted_by_running(draw_program(Random(seed)))
    for truth, bound in zip(ran, counted, strict=True):
        assert {kind: n for kind, n in truth.items() if n > bound[kind]} == {}


@pytest.mark.slow
def test_programs_without_choices_access_exactly_as_much(monkeypatch):
    kind = Statements.kind

    def without_choices(self, scope, depth):
        drawn = kind(self, scope, depth)
        return "store" if drawn in ("branch", "while", "jump", "return") else drawn

    monkeypatch.setattr(Statements, "kind", without_choices)
    exact = 0
    for seed in range(60):
        program = draw_program(Random(seed))
        if not CHOICES.search(program.mod.script()):
            ran, counted = counted_by_running(program)
            assert [+c for c in counted] == [+c for c in ran], seed
            exact += 1
    assert exact >= 8
