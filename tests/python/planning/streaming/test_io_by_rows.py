"""Inputs and outputs by rows: none of them is there as a whole, or the error says why."""

from __future__ import annotations

import pytest

from support.streamed_graphs import module, operator
from usmp.planning.streaming.io_by_rows import keeps_no_whole, refuse_rows, uses_by_rows
from usmp.planning.streaming.read_main import streamed_main

ROWS, WIDTH = 12, 4
SIZE = ROWS * WIDTH


def by_row(name: str, above: int = 0, below: int = 0, size: int = SIZE) -> str:
    """An operator whose row `i` reads rows `i - above` to `i + below`, as far as there are some."""
    rows = size // WIDTH
    body = f"""
for i in range({rows}):
    for j in range({WIDTH}):
        Q[i * {WIDTH} + j] = P[T.max(i - {above}, 0) * {WIDTH} + j] + P[
            T.min(i + {below}, {rows - 1}) * {WIDTH} + j
        ]
"""
    return operator(name, [("p", size, "int8"), ("q", size, "int8")], body)


TURN = operator(
    "turn",
    [("p", SIZE, "int8"), ("q", SIZE, "int8")],
    f"for i in range({SIZE}):\n    Q[i] = P[{SIZE - 1} - i]",
)
BACK = operator(
    "back",
    [("p", SIZE, "int8"), ("q", SIZE, "int8")],
    f"for i in range({SIZE}):\n    Q[{SIZE - 1} - i] = P[i]",
)
OPERATORS = [
    by_row("make"),
    by_row("next", below=1),
    by_row("half", below=5),
    by_row("more", below=6),
    by_row("part", size=SIZE // 2),
    TURN,
    BACK,
]


def main_of(*calls: str):
    """A main function with a tensor A by rows, others B and C, and these statements."""
    lines = [f"    {call}" for call in calls]
    text = f"""
@T.prim_func
def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
    A = T.alloc_buffer(({SIZE},), "int8", annotations={{"streamed_tensor": 'input "x"'}})
    B = T.alloc_buffer(({SIZE},), "int8")
    C = T.alloc_buffer(({SIZE},), "int8")
"""
    found = streamed_main(module(*OPERATORS, text + "\n".join(lines) + "\n"))
    assert found is not None
    return found


MAKE, END = "Module.make(x, A.data)", "Module.make(B.data, y)"
LAST = "Module.make(B.data, C.data)", "Module.make(C.data, y)"


def test_operators_that_use_a_tensor_by_rows_cannot_run_by_themselves():
    main = main_of(MAKE, "Module.next(A.data, B.data)", END)
    (memory,) = main.by_rows
    assert [uses_by_rows(main, index) for index in range(3)] == [[memory], [memory], []]


@pytest.mark.parametrize(("reader", "small"), [("next", True), ("half", True), ("more", False)])
def test_no_more_than_half_of_it_is_kept(reader, small):
    main = main_of(MAKE, f"Module.{reader}(A.data, B.data)", END)
    segment = main.segment(0, 2)
    assert keeps_no_whole(main, 0, segment) is small
    assert keeps_no_whole(main, 0, main.segment(0, 3)) is small


def test_segments_that_do_not_use_it_keep_nothing_of_it():
    main = main_of(MAKE, "Module.turn(A.data, B.data)", *LAST)
    assert keeps_no_whole(main, 2, main.segment(2, 4))


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        (
            [MAKE, "Module.turn(A.data, B.data)", END],
            "operator turn needs all rows of it for its first result",
        ),
        (
            [MAKE, "Module.more(A.data, B.data)", END],
            "28 of its 48 bytes have to be kept, more than half, since more reads so many rows at "
            "once",
        ),
        (
            [
                MAKE,
                "Module.half(A.data, B.data)",
                "Module.half(B.data, C.data)",
                "Module.next(A.data, B.data)",
                END,
            ],
            "operator half, which runs between those that use it, cannot run interleaved with half",
        ),
        (
            ["Module.back(x, A.data)", "Module.next(A.data, B.data)", END],
            "operator back does not write it one row after the other",
        ),
        (
            [MAKE, 'T.evaluate(T.call_extern("int32", "f", A.data, B.data))', END],
            "a statement, which uses it, has no loop over rows",
        ),
        (
            [
                MAKE,
                'T.evaluate(T.call_extern("int32", "f", B.data))',
                "Module.next(A.data, B.data)",
                END,
            ],
            "a statement, which runs between those that use it, has no loop over rows",
        ),
        (
            [MAKE, f"Module.part(T.address_of(A[{SIZE // 2}]), B.data)", END],
            "operator part uses only a part of it, not from its start",
        ),
    ],
)
def test_errors_say_what_needs_a_tensor_as_a_whole(calls, reason):
    with pytest.raises(ValueError) as caught:
        refuse_rows(main_of(*calls))
    end = "; leave it out of tir.usmp.stream_inputs and tir.usmp.stream_outputs (--stream-input, "
    assert str(caught.value).startswith(f'input "x" cannot be given or taken by rows: {reason}')
    assert str(caught.value).endswith(f"{end}--stream-output)")


def test_tensors_of_which_each_is_possible_are_refused_together():
    with pytest.raises(ValueError) as caught:
        refuse_rows(main_of(MAKE, "Module.next(A.data, B.data)", END))
    message = 'input "x" cannot all be given and taken by rows together; leave it out of'
    assert str(caught.value).startswith(message)
