"""Options of targets, spelt as TVM's tvmc spelt them."""

from __future__ import annotations

import argparse

import pytest

from usmp.driver.errors import UsageError
from usmp.driver.options.target_options import add_target_options, full_target
from usmp.names import TARGET_OPTIONS
from usmp.objects.target.targets import parse_targets


def target_of(target: str, *arguments: str) -> str:
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="c")
    add_target_options(parser)
    return full_target(parser.parse_args([f"--target={target}", *arguments]))


@pytest.mark.parametrize(
    ("target", "arguments", "expected"),
    [
        ("c", [], "c"),
        ("accel,c", ["--target-c-mcpu=cortex-m55"], "accel,c -mcpu=cortex-m55"),
        (
            "llvm",
            ["--target-llvm-mcpu", "cortex-m3", "--target-llvm-mtriple=thumbv7m-none-eabi"],
            "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3",
        ),
        (
            "llvm -mattr=+dsp,+fp, accel",
            ["--target-llvm-mcpu=cortex-m4"],
            "llvm -mattr=+dsp,+fp -mcpu=cortex-m4,accel",
        ),
    ],
)
def test_target(target, arguments, expected):
    assert target_of(target, *arguments) == expected


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in TARGET_OPTIONS.items() for name in names]
)
def test_every_option_says_what_the_target_itself_would(kind, name):
    value = {"mtriple": "thumbv7m-none-eabi", "mattr": "+dsp"}.get(name, "cortex-m4")
    given = target_of(kind, f"--target-{kind}-{name}={value}")
    assert str(parse_targets(given).cpu) == str(parse_targets(f"{kind} -{name}={value}").cpu)


@pytest.mark.parametrize(
    ("target", "argument", "message"),
    [
        ("c", "--target-llvm-mcpu=x", '--target-llvm-mcpu=x: --target=c does not name "llvm"'),
        (
            "llvm -mcpu=a",
            "--target-llvm-mcpu=b",
            '--target-llvm-mcpu=b and --target="llvm -mcpu=a" both give -mcpu; give one',
        ),
    ],
)
def test_contradictions(target, argument, message):
    with pytest.raises(UsageError) as error:
        target_of(target, argument)
    assert str(error.value) == message
