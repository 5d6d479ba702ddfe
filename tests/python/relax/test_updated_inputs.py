"""Inputs that runs update: what they cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.updated_models import SHAPE, updating_model
from usmp.objects.attributes.module_attributes import STATES_ATTR
from usmp.relax.join_models import join_models


def refusal(mod=None, config=None, **arguments) -> str:
    with PassContext(config=config or {}), pytest.raises(ValueError) as caught:
        usmp.build(mod or updating_model(), **arguments)
    return str(caught.value)


def test_a_constant():
    assert refusal(params={"cache": np.zeros(SHAPE, np.float32)}) == (
        'parameter "cache" of main is an input that each run updates in place; it can be no '
        "constant: give it to each run"
    )


def test_an_input_by_rows():
    assert refusal(config={"tir.usmp.stream_inputs": ["cache"]}) == (
        'input "cache" is updated in place by the run, so it has to be there as a whole; leave it '
        "out of tir.usmp.stream_inputs"
    )


def test_a_window_of_new_rows():
    assert refusal(config={"tir.usmp.stream_inputs": ["cache:hop=1"]}) == (
        'input "cache" is updated in place by the run, so it is no window of new rows; leave the '
        "hop out of tir.usmp.stream_inputs"
    )


def test_an_output_of_the_same_name():
    mod = updating_model()
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attr("output_names", ["cache"]))
    assert refusal(mod) == (
        'input "cache", which each run updates in place, and an output have one name; give the '
        "output another one"
    )


@pytest.mark.parametrize("output", [-1, 2])
def test_what_no_result_becomes(output):
    assert refusal(updating_model(output=output)) == (
        f'input "cache" must have a result of main of its own, 0 to 1, but has {output}'
    )


def test_integers_of_quantized_graphs():
    """What the caller keeps stays what it is in the model."""
    assert 'input "cache" is updated in place by the run;' in refusal(io_type="quantized")


def test_names_in_programs_of_several_models():
    mod = join_models({"one": updating_model(), "other": updating_model()})
    for name in ("one", "other"):
        assert [str(param.name) for param in mod[name].params] == ["x", "cache"]
        (state,) = mod[name].attrs[STATES_ATTR.name]
        assert (state.name, state.is_input) == ("cache", True)
