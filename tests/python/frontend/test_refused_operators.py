"""The operators that are refused, with what is said of them, are those that no front end takes."""

from __future__ import annotations

import pytest
import tflite

from support.lazy import lazy
from support.operator_trials.sweep import operators
from usmp.frontend.pytorch import refused as pytorch_refused
from usmp.frontend.refused_operators import RANDOM, by_operator
from usmp.frontend.tflite.file import refused as tflite_refused

onnx = lazy("onnx")
torch = lazy("torch")
onnx_refused = lazy("usmp.frontend.onnx.graph.refused")
compared = lazy("usmp.frontend.onnx.converters.operators")
converters = lazy("usmp.frontend.pytorch.converters")

TABLES = {"tflite": tflite_refused, "onnx": onnx_refused, "pytorch": pytorch_refused}


@pytest.mark.parametrize("front_end", TABLES)
def test_no_operator_is_refused_and_supported(front_end):
    assert not TABLES[front_end].REFUSED.keys() & set(operators(front_end))


@pytest.mark.parametrize("front_end", TABLES)
def test_what_is_said_is_one_sentence(front_end):
    for refusal in TABLES[front_end].REFUSED.values():
        for part in (refusal.reason, refusal.instead):
            assert part and part[-1] not in ".;," and part.isprintable()
        assert len(str(refusal)) < 250


def test_every_operator_of_the_tflite_schema():
    schema = {name for name in vars(tflite.BuiltinOperator) if name.isupper()}
    assert schema - {"CUSTOM"} - set(operators("tflite")) == TABLES["tflite"].REFUSED.keys()


def test_every_operator_of_onnx():
    schemas = onnx.defs.get_all_schemas_with_history()
    names = {f"{schema.domain}.{schema.name}".lstrip(".") for schema in schemas}
    assert names - compared.COMPARED == TABLES["onnx"].REFUSED.keys()


def test_every_core_operator_of_pytorch():
    """That is, of those in which PyTorch ends its decompositions."""
    supported = {*operators("pytorch"), *converters.CONVERTERS_OF_SIZES}
    registered = {each.partition(".")[0] for each in torch._C._dispatch_get_all_op_names()}
    core = {name.removeprefix("aten::") for name in registered if has_core_overload(name)}
    assert len(core) > 150
    unknown = {
        name
        for name in core - {name.partition(".")[0] for name in supported}
        if pytorch_refused.refusal_of(f"{name}.default", "aten") is pytorch_refused.OTHER
    }
    assert unknown == DECOMPOSED


def has_core_overload(name: str) -> bool:
    namespace, _, name = name.partition("::")
    if namespace != "aten":
        return False
    packet = getattr(torch.ops.aten, name)
    overloads = [getattr(packet, each) for each in packet.overloads()]
    return any(torch.Tag.core in each.tags and not each._can_decompose() for each in overloads)


DECOMPOSED = set(
    """col2im fill reflection_pad1d reflection_pad2d reflection_pad3d replication_pad2d
    replication_pad3d scalar_tensor select_scatter""".split()
)
"""Core operators that become others all the same."""


@pytest.mark.parametrize(
    ("name", "namespace", "start"),
    [
        ("nonzero.default", "aten", "how many elements it finds depends on the data"),
        ("_native_batch_norm_legit.default", "aten", "it is for training"),
        ("convolution_backward.default", "aten", "it is for training"),
        ("cond", "higher_order", "it runs other graphs"),
        ("nms.default", "torchvision", "it is no operator of PyTorch itself"),
    ],
)
def test_what_is_said_of_an_operator_of_pytorch(name, namespace, start):
    assert pytorch_refused.refusal_of(name, namespace).reason.startswith(start)


def test_an_operator_has_one_reason():
    with pytest.raises(ValueError, match="Bernoulli is refused twice"):
        by_operator(("Bernoulli Multinomial", RANDOM), ("Bernoulli", RANDOM))
