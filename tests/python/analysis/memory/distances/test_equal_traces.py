"""PrimFuncs that access memory alike have one trace by numbers, others do not."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tvm import s_tir, tirx
from tvm.ir import IRModule, PointerType, PrimType

from support import levels
from support.streamed_graphs import module, operator
from support.tir_programs import draw_program
from usmp.analysis.memory.distances.equal_traces import numbered_trace
from usmp.analysis.memory.distances.safe_distance import SafeOverlap
from usmp.analysis.memory.facts import module_facts, shared_facts
from usmp.analysis.memory.indices.iterations import TracedLoop
from usmp.analysis.memory.memories import Address, Term
from usmp.analysis.memory.traced_access import MemoryTrace, TracedAccess, TracedStatement
from usmp.support.found import Found

TENSORS = [("p", 24, "int8"), ("q", 24, "int8")]
LOOPS = "for i, j in T.grid(6, 4):\n    "


def overlap_of(body, tensors=TENSORS):
    return module_facts(module(operator("f", tensors, body))).of("f").overlap


def in_loops(statement):
    return overlap_of(LOOPS + statement)


def known(overlap):
    """Distances of the parameters, and what a call accesses."""
    p, q = overlap.func.params
    reach = overlap.reach.reach
    pairs = overlap.relative_distance(p, q), overlap.relative_distance(q, p)
    return pairs, [reach.get(param) for param in (p, q)]


def every(overlap):
    """All distances, and all that a call accesses, by name."""
    memories = [*overlap.func.params, *overlap.trace.allocated]
    distances = {
        (y.name, x.name): overlap.relative_distance(y, x) for y in memories for x in memories
    }
    return distances, {memory.name: found for memory, found in overlap.reach.reach.items()}


def test_other_values_and_names(monkeypatch):
    asked = []
    original = SafeOverlap.decision

    def decision(self, *memories):
        asked.append(self.name)
        return original(self, *memories)

    monkeypatch.setattr(SafeOverlap, "decision", decision)
    with shared_facts():
        first = in_loops("Q[i * 4 + j] = P[i * 4 + j] + T.int8(3)")
        other = in_loops("Q[i * 4 + j] = T.max(P[i * 4 + j], T.int8(5)) * T.int8(7)")
        assert first.numbered.equal is other.numbered.equal
        assert known(first) == known(other)
        assert len(asked) == 2


@pytest.mark.parametrize(
    "other",
    [
        "Q[i * 4 + j] = P[i * 4 + i]",
        "Q[i * 4 + j] = P[i * 4 + j + 1]",
        "Q[i * 4 + j] = P[i * 3 + j]",
        "P[i * 4 + j] = Q[i * 4 + j]",
        "Q[i * 4 + j] = P[i * 4 + j] + Q[i * 4 + j]",
        "if i < 3: Q[i * 4 + j] = P[i * 4 + j]",
        "Q[i * 4 + j] = T.if_then_else(j < 2, P[i * 4 + j], T.int8(0))",
    ],
)
def test_other_accesses(other):
    with shared_facts():
        first, found = (in_loops(text) for text in ("Q[i * 4 + j] = P[i * 4 + j]", other))
        assert first.numbered.equal is not found.numbered.equal
        shared = known(found)
    assert shared == known(in_loops(other))


@pytest.mark.parametrize(
    "other",
    [
        "for i, j in T.grid(6, 3):\n    Q[i * 4 + j] = P[i * 4 + j]",
        "for i in T.parallel(6):\n    for j in range(4):\n        Q[i * 4 + j] = P[i * 4 + j]",
        "for i, j in T.grid(6, 4):\n    Q[i * 4 + j] = P[0]\nfor i in range(2):\n    Q[i] = P[i]",
        "v: T.int32 = 4\nfor i, j in T.grid(6, 4):\n    Q[i * 4 + j] = P[i * v + j]",
    ],
)
def test_other_loops_and_statements(other):
    with shared_facts():
        first, found = (
            overlap_of(text)
            for text in ("for i, j in T.grid(6, 4):\n    Q[i * 4 + j] = P[i * 4 + j]", other)
        )
        assert first.numbered.equal is not found.numbered.equal
        shared = known(found)
    assert shared == known(overlap_of(other))


def test_other_types():
    text = LOOPS + "Q[i * 4 + j] = P[i * 4 + j]"
    with shared_facts():
        first = overlap_of(text)
        wide = overlap_of(text, [(name, size, "int32") for name, size, _ in TENSORS])
        assert first.numbered.equal is not wide.numbered.equal


X, Y, V = (tirx.Var(name, "int32") for name in "xyv")
P, Q = (tirx.Var(name, PointerType(PrimType("int8"))) for name in "pq")
FOUR, FIVE = (tirx.IntImm("int32", value) for value in (4, 5))


def trace_by_hand(of_loop=None, of_statement=None, of_access=None, **fields):
    """A trace of one access in two loops, and a variable that is bound."""
    zero = tirx.IntImm("int32", 0)
    inner = TracedLoop(Y, zero, FOUR, 1, 4, is_ordered=True)
    loops = TracedLoop(X, zero, FOUR, 1, 4, is_ordered=True), replace(inner, **of_loop or {})
    statement = replace(TracedStatement(3, loops), **of_statement or {})
    access = TracedAccess(statement, Address(P, (Term(X * 4 + V, 1),)), 0, 1, is_write=True)
    accesses = {P: [replace(access, **of_access or {})]}
    return MemoryTrace(**{"accesses": accesses, **fields})


@pytest.mark.parametrize(
    "other",
    [
        {"of_loop": {"first": FIVE}},
        {"of_loop": {"extent": FIVE}},
        {"of_loop": {"extent": None}},
        {"of_loop": {"variable": None}},
        {"of_loop": {"step": 2}},
        {"of_loop": {"trips": None}},
        {"of_loop": {"is_ordered": False}},
        {"of_statement": {"order": 4}},
        {"of_statement": {"loads_first": True}},
        {"of_statement": {"callee": "f"}},
        {"of_statement": {"loops": ()}},
        {"of_access": {"first": 1}},
        {"of_access": {"end": 2}},
        {"of_access": {"is_write": False}},
        {"of_access": {"conditions": ((X < 2, True),)}},
        {"of_access": {"address": Address(P, (Term(X * 4 + V, 2),))}},
        {"of_access": {"address": Address(P, (Term(X * 4 + Y, 1),))}},
        {"of_access": {"address": Address(P, None)}},
        {"accesses": {}},
        {"escaped": {P}},
        {"allocated": {P}},
        {"bound": X},
    ],
)
def test_traces_that_differ_in_one_field(other):
    shared = Found()
    fields = {name: value for name, value in other.items() if name != "bound"}

    def numbered(trace, value=Y):
        trace.bound[V] = value
        return numbered_trace([P, Q], trace, lambda *called: called, shared)

    first = numbered(trace_by_hand())
    assert numbered(trace_by_hand()).equal is first.equal
    assert numbered(trace_by_hand(**fields), other.get("bound", Y)).equal is not first.equal


def test_conditions_and_passed_addresses():
    shared = Found()

    def equal(trace):
        return numbered_trace([P, Q], trace, lambda *called: called, shared).equal

    holds, fails = (
        trace_by_hand(of_access={"conditions": ((X < 2, truth),)}) for truth in (True, False)
    )
    assert equal(holds) is not equal(fails)
    accessed = trace_by_hand()
    assert equal(accessed) is equal(trace_by_hand())
    passed = MemoryTrace(passed=accessed.accesses, bound=accessed.bound)
    assert equal(accessed) is not equal(passed)


def test_expressions_that_occur_again():
    """An expression that several accesses or variables share is compared once, where it is used."""
    shared = Found()
    w = tirx.Var("w", "int32")
    a, b = X * 4 + V, Y * 2

    def equal(addresses, bound):
        trace = trace_by_hand()
        (access,) = trace.accesses[P]
        trace.accesses[P] = [
            replace(access, address=Address(P, (Term(address, 1),))) for address in addresses
        ]
        trace.bound.update(bound)
        return numbered_trace([P, Q], trace, lambda *called: called, shared).equal

    bound = {V: b, w: b}
    assert equal([a, b, a], bound) is equal([a, b, a], bound)
    assert equal([a, b, b], bound) is not equal([a, b, a], bound)
    assert equal([a, b, a], {V: b, w: V}) is not equal([a, b, a], bound)


@pytest.mark.parametrize("seed", range(levels.number(12, 60)))
def test_copies_of_random_programs(seed):
    """All that is known of a copy, with other variables, is what is known of it by itself."""
    mod = draw_program(Random(seed)).mod
    copied = IRModule({v: s_tir.renew_defs(f) for v, f in mod.functions.items()}, attrs=mod.attrs)
    alone = module_facts(copied)
    with shared_facts():
        shared = module_facts(mod), module_facts(copied)
        for name in map(str, sorted(v.name_hint for v in mod.functions)):
            try:
                first, second = (facts.of(name).overlap for facts in shared)
            except ValueError:
                # Recursion.
                continue
            assert first.callees or first.numbered.equal is second.numbered.equal
            every(first)
            assert every(second) == every(alone.of(name).overlap)
