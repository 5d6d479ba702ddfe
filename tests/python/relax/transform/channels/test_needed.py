"""Which channels stay, by what operators say of them."""

from __future__ import annotations

import numpy as np
from tvm import relax

from usmp.relax.transform.channels.channel_operator import (
    ChannelOperator,
    Read,
    Relation,
    Tied,
    identity,
)
from usmp.relax.transform.channels.channel_operators import ChannelOperators
from usmp.relax.transform.channels.channel_ranges import all_of_type
from usmp.relax.transform.channels.needed import kept_channels, kept_of


def tensors(names: str) -> list[relax.Var]:
    return [relax.Var(name, relax.TensorType((1, 3), "int8")) for name in names]


def operator(
    count: int, *operands: tuple[relax.Var, Relation], fixed: list[bool] | None = None
) -> ChannelOperator:
    vars_and_relations = tuple(zip(*operands, strict=True)) if operands else ((), ())
    return ChannelOperator(
        *vars_and_relations,
        all_of_type("int8", 1, count),
        lambda builder, arguments, kept: arguments[0],
        fixed=None if fixed is None else np.array(fixed),
    )


def kept(operators: dict[relax.Var, ChannelOperator], *whole: relax.Var) -> dict[str, list[int]]:
    found = kept_channels(ChannelOperators(operators, {}, set(whole)))
    return {var.name: channels.tolist() for var, channels in found.items()}


def reads(*rows: str) -> Read:
    """One row for each channel of the output: "x" for what it needs."""
    return Read(np.array([[mark == "x" for mark in row] for row in rows]))


def test_what_is_not_read_goes_and_what_it_was_computed_from():
    a, b, y = tensors("aby")
    operators = {
        a: operator(3),
        b: operator(3, (a, reads("x..", ".x.", "..x"))),
        y: operator(1, (b, reads("x.x"))),
    }
    assert kept(operators, y) == {"a": [0, 2], "b": [0, 2], "y": [0]}


def test_channels_that_are_tied_stay_together():
    a, b, total, y = tensors("abty")
    added = operator(3, (a, identity(3)), (b, identity(3)))
    operators = {
        a: operator(3),
        b: operator(3),
        total: added,
        y: operator(1, (total, reads(".x."))),
    }
    assert kept(operators, y) == {"a": [1], "b": [1], "t": [1], "y": [0]}
    # Another reader of one of them keeps all of them.
    assert kept(operators, y, b) == {"a": [0, 1, 2], "b": [0, 1, 2], "t": [0, 1, 2], "y": [0]}


def test_channels_of_several_elements():
    a, flat, y = tensors("afy")
    spread = Tied(np.array([0, 1, 0, 1]), np.arange(4))
    operators = {
        a: operator(2),
        flat: operator(4, (a, spread)),
        y: operator(1, (flat, reads("...x"))),
    }
    assert kept(operators, y) == {"a": [1], "f": [1, 3], "y": [0]}


def test_an_operator_that_takes_all_channels():
    a, y = tensors("ay")
    assert kept({a: operator(2), y: operator(1, (a, None))}, y) == {"a": [0, 1], "y": [0]}


def test_channels_that_must_stay():
    a, b, y = tensors("aby")
    joined = operator(4, (a, Tied(np.arange(2), np.arange(2))), fixed=[False, False, True, True])
    operators = {a: operator(2), b: joined, y: operator(1, (b, reads("x...")))}
    assert kept(operators, y) == {"a": [0], "b": [0, 2, 3], "y": [0]}


def test_one_channel_of_each_tensor_stays():
    a, b, y = tensors("aby")
    operators = {
        a: operator(3),
        b: operator(3, (a, reads(".x.", "...", "..x"))),
        y: operator(1, (b, reads("..."))),
    }
    assert kept(operators, y) == {"a": [1], "b": [0], "y": [0]}


def test_channels_that_are_only_needed_for_each_other_go():
    """Two sums, one after the other: channel 1 is computed from channel 2, and 2 from 1."""
    a, b, total, y = tensors("abty")
    operators = {
        a: operator(3),
        b: operator(3, (a, reads("x..", "..x", ".x."))),
        total: operator(3, (a, identity(3)), (b, identity(3))),
        y: operator(1, (total, reads("x.."))),
    }
    assert kept(operators, y) == {"a": [0], "b": [0], "t": [0], "y": [0]}


def test_an_operand_of_which_no_channels_are_known_is_whole():
    x, y = tensors("xy")
    one = operator(2, (x, None))
    said = kept_of(one, y, {y: np.array([1])})
    assert said.operands == (None,)
    assert said.of(0, 3).tolist() == [0, 1, 2]
    assert said.output.tolist() == [1]
