"""Schedules of kernels."""

from __future__ import annotations

from tvm import tirx
from tvm.script import tirx as T

from usmp.objects.schedule import SCHEDULE_ATTR, Schedule, faster_schedules
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.kernel import TiledBody, kernel


@T.prim_func
def operator(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
    y[0] = x[0]


CALL = OperatorCall(operator, (None,))


def bodies(*instructions):
    return [TiledBody(tirx.Evaluate(count), Schedule(f"{count}", count)) for count in instructions]


def test_the_last_one_is_taken_and_those_that_are_faster_are_kept():
    func = kernel(CALL, bodies(30, 10, 20, 50, 25), {}).func
    assert SCHEDULE_ATTR.of(func) == Schedule("25", 25)
    assert [SCHEDULE_ATTR.of(other) for other in faster_schedules(func)] == [
        Schedule("10", 10),
        Schedule("20", 20),
    ]
    assert [int(f.body.value) for f in (func, *faster_schedules(func))] == [25, 10, 20]
    assert all(f.params[0].same_as(operator.params[0]) for f in (func, *faster_schedules(func)))


def test_one_schedule_is_no_choice():
    func = kernel(CALL, bodies(10), {}).func
    assert (SCHEDULE_ATTR.of(func), faster_schedules(func)) == (Schedule("10", 10), ())
