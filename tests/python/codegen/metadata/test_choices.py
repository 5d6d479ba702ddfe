"""What metadata.json says of choices of the compiler: from the attributes of the module."""

from __future__ import annotations

import pytest
from tvm.ir import IRModule
from tvm.script import tirx as T

from usmp.codegen.metadata.choices import (
    float_operators,
    image_layout,
    merged_operators,
    model_files,
    operator_order,
    pruned_channels,
    reference,
    schedule_choices,
    streaming,
)
from usmp.objects.attributes import (
    CODE_ATTR,
    FLOAT_OPERATORS_ATTR,
    IMAGE_LAYOUT_ATTR,
    MERGED_FUNCTIONS_ATTR,
    MODEL_FILES_ATTR,
    OPERATOR_ORDER_ATTR,
    PRUNED_CHANNELS_ATTR,
    REFERENCE_ATTR,
    SCHEDULE_CHOICES_ATTR,
    STREAMING_ATTR,
)

CASES = {
    float_operators: (FLOAT_OPERATORS_ATTR, {"exp": 2, "add": 1}, {"add": 1, "exp": 2}),
    pruned_channels: (
        PRUNED_CHANNELS_ATTR,
        {"macs": 7, "channels": 3},
        {"pruned_channels": {"channels": 3, "macs": 7}},
    ),
    model_files: (MODEL_FILES_ATTR, ["a.onnx", "b"], {"model_files": ["a.onnx", "b"]}),
    reference: (REFERENCE_ATTR, {"file": "r.so"}, {"reference": {"file": "r.so"}}),
    schedule_choices: (
        SCHEDULE_CHOICES_ATTR,
        {"optimize": "ram", "ram": {"peak_bytes": 5, "instructions": 9}},
        {
            "schedule_choices": {
                "optimize": "ram",
                "ram": {"instructions": 9, "peak_bytes": 5},
            }
        },
    ),
    image_layout: (
        IMAGE_LAYOUT_ATTR,
        {
            "layout": "NCHW",
            "channels_last_peak_bytes": 5,
            "channels_first_peak_bytes": 4,
        },
        {
            "image_layout": {
                "layout": "NCHW",
                "channels_first_peak_bytes": 4,
                "channels_last_peak_bytes": 5,
            }
        },
    ),
    operator_order: (
        OPERATOR_ORDER_ATTR,
        {"live_bytes": 8, "least_live_bytes": 8},
        {"operator_order": {"live_bytes": 8, "least_live_bytes": 8, "optimal": True}},
    ),
    streaming: (STREAMING_ATTR, {"peak_bytes": 3}, {"streaming": {"peak_bytes": 3}}),
}


@pytest.mark.parametrize("described", CASES, ids=lambda function: function.__name__)
def test_an_attribute_is_said_and_nothing_without_it(described):
    attribute, value, expected = CASES[described]
    said = described(IRModule({}).with_attr(attribute, value))
    assert said == expected
    # The order of keys is that of the file, and the same in each build.
    assert str(said) == str(expected)
    assert described(IRModule({})) == {}
    assert described(IRModule({}).with_attr("other", 1)) == {}


def test_an_order_with_more_than_the_least_bytes_is_not_optimal():
    order = {"live_bytes": 9, "least_live_bytes": 8}
    said = operator_order(IRModule({}).with_attr(OPERATOR_ORDER_ATTR, order))
    assert said["operator_order"]["optimal"] is False


def test_shared_functions_are_said_with_their_origins():
    @T.prim_func(private=True)
    def body():
        T.evaluate(0)

    names = {"b": ["y", "x"], "a": ["z"]}
    merged = {name: body.with_attr(MERGED_FUNCTIONS_ATTR, of) for name, of in names.items()}
    mod = IRModule({**merged, "plain": body})
    said = merged_operators(mod)
    assert said == {"merged_functions": {"a": ["z"], "b": ["y", "x"]}}
    assert list(said["merged_functions"]) == ["a", "b"]


@pytest.mark.parametrize(("code", "said"), [("small", {"merged_functions": {}}), ("fast", {})])
def test_small_code_says_also_that_no_functions_are_shared(code, said):
    assert merged_operators(IRModule({}).with_attr(CODE_ATTR, code)) == said
