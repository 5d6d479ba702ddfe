"""Targets of TVM 0.18 become those of today."""

from __future__ import annotations

import pytest
from tvm.target import Target

from usmp.objects.target.described_target import described_target
from usmp.objects.target.old_targets import current_name, current_target, with_cmsis_nn


def names_of(notes):
    return [(note.row.name, note.value) for note in notes]


def test_names_of_today_take_the_place_of_old_ones():
    assert [current_name(name) for name in ("cmsis-nn", "ethos-u", "x")] == ["c", "ethos-u", "x"]


@pytest.mark.parametrize(
    ("target", "options", "executor", "notes"),
    [
        ("c -mcpu=cortex-m4", {"mcpu": "cortex-m4"}, {}, []),
        ("c -mcpu=generic", {"mcpu": "generic"}, {}, []),
        ("c -mcpu=cortex_m4x", {"mcpu": "cortex_m4x"}, {}, []),
        ("c -mcpu=m7", {"mcpu": "m7"}, {}, []),
        ("c -mcpu=", {"mcpu": ""}, {}, []),
        ("c -mcpu=riscv", {}, {}, [("-mcpu", "riscv")]),
        ("c -mcpu=cortex-m35p", {"mcpu": "cortex-m33"}, {}, [("-mcpu", "cortex-m35p")]),
        ("c -model=rp2040", {"mcpu": "cortex-m0plus"}, {}, [("-model", "rp2040")]),
        (
            "c -model=rp2040 -mcpu=cortex-m7",
            {"mcpu": "cortex-m7"},
            {},
            [("-model", "rp2040")],
        ),
        (
            "c -model=rp2040 -mcpu=riscv",
            {},
            {},
            [("-model", "rp2040"), ("-mcpu", "riscv")],
        ),
        (
            "c -march=armv7-m -model=rp2040",
            {"mcpu": "cortex-m0plus"},
            {},
            [("-march", "armv7-m"), ("-model", "rp2040")],
        ),
        ("c -march=armv7-m", {"mcpu": "cortex-m3"}, {}, [("-march", "armv7-m")]),
        (
            "c -interface-api=c -unpacked-api=1",
            {},
            {"interface-api": "c", "unpacked-api": 1},
            [("-interface-api", "c"), ("-unpacked-api", "1")],
        ),
        (
            "llvm -mcpu=x -workspace-byte-alignment=16 -keys=cpu,x",
            {"mcpu": "x"},
            {"workspace-byte-alignment": 16},
            [("-workspace-byte-alignment", "16"), ("-keys", "cpu,x")],
        ),
        ("c -unpacked-api=true", {}, {"unpacked-api": True}, [("-unpacked-api", "true")]),
        ("c -interface-api=²", {}, {"interface-api": "²"}, [("-interface-api", "²")]),
        (
            f"c -interface-api={'9' * 18}",
            {},
            {"interface-api": int("9" * 18)},
            [("-interface-api", "9" * 18)],
        ),
        (
            f"c -interface-api={'9' * 19}",
            {},
            {"interface-api": "9" * 19},
            [("-interface-api", "9" * 19)],
        ),
    ],
)
def test_options_have_their_meaning_of_today(target, options, executor, notes):
    current = current_target(described_target(target))
    assert current.target == options
    assert current.executor == executor
    assert names_of(current.notes) == notes


def test_all_refused_options_are_named():
    with pytest.raises(ValueError) as caught:
        current_target(described_target("llvm -num-cores=2 -keys=cpu -cl-opt=x"))
    assert str(caught.value) == (
        'target "llvm -num-cores=2 -keys=cpu -cl-opt=x": -num-cores=2: the code runs in one '
        "thread; leave it out;\n-cl-opt=x: options of LLVM itself are not passed on; leave it out"
    )


@pytest.mark.parametrize(
    "target", ["c -feature.is_x=1", {"kind": "c", "nothing": 1}, {"kind": "llvm", "tags": ""}]
)
def test_unknown_options_are_refused(target):
    with pytest.raises(ValueError, match="unknown option"):
        current_target(described_target(target))


def test_what_tvm_writes_in_any_case_is_left_out():
    target = Target({"kind": "c", "mcpu": "cortex-m4"})
    current = current_target(described_target(target))
    assert (current.target, current.notes) == ({"mcpu": "cortex-m4"}, [])
    fields = {"kind": "c", "keys": ["cpu", "mine"], "tag": "", "feature.is_x": True}
    current = current_target(described_target(fields))
    assert current.target == {}
    assert names_of(current.notes) == [("-keys", "cpu,mine")]


def test_notes_stay_where_tvm_knows_no_such_target():
    fields = {"kind": "llvm", "mattr": 3, "tag": "x"}
    current = current_target(described_target(fields))
    assert current.target == {"mattr": 3}
    assert names_of(current.notes) == [("-tag", "x")]


def described(*targets):
    return [described_target(target) for target in targets]


def test_targets_without_cmsis_nn_stay():
    targets = described("accel", "llvm")
    assert with_cmsis_nn(targets) == (targets, [])


@pytest.mark.parametrize(
    ("targets", "kinds", "options", "notes"),
    [
        (["cmsis-nn"], ["c"], {}, []),
        (["accel", "cmsis-nn", "x"], ["accel", "x", "c"], {}, []),
        (
            ["cmsis-nn -mcpu=cortex-m55 -mattr=+nomve,+nofp", "c -keys=cpu"],
            ["c"],
            {"mcpu": "cortex-m55+nomve+nofp", "keys": ["cpu"]},
            [("-mcpu", "cortex-m55"), ("-mattr", "+nomve,+nofp")],
        ),
        (
            ["c -mcpu=cortex-m55+nofp", "cmsis-nn -mcpu=cortex-m55+nomve+nofp"],
            ["c"],
            {"mcpu": "cortex-m55+nofp+nomve"},
            [("-mcpu", "cortex-m55+nomve+nofp")],
        ),
        (["cmsis-nn", "c -mcpu=cortex-m4"], ["c"], {"mcpu": "cortex-m4"}, []),
        (
            ["cmsis-nn -mattr=+nodsp", "c -mcpu=cortex-m33"],
            ["c"],
            {"mcpu": "cortex-m33+nodsp"},
            [("-mattr", "+nodsp")],
        ),
    ],
)
def test_c_takes_the_place_of_cmsis_nn_with_the_core_of_either(targets, kinds, options, notes):
    found, told = with_cmsis_nn(described(*targets))
    assert [target.kind for target in found] == kinds
    assert dict(found[-1].options) == options
    assert names_of(told) == [("cmsis-nn", ""), *notes]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["cmsis-nn", "llvm"], '^targets "cmsis-nn" and "llvm": "c" takes the place'),
        (
            ["cmsis-nn -mcpu=cortex-m4", "c -mcpu=cortex-m55"],
            '^targets "cmsis-nn" and "c" are for different cores, -mcpu=cortex-m4 and '
            '-mcpu=cortex-m55; write "c" alone, with its core$',
        ),
        (["cmsis-nn -mattr=+nomve"], r'^target "cmsis-nn": -mattr=\+nomve needs -mcpu$'),
        (["cmsis-nn -x=1"], 'unknown option "-x=1"'),
    ],
)
def test_cmsis_nn_beside_another_cpu_is_refused(targets, message):
    with pytest.raises(ValueError, match=message):
        with_cmsis_nn(described(*targets))
