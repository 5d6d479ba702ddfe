"""Inputs and outputs by rows in TIR: their operators, how much of them is kept, what is refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.target import Target

from support.main_calls import called
from support.planner_views import workspace
from support.streamed_graphs import main_function, module, operator
from usmp import Executor, WorkspaceMemoryPools
from usmp.objects import TensorInfo
from usmp.objects.attributes.module_attributes import (
    ENTRIES_ATTR,
    EXECUTOR_ATTR,
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    MEMORY_PLAN_ATTR,
    OUTPUT_TENSORS_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.attributes.operator_attributes import SEGMENT_ATTR
from usmp.passes import apply_passes
from usmp.transform import StreamIO, StreamOperators, UnifiedStaticMemoryPlanner

ROWS, WIDTH = 12, 4
SIZE = ROWS * WIDTH


def by_row(name: str, above: int = 0, below: int = 0) -> str:
    """An operator whose row `i` reads rows `i - above` to `i + below`, as far as there are some."""
    body = f"""
for i in range({ROWS}):
    for j in range({WIDTH}):
        B[i * {WIDTH} + j] = A[T.max(i - {above}, 0) * {WIDTH} + j] + A[
            T.min(i + {below}, {ROWS - 1}) * {WIDTH} + j
        ]
"""
    return operator(name, [("a", SIZE, "int8"), ("b", SIZE, "int8")], body)


ADD = operator(
    "add",
    [("a", SIZE, "int8"), ("b", SIZE, "int8"), ("c", SIZE, "int8")],
    f"""
for i in range({ROWS}):
    for j in range({WIDTH}):
        C[i * {WIDTH} + j] = A[i * {WIDTH} + j] + B[i * {WIDTH} + j]
""",
)
TURN = operator(
    "turn",
    [("a", SIZE, "int8"), ("b", SIZE, "int8")],
    f"""
for i in range({ROWS}):
    for j in range({WIDTH}):
        B[i * {WIDTH} + j] = A[({ROWS - 1} - i) * {WIDTH} + j]
""",
)
BACKWARDS = operator(
    "backwards",
    [("a", SIZE, "int8"), ("b", SIZE, "int8")],
    f"""
for i in range({ROWS}):
    for j in range({WIDTH}):
        B[({ROWS - 1} - i) * {WIDTH} + j] = A[i * {WIDTH} + j]
""",
)
CHOOSE = operator(
    "choose",
    [("a", SIZE, "int8"), ("b", SIZE, "int8")],
    f"""
if A[0] > T.int8(0):
    for i in range({SIZE}):
        B[i] = A[i]
""",
)
TOTAL = operator(
    "total",
    [("a", SIZE, "int8"), ("b", WIDTH, "int8")],
    f"""
for j in range({WIDTH}):
    B[j] = T.int8(0)
for i in range({ROWS}):
    for j in range({WIDTH}):
        B[j] = B[j] + A[i * {WIDTH} + j]
