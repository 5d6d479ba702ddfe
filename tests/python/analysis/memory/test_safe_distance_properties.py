"""Safe distances of random operators, compared with what running them tells.

A distance below the truth is a wrong answer of the model. Where what is accessed does not depend on
what is in memory, the distance is not only safe but the least one.
"""

from random import Random

import pytest
import tvm
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tvm import tirx
from tvm.ir import IRModule

import usmp
from support.access_trace import Tracer, memory_of, trace
from support.chaotic_operators import CHAOS
from support.common_operators import COMMON
from support.odd_operators import BOUNDED, EXACT
from support.operator_builder import Builder, loop, store, wide
from support.overlapped_runs import Operator, differing, run
from support.tir_programs import draw_program
from usmp.analysis import safe_overlap
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.objects.attributes import MAIN_FUNCTION_NAME
from usmp.tir.nodes import nodes_of

FEW = settings(
    max_examples=20,
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


@given(CHAOS)
@settings(FEW, max_examples=40)
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


@given(st.integers(0, 2**32 - 1))
@settings(FEW, max_examples=10, phases=[Phase.explicit, Phase.reuse, Phase.generate])
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


@pytest.mark.parametrize("name", ["depthwise_conv2d", "max_pool", "mean", "fully_connected"])
def test_distances_of_a_models_operators(digits_model, name):
    """Operators as they are lowered, none interleaved with another."""
    with tvm.transform.PassContext(opt_level=3, config={"tir.usmp.streaming": False}):
        factory = usmp.build(usmp.import_model(str(digits_model)), target="c")
    func = factory.ir_mod[name]
    views = {stmt.data: stmt.buffer for stmt in nodes_of(func.body, tirx.DeclBuffer)}
    contents = [Random(0).randbytes(size_bytes(views[param])) for param in func.params]
    operator = Operator(IRModule({"main": func}), contents, alignment=4)
    found = [(distance, true) for _, _, distance, true in distances_of(operator)]
    assert any(true > 0 for _, true in found) or name in ("max_pool", "mean")
    assert all(distance == true for distance, true in found)
