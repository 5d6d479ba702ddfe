"""What `tvmc plan --buffers` refuses, and how it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.all_cases import check_all

HEADER = "id,lower,upper,size"


def quoted(text: str) -> str:
    """The same file, which NumPy cannot read as a whole."""
    header, *lines = text.split("\n")
    return "\n".join([f'"{header.partition(",")[0]}",{header.partition(",")[2]}', *lines])


FILES = [
    (
        "id,lower,size\na,0,1\n",
        ', line 1: the column "upper" is missing; these must be there: id, lower, upper, size',
    ),
    (
        "id,lower,upper,size,lower\n",
        ', line 1: two columns say "lower"; leave one of them out',
    ),
    (
        "id,begin,upper,size,lower\n",
        ', line 1: two columns say "lower"; leave one of them out',
    ),
    (
        f"{HEADER},aligment\n",
        ', line 1: the column "aligment" is unknown; known: id, buffer, buffer_id, lower, '
        "begin, start, upper, end, size, alignment, offset, gaps, pool, hint; the first line "
        "must name the columns",
    ),
    (f"{HEADER}\n", ": there is no buffer below the first line"),
    (
        f"{HEADER}\na,0,1,1\nb,0,1\n",
        ", line 3: the line has 3 cells, but the first line names 4 columns; write cells that "
        "have commas in quotes",
    ),
    (
        f"{HEADER}\na,0,1,1,1\n",
        ", line 2: the line has 5 cells, but the first line names 4 columns; write cells that "
        "have commas in quotes",
    ),
    (
        f"{HEADER}\na,0,1,1\nb,5,5,1\n",
        ', line 3, buffer "b": it lives from 5 to 5, which is no time',
    ),
    (
        f"{HEADER}\na,0,1,1\nb,5,-6,1\n",
        ', line 3, buffer "b": it lives from 5 to -6, which is no time',
    ),
    (
        f"{HEADER}\na,0,1,1\nb,0,1,1\na,0,1,1\n",
        ', line 4, buffer "a": line 2 has the same id; give each its own',
    ),
    (f"{HEADER}\na,0,1,1\n,0,1,1\n", ", line 3: the buffer has no id"),
    (
        f"{HEADER}\na,0,1,1.5\n",
        ', line 2, buffer "a": size is "1.5"; write a whole number',
    ),
    (f"{HEADER}\na,0,,1\n", ', line 2, buffer "a": upper is ""; write a whole number'),
    (f"{HEADER}\na,-,1,1\n", ', line 2, buffer "a": lower is "-"; write a whole number'),
    (
        f"{HEADER}\na,0,9223372036854775808,1\n",
        ', line 2, buffer "a": upper is "9223372036854775808"; the number does not fit 64 bits',
    ),
    (f"{HEADER}\na,0,1,-4\n", ', line 2, buffer "a": its size, -4, is negative'),
    (
        f"{HEADER},alignment\na,0,1,1,0\n",
        ', line 2, buffer "a": its alignment, 0, is less than 1',
    ),
    (
        f"{HEADER},offset\na,0,1,1,-1\n",
        ', line 2, buffer "a": it is pinned to the offset -1; leave the cell empty if any '
        "offset will do",
    ),
    (
        f"{HEADER},offset,alignment\na,0,1,1,6,4\n",
        ', line 2, buffer "a": it is pinned to 6, which is no multiple of its alignment, 4',
    ),
    (
        f"{HEADER},offset\na,0,1,9,9223372036854775800\n",
        ', line 2, buffer "a": pinned to 9223372036854775800, it ends beyond 64 bits',
    ),
    (
        "id,start,end,size\na,0,9223372036854775807,1\n",
        ', line 2, buffer "a": its end, 9223372036854775807, is too large',
    ),
    (
        f"{HEADER},pool\na,0,1,1,x||y\n",
        ', line 2, buffer "a": pool is "x||y"; write the pools that may hold it as sram|flash',
    ),
    (
        f"{HEADER},gaps\na,0,9,1,4-2\n",
        ', line 2, buffer "a": the gap "4-2" is empty or negative; its end must be after its begin',
    ),
    (
        f"{HEADER},gaps\na,0,9,1,2-4\nb,0,9,1,7-10\n",
        ', line 3, buffer "b": the gap "7-10" is not within the life of the buffer, 0 to 9',
    ),
    (
        f"{HEADER},gaps\na,0,9,1,2-4 3-5\n",
        ', line 2, buffer "a": the gaps "2-4" and "3-5" overlap; write one for both',
    ),
    (
        f"{HEADER},gaps\na,0,9,1,2:4\n",
        ', line 2, buffer "a": the gap "2:4" cannot be read; write gaps as "3-5 7-9": from '
        "when to when, with a blank between them",
    ),
    (
        f"{HEADER},gaps\na,0,9,8,2-4@0:4\n",
        ', line 2, buffer "a": the gap "2-4@0:4" has a window, which keeps some of the bytes; '
        "that is not supported: leave the gap out, and all bytes are kept",
    ),
    (
        f"{HEADER},gaps\na,0,9,1,0-9\n",
        ', line 2, buffer "a": the gaps leave nothing of the buffer\'s life; leave the buffer out',
    ),
]


@pytest.mark.slow
def test_files(refused):
    def check(text: str, message: str) -> None:
        for written in (text, quoted(text)):
            Path("in.csv").write_text(written)
            assert refused("plan", "--buffers", "in.csv") == f"in.csv{message}"

    check_all({text: (text, message) for text, message in FILES}, check)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ": the file is empty; its first line must be id,lower,upper,size"),
        (b"\n \n", ": the file is empty; its first line must be id,lower,upper,size"),
        (b"id\n\xff\xfe\n", ", line 2: this is no UTF-8 text; is the file a CSV?"),
        (
            b'id,lower,upper,size\na,0,1,1\n"b,0,1,1\n',
            ", line 3: the line cannot be read (unexpected end of data); is there a "
            "quote that nothing closes?",
        ),
    ],
)
def test_files_that_are_none(refused, data, message):
    Path("in.csv").write_bytes(data)
    assert refused("plan", "--buffers", "in.csv") == f"in.csv{message}"


def test_line_of_a_buffer_after_a_cell_of_two_lines(refused):
    Path("in.csv").write_text(f'{HEADER}\n"a\nb",0,1,1\n\nc,0,0,1\n')
    assert refused("plan", "--buffers", "in.csv").startswith('in.csv, line 5, buffer "c": ')


def test_no_file(refused):
    assert refused("plan", "--buffers", "in.csv") == "in.csv: No such file or directory"


@pytest.mark.parametrize(
    ("lines", "capacity", "needed", "buffers"),
    [
        (
            ["a,0,2,4,", "z,0,1,0,", "b,1,3,6,", "c,2,4,3,"],
            9,
            10,
            "a (line 2, 4 bytes), b (line 4, 6 bytes), which take 10 bytes at time 1",
        ),
        # Around the pinned middle of 4 bytes, the 6 have no place in 10 bytes.
        (
            ["a,0,2,2,4", "b,1,3,6,", "c,5,6,9,"],
            10,
            12,
            "a (line 2, 2 bytes, pinned to 4), b (line 3, 6 bytes), though they take no more than "
            "8 bytes at any one time",
        ),
    ],
    ids=["load", "pin"],
)
def test_does_not_fit(refused, lines, capacity, needed, buffers):
    Path("in.csv").write_text("\n".join([f"{HEADER},offset", *lines]))
    assert refused("plan", "--buffers", "in.csv", f"--capacity={capacity}") == (
        f"in.csv: the buffers do not fit into {capacity} bytes; a capacity of {needed} bytes is "
        f"needed; there is no space for the 2 buffers {buffers}. Raise the capacity, or shrink, "
        "shorten or move one of these buffers; without any one of these the others fit"
    )


def test_does_not_fit_into_one_of_two_pools(refused):
    Path("in.csv").write_text(f"{HEADER},pool\na,0,2,4,x\nb,1,3,6,x|y\n")
    message = refused("plan", "--buffers", "in.csv", "--capacity=x=4", "--capacity=y=5")
    assert message == 'in.csv, line 3, buffer "b": ' + (
        "its 6 bytes do not fit into a capacity of 5; a capacity of at least 6 is needed for this "
        "buffer alone"
    )
    message = refused("plan", "--buffers", "in.csv", "--capacity=x=6", "--capacity=y=5")
    assert message.startswith(
        "in.csv: the buffers do not fit into x (6 bytes), y (5 bytes); --capacity y=6 is needed; "
    )


def test_capacity_below_the_largest_buffer(refused):
    Path("in.csv").write_text(f"{HEADER},offset\na,0,1,4,\nb,0,1,6,2\nc,0,1,7,\n")
    assert refused("plan", "--buffers", "in.csv", "--capacity=6") == (
        'in.csv, line 3, buffer "b": its 6 bytes, pinned to the offset 2, do not fit into a '
        "capacity of 6; a capacity of at least 8 is needed for this buffer alone"
    )


def test_pins_that_collide(refused):
    Path("in.csv").write_text(f"{HEADER},offset\na,0,2,4,0\nb,1,3,4,2\nc,0,9,1,\nd,5,6,4,0\n")
    for limit in ([], ["--capacity=1K"]):
        assert refused("plan", "--buffers", "in.csv", *limit) == (
            'in.csv, line 3, buffer "b": it is pinned to bytes 2 to 6, and buffer "a" of line 2 to '
            "bytes 0 to 4, but both are live at one time; change or empty one of the offsets"
        )


def test_pins_that_leave_no_place(refused):
    """Each of three buffers at one offset would fit beside one other, in one of two pools."""
    lines = "".join(f"{name},0,2,4,0,x|y\n" for name in "abc")
    Path("in.csv").write_text(f"{HEADER},offset,pool\n{lines}")
    assert refused("plan", "--buffers", "in.csv") == (
        "in.csv: whatever the capacity, there is no space for the 3 buffers a (line 2, 4 bytes, "
        "pinned to 0), b (line 3, 4 bytes, pinned to 0), c (line 4, 4 bytes, pinned to 0). Change "
        "or empty the offset of one of them"
    )


def test_what_ends_beyond_64_bits(refused):
    size = (1 << 63) - 1
    Path("in.csv").write_text(f"{HEADER}\na,0,2,{size}\nb,1,3,{size}\n")
    assert refused("plan", "--buffers", "in.csv") == (
        f"in.csv: whatever the capacity, there is no space for the 2 buffers a (line 2, {size} "
        f"bytes), b (line 3, {size} bytes), which end beyond 64 bits. Shrink, shorten or move one "
        "of them"
    )
    assert refused("plan", "--buffers", "in.csv", "--usmp-algorithm=greedy_by_size") == (
        "in.csv: no plan was found, nor a proof that there is none; at least "
        f"{size} bytes are needed. Try --usmp-algorithm=auto, or raise the capacity"
    )


def test_a_bound_proves_that_a_heuristic_cannot_find_a_plan(refused):
    Path("in.csv").write_text(f"{HEADER}\na,0,2,4\nb,1,3,6\n")
    assert refused(
        "plan", "--buffers", "in.csv", "--capacity=8", "--usmp-algorithm=greedy_by_size"
    ) == (
        "in.csv: the buffers do not fit into 8 bytes; at least 10 bytes are needed; a capacity of "
        "10 bytes is needed. Raise the capacity; --usmp-algorithm=auto names buffers that do not "
        "fit together"
    )


def test_two_pools_that_are_both_too_small(refused):
    lines = "".join(f"{name},0,2,4,{pool}\n" for name, pool in zip("abcd", "xxyy", strict=True))
    Path("in.csv").write_text(f"{HEADER},pool\n{lines}")
    assert refused("plan", "--buffers", "in.csv", "--capacity=x=5", "--capacity=y=5").startswith(
        "in.csv: the buffers do not fit into x (5 bytes), y (5 bytes); --capacity x=8 --capacity "
        "y=8 would be enough; there is no space for the 2 buffers "
    )


def test_no_plan_of_a_heuristic(refused):
    Path("in.csv").write_text(f"{HEADER}\na,0,2,4\nb,2,3,6\n")
    assert refused(
        "plan", "--buffers", "in.csv", "--capacity=8", "--usmp-algorithm=no_sharing"
    ) == (
        "in.csv: no plan was found within 8 bytes, nor a proof that there is none; at least 6 "
        "bytes are needed; a capacity of 10 bytes would be enough. Try --usmp-algorithm=auto, or "
        "raise the capacity"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--capacity=lots"],
            "--capacity=lots: the capacity must be bytes, such as 1000, 0x400 or 64K (K is 1024, M "
            "is 1024K); leave it out for the smallest peak",
        ),
        (
            ["--capacity=99999999999G"],
            "--capacity=99999999999G: the capacity must be at most 9223372036854775807",
        ),
        (["--capacity=1", "--capacity=2"], "--capacity=2: it is given twice"),
        (["--capacity=x=1", "--capacity=x=2"], '--capacity=x=2: pool "x" is named twice'),
        (["--capacity==1"], "--capacity==1: write it as POOL=BYTES, such as sram=64K"),
        (
            ["--capacity=1K", "--capacity=x=2"],
            "--capacity=1024 names no pool, but others do; write all as POOL=BYTES",
        ),
        (
            ["--capacity=z=1K"],
            'in.csv: no buffer may be in the pool "z" that a capacity is given for; pools of the '
            "file: x, y",
        ),
        (
            ["--capacity=1K"],
            "in.csv: the capacity 1024 names no pool, and the file has several; give each its own, "
            "as x=64K (pools: x, y)",
        ),
        (
            ["--usmp-algorithm=best"],
            'unknown algorithm "best". Algorithms: auto, exact, greedy_by_size, '
            "greedy_by_conflicts, hill_climb, no_sharing",
        ),
        (
            ["--usmp-algorithm=hill_climb", "--usmp-time-budget=10s"],
            "a time budget is for auto or exact, not for hill_climb",
        ),
        (["--target=llvm"], "--target belongs to a model, and --buffers plans without one"),
        (["model.tflite"], "FILE belongs to a model, and --buffers plans without one"),
        (["-o", "in.csv"], "in.csv: the plan would overwrite the buffers"),
        (["-o", "missing/plan.csv"], "missing/plan.csv: cannot be written (No such file or "
         "directory)"),
    ],
)  # fmt: skip
def test_options(refused, options, message):
    Path("in.csv").write_text(f"{HEADER},pool\na,0,2,4,x|y\n")
    assert refused("plan", "--buffers", "in.csv", *options) == message


def test_time_budget(refused):
    Path("in.csv").write_text(f"{HEADER}\na,0,2,4\n")
    assert '"soon" is no duration; write a number and ms, s, min or h' in refused(
        "plan", "--buffers", "in.csv", "--usmp-time-budget=soon"
    )


def test_options_of_buffers_without_buffers(refused):
    assert refused("plan", "model.tflite", "--capacity=1K") == (
        "--capacity belongs to --buffers; pools of a model have sizes of their own"
    )
    assert refused("plan") == "name a model, or a CSV with --buffers. See tvmc plan --help"


@pytest.mark.slow
@pytest.mark.models
def test_exact_search_does_not_keep_the_reason_waiting(refused):
    """The lowest peak of this problem takes many minutes; that this is too little, no time."""
    from conftest import SHARED

    path = SHARED / "instances/minimalloc-D.1048576.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    message = refused("plan", "--buffers", path, "--capacity=900000", "--usmp-algorithm=exact")
    assert message.startswith(f"{path}: the buffers do not fit into 900000 bytes; a capacity of ")
    assert " buffers 1 (line 3, 70656 bytes), 3 (line 5, 11264 bytes)," in message


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_columns_are_separated_by_something_else(refused, separator, name):
    Path("in.csv").write_text(HEADER.replace(",", separator) + "\n")
    assert refused("plan", "--buffers", "in.csv") == (
        f"in.csv, line 1: columns are separated by commas, not by {name}"
    )


def test_carriage_return_within_a_line(refused):
    Path("in.csv").write_bytes(b"id,lower,upper\r,size\na,0,3,4\n")
    assert refused("plan", "--buffers", "in.csv") == (
        'in.csv, line 1: the column "size" is missing; these must be there: id, lower, upper, size'
    )
