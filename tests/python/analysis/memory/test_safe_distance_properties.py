"""Safe distances of random operators, compared with what running them tells.

A distance below the truth is a wrong answer of the model. Where what is accessed does not depend on
what is in memory, the distance is not only safe but the least one.
"""

from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tvm import tirx
from tvm.ir import IRModule

import usmp
from conftest import ROOT
from support import levels
from support.access_trace import Tracer, memory_of, trace
from support.chaotic_operators import CHAOS
from support.common_operators import COMMON
from support.odd_operators import BOUNDED, EXACT
from support.operator_builder import Builder, loop, store, wide
from support.overlapped_runs import Operator, differing, run
from support.tir_programs import draw_program
from usmp.analysis import safe_overlap
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.distances.accessed_bytes import accessed_bytes
from usmp.analysis.memory.indices.index_values import Bindings
from usmp.analysis.memory.indices.iterations import TracedLoop
from usmp.analysis.memory.memories import UNBOUNDED, Address, Term
from usmp.analysis.memory.traced_access import TracedAccess, TracedStatement
from usmp.aot_pipeline import lower_to_aot
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.tir.nodes import nodes_of

FEW = settings(
    max_examples=levels.number(6, 60),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def distances(overlap, tracers):
    """For each pair y, x of memories their bytes, the distance, and the true one, the greatest of
    several runs."""
    sizes = tracers[0].sizes
    for y in sizes:
        for x in sizes:
            if not y.same_as(x):
                true = max(tracer.distance(y, x) for tracer in tracers)
                yield (y, x), (sizes[y], sizes[x]), overlap.distance(y, x), true


def distances_of(operator):
    """The same of an operator, whose operands C may evaluate in any order."""
    runs = [trace(operator.mod, "main", operator.contents, backwards=b) for b in (False, True)]
    return distances(safe_overlap(operator.func, operator.mod), runs)


def check_overlapped_runs(operator):
    """No output changes if x starts as far below y as it must, or farther."""
    expected = run(operator)
    for pair, sizes, distance, _ in distances_of(operator):
        if has_content(operator, pair[1]):
            continue
        least = rounded_up(distance, operator.alignment)
        half = rounded_up(distance + sizes[1] // 2, operator.alignment)
        for apart in {least, least + operator.alignment, half}:
            changed = differing(expected, run(operator, pair, sizes, apart))
            assert changed == [], (pair, apart)


def has_content(operator, memory):
    """Whether the memory matters before the operator runs."""
    is_parameter = any(memory.same_as(param) for param in operator.params)
    return is_parameter and not any(memory.same_as(output) for output in operator.outputs)


def rounded_up(distance, alignment):
    return -(-distance // alignment) * alignment


@pytest.mark.slow
@pytest.mark.parametrize("family", [*COMMON, *EXACT])
@given(data=st.data())
@FEW
def test_distances_are_exact(family, data):
    operator = data.draw({**COMMON, **EXACT}[family])
    for pair, _, distance, true in distances_of(operator):
        assert distance == true, pair
    check_overlapped_runs(operator)


@pytest.mark.parametrize("family", [*BOUNDED])
@given(data=st.data())
@FEW
def test_distances_are_safe(family, data):
    """What is accessed depends on content, or on pointers that are not followed."""
    operator = data.draw(BOUNDED[family])
    for pair, _, distance, true in distances_of(operator):
        assert distance >= true, pair
    check_overlapped_runs(operator)


@pytest.mark.slow
@given(CHAOS)
@settings(FEW, max_examples=levels.number(10, 120))
def test_distances_are_safe_in_chaos(operator):
    for pair, _, distance, true in distances_of(operator):
        assert distance >= true, pair


@pytest.mark.parametrize(("factor", "offset"), [(-1, -2), (-2, -1)])
@pytest.mark.parametrize("backwards", [False, True])
def test_runs_have_constants_as_they_are(factor, offset, backwards):
    """Python's hashes of -1 and -2 are equal: a run that took one for the other accessed memory
    where the program does not."""
    builder = Builder()
    x, y = builder.input(8), builder.output(8)
    operator = builder.operator(
        loop(3, lambda i: store(y, i * factor + 4, wide(x[i + 3 + tirx.IntImm("int32", offset)])))
    )
    accesses = trace(operator.mod, "main", operator.contents, backwards=backwards).accesses
    reads = [(0, i + 3 + offset, i + 4 + offset, False) for i in range(3)]
    writes = [(1, i * factor + 4, i * factor + 5, True) for i in range(3)]
    assert accesses == [access for pair in zip(reads, writes, strict=True) for access in pair]
    # The write of y[4] comes before the read at i == 1.
    assert safe_overlap(operator.func).distance(x, y) == 5 - (4 + offset)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@settings(
    FEW, max_examples=levels.number(5, 30), phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
def test_distances_are_safe_in_whole_programs(seed):
    program = draw_program(Random(seed))
    func = program.mod[MAIN_FUNCTION_NAME]
    tracers = []
    for backwards in (False, True):
        contents = [data for _, data in program.inputs]
        contents += [info.size_bytes for info in program.outputs]
        pointers = [memory_of(content) for content in contents]
        tracer = Tracer(program.mod, backwards=backwards)
        for param, pointer in zip(func.params, pointers, strict=False):
            tracer.watch(param, pointer.memory)
        handles = [None] * (len(func.params) - len(pointers))
        tracer.call(MAIN_FUNCTION_NAME, [*pointers, *handles])
        tracers.append(tracer)
    overlap = safe_overlap(func, program.mod)
    for pair, _, distance, true in distances(overlap, tracers):
        assert distance >= true, pair


@pytest.mark.slow
def test_one_step_closer_changes_outputs():
    """So the runs above would tell if a distance were too small."""
    changes = []

    @settings(FEW, derandomize=True, database=None, max_examples=40)
    @given(st.one_of(*COMMON.values()))
    def step_closer(operator):
        for pair, sizes, distance, _ in distances_of(operator):
            if not has_content(operator, pair[1]) and distance >= operator.alignment:
                closer = rounded_up(distance, operator.alignment) - operator.alignment
                changed = differing(run(operator), run(operator, pair, sizes, closer))
                changes.append(bool(changed))

    step_closer()
    assert len(changes) > 30
    assert sum(changes) > 0.8 * len(changes)


@pytest.fixture(scope="module")
def digits() -> IRModule:
    """The digits model with operators as they are lowered, none interleaved with another."""
    return lower_to_aot(usmp.import_model(ROOT / "examples/digits/digits_int8.tflite"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["depthwise_conv2d", "max_pool", "mean", "fully_connected"])
def test_distances_of_a_models_operators(digits, name):
    func = digits[name]
    views = {stmt.data: stmt.buffer for stmt in nodes_of(func.body, tirx.DeclBuffer)}
    contents = [Random(0).randbytes(size_bytes(views[param])) for param in func.params]
    operator = Operator(IRModule({"main": func}), contents, alignment=4)
    found = [(distance, true) for _, _, distance, true in distances_of(operator)]
    assert any(true > 0 for _, true in found) or name in ("max_pool", "mean")
    assert all(distance == true for distance, true in found)


def drawn_index(data, variables, depth=3):
    """An index of TIR, and what computes it from the values of the variables."""
    kind = data.draw(st.integers(0, 7 if depth else 1))
    if kind == 0:
        value = data.draw(st.integers(0, 5))
        return tirx.IntImm("int32", value), lambda values: value
    if kind == 1:
        at = data.draw(st.integers(0, len(variables) - 1))
        return variables[at], lambda values: values[at]
    (a, of_a), (b, of_b) = (drawn_index(data, variables, depth - 1) for _ in "ab")
    by = data.draw(st.integers(1, 4))
    return [
        (a + b, lambda values: of_a(values) + of_b(values)),
        (a - b, lambda values: of_a(values) - of_b(values)),
        (a * by, lambda values: of_a(values) * by),
        (tirx.floordiv(a, by), lambda values: of_a(values) // by),
        (tirx.floormod(a, by), lambda values: of_a(values) % by),
        (tirx.max(a, b), lambda values: max(of_a(values), of_b(values))),
    ][kind - 2]


def drawn_condition(data, variables):
    """The same of a condition, some of which depend on what is in memory."""
    (a, of_a), (b, of_b) = (drawn_index(data, variables, 2) for _ in "ab")
    unknown = tirx.decl_buffer((8,), "int32")[variables[0]] > 0
    return [
        (a < b, lambda values: of_a(values) < of_b(values)),
        (
            tirx.EQ(tirx.floormod(a, 2), tirx.IntImm("int32", 0)),
            lambda values: of_a(values) % 2 == 0,
        ),
        (tirx.any(a < 3, b < 2), lambda values: of_a(values) < 3 or of_b(values) < 2),
        (tirx.all(unknown, a < b), lambda values: of_a(values) < of_b(values)),
        (unknown, lambda values: True),
    ][data.draw(st.integers(0, 4))]


@pytest.mark.slow
@given(data=st.data())
@settings(FEW, max_examples=levels.number(30, 300))
def test_bytes_of_accesses(data):
    """What an access touches in each iteration is what all iterations of the inner loops do."""
    trips = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    variables = [tirx.Var(f"i{axis}", "int32") for axis in range(len(trips))]
    extents = [(tirx.IntImm("int32", n), lambda values, n=n: n) for n in trips]
    step = 1
    if len(trips) > 1 and data.draw(st.booleans()):
        # The innermost loop runs as often as the others say.
        step = data.draw(st.integers(1, 2))
        extents[-1] = drawn_index(data, variables[:-1])
        counts = [-(-extents[-1][1](values) // step) for values in np.ndindex(*trips[:-1])]
        trips[-1] = max(*counts, 0)
    zero = tirx.IntImm("int32", 0)
    loops = tuple(
        TracedLoop(var, zero, extent, step if var is variables[-1] else 1, n, is_ordered=True)
        for var, (extent, _), n in zip(variables, extents, trips, strict=True)
    )
    bound = Bindings()
    values_of = lambda values: values  # noqa: E731
    if data.draw(st.booleans()):
        value, of = drawn_index(data, variables)
        bound[tirx.Var("v", "int32")] = value
        values_of = lambda values: (*values, of(values))  # noqa: E731
    known = [*variables, *bound]
    parts = [(*drawn_index(data, known), data.draw(st.integers(1, 4))) for _ in range(2)]
    guards = [drawn_condition(data, known) for _ in range(data.draw(st.integers(0, 2)))]
    address = Address(known[0], tuple(Term(index, unit) for index, _, unit in parts))
    statement = TracedStatement(0, loops)
    conditions = tuple((condition, True) for condition, _ in guards)
    access = TracedAccess(statement, address, 0, 1, True, conditions)
    known_bounds = sum(isinstance(extent, tirx.IntImm) for extent, _ in extents)
    for common in (*range(known_bounds + 1), 0):
        first = np.full(trips[:common], UNBOUNDED)
        end = np.full(trips[:common], -UNBOUNDED)
        for iteration in np.ndindex(*trips):
            *outer, inner = iteration
            inner *= step
            if inner >= extents[-1][1](outer):
                continue
            values = values_of((*outer, inner))
            if all(holds(values) for _, holds in guards):
                at = sum(of(values) * unit for _, of, unit in parts)
                outer = iteration[:common]
                first[outer], end[outer] = min(first[outer], at), max(end[outer], at + 1)
        found = accessed_bytes(access, bound, common)
        assert np.array_equal(np.broadcast_to(found[0], first.shape), first)
        assert np.array_equal(np.broadcast_to(found[1], end.shape), end)