""",
)


def program(
    functions: Sequence[str],
    calls: Sequence[str],
    between: Sequence[str] = (),
    shapes: dict[str, list[int]] | None = None,
    outputs: Sequence[str] = ("y",),
) -> IRModule:
    """A module whose other tensors are inputs, 12 rows of 4 bytes unless their shape is given."""
    known = shapes or {}
    names = list(dict.fromkeys(name for call in calls for name in call.split()[1:]))
    names += [name for name in known if name not in names]
    inputs = [name for name in names if name not in (*between, *outputs)]
    infos = {n: TensorInfo(n, known.get(n, [1, ROWS, WIDTH]), "int8") for n in names}
    main = main_function(
        [(name, "int8") for name in (*inputs, *outputs)],
        [(n, SIZE, "int8") for n in between],
        calls,
    )
    mod = module(*functions, main)
    func = mod[MAIN_FUNCTION_NAME].with_attrs(
        {
            INPUT_TENSORS_ATTR.name: [infos[name] for name in inputs],
            OUTPUT_TENSORS_ATTR.name: [infos[name] for name in outputs],
        }
    )
    mod.update_func(mod.get_global_var(MAIN_FUNCTION_NAME), func)
    return mod


def context(inputs: str = "", outputs: str = "", **options: object) -> PassContext:
    config = {"stream_inputs": inputs, "stream_outputs": outputs, **options}
    return PassContext(config={f"tir.usmp.{name}": value for name, value in config.items()})


def streamed(mod: IRModule, inputs: str = "", outputs: str = "", **options: object) -> IRModule:
    with context(inputs, outputs, **options):
        mod = apply_passes(StreamIO(), mod)
        assert tirx.analysis.verify_well_formed(mod)
        return apply_passes(StreamOperators(), mod)


def planned(mod: IRModule, inputs: str = "", outputs: str = "", **options: object) -> IRModule:
    made = tirx.transform.BindTarget(Target("c"))(mod)
    with context(inputs, outputs, use_workspace_io=True, **options):
        for step in (StreamIO(), StreamOperators(), UnifiedStaticMemoryPlanner()):
            made = apply_passes(step, made)
    assert tirx.analysis.verify_well_formed(made)
    return made


def sizes(mod: IRModule) -> dict[str, int]:
    return {str(b.name): int(b.size_bytes) for b in mod.attrs[MEMORY_PLAN_ATTR.name].buffers}


def segments(mod: IRModule) -> list[list[str]]:
    found = [
        f.attrs[SEGMENT_ATTR.name] for f in mod.functions.values() if SEGMENT_ATTR.name in f.attrs
    ]
    return sorted(list(map(str, segment["operators"])) for segment in found)


CHAIN = program([by_row("first", 1, 1), by_row("second", 1, 1)], ["first x a", "second a y"], ["a"])


def test_without_names_nothing_changes():
    with context():
        assert StreamIO()(CHAIN).same_as(CHAIN)


def test_rows_come_before_the_first_reader_and_go_after_the_last_writer():
    calls = ["first x a", "second w b", "add a b y", "first w z"]
    mod = program([by_row("first"), by_row("second"), ADD], calls, ["a", "b"], outputs=["y", "z"])
    with context("w,x", "z,y"):
        made = StreamIO()(mod)
    assert called(made[MAIN_FUNCTION_NAME]) == [
        *("read_x", "first", "read_w", "second", "add", "write_y", "first", "write_z"),
    ]


def test_outputs_that_are_read_again_go_before_that():
    calls = ["first x y", "second y z"]
    mod = program([by_row("first"), by_row("second")], calls, outputs=["y", "z"])
    with context("", "y"):
        made = StreamIO()(mod)
    assert called(made[MAIN_FUNCTION_NAME]) == ["first", "write_y", "second"]
    assert sizes(planned(mod, "x", "y,z")) == {"x_ring": WIDTH, "y_ring": WIDTH, "z_ring": WIDTH}


@pytest.mark.parametrize("optimize", ["ram", "balanced"])
def test_no_tensor_by_rows_is_there_as_a_whole(optimize):
    made = planned(CHAIN, "x", "y", optimize=optimize)
    assert sizes(made) == {"x_ring": 3 * WIDTH, "a_ring": 3 * WIDTH, "y_ring": WIDTH}
    assert segments(made) == [["read_x", "first", "second", "write_y"]]


def test_what_is_not_by_rows_is_a_ring_where_that_takes_less():
    made = planned(CHAIN, "x")
    assert sizes(made) == {"x_ring": 3 * WIDTH, "a": SIZE, "y": SIZE}
    assert segments(made) == [["read_x", "first"]]


def test_for_speed_few_operators_run_interleaved():
    made = planned(CHAIN, "x", "y", optimize="speed")
    assert sizes(made) == {"x_ring": 3 * WIDTH, "a": SIZE, "y_ring": WIDTH}
    assert segments(made) == [["read_x", "first"], ["second", "write_y"]]


def test_for_speed_more_of_them_do_where_nothing_else_fits():
    pools = WorkspaceMemoryPools([workspace("small", SIZE)])
    mod = CHAIN.with_attr(WORKSPACE_MEMORY_POOLS_ATTR.name, pools)
    made = planned(mod, "x", "y", optimize="speed")
    assert segments(made) == [["read_x", "first", "second", "write_y"]]


def test_inputs_that_are_parameters_stay_there():
    calls = ["first x a", "add a w y"]
    made = streamed(program([by_row("first"), ADD], calls, ["a"]), "x")
    names = [str(param.name) for param in made[MAIN_FUNCTION_NAME].params]
    assert names == ["x_rows", "w", "y"]
    assert segments(made) == [["read_x", "first", "add"]]


def test_two_readers():
    """The one reads a row two rows later than the other: three are kept."""
    mod = program([by_row("first", 0, 2), ADD], ["first x a", "add a x y"], ["a"])
    assert sizes(planned(mod, "x"))["x_ring"] == 3 * WIDTH


@pytest.mark.slow
def test_the_first_dimension_that_is_longer_than_one_has_the_rows():
    shapes = {"x": [1, 1, ROWS // 2, 2 * WIDTH]}
    made = planned(program([by_row("first")], ["first x y"], shapes=shapes), "x")
    assert sizes(made)["x_ring"] == 2 * WIDTH


@pytest.mark.parametrize(
    ("functions", "calls", "between", "message"),
    [
        (
            [TURN],
            ["turn x y"],
            [],
            'input "x" cannot be given or taken by rows: operator turn needs all rows of it for '
            "its first result",
        ),
        (
            [by_row("first", 0, 8), ADD],
            ["first x a", "add a x y"],
            ["a"],
            'input "x" cannot be given or taken by rows: 36 of its 48 bytes have to be kept, more '
            "than half, since first and add read it at different times",
        ),
        (
            [by_row("first", 4, 4)],
            ["first x y"],
            [],
            'input "x" cannot be given or taken by rows: 36 of its 48 bytes have to be kept, more '
            "than half, since first reads so many rows at once",
        ),
        (
            [CHOOSE],
            ["choose x y"],
            [],
            'input "x" cannot be given or taken by rows: operator choose, which uses it, has no '
            "loop over rows",
        ),
        (
            [by_row("first"), TURN, ADD],
            ["first x a", "turn a b", "add x b y"],
            ["a", "b"],
            'input "x" cannot be given or taken by rows: 48 of its 48 bytes have to be kept, more '
            "than half, since first and add read it at different times",
        ),
    ],
)
@pytest.mark.parametrize("optimize", ["ram", "speed"])
def test_inputs_of_which_too_much_is_needed(functions, calls, between, message, optimize):
    with pytest.raises(ValueError) as error:
        streamed(program(functions, calls, between), "x", optimize=optimize)
    leave_out = (
        "; leave it out of tir.usmp.stream_inputs and tir.usmp.stream_outputs "
        "(--stream-input, --stream-output)"
    )
    assert str(error.value) == message + leave_out


@pytest.mark.parametrize("function", [BACKWARDS, CHOOSE, TURN])
def test_outputs_that_are_written_in_another_order(function):
    name = function.split("(")[0].split()[-1]
    mod = program([by_row("first"), function], ["first x a", f"{name} a y"], ["a"])
    if name == "turn":
        assert sizes(planned(mod, outputs="y"))["y_ring"] == WIDTH
        return
    why = {
        "backwards": "operator backwards does not write it one row after the other",
        "choose": "operator choose, which uses it, has no loop over rows",
    }
    with pytest.raises(ValueError) as error:
        streamed(mod, outputs="y")
    begin = f'output "y" cannot be given or taken by rows: {why[name]}; leave it out of '
    assert str(error.value).startswith(begin)


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (
            "z",
            "",
            'tir.usmp.stream_inputs: the model has no input "z". Its inputs: x, one, unused',
        ),
        ("", "x", 'tir.usmp.stream_outputs: the model has no output "x". Its outputs: y'),
        (
            "one",
            "",
            'input "one" has one row only, int8[1, 1]; rows are along the outermost axis that is '
            "longer than 1; leave it out of tir.usmp.stream_inputs",
        ),
        (
            "unused",
            "",
            'nothing reads input "unused", so no row of it would be asked for; leave it out of '
            "tir.usmp.stream_inputs",
        ),
    ],
)
def test_names_that_are_refused(inputs, outputs, message):
    mod = program([by_row("first")], ["first x y"], shapes={"one": [1, 1], "unused": [4, 4]})
    with context(inputs, outputs), pytest.raises(ValueError) as error:
        apply_passes(StreamIO(), mod)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda mod: mod.with_attr(
                EXECUTOR_ATTR.name, Executor("aot", {"interface-api": "packed"})
            ),
            "inputs and outputs by rows need the C interface, whose structs have callbacks: leave "
            "out interface-api=packed, or tir.usmp.stream_inputs and tir.usmp.stream_outputs",
        ),
        (
            lambda mod: tirx.transform.BindTarget(Target("llvm"))(mod),
            "inputs and outputs by rows need target c, not llvm: compile for c, or leave out "
            "tir.usmp.stream_inputs and tir.usmp.stream_outputs",
        ),
        (
            lambda mod: mod.with_attr(ENTRIES_ATTR.name, ["one", "other"]),
            "inputs and outputs are streamed before entries are joined, but this module has one, "
            "other; let usmp.build compile it, or leave out tir.usmp.stream_inputs and "
            "tir.usmp.stream_outputs",
        ),
    ],
)
def test_interfaces_that_have_no_callbacks(change, message):
    with context("x"), pytest.raises(ValueError) as error:
        apply_passes(StreamIO(), change(CHAIN))
    assert str(error.value) == message
