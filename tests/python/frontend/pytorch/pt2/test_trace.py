"""How much PyTorch may trace of a program."""

from __future__ import annotations

import pytest

from support.lazy import lazy
from usmp.relax.limits import LimitError, Limits

torch = lazy("torch")
FakeTensorMode = lazy("torch._subclasses.fake_tensor:FakeTensorMode")
Trace = lazy("usmp.frontend.pytorch.pt2:Trace")


def traced(function, shape=(4,), calls=0, **limits):
    """What is traced of a function of a tensor without values."""
    trace = Trace(Limits(**limits))
    trace.calls = calls
    with FakeTensorMode() as mode:
        x = torch.empty(shape)
    with trace.limited(), mode:
        function(x)
    return trace


def test_calls_are_counted_while_they_are_limited():
    from torch._subclasses import fake_tensor

    original = fake_tensor.FakeTensorMode.__torch_dispatch__
    trace = traced(lambda x: (x + 1) * 2)
    assert trace.calls >= 2
    assert trace.refused == ""
    assert fake_tensor.FakeTensorMode.__torch_dispatch__ is original


def test_an_operator_may_take_20_calls():
    assert traced(lambda x: x.neg(), calls=38, operators=1).calls == 39
    assert traced(lambda x: x.neg(), calls=39, operators=2).calls == 40
    with pytest.raises(LimitError, match="decomposed, the program has at least 2 operators"):
        traced(lambda x: x.neg(), calls=39, operators=1)


def test_the_reason_is_kept():
    trace = Trace(Limits(model_bytes=64))
    with FakeTensorMode() as mode:
        x = torch.empty(4, 1)
    with pytest.raises(LimitError) as caught, trace.limited(), mode:
        x.repeat(1, 5)
    assert trace.refused == str(caught.value)
    assert "takes 80 bytes" in trace.refused
    assert traced(lambda x: x.repeat(4), model_bytes=64).refused == ""


@pytest.mark.parametrize(
    ("function", "shape", "parts"),
    [
        (lambda x: x.unbind(0), (6, 3), 6),
        (lambda x: torch.ops.aten.unbind_copy.int(x, 1), (2, 6), 6),
        (lambda x: x.split(2, 1), (2, 7), 3),
        (lambda x: torch.ops.aten.split_copy.Tensor(x, 3, 1), (2, 9), 3),
        (lambda x: torch.ops.aten.unsafe_chunk.default(x, 5), (10,), 5),
        (lambda x: torch.ops.aten.chunk.default(x, 5), (10,), 5),
        (lambda x: x.neg(), (9,), 1),
    ],
)
def test_parts_that_an_operator_cuts_into(function, shape, parts):
    assert traced(function, shape, operators=parts).refused == ""
    if parts > 1:
        with pytest.raises(LimitError, match=f"cuts its input into {parts} parts"):
            traced(function, shape, operators=parts - 1)
