"""States that a reset of the processor leaves as they are, in a board's `main.c`."""

from __future__ import annotations

import pytest

from support.interface_views import constants, interface, workspace
from usmp.boards.project.lasting_state import (
    after_run,
    before_run,
    has_lasting_state,
    lasting_memories,
    layout_variable,
    state_check,
)
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.objects import BufferInfoKind, PlacedBuffer

LASTING = workspace("backup", section_name=".noinit.backup")


def state(pool):
    return PlacedBuffer("s", "f", int(BufferInfoKind.STATE), pool, 0, 4, 4, [], [])


def test_only_workspace_pools_in_their_own_section_last():
    pools = [
        LASTING,
        workspace("sram"),
        workspace("other", section_name=".noinit.backup"),
        PoolParameter(workspace("empty", section_name=".noinit.empty").info, "empty", True),
        constants("flash", section_name=".noinit.flash"),
    ]
    assert lasting_memories(interface(pools=pools)) == ["backup"]


@pytest.mark.parametrize(
    ("states", "is_lasting"), [([], False), (["sram"], False), (["sram", "backup"], True)]
)
def test_statements_are_there_if_a_state_lasts(states, is_lasting):
    pools = [LASTING, workspace("sram")]
    model = interface(pools=pools, states=[state(name) for name in states])
    assert has_lasting_state(model) is is_lasting
    parts = [print_part(model) for print_part in (layout_variable, state_check)]
    assert [bool(part) for part in parts] == [is_lasting, is_lasting]
    assert before_run(model) == ("  state_layout = 0;\n" if is_lasting else "")
    hash_macro = "TVMGEN_DEFAULT_STATE_LAYOUT_HASH"
    assert after_run(model, "    ") == (f"    state_layout = {hash_macro};\n" if is_lasting else "")


def test_a_state_of_another_layout_begins_anew():
    model = interface(pools=[LASTING], states=[state("backup")])
    check = [line.strip() for line in state_check(model).splitlines()]
    assert check[:2] == [
        "if (state_layout != TVMGEN_DEFAULT_STATE_LAYOUT_HASH) {",
        "tvmgen_default_reset();",
    ]
    assert 'section(".noinit.layout")' in layout_variable(model)
