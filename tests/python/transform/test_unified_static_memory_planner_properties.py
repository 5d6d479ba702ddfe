"""Random programs give the same results planned as with every buffer in memory of its own.

Each program is `draw_program(Random(seed))`. `benchmarks/fuzz_planner.py` tries as many as there is
time for, and reduces one that fails.
"""

from collections import Counter
from random import Random

import pytest
import tvm_ffi
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tvm import tirx
from tvm.ir import Call

from support.levels import number
from support.planned_programs import check_planned, expected_results, missing_conflicts, plan, run
from support.tir_interpreter import Interpreter
from support.tir_programs import draw_program
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.objects.attributes.module_attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    MAIN_FUNCTION_NAME,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.planning.session import planning_session
from usmp.transform import PoisonDeadBytes
from usmp_solver import ALGORITHMS

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32 - 1)
TEXTS = {
    *("T.parallel(", "T.vectorized(", "T.unroll(", "while ", "else:", "break", "continue"),
    *("T.call_extern(", "T.call_pure_extern(", "T.call_packed(", "T.call_cpacked(", "Module.f"),
    *("T.address_of(", "T.tvm_access_ptr(", "T.ptr_byte_offset(", "T.handle_add_byte_offset("),
    *("int8", "int16", "int32", "handle: T.handle", "global_symbol", "candidate_memory_pools"),
}
OTHERS = {
    "several workspace pools",
    "several constant pools",
    "a constant in two functions",
    "calls three deep",
    "a buffer passed twice",
    "inputs and outputs in the workspace",
    "pools without limit",
    "pools with limits",
}


def examples(count):
    """Without shrinking: a smaller seed is not a smaller program."""
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@given(SEEDS)
@examples(number(40, in_long_run=400))
def test_planned_programs_compute_the_same(seed):
    program = draw_program(Random(seed))
    expected = expected_results(program)
    # In one session, as candidates of a build are: what is known of the program is found once.
    with planning_session():
        # Each has half of the programs: of two that follow each other, one.
        for number, algorithm in enumerate(ALGORITHMS):
            if (seed // 2 + number) % 2 == 0:
                check_planned(program, algorithm, expected, orders=(seed % 2 == 0,))


@given(SEEDS)
@examples(number(30, in_long_run=300))
def test_planned_programs_read_nothing_that_is_dead(seed):
    program = draw_program(Random(seed))
    planned = plan(program, "auto")
    if planned is not None:
        assert run(program, PoisonDeadBytes()(planned)) == expected_results(program)


@given(SEEDS)
@examples(number(40, in_long_run=400))
def test_buffers_that_hold_values_at_the_same_time_conflict(seed):
    assert missing_conflicts(draw_program(Random(seed))) == set()


def test_the_programs_have_everything():
    """Whatever the generator can draw is in at least one of 20 programs."""
    programs = [draw_program(Random(seed)) for seed in range(100)]
    found = Counter(feature for program in programs for feature in features(program))
    assert {feature: found[feature] for feature in TEXTS | OTHERS if found[feature] < 5} == {}


def features(program):
    """What a program has of TEXTS and OTHERS."""
    text = program.mod.script()
    functions = Interpreter(program.mod)
    constants = Counter()
    twice = False
    deepest = 0

    def visit(name, depth):
        nonlocal deepest
        deepest = max(deepest, depth)

        def on_call(call):
            nonlocal twice
            if callee := functions.callee(call):
                twice |= len(set(map(str, callee[1]))) < len(callee[1])
                visit(callee[0], depth + 1)

        tvm_ffi.structural_walk(functions.functions[name].body, (Call, on_call))

    def on_allocation(stmt):
        if CONSTANT_DATA_ATTR.name in stmt.annotations:
            contents.add(stmt.annotations[CONSTANT_DATA_ATTR.name].numpy().tobytes())

    visit(MAIN_FUNCTION_NAME, 0)
    for func in program.mod.functions.values():
        contents = set()
        tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, on_allocation))
        constants.update(contents)
    pools = [
        program.mod.attrs[attribute].pools if attribute in program.mod.attrs else []
        for attribute in (WORKSPACE_MEMORY_POOLS_ATTR.name, CONSTANT_MEMORY_POOLS_ATTR.name)
    ]
    others = {
        "several workspace pools": len(pools[0]) > 1,
        "several constant pools": len(pools[1]) > 1,
        "a constant in two functions": max(constants.values(), default=0) > 1,
        "calls three deep": deepest == 3,
        "a buffer passed twice": twice,
        "inputs and outputs in the workspace": program.workspace_io,
        "pools without limit": not program.may_not_fit,
        "pools with limits": program.may_not_fit,
    }
    return [
        *(part for part in TEXTS if part in text),
        *(name for name, has in others.items() if has),
    ]
