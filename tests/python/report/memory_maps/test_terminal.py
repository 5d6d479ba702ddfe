"""The memory map for a terminal: bars in one scale, and the largest buffers over time."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from support.map_views import buffer, memory_map, pool
from usmp.report.memory_maps.terminal import map_text, print_memory_map


class Output(io.StringIO):
    """A file of an encoding."""

    def __init__(self, encoding):
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self):
        return self._encoding


def lines(drawn, width=60, encoding="utf-8", **options):
    file = Output(encoding)
    print_memory_map(drawn, Console(file=file, width=width, color_system=None, **options))
    return file.getvalue().splitlines()


def test_a_plan_without_buffers_has_no_map():
    assert map_text(memory_map()) == "There is no map: the plan has no buffers.\n"


def test_bars_are_in_the_scale_of_the_largest():
    # 60 columns without "lower bound", 3 digits and 3 blanks: 43 cells.
    title, peak, bound, limit, *_ = lines(memory_map(pool(peak=100, bound=50, limit=200)))
    assert title == "sram (workspace)"
    assert peak == "peak        100  " + "█" * 21 + "·" * 22
    assert bound == "lower bound  50  " + "█" * 10 + "·" * 33
    assert limit == "limit       200  " + "█" * 43


def test_without_a_limit_there_is_no_bar_of_it():
    text = lines(memory_map(pool(peak=100, bound=100)))
    assert text[1:3] == ["peak        100  " + "█" * 43, "lower bound 100  " + "█" * 43]
    assert not any(line.startswith("limit") for line in text)
    assert any(line.startswith("limit         0") for line in lines(memory_map(pool(limit=0))))


@pytest.mark.parametrize(("bound", "full"), [(0, 0), (1, 1), (1000, 42)])
def test_what_is_there_is_not_shown_as_nothing(bound, full):
    text = lines(memory_map(pool(peak=1000, bound=bound)))
    assert text[2].count("█") == full
    empty = lines(memory_map(pool(peak=0, bound=0)))
    assert "█" not in "".join(empty[1:3]) and "·" in empty[1]


@pytest.mark.parametrize(("width", "printed"), [(10, 40), (40, 40), (200, 200), (300, 200)])
def test_lines_are_40_to_200_columns_wide(width, printed):
    assert len(lines(memory_map(pool(peak=1)), width)[1]) == printed


def test_the_text_is_80_columns_wide():
    assert len(map_text(memory_map(pool())).splitlines()[1]) == 80


@pytest.mark.parametrize("encoding", ["ascii", "none such"])
def test_signs_that_the_encoding_lacks_are_of_ascii(encoding):
    drawn = memory_map(pool(buffer("n" * 80), name="p" * 80, peak=2, bound=1))
    text = "\n".join(lines(drawn, encoding=encoding))
    assert text.isascii()
    assert "#" in text and "." in text and "n~ " in text and "p~ (workspace)" in text
    unicode = "\n".join(lines(drawn))
    assert "p… (workspace)" in unicode and "n… " in unicode and "#" not in unicode


def test_a_long_name_leaves_room_for_the_kind():
    for io_kind, words in (
        ("any", "(workspace)"),
        ("only", "(workspace: inputs and outputs only)"),
        ("no", "(workspace: no inputs and outputs)"),
    ):
        title = lines(memory_map(pool(name="p" * 99, io=io_kind)))[0]
        assert title.endswith(f"… {words}") and len(title) == 60
    fits = "p" * (60 - len(" (workspace)"))
    assert lines(memory_map(pool(name=fits)))[0] == f"{fits} (workspace)"


def test_constants_have_no_times():
    text = lines(memory_map(pool(buffer("w"), name="flash", kind="constant")))
    assert not any("live" in line or "w " in line for line in text[3:])


def test_buffers_are_live_in_their_part_of_the_time():
    # 60 columns without 6 of the name, 5 digits and 3 blanks: 46 cells for 46 positions.
    held = [buffer("a", 8, [(0, 23)]), buffer("b", 4, [(23, 24), (45, 46)]), buffer("c", 4, [])]
    text = lines(memory_map(pool(*held), positions=46))
    start = text.index("buffer bytes  live over time")
    assert text[start - 1] == ""
    assert text[start + 1 : start + 4] == [
        "c          4  " + "·" * 46,
        "a          8  " + "█" * 23 + "·" * 23,
        "b          4  " + "·" * 23 + "█" + "·" * 21 + "█",
    ]


def test_a_short_time_takes_one_cell_and_a_part_of_a_cell_all_of_it():
    def cells(live, positions):
        drawn = memory_map(pool(buffer("a", live=[live])), positions=positions)
        (line,) = (line for line in lines(drawn) if line.startswith("a "))
        return line[14:]

    assert cells((0, 1), 460) == "█" + "·" * 45
    assert cells((459, 460), 460) == "·" * 45 + "█"
    # From the middle of a cell to the middle of another one.
    assert cells((15, 25), 460) == "·" + "██" + "·" * 43
    assert cells((10, 20), 460) == "·" + "█" + "·" * 44
    assert cells((0, 0), 0) == "█" + "·" * 45
    assert cells((0, 1), 1) == "█" * 46


def test_ten_of_the_largest_are_shown_and_the_others_summed_up():
    held = [buffer(f"b{n:02}", 100 + n) for n in range(13)]
    text = lines(memory_map(pool(*held)))
    shown = [line.split()[0] for line in text if line.startswith("b") and line[1:3].isdigit()]
    assert sorted(shown) == [f"b{n:02}" for n in range(3, 13)]
    assert text[-2] == "and 3 smaller, of 303 bytes"
    assert not any("smaller" in line for line in lines(memory_map(pool(*held[:10]))))
    assert "and 1 smaller, of 100 bytes" in lines(memory_map(pool(*held[:11])))


def test_buffers_of_one_size_are_chosen_by_name_and_shown_by_time():
    held = [buffer(f"b{n:02}", live=[(20 - n, 21)], offset=n) for n in range(11)]
    text = lines(memory_map(pool(*held), positions=21))
    shown = [line.split()[0] for line in text if line.startswith("b0")]
    assert shown == [f"b{n:02}" for n in range(9, -1, -1)]
    at_once = [buffer("z", offset=0), buffer("a", offset=8)]
    text = lines(memory_map(pool(*at_once)))
    assert [line[0] for line in text if line[:2] in ("a ", "z ")] == ["z", "a"]


def test_names_take_a_third_of_the_line_at_most():
    for width, length, shown in ((60, 20, 20), (60, 21, 20), (90, 40, 30), (40, 20, 13)):
        text = lines(memory_map(pool(buffer("n" * length))), width)
        (line,) = (each for each in text if each.startswith("nn"))
        name = line.split()[0]
        assert len(name) == shown and (name.endswith("…") is (length > shown))
        assert len(line) == width
    # Characters that take two columns.
    wide = next(line for line in lines(memory_map(pool(buffer("名" * 40)))) if "名" in line)
    assert wide.startswith("名" * 9) and "…" in wide


def test_the_heading_is_short_in_a_narrow_terminal():
    def heading(size):
        drawn = memory_map(pool(buffer("n" * 40, size)))
        return next(line for line in lines(drawn, 40) if line.startswith("buffer"))

    # 13 columns of the name and 3 blanks leave 14 cells beside 10 digits.
    assert heading(10**9).endswith("live over time")
    assert heading(10**10).endswith("  live")


def test_sizes_have_a_column_as_wide_as_the_largest():
    text = lines(memory_map(pool(buffer("a", 1234567), buffer("b", 5, [(1, 2)]))))
    assert any(line.startswith("a      1234567  ") for line in text)
    assert any(line.startswith("b            5  ") for line in text)


def test_colors_say_the_kind():
    file = Output("utf-8")
    console = Console(file=file, width=60, force_terminal=True, color_system="standard")
    held = [buffer("a", kind="input"), buffer("b", kind="state")]
    print_memory_map(memory_map(pool(*held)), console)
    text = file.getvalue()
    assert "\x1b[33m█" in text and "\x1b[31m█" in text
    assert "\x1b[1msram" in text


def test_no_name_is_markup():
    text = lines(memory_map(pool(buffer("[red]:x:"), name="[bold]p")))
    assert text[0] == "[bold]p (workspace)"
    assert any(line.startswith("[red]:x: ") for line in text)
