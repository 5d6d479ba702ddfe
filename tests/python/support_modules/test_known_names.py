"""Which names a user may have meant, and how a message lists the known ones."""

from __future__ import annotations

import pytest

from usmp.support.text.known_names import closest_names, unknown_name

BOARDS = ["mps2-an385", "arduino-zero", "stm32f411re", "stm32f446re", "stm32h743zi"]
LAYERS = [f"model.layer{number}.conv.weight" for number in range(20)]


@pytest.mark.parametrize(
    ("name", "known", "closest"),
    [
        ("complie", ["compile", "plan"], ["compile"]),
        ("--workspce-io", ["--workspace-io", "--io-pool", "--quiet"], ["--workspace-io"]),
        ("HillClimb", ["hill_climb", "exact"], ["hill_climb"]),
        ("stm32f4", BOARDS, ["stm32f411re", "stm32f446re"]),
        ("zero", BOARDS, ["arduino-zero"]),
        ("--work", ["--a-work", "--workspace-io"], ["--workspace-io"]),
        ("algoritm", ["tir.usmp.algorithm", "tir.usmp.optimize"], ["tir.usmp.algorithm"]),
        ("tir.usmp.nope", ["tir.usmp.code", "tir.usmp.optimize"], []),
        ("model.layer7.conv.wieght", LAYERS, [LAYERS[7], LAYERS[17], LAYERS[0]]),
        ("--nope", ["--io-type"], []),
        ("", ["a"], []),
        ("x", [], []),
    ],
)
def test_closest_names(name, known, closest):
    assert closest_names(name, known) == closest


def test_a_message_names_the_closest_and_all_if_they_are_few():
    assert unknown_name('no size "sek"', "sek", ["seq", "batch"], "Its sizes") == (
        'no size "sek". Did you mean "seq"? Its sizes: seq, batch'
    )
    assert unknown_name('no size "x"', "x", [], "Its sizes") == 'no size "x". Its sizes: none'
    assert unknown_name("no y", "y", ["x"], "Inputs", texts={"x": "x: int8[1]"}) == (
        "no y. Inputs: x: int8[1]"
    )


def test_a_long_list_is_left_to_another_command_or_cut():
    assert unknown_name("no a", "a", LAYERS, "Names", "See tvmc info") == "no a. See tvmc info"
    close = unknown_name("no b", "model.layer3.conv.wight", LAYERS, "Names")
    assert close.startswith(f'no b. Did you mean "{LAYERS[3]}"')
    assert "Names" not in close
    assert unknown_name("no c", "c", LAYERS, "Names").endswith("and 9 more")


def test_names_are_hostile():
    message = unknown_name("no a", "evil\x1b[31m", ["evil\x1b[32m", "b" * 10000], "Names")
    assert message.isprintable()
    assert 'Did you mean "evil\\x1b[32m"?' in message
    assert len(message) < 500
