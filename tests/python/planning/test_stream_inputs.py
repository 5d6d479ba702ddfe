"""`tir.usmp.stream_inputs`: names of inputs by rows, and of windows with their hops."""

from __future__ import annotations

import pytest

from support.planner_contexts import planner_context
from usmp.planning.options import planning_options
from usmp.planning.stream_inputs import split_stream_inputs


def test_names_and_hops():
    texts = ["image", "serving_default_x:0", "sound:hop=2", "serving_default_y:0:hop=10", "hop=3"]
    assert split_stream_inputs(texts) == (
        ("image", "serving_default_x:0", "hop=3"),
        {"sound": 2, "serving_default_y:0": 10},
    )
    assert split_stream_inputs(["x:hop=2", "x:hop=2"]) == ((), {"x": 2})


@pytest.mark.parametrize("hop", ["0", "-1", "", "two", "1.5", "+1", " 1", "\u0661", "9" * 40])
def test_a_hop_that_is_no_number_of_rows(hop):
    with pytest.raises(ValueError) as error:
        split_stream_inputs([f"x:hop={hop}"])
    assert str(error.value) == (
        'tir.usmp.stream_inputs: the hop of "x" must be how many rows are new in each run, at '
        f'least 1, not "{hop}"'
    )


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["x:hop=1", "x:hop=2"],
            'tir.usmp.stream_inputs: input "x" has two hops, 1 and 2 rows; give one of them',
        ),
        (
            ["x", "x:hop=2"],
            'tir.usmp.stream_inputs: input "x" is given row by row ("x"), and as the new rows of '
            'a window ("x:hop=2"); give one of the two',
        ),
    ],
)
def test_an_input_twice(texts, message):
    with pytest.raises(ValueError) as error:
        split_stream_inputs(texts)
    assert str(error.value) == message


def test_hops_are_no_rows():
    options = planning_options(
        planner_context({"stream_inputs": ["x:hop=2"], "disabled_pass": ["StreamOperators"]})
    )
    assert (options.row_inputs, options.hops, options.streams_io) == ((), {"x": 2}, False)


def test_nothing_is_left_to_preserve():
    config = {"tir.usmp.stream_inputs": ["x:hop=2"], "tir.usmp.preserve_inputs": True}
    with pytest.raises(ValueError) as error:
        planning_options(planner_context(config))
    assert str(error.value) == (
        "tir.usmp.stream_inputs gives new rows of x to each run, so that there is nothing to "
        "preserve for the next one; leave out the hop, or tir.usmp.preserve_inputs"
    )
