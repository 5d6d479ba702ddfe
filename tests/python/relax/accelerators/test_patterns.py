"""Patterns of accelerators for integer operators: which calls they match."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tvm import relax

from usmp.ops import quantized
from usmp.ops.quantized import Layout, OutputLimits, Quantization, Window
from usmp.relax.accelerators.patterns import matching_in, quantized_operator


@pytest.fixture(scope="module")
def pooled():
    """A module with a maximum of windows, and its call."""
    x = relax.Var("x", relax.TensorType((1, 4, 4, 3), "int8"))
    builder = relax.BlockBuilder()
    window = Window((4, 4), (2, 2), (2, 2), (1, 1), (0, 0), (2, 2))
    data, limits = Quantization("int8", (1.0,), (0,)), OutputLimits("int8", -128, 127)
    call = quantized.max_pool(builder, x, window, limits, Layout("NHWC"), data)
    return builder.get(), call


def matches(pooled, *pattern, **options):
    mod, call = pooled
    name, _, _, check, attributes = quantized_operator("npu.pool", *pattern, **options)
    assert name == "npu.pool"
    with matching_in(mod):
        return check(SimpleNamespace(matched_expr=call)), attributes


def test_an_operator_of_the_kind_matches_if_its_check_says_so(pooled):
    assert matches(pooled, "max_pool") == (True, None)
    assert matches(pooled, "average_pool") == (False, None)
    seen = []
    assert matches(pooled, "max_pool", check=seen.append)[0] is False
    assert seen[0].matched_expr.same_as(pooled[1])
    assert matches(pooled, "max_pool", check=lambda _: 1)[0] is True
    assert matches(pooled, "add", check=lambda _: 1)[0] is False


def test_scratch_memory_is_an_attribute(pooled):
    _, attributes = matches(pooled, "max_pool", workspace_bytes=64)
    assert attributes(None) == {"WorkspaceSize": 64}


def test_what_is_no_operator_is_refused(pooled):
    with pytest.raises(ValueError, match=r'^pattern "npu.pool": no integer operator is called "x"'):
        quantized_operator("npu.pool", "x")
    *_, check, _ = quantized_operator("npu.pool", "max_pool")
    with pytest.raises(ValueError, match="reads what the module says of its operators"):
        check(SimpleNamespace(matched_expr=pooled[1]))
