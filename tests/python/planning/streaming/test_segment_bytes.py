"""The bound of an operator counts the scratch memory that is in use at once, in the workspace."""

from __future__ import annotations

import pytest

from support.streamed_graphs import main_function, module, operator
from usmp.planning.streaming.segment_bytes import operator_bytes
from usmp.planning.streaming.streamed_main import streamed_main

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
