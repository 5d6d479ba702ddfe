"""Options of a PassContext of TVM 0.18 become those of today."""

from __future__ import annotations

import pytest

from usmp.tvm018.current_options import cmsis_nn_core, current_options, refusal, setting_text

CMSIS_NN = "relay.ext.cmsisnn.options"
ALGORITHM, GREEDY = "tir.usmp.algorithm", "greedy_by_size"
PASSES_OF_USMP = ["OverlapInputsAndOutputs", "OrderOperators", "StreamOperators"]


@pytest.mark.parametrize(
    ("options", "current", "old"),
    [
        ({}, {}, []),
        ({ALGORITHM: "x", "mine": 3}, {ALGORITHM: "x", "mine": 3}, []),
        (
            {"relay.FuseOps.max_depth": 7},
            {"relax.FuseOps.max_depth": 7},
            [("relay.FuseOps.max_depth", "7")],
        ),
        ({"tir.usmp.enable": True}, {"tir.usmp.enable": True}, []),
        ({"tir.usmp.enable": False}, {ALGORITHM: GREEDY}, [("tir.usmp.enable", "0")]),
        (
            {ALGORITHM: "hill_climb", "tir.usmp.enable": 0, "tir.usmp.code": "small"},
            {ALGORITHM: GREEDY, "tir.usmp.code": "small"},
            [("tir.usmp.enable", "0"), (ALGORITHM, "hill_climb")],
        ),
        ({"relay.FuseOps.link_params": True}, {}, [("relay.FuseOps.link_params", "1")]),
        ({"relay.ext.ethos-u.options": "x"}, {}, [("relay.ext.ethos-u.options", "x")]),
        ({CMSIS_NN: "cortex-m55"}, {CMSIS_NN: "cortex-m55"}, []),
        (
            {CMSIS_NN: {"mcpu": "cortex-m4"}},
            {CMSIS_NN: "cortex-m4"},
            [(CMSIS_NN, '{"mcpu": "cortex-m4"}')],
        ),
    ],
)
def test_options_of_today_take_the_place_of_old_ones(options, current, old):
    replaced = current_options(options)
    assert replaced.options == current
    assert replaced.disabled_pass == (PASSES_OF_USMP if "tir.usmp.enable" in dict(old) else [])
    assert [(one.row.name, one.value) for one in replaced.old] == old


@pytest.mark.parametrize(
    ("options", "current", "disabled"),
    [
        ({"overlap": "0", "streaming": "1"}, {}, ["OverlapInputsAndOutputs"]),
        ({"streaming": False, "order_operators": 0}, {}, ["StreamOperators", "OrderOperators"]),
        ({"prune_constant_channels": "False"}, {}, ["PruneConstantChannels"]),
        ({"profile": True, "verify_kernels": "0"}, {"debug": ["profile"]}, []),
        (
            {"poison_dead_bytes": "1", "debug": "profile,verify_kernels"},
            {"debug": ["poison_dead_bytes", "profile", "verify_kernels"]},
            [],
        ),
        ({"dynamic_allocator": "arena", "dynamic": "expression"}, {"dynamic": "expression"}, []),
        (
            {"dynamic_allocator": "TVMBackendAllocWorkspace", "dynamic": ["expression"]},
            {"dynamic": ["TVMBackendAllocWorkspace", "expression"]},
            [],
        ),
    ],
)
def test_options_of_the_previous_release_are_settings_of_others(options, current, disabled):
    replaced = current_options({f"tir.usmp.{name}": value for name, value in options.items()})
    assert replaced.options == {f"tir.usmp.{name}": value for name, value in current.items()}
    assert replaced.disabled_pass == disabled
    renamed = [name for name in options if name not in ("debug", "dynamic")]
    assert [one.row.name for one in replaced.old] == [f"tir.usmp.{name}" for name in renamed]
    assert all("the old name goes with the next release" in o.row.reason for o in replaced.old)


def test_each_refused_option_has_a_line_in_the_message():
    old = current_options(
        {
            "tir.Simplify": 1,
            "relay.FuseOps.link_params": 1,
            "tir.add_lower_pass": 2,
        }
    ).old
    first, second = refusal(old).split("\n")
    assert first.startswith("tir.Simplify=1: TVM's pass has other fields now")
    assert first.endswith(".")
    assert second.startswith("tir.add_lower_pass=2: ")
    assert refusal(one for one in old if one.value == "3") == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "1"),
        (False, "0"),
        (3, "3"),
        (["a", "b,c"], '["a", "b,c"]'),
        ({"a": 1, 2: True}, '{"a": "1", "2": "True"}'),
    ],
)
def test_values_are_written_as_on_a_command_line(value, text):
    assert setting_text(value) == text


@pytest.mark.parametrize(
    ("value", "core"),
    [
        ("cortex-m55+nomve", "cortex-m55+nomve"),
        ('{"mcpu": "cortex-m7"}', "cortex-m7"),
        ({"mcpu": "cortex-m55", "mattr": "+nomve,+fp16,+nofp"}, "cortex-m55+nomve+nofp"),
        ({"mcpu": "cortex-m55", "mattr": ["+nofp", "+mve"]}, "cortex-m55+nofp"),
        ({"mattr": "+nofp"}, ""),
        ("{}", ""),
        (3, ""),
        (["mcpu"], ""),
    ],
)
def test_options_of_cmsis_nn_name_a_core(value, core):
    assert cmsis_nn_core(value) == core


def test_damaged_options_of_cmsis_nn_are_refused():
    with pytest.raises(ValueError, match=rf"^{CMSIS_NN}={{x: Expecting property name"):
        cmsis_nn_core("{x")
