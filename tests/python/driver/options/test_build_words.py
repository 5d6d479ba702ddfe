"""Options of `tvmc compile` as words of a command line."""

from __future__ import annotations

import shlex

import pytest

from usmp.driver.options.build_words import build_words, given_flags, parse_build


@pytest.mark.parametrize(
    "arguments",
    [
        "--target=llvm --target-llvm-mcpu=cortex-m3 --executor-aot-unpacked-api=0",
        "--executor-aot-link-params --executor-aot-workspace-byte-alignment=8 --trust-model",
        "--usmp-workspace-pools=a --usmp-workspace-pool-a size=4K --max seq=3 --max b=4",
        "--workspace-pools=a,b --workspace-pools-targets=a:c --workspace-pools-targets=b:c",
        "--max-model-bytes=1K --concurrent a,b --state-layout=l.json --module-name=--x",
        "--usmp-time-budget=10s --stream-input=x --stream-output=y --io-type int8 --board=b",
    ],
)
def test_words_mean_what_they_were_made_of(arguments):
    options = parse_build(shlex.split(arguments))
    assert vars(options) != vars(parse_build([]))
    assert vars(parse_build(build_words(options))) == vars(options)


def test_given_flags_are_those_that_differ_from_the_defaults():
    options = parse_build(["--target=c", "--workspace-io", "--max=seq=3"])
    assert given_flags(options) == ["--max", "--workspace-io"]
