"""What lists and completions say is what the package knows."""

from __future__ import annotations

import pytest
from tvm.ir.transform import PassContext

from usmp.algorithms import BUILTIN_ALGORITHMS, DEFAULT_ALGORITHM
from usmp.driver.catalogue import (
    ALGORITHMS,
    BOARDS,
    PASS_OPTIONS,
    TARGET_OPTIONS,
    TARGETS,
)
from usmp.driver.pass_config import pass_context
from usmp.objects import boards, targets


def test_targets():
    assert tuple(TARGETS) == targets.CPU_TARGETS
    assert tuple(TARGET_OPTIONS) == targets.CPU_TARGETS
    assert TARGET_OPTIONS["llvm"] == targets.TARGET_OPTIONS


def test_boards():
    assert {board.name: board.description for board in boards.BOARDS} == BOARDS


def test_algorithms():
    assert tuple(ALGORITHMS) == BUILTIN_ALGORITHMS


def test_pass_options_and_their_types():
    registered = {
        name: config["type"]
        for name, config in PassContext.list_configs().items()
        if name.startswith("tir.usmp.")
    }
    assert {name: option.type_name for name, option in PASS_OPTIONS.items()} == registered


@pytest.mark.parametrize("name", PASS_OPTIONS)
def test_values_and_defaults_of_pass_options_are_taken(name):
    option = PASS_OPTIONS[name]
    assert option.default is None or option.default in option.values
    for value in option.values:
        assert name in pass_context([f"{name}={value}"]).config


def test_default_algorithm():
    assert PASS_OPTIONS["tir.usmp.algorithm"].default == DEFAULT_ALGORITHM
