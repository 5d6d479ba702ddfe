"""Profiles: what metadata says of operators, and what was measured."""

from __future__ import annotations

import copy

import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.entry_models import entry_model
from support.relax_models import PARAMS, Attention
from usmp.runtime.archived.read_metadata import DamagedMetadata
from usmp.runtime.operator_profile import (
    NotProfiled,
    OperatorProfile,
    OperatorTensor,
    check_has_hooks,
    profile_of,
)

DIGITS = ROOT / "examples/digits/digits_int8.tflite"


def metadata_of(model):
    with PassContext(config={"tir.usmp.debug": ["profile"]}, disabled_pass=["StreamOperators"]):
        return usmp.build(model).metadata["modules"]["default"]


@pytest.fixture(scope="module")
def digits():
    return metadata_of(DIGITS)


@pytest.mark.slow
def test_records_of_a_model(digits):
    profile = profile_of(digits, None, "ns", [float(9 - i) for i in range(9)], 7)
    assert (profile.module, profile.entry, profile.unit, profile.runs) == (
        "default",
        "main",
        "ns",
        7,
    )
    assert (profile.cost, profile.macs) == (45, 399488)
    small = OperatorTensor("int8", (1, 4, 4, 32))
    assert profile.operators[3] == OperatorProfile(
        3,
        "main",
        ("fused_conv2d2_add",),
        ("conv2d 1x1", "add"),
        (small, small),
        (small,),
        16384,
        6.0,
        ({"index": 3, "type": "CONV_2D"}, {"index": 4, "type": "ADD"}),
    )
    assert [operator.kinds for operator in profile.operators] == [
        ("conv2d 3x3",),
        ("conv2d 3x3 s2",),
        ("depthwise_conv2d 3x3",),
        ("conv2d 1x1", "add"),
        ("conv2d 3x3",),
        ("max_pool 2x2 s2",),
        ("mean",),
        ("fully_connected",),
        ("softmax",),
    ]
    assert profile.operators[0].cost_per_mac == 9 / 9216
    assert profile.operators[5].cost_per_mac is None
    assert str(small) == "int8[1,4,4,32]"


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ({"kind": "conv2d", "kernel": [3, 1], "strides": [2, 1]}, "conv2d 3x1 s2x1"),
        ({"kind": "conv2d", "kernel": [3, 3], "dilations": [2, 2]}, "conv2d 3x3 d2"),
        ({"kind": "mean"}, "mean"),
    ],
)
def test_windows_are_short(digits, step, kind):
    changed = copy.deepcopy(digits)
    changed["operators"][0]["steps"] = [step]
    del changed["operators"][0]["macs"]
    (first, *_) = profile_of(changed, None, "ns", [0.0] * 9, 1).operators
    assert first.kinds == (kind,)
    assert first.macs is None


def test_json_has_everything(digits):
    profile = profile_of(digits, "main", "instructions", [1.0] * 9, 1)
    written = profile.as_json()
    operators = written.pop("operators")
    assert written == {
        "module": "default",
        "entry": "main",
        "unit": "instructions",
        "runs": 1,
        "cost": 9.0,
        "macs": 399488,
    }
    assert len(operators) == 9
    assert operators[8] == {
        "index": 8,
        "entry": "main",
        "functions": ["softmax"],
        "kinds": ["softmax"],
        "inputs": [{"dtype": "int8", "shape": [1, 10]}],
        "outputs": [{"dtype": "int8", "shape": [1, 10]}],
        "macs": 0,
        "cost": 1.0,
        "model_operators": [{"index": 9, "type": "SOFTMAX"}],
    }


@pytest.mark.slow
def test_an_entry_has_its_own_operators():
    metadata = metadata_of(entry_model())
    count = len(metadata["operators"])
    profiles = [
        profile_of(metadata, entry, "ns", [float(i) for i in range(count)], 1)
        for entry in ("learn", "tell", "plain")
    ]
    indices = [operator.index for profile in profiles for operator in profile.operators]
    assert indices == list(range(count))
    assert all(o.cost == o.index for profile in profiles for o in profile.operators)
    with pytest.raises(ValueError, match="has 3 entries; choose one by its name"):
        profile_of(metadata, None, "ns", [0.0] * count, 1)
    with pytest.raises(ValueError, match='has no entry "main"'):
        profile_of(metadata, "main", "ns", [0.0] * count, 1)


@pytest.mark.slow
def test_a_model_without_hooks_is_refused(digits):
    check_has_hooks(digits)
    with pytest.raises(NotProfiled, match="compile the model with --profile"):
        check_has_hooks(usmp.build(Attention, params=PARAMS).metadata["modules"]["default"])


@pytest.mark.slow
@pytest.mark.parametrize("hooks", [[], None, "begin", ["system", "tvmgen_default_operator_end"]])
def test_other_hooks_are_refused(digits, hooks):
    """Their names are written into C."""
    with pytest.raises(DamagedMetadata, match='module "default" has no valid "operator_hooks"'):
        check_has_hooks({**digits, "operator_hooks": hooks})


def test_hooks_without_operators_are_refused(digits):
    with pytest.raises(DamagedMetadata, match='module "default" has no valid "operators"'):
        check_has_hooks({**digits, "operators": None})


def test_other_costs_than_operators_are_refused(digits):
    with pytest.raises(DamagedMetadata, match='has other "operators" than its code'):
        profile_of(digits, None, "ns", [0.0] * 8, 1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda o: o.pop("entry"),
        lambda o: o.update(functions="conv2d"),
        lambda o: o.update(steps=[{"kind": 3}]),
        lambda o: o.update(steps=[{"kind": "conv2d", "kernel": ["3"]}]),
        lambda o: o.update(inputs=[{"dtype": "int8"}]),
        lambda o: o.update(outputs=[{"dtype": "int8", "shape": [-1]}]),
        lambda o: o.update(macs=-1),
    ],
)
def test_damaged_metadata_is_refused(digits, damage):
    changed = copy.deepcopy(digits)
    damage(changed["operators"][2])
    with pytest.raises(DamagedMetadata, match='has no valid "operators"'):
        profile_of(changed, None, "ns", [0.0] * 9, 1)
