"""The plan as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json

from usmp.report import CSV_COLUMNS, plan_csv, plan_json

MEMORY = {
    "algorithm": "mine",
    "functions": {"main": [{"entry": "net"}]},
    "pools": [
        {
            "name": "sram",
            "kind": "workspace",
            "buffers": [
                {
                    "name": 'a,"b"',
                    "kind": "intermediate",
                    "function": "__tvm_main__",
                    "offset": 0,
                    "size": 16,
                    "live_ranges": [[0, 3], [5, 9]],
                    "identical": [],
                    "overlaps": {
                        "scratch": {"shared": 4, "distance": 16},
                        "y:0": {"shared": 2, "distance": 0},
                    },
                },
                {
                    "name": "scratch",
                    "kind": "intermediate",
                    "function": "conv2d",
                    "offset": 16,
                    "size": 4,
                    "live_ranges": [[2, 3]],
                    "identical": [],
                    "overlaps": {},
                },
            ],
        },
        {
            "name": "flash",
            "kind": "constant",
            "buffers": [
                {
                    "name": "weights",
                    "kind": "constant",
                    "function": "__tvm_main__",
                    "offset": 0,
                    "size": 8,
                    "live_ranges": [[0, 9]],
                    "identical": ["others"],
                    "overlaps": {},
                }
            ],
        },
    ],
}


def test_csv():
    assert plan_csv({"memory": MEMORY}) == (
        "pool,pool_kind,name,kind,function,offset,size,live_ranges,overlaps,entries,written_by,"
        "read_by\n"
        'sram,workspace,"a,""b""",intermediate,__tvm_main__,0,16,0-3 5-9,scratch:4 y:0:2,net,,\n'
        "sram,workspace,scratch,intermediate,conv2d,16,4,2-3,,net,,\n"
        "flash,constant,weights,constant,__tvm_main__,0,8,0-9,,net,,\n"
    )


def entries_of(kind: str, name: str, live: list[list[int]]) -> str:
    """What the CSV says of the entries of a buffer."""
    mains = [
        {"entry": "encode", "positions": [0, 4], "states": {"total": {}}},
        {"entry": "step", "positions": [4, 9], "states": {}},
        {"entry": "tell", "positions": [9, 12], "states": {"total": {}}},
    ]
    buffer = {**MEMORY["pools"][1]["buffers"][0], "name": name, "kind": kind, "live_ranges": live}
    pool = {**MEMORY["pools"][0], "buffers": [buffer]}
    text = plan_csv({"memory": {"functions": {"main": mains}, "pools": [pool]}})
    (row,) = csv.DictReader(io.StringIO(text))
    return row["entries"]


def test_entries_of_buffers():
    assert entries_of("intermediate", "total", [[1, 4]]) == "encode"
    # Beyond the entries is where several of them run at once.
    assert entries_of("intermediate", "x", [[4, 5], [8, 9], [12, 13]]) == "step"
    assert entries_of("intermediate", "scratch", [[3, 4], [10, 11]]) == "encode tell"
    assert entries_of("constant", "weights", [[0, 12]]) == "encode step tell"
    assert entries_of("state", "total", [[0, 12]]) == "encode tell"
    assert entries_of("state", "other", [[0, 12]]) == ""


def test_users_of_buffers_are_named_with_their_entries():
    buffer = {**MEMORY["pools"][1]["buffers"][0], "name": "x"}
    mains = [{"entry": e, "positions": [0, 9], "states": {}} for e in ("encode", "step")]
    module = {
        "memory": {
            "functions": {"main": mains},
            "pools": [{**MEMORY["pools"][0], "buffers": [buffer]}],
        },
        "model_operators": [{"index": 1, "type": "ADD"}, {"index": 1, "type": "ADD", "graph": 1}],
        "operators": [
            {"entry": "encode", "model_operators": [0], "buffers": {"read": ["x"], "written": []}},
            {"entry": "step", "model_operators": [1], "buffers": {"read": ["x"], "written": []}},
        ],
    }
    (row,) = csv.DictReader(io.StringIO(plan_csv(module)))
    assert row["read_by"] == "1 ADD in encode; 1 ADD of subgraph 1 in step"


def test_an_earlier_archive_has_the_entry_main():
    memory = {**MEMORY, "functions": {"main": [{}]}}
    rows = list(csv.DictReader(io.StringIO(plan_csv({"memory": memory}))))
    assert {row["entries"] for row in rows} == {"main"}


def test_csv_without_buffers_is_its_header():
    assert plan_csv({"memory": {**MEMORY, "pools": []}}) == ",".join(CSV_COLUMNS) + "\n"


def test_json():
    text = plan_json(MEMORY)
    assert text == json.dumps(MEMORY, indent=2) + "\n"
    assert json.loads(text) == MEMORY


def test_cells_are_no_commands_of_terminals_and_no_formulas():
    buffer = {**MEMORY["pools"][1]["buffers"][0], "name": "=1+1", "function": "\x1b[2J\n"}
    buffer["overlaps"] = {
        "@x": {"shared": 4, "distance": 0},
        "\u202e": {"shared": 1, "distance": 0},
    }
    pool = {**MEMORY["pools"][1], "name": "-\r", "buffers": [buffer]}
    assert plan_csv({"memory": {**MEMORY, "pools": [pool]}}).splitlines()[1:] == [
        "'-\\r,constant,'=1+1,constant,\\x1b[2J\\n,0,8,0-9,'@x:4 \\u202e:1,net,,"
    ]


def test_operators_that_use_a_buffer():
    buffers = {"read": ["scratch"], "written": ['a,"b"', "scratch"]}
    operators = [{"model_operators": [0, 1], "buffers": buffers}]
    table = [{"index": 3, "type": "CONV_2D"}, {"index": 5, "type": "=ADD"}]
    metadata = {"memory": MEMORY, "model_operators": table, "operators": operators}
    rows = list(csv.DictReader(io.StringIO(plan_csv(metadata))))
    both = "3 CONV_2D; 5 =ADD"
    assert [row["written_by"] for row in rows] == [both, both, ""]
    assert [row["read_by"] for row in rows] == ["", both, ""]
