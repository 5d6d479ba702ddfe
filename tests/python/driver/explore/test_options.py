"""What `tvmc explore` varies, and the arguments of `tvmc compile` that come of it."""

from __future__ import annotations

import argparse
import warnings

import pytest

from usmp.driver import tvmc
from usmp.driver.errors import UsageError
from usmp.driver.explore.options import (
    DEFAULT_SWEEP,
    configurations,
)
from usmp.driver.options.pool_flags import split_pool_flags
from usmp.names import OPTIONAL_PASSES, PASS_OPTIONS
from usmp.support.compatibility import CompatibilityNote
from usmp.tvm018.pass_options import FUSION


def parsed(*arguments: str) -> argparse.Namespace:
    given = split_pool_flags(["explore", "m.tflite", *arguments])
    return tvmc._parser().parse_args(given)


def arguments_of(*arguments: str) -> list[str]:
    """The configurations, as one text each."""
    return [" ".join(each.arguments) for each in configurations(parsed(*arguments))]


def refusal(*arguments: str) -> str:
    with pytest.raises(UsageError) as refused:
        configurations(parsed(*arguments))
    return str(refused.value)


def test_default_sweep():
    found = configurations(parsed())
    assert len(found) == 24
    assert found[0].label == "use_workspace_io=0 optimize=ram code=balanced StreamOperators=1"
    for name, values in DEFAULT_SWEEP.items():
        known = (
            {"0", "1"} if name in OPTIONAL_PASSES else {*PASS_OPTIONS[f"tir.usmp.{name}"].values}
        )
        assert {*values} <= known


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (["--workspace-io"], 12),
        (["--pass-config=tir.usmp.optimize=ram", "--pass-config=tir.usmp.code=small"], 4),
        (["--usmp-algorithm=hill_climb"], 24),
        (["--disabled-pass=FuseSlices,usmp.StreamOperators"], 12),
        (["--config=a=--workspace-io"], 1),
        (["--vary=optimize=ram,speed"], 2),
    ],
)
def test_what_is_given_is_not_varied(given, count):
    assert len(configurations(parsed(*given))) == count


def test_every_spelling_of_an_option():
    pass_config = "--pass-config=tir.usmp"
    assert arguments_of("--vary", "optimize=ram,speed", "--vary=tir.usmp.preserve_inputs=0,1") == [
        f"{pass_config}.optimize=ram",
        f"--usmp-preserve-inputs {pass_config}.optimize=ram",
        f"{pass_config}.optimize=speed",
        f"--usmp-preserve-inputs {pass_config}.optimize=speed",
    ]
    assert arguments_of("--vary=usmp-algorithm=auto,exact") == arguments_of(
        "--vary=algorithm=auto,exact"
    )
    assert arguments_of("--vary=shared-state=0,1") == ["", "--shared-state"]
    alignment = "executor-aot-workspace-byte-alignment"
    assert arguments_of(f"--vary=--{alignment}=4,16,4") == [f"--{alignment}=4", f"--{alignment}=16"]
    assert arguments_of("--vary=FuseSlices=0,1") == ["--disabled-pass=FuseSlices", ""]
    # What is the default is not written.
    assert arguments_of("--vary", "target=c,llvm") == ["", "--target=llvm"]
    assert arguments_of('--vary=target=["accel,c", "c"]') == ["--target=accel,c", ""]
    assert arguments_of('--vary=stream_inputs=[[], ["x"]]') == [
        f"{pass_config}.stream_inputs=[]",
        f'{pass_config}.stream_inputs=["x"]',
    ]


def test_sets_are_combined_with_what_is_varied():
    pools = "--usmp-workspace-pools=a,b --usmp-workspace-pool-a='target=c;size=1K'"
    found = configurations(
        parsed("--config", f"two={pools}", "--config=one=", "--vary=code=fast,small", "--profile")
    )
    assert [each.label for each in found] == [
        "two code=fast",
        "two code=small",
        "one code=fast",
        "one code=small",
    ]
    assert found[0].command == (
        "tvmc compile m.tflite --profile --usmp-workspace-pools=a,b "
        "'--usmp-workspace-pool-a=target=c;size=1K' --pass-config=tir.usmp.code=fast"
    )


