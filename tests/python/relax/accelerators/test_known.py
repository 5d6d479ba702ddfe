"""Facts that are stated about patterns that do not exist."""

from __future__ import annotations

import pytest
from tvm.relax.dpl import is_op, wildcard
from tvm.script import ir as I
from tvm.script import relax as R

from support.accelerator_models import registered, stated
from usmp.relax.accelerators.known import check_accelerators

RELU = ("npu.relu", is_op("relax.nn.relu")(wildcard()))


@I.ir_module
class Matched:
    """A model that the user has partitioned, by a pattern that is not registered."""

    @R.function
    def on_npu(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        R.func_attr({"Codegen": "npu"})

        @R.function
        def composite(y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            R.func_attr({"Composite": "npu.own"})
            return R.nn.relu(y)

        return composite(x)


def test_a_misspelled_pattern_is_an_error():
    # Facts may be stated before the pattern is registered.
    with stated("npu.rleu", can_fail=False), registered(RELU), pytest.raises(ValueError) as caught:
        check_accelerators(["npu"])
    assert str(caught.value) == (
        'state_kernel("npu.rleu"): no pattern has this name. Did you mean "npu.relu"? '
        "Patterns: npu.relu"
    )


def test_facts_may_be_stated_before_a_pattern_is_registered():
    with stated("npu.relu", can_fail=False), registered(RELU):
        check_accelerators(["npu"])


def test_kernels_of_targets_that_a_build_does_not_use_are_no_error():
    with stated("dsp.relu", can_fail=False), stated("npu2.relu", can_fail=False), registered(RELU):
        check_accelerators(["npu"])


def test_pools_may_list_an_accelerator_before_it_has_patterns():
    with stated("npu.relu", can_fail=False):
        check_accelerators(["npu"], listed=["npu"])


def test_patterns_that_matched_already_have_names():
    with stated("npu.own", can_fail=False):
        check_accelerators(["npu"], Matched)
        with registered(RELU):
            check_accelerators(["npu"], Matched)
    with stated("npu.owl", can_fail=False), pytest.raises(ValueError, match=r"Patterns: npu\.own$"):
        check_accelerators(["npu"], Matched)
