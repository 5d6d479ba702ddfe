"""The bound of an operator counts the scratch memory that is in use at once, in the workspace, and
of tensors what is live."""

from __future__ import annotations

import pytest

from support.streamed_graphs import main_function, module, operator
from usmp.planning.options import PlanningOptions
from usmp.planning.session import planning_session
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.segment_bytes import operator_bytes, segment_bytes
from usmp.planning.streaming.segmentation import segmentations

BODY = """
S = T.alloc_buffer((16,), "int8"{scope})
for j in range(4):
    S[j] = P[j]
for j in range(4):
    P[j] = S[j]
R = T.alloc_buffer((24,), "int8"{scope})
for i in range(8):
    for j in range(4):
        R[j] = P[i * 4 + j]
        Q[i * 4 + j] = R[j]
"""


@pytest.mark.parametrize(("scope", "scratch"), [("", 24), (', scope="local"', 0)])
def test_scratch_memory(scope, scratch):
    step = operator("step", [("p", 32, "int8"), ("q", 32, "int8")], BODY.format(scope=scope))
    main = main_function([("x", "int8"), ("y", "int8")], [], ["step x y"])
    found = streamed_main(module(step, main))
    assert found is not None
    assert operator_bytes(found, 0).estimate_bytes == scratch


PARTS = """
@T.prim_func
def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
    A = T.alloc_buffer((64,), "int8")
    C = T.alloc_buffer((128,), "int8")
    Module.turn(x, A.data)
    Module.turn(A.data, C.data)
    Module.copy(A.data, T.address_of(C[64]))
    Module.end(C.data, y)
"""

COPY_ROWS = """
for i in range(8):
    for j in range(8):
        Q[i * 8 + j] = P[i * 8 + j]
"""
READ_BACKWARDS = """
for i in range(8):
    for j in range(8):
        Q[i * 8 + j] = P[127 - i * 8 - j]
"""


def test_parts_that_are_not_written_yet():
    """They may be where another tensor still is: then the peak is no more than both parts."""
    both = [("p", 64, "int8"), ("q", 64, "int8")]
    copy = operator("copy", both, "for i in range(64):\n    Q[i] = P[i]")
    turn = operator("turn", both, "for i in range(64):\n    Q[i] = P[63 - i]")
    end = operator("end", [("p", 128, "int8"), ("q", 64, "int8")], READ_BACKWARDS)
    mod = module(copy, turn, end, PARTS)
    with planning_session() as session:
        (peak,) = session.peaks(mod, PlanningOptions())
    main = streamed_main(mod)
    assert main is not None
    bound = segmentations(main).bound_bytes
    assert bound is not None and bound <= peak == 128


SECOND_PART = """
@T.prim_func
def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
    A = T.alloc_buffer((64,), "int8")
    C = T.alloc_buffer((128,), "int8")
    Module.copy(x, C.data)
    Module.copy(x, A.data)
    Module.copy(A.data, T.address_of(C[64]))
    Module.end(C.data, y)
"""


def test_parts_that_are_written_are_live_at_the_end_of_a_segment():
    """Also of a tensor that an operator is called with an address inside of."""
    both = [("p", 64, "int8"), ("q", 64, "int8")]
    copy = operator("copy", both, COPY_ROWS)
    end = operator("end", [("p", 128, "int8"), ("q", 64, "int8")], READ_BACKWARDS)
    main = streamed_main(module(copy, end, SECOND_PART))
    assert main is not None
    segment = main.segment(1, 3)
    assert segment is not None
    assert main.ends.cuts == [0, 0, 64, 64, 0]
    assert segment_bytes(main, 1, segment).live_bytes == 64
