"""What lists and completions say is what the rest of the package knows."""

from __future__ import annotations

from tvm.ir.transform import PassContext

import usmp_solver
from usmp.boards import board as boards
from usmp.driver.options.pass_config import pass_context
from usmp.names import ALGORITHMS, BOARDS, CORES, PASS_OPTIONS, TARGET_OPTIONS, TARGETS
from usmp.objects.target import cores
from usmp.objects.target.targets import parse_targets
from usmp.planning.options import OPTION_NAMES, planning_options


def test_targets():
    assert [parse_targets(target).names for target in TARGETS] == [[name] for name in TARGETS]
    assert set(TARGET_OPTIONS) == set(TARGETS)


def test_cores():
    assert list(cores.CORES) == list(CORES)


def test_boards():
    assert [board.name for board in boards.BOARDS] == list(BOARDS)


def test_algorithms_are_those_of_the_solver():
    assert tuple(ALGORITHMS) == usmp_solver.ALGORITHMS


def test_pass_options_are_those_that_cpp_registers():
    registered = {
        name: config["type"]
        for name, config in PassContext.list_configs().items()
        if name.startswith("tir.usmp.") and config["type"] != "Any"
    }
    assert {name: option.type_name for name, option in PASS_OPTIONS.items()} == registered


def test_values_and_defaults_of_pass_options_are_taken():
    for name, option in PASS_OPTIONS.items():
        assert option.default is None or option.default in option.values, name
        for value in option.values:
            assert name in pass_context([f"{name}={value}"]).config


def test_defaults_are_those_that_planning_has():
    assert {*OPTION_NAMES, "tir.usmp.enable"} == set(PASS_OPTIONS)
    given = [f"{name}={o.default}" for name, o in PASS_OPTIONS.items() if o.default is not None]
    assert planning_options(pass_context(given)) == planning_options()
