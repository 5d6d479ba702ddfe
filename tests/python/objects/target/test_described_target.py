"""Targets as users write them, taken apart."""

from __future__ import annotations

import json

import pytest
from tvm.target import Target

from usmp.objects.target.described_target import (
    described_target,
    option_text,
    split_targets,
    unknown_option,
)

NESTED = '{"kind": "c", "host": {"kind": "llvm", "x": {"y": "a,b"}}}'


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("c", ["c"]),
        (" accel, c -mcpu=cortex-m4 ", ["accel", "c -mcpu=cortex-m4"]),
        ("llvm -mattr=+dsp,+fp,-mve,c", ["llvm -mattr=+dsp,+fp,-mve", "c"]),
        ("c -keys=arm_cpu,cpu -libs=x,y", ["c -keys=arm_cpu,cpu -libs=x,y"]),
        ("c -keys=cpu, llvm", ["c -keys=cpu", "llvm"]),
        (f"{NESTED},c", [NESTED, "c"]),
        ("'c -mcpu=x'", ["c -mcpu=x"]),
        ("'c", ["'c"]),
        ("'", ["'"]),
        (r"c\ -mcpu=\"x\"\,llvm", ["c -mcpu=x", "llvm"]),
        ("c -mcpu='x' -model=\"y\"", ["c -mcpu=x -model=y"]),
        ('{"kind": "c", "mcpu": "\'x\'"}', ['{"kind": "c", "mcpu": "\'x\'"}']),
        (r'{"kind": "a\"b"}', [r'{"kind": "a\"b"}']),
        ("", [""]),
    ],
)
def test_commas_divide_targets_but_not_lists_and_json(text, parts):
    assert split_targets(text) == parts


def test_lists_have_several_targets():
    assert split_targets(' ["c", {"kind": "llvm"}]') == ["c", '{"kind": "llvm"}']
    target, fields = Target("c"), {"kind": "llvm"}
    assert split_targets(target) == [target]
    assert split_targets(fields) == [fields]
    assert split_targets(["a,b", (target, [fields])]) == ["a", "b", target, fields]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (3, r'^unknown target "3"\. Targets: c, llvm'),
        ("[1", r'^unknown target "\[1": it is no JSON: Expecting'),
        ("[" * 100_000, r"it is no JSON: maximum recursion"),
        ("no.json", r"^--target=no\.json: the file cannot be read: No such file or directory$"),
        ("a\0b.json", r"^--target=a\0b\.json: the file cannot be read: embedded null byte$"),
    ],
)
def test_what_is_no_list_of_targets_is_refused(targets, message):
    with pytest.raises(ValueError, match=message):
        split_targets(targets)


def test_files_of_json_stand_for_what_is_in_them(tmp_path):
    path = tmp_path / "target.json"
    content = {"kind": "c", "mcpu": "cortex-m4"}
    path.write_text(json.dumps(content).ljust(2**16))
    first, second = split_targets(f"{path},c")
    assert json.loads(first) == content
    assert second == "c"
    path.write_text(json.dumps(content).ljust(2**16 + 1))
    with pytest.raises(ValueError) as caught:
        split_targets(str(path))
    assert str(caught.value) == f"--target={path}: the file has more than 65536 bytes"
    path.write_text("[]")
    with pytest.raises(ValueError) as caught:
        split_targets(str(path))
    message = f'unknown target "{path}": it is no JSON object, as {{"kind": "c"}}'
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("target", "kind", "options", "is_complete"),
    [
        ("", "", {}, False),
        ("accel -x=1 y", "accel", {"-x=1": "", "y": ""}, False),
        ("c -mcpu=a=b --link-params", "c", {"mcpu": "a=b", "link-params": "1"}, False),
        ("llvm -mattr=+a,-b -mcpu=a,b", "llvm", {"mattr": ["+a", "-b"], "mcpu": "a,b"}, False),
        ("c -keys=cpu -libs=", "c", {"keys": ["cpu"], "libs": [""]}, False),
        ('{"kind": "c", "mcpu": 3}', "c", {"mcpu": 3}, True),
        ({"kind": "x", 1: None}, "x", {"1": None}, True),
    ],
)
def test_targets_have_a_kind_and_options(target, kind, options, is_complete):
    described = described_target(target)
    assert (described.kind, described.options) == (kind, options)
    assert described.text == str(target)
    assert described.is_complete is is_complete


def test_targets_of_tvm_are_complete():
    described = described_target(Target({"kind": "c", "mcpu": "x"}))
    assert (described.kind, described.options["mcpu"], described.is_complete) == ("c", "x", True)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("{", r'^unknown target "\{": it is no JSON: '),
        ("{}", r'^unknown target "\{\}": it has no kind, as \{"kind": "c"\}$'),
        ({"kind": 1}, "it has no kind"),
        (
            "c mcpu=x",
            r'^target "c mcpu=x": unknown option "mcpu=x" \(of target "c"\)\. Did you mean "-mcpu"',
        ),
        (
            "c -",
            r'^target "c -": unknown option "-"\. Options: -mcpu=\. Options of .*-model=',
        ),
    ],
)
def test_what_is_no_target_is_refused(target, message):
    with pytest.raises(ValueError, match=message):
        described_target(target)


def test_unknown_options_name_those_that_there_are():
    """An option that stands in both lists is named once."""
    error = str(unknown_option("c", "-mabi=x", "c -mabi=x"))
    begin, supported, old = error.split(". ")
    assert begin == 'target "c -mabi=x": unknown option "-mabi=x" (of target "llvm")'
    assert supported == "Options: -mcpu="
    assert "-mcpu=" not in old
    assert "-cl-opt=" not in str(unknown_option("llvm", "-x", ""))
    error = str(unknown_option("cmsis-nn", "-x", ""))
    assert error == (
        'target "": unknown option "-x". Options of TVM 0.18: -mcpu=, -mattr=, -debug_last_error='
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "1"),
        (False, "0"),
        ({"kind": "c", "x": 1}, "c"),
        ({}, ""),
        (["+a", 1], "+a,1"),
        ("a", "a"),
        (4, "4"),
    ],
)
def test_values_are_written_as_in_the_text_of_a_target(value, text):
    assert option_text(value) == text