def test_sets_that_are_the_same_are_built_once():
    same = [f"--config={name}=--workspace-io" for name in ("one", "two", "three")]
    first, other = configurations(parsed(*same, "--config=none="))
    assert (first.label, first.duplicates) == ("one", ("two", "three"))
    assert (other.label, other.duplicates) == ("none", ())
    # A value that is named twice is no other combination.
    (only,) = configurations(parsed("--vary=StreamOperators=0,0"))
    assert only.duplicates == ()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["--vary=nope=1"], '--vary: there is no option "nope". Name a pass option'),
        (["--vary=FILE=1"], '--vary: there is no option "FILE"'),
        (["--vary=export-state-layout=1"], '--vary: there is no option "export-state-layout"'),
        (["--vary=optimize"], "--vary optimize: write it as OPTION=VALUE,VALUE"),
        (["--vary=optimize=ram,,speed"], "--vary optimize=ram,,speed: write it as"),
        (["--vary=optimize=["], "--vary optimize=[: the values are no JSON"),
        (
            ["--vary=optimize=ram,fast"],
            'optimize cannot be "fast". Values: ram, balanced',
        ),
        (["--vary=workspace-io=yes"], 'workspace-io cannot be "yes". Values: 0, 1'),
        (["--vary=io-type=int4"], 'argument --io-type: invalid choice "int4"'),
        (["--vary=code=fast", "--vary=tir.usmp.code=small"], "tir.usmp.code is varied twice"),
        (["--vary=use_workspace_io=0", "--workspace-io"], "has a value already"),
        (["--vary=code=fast", "--config=a=--pass-config=tir.usmp.code=small"], "value already"),
        (["--config=x"], '--config x: write it as NAME="FLAGS"'),
        (["--config=x=", "--config=x="], "--config: x is given twice"),
        (["--config=x=--no"], "--config x: unknown option --no"),
        (["--config=x='"], "--config x: No closing quotation"),
        (["--config=x=other.tflite"], "--config x: other.tflite is no option"),
        (["--config=x=--export-state-layout=y"], "--export-state-layout is no option"),
        (
            [
                f"--vary=max_extra_macs={','.join(map(str, range(101)))}",
                f"--vary=executor-aot-constant-byte-alignment={','.join(map(str, range(100)))}",
            ],
            "these are 10100 configurations; a sweep may have 10000",
        ),
    ],
)
def test_refused(given, reason):
    assert reason in refusal(*given)


def test_options_of_tvm_0_18_in_a_set_are_those_of_today():
    given = ["--config=a=-O 2 --runtime-crt-system-lib 1 --tuning-records=", "--config=b=-O0"]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert arguments_of(*given) == ["", f"--disabled-pass={','.join(FUSION)}"]
    notes = [str(each.message).partition(":")[0] for each in told]
    assert notes == ["-O 2", "--runtime-crt-system-lib=1", "--tuning-records", "-O 0"]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("--config=a=--executor=graph -f so", ["--config a", "--executor=graph", "-f so"]),
        ("--vary=executor=aot,graph", ["--executor=graph"]),
        ("--vary=dump-code=asm", ["--vary dump-code=asm", "--dump-code=asm"]),
        ("--vary=opt-level=3,0", ["--vary opt-level=3,0", "--opt-level=3"]),
    ],
)
def test_options_of_tvm_0_18_that_are_refused(given, names):
    message = refusal(given)
    assert all(f"{name}: " in message for name in names)
    as_config = '; write it in a --config, as opt-level="--opt-level=3"'
    assert message.endswith(as_config) is ("opt-level" in given)


def test_options_of_tvm_0_18_in_a_set_stand_beside_the_model_and_the_other_options():
    given = ["--config=a=--model-format=tflite --runtime=crt", "--executor-aot-interface-api=c"]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert arguments_of(*given) == ["--runtime=crt --executor-aot-interface-api=c"]
    assert [each.category for each in told] == [CompatibilityNote] * len(told)
