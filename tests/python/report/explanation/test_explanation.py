"""What an explanation says, from metadata written by hand."""

from __future__ import annotations

import json

from usmp.report.explanation import (
    explanation_document,
    explanation_json,
    explanation_markdown,
    explanation_text,
)
from usmp.report.explanation.document import NEEDS_THE_MODEL, NO_OPERATORS
from usmp.report.text_tables import markdown_text


def buffer(name, offset, size, ranges, **known):
    return {
        "name": name,
        "kind": "intermediate",
        "function": "__tvm_main__",
        "offset": offset,
        "size": size,
        "alignment": 16,
        "live_ranges": ranges,
        "identical": [],
        "overlaps": {},
        **known,
    }


def operator(number, start, read, written):
    return {
        "entry": "main",
        "functions": [f"f{number}"],
        "steps": [{"kind": "conv2d"}],
        "inputs": [],
        "outputs": [{"dtype": "int8", "shape": [1, 4, 4, number]}],
        "model_operators": [number],
        "start": start,
        "stop": start + 10,
        "buffers": {"read": read, "written": written},
    }


def module(**changes):
    """Three operators: 1 reads x and writes y, 2 reads y and writes z, 3 reads x and z."""
    buffers = [
        buffer("x", 0, 60, [[0, 30]], kind="input"),
        buffer("y", 64, 40, [[0, 20]]),
        buffer("z", 112, 20, [[10, 30]]),
    ]
    pool = {
        "name": "sram",
        "kind": "workspace",
        "size_hint_bytes": -1,
        "peak_bytes": 132,
        "lower_bound_bytes": 132,
        "optimal": True,
        "live_at_peak": ["x", "y", "z"],
        "buffers": buffers,
    }
    ram = {"size_bytes": 152, "workspace_size_bytes": 132, "io_size_bytes": 20}
    return {
        "model_name": "net",
        "model_operators": [
            {
                "entry": "main",
                "index": n,
                "type": "CONV_2D",
                "outputs": [{"dtype": "int8", "shape": [1, 4, 4, n]}],
            }
            for n in range(4)
        ],
        "operators": [
            operator(1, 0, ["x"], ["y"]),
            operator(2, 10, ["y"], ["z"]),
            operator(3, 20, ["x", "z"], []),
        ],
        "memory": {
            "algorithm": "auto",
            "ram": ram,
            "pools": [pool],
            "functions": {"main": [{"entry": "main"}], "operator_functions": []},
        },
        **changes,
    }


def pair(dying, written, **known):
    return {
        "kind": "distance",
        "dying": dying,
        "written": written,
        "distance_bytes": 12,
        "size_bytes": 20,
        "because": {
            "kind": "order of accesses",
            "functions": ["f2"],
            "written_end": 16,
            "first_accessed": 4,
            "is_write": False,
        },
        "at_largest_sizes": False,
        "kept": [],
        "dying_row_bytes": 4,
        "written_row_bytes": None,
        **known,
    }


FACTS = {
    "sram": {
        "pairs": [pair("y", "z"), pair("x", "y", kind="no common operator", because=None)],
        "forced_by": {"kind": "live at one time", "buffers": ["x", "y"], "is_irreducible": True},
        "next_peak": {"peak_bytes": 104, "optimal": True, "operator": 0},
    }
}


def costs(suffix, instructions=2_000_000, flash=500, code=None, shared_code=None):
    return {
        f"instructions{suffix}": instructions,
        f"instructions_are_measured{suffix}": False,
        f"shared_code{suffix}": shared_code,
        f"flash_bytes{suffix}": flash,
        f"code_bytes{suffix}": code,
    }


OWN = {**costs(""), "operators": 3, "estimated_operators": 2}


def suggestion(flag, saved, refused=None, pair_of=(), **after):
    return {
        "name": flag,
        "flag": flag,
        "pair_of": list(pair_of),
        "what": f"does {flag}",
        "application": "the application waits" if flag == "--large" else "",
        "ram_bytes_after": None if saved is None else 152 - saved,
        **costs("_before"),
        **costs("_after", **after),
        "saved_bytes": saved,
        "peaks_before": {"sram": 132},
        "peaks_after": None if saved is None else {"sram": 132 - saved},
        "refused": refused,
    }


SUGGESTIONS = [
    suggestion("--small", 2),
    suggestion("--none", 0),
    suggestion("--large", 30),
    suggestion("--worse", -8),
    suggestion("--never", None, "it has none"),
    suggestion("--large --small", 31, pair_of=("--large", "--small"), instructions=999),
    suggestion("--large --none", 30, pair_of=("--large", "--none")),
]


def explained(described, facts=FACTS, why=None):
    return explanation_document(described, facts, SUGGESTIONS, why, OWN)


def plain(text):
    return " ".join(text.split())


def test_the_operator_is_that_of_the_model_file():
    (pool,) = explanation_document(module())["pools"]
    assert pool["operator"]["label"] == "operator 2 CONV_2D (4x4x2)"
    assert pool["operator"]["position"] == 1


def test_what_keeps_each_buffer_alive():
    (pool,) = explanation_document(module())["pools"]
    assert {b["name"]: b["why"] for b in pool["live_at_peak"]} == {
        "x": "input: still read by operator 3 CONV_2D (4x4x3)",
        "y": "written by operator 1 CONV_2D (4x4x1); read here",
        "z": "written here; still read by operator 3 CONV_2D (4x4x3)",
    }
    # Four bytes before y, eight before z.
    assert pool["unused_bytes"] == {"alignment": 12, "other": 0}


def test_kinds_that_need_no_operator():
    described = module()
    for each, kind in zip(
        described["memory"]["pools"][0]["buffers"], ("state", "output", "intermediate"), strict=True
    ):
        each["kind"] = kind
    described["memory"]["pools"][0]["buffers"][2]["function"] = "f2"
    described["memory"]["functions"]["operator_functions"] = [{"function_name": "f2"}]
    (pool,) = explanation_document(described)["pools"]
    assert [b["why"] for b in pool["live_at_peak"]] == [
        "state: kept between runs",
        "output: the application reads it after the run",
        "scratch memory of the operator",
    ]


def test_an_input_that_is_kept_for_the_application():
    described = module()
    described["operators"][2]["buffers"]["read"] = ["z"]
    (pool,) = explanation_document(described)["pools"]
    whys = {b["name"]: b["why"] for b in pool["live_at_peak"]}
    assert whys["x"] == "input: kept for the application (preserve_inputs)"


def test_text():
    text = plain(explanation_text(explained(module())))
    for said in (
        "net: RAM 152 bytes = workspace 132 + inputs and outputs 20, without the stack.",
        "the peak is 132 bytes, at operator 2 CONV_2D (4x4x2).",
        "Alignment takes 12 bytes between them.",
        "Proved: no plan of these buffers has a peak below 132 bytes: x and y are live at one time",
        "If that operator took no memory, the peak would be 104 bytes, at operator 1 CONV_2D "
        "(4x4x1).",
        "y and z: the operator reads byte 4 (row 1) of y after it has written byte 15 of z; at a "
        "distance of 12 bytes they can share 8, and share 0 (offsets are multiples of 16).",
        "x and y: no operator accesses both",
        "What would need less RAM than 152 bytes (each planned again; flash without code, which "
        "--measure compiles):",
        "as it is 152 about 2.0 M 500 --large --small 121 31 about 999 500 "
        "--large 122 30 about 2.0 M 500 does --large; the application waits "
        "--small 150 2 about 2.0 M 500 does --small",
        "The costs of 1 of 3 operators are not known, so instructions are more.",
        "Tried, no gain: --large --none, --none, --worse.",
        "Not possible: --never: it has none.",
    ):
        assert said in text


def test_entries_that_run_at_once():
    """The peak is at no time of one of them."""
    described = module()
    described["memory"]["functions"]["main"] = [{"entry": "main"}, {"entry": "step"}]
    (held,) = described["memory"]["pools"]
    held["entries_at_peak"] = ["main", "step"]
    facts = {"sram": {"live_at_peak": ["x", "y", "z"]}}
    for each in held["buffers"]:
        each["live_ranges"] = [[60, 61]]
    text = plain(explanation_text(explanation_document(described, facts)))
    assert "the peak is 132 bytes, while main and step run at once." in text
    assert "written by operator 1 CONV_2D (4x4x1) in entry main" in text


def test_what_another_analysis_gave_up_on_is_said():
    gave_up = {
        "loop without order": "a loop in the operator may run in any order",
        "unknown address": "which bytes the operator accesses is not known before the run",
        "too many iterations": "not every iteration or condition in the operator was followed",
        "not known": "the analysis does not say why",
    }
    for kind, said in gave_up.items():
        because = {**pair("y", "z")["because"], "kind": kind}
        facts = {"sram": {"pairs": [pair("y", "z", distance_bytes=20, because=because)]}}
        text = plain(explanation_text(explanation_document(module(), facts)))
        assert said in text
        assert "they can share no byte" in text


def test_markdown_has_the_same_and_does_nothing_with_names():
    name = "a|b<c>@d https://e.f"
    document = explained(module(model_name=name))
    text = explanation_markdown(document)
    assert text.startswith(f"# Memory of {markdown_text(name)}\n")
    assert not {"<c>", "@d", "https://", "e.f"} & {word for word in text.split() if word}
    assert "@" not in text and "://" not in text
    assert "| y | 64 | 40 | written by operator 1 CONV&#95;2D (4x4x1); read here |" in text
    does = markdown_text("--large; does --large; the application waits")
    assert f"| {does} | 122 | 30 | {markdown_text('about 2.0 M')} | 500 |" in text


def test_names_that_control_a_terminal_are_shown_as_text():
    described = module()
    described["model_operators"][2]["type"] = "\x1b[2Jconv"
    described["memory"]["pools"][0]["name"] = "[b]\u202e"
    text = explanation_text(explained(described, {}))
    assert "\x1b" not in text and "\u202e" not in text
    assert "operator 2 \\x1b[2Jconv" in text and "[b]\\u202e" in text


def test_an_archive_says_what_is_missing():
    described = module()
    for each in described["operators"]:
        for name in ("start", "stop", "buffers", "model_operators"):
            del each[name]
    document = explanation_document(described)
    assert document["notes"] == [NO_OPERATORS, NEEDS_THE_MODEL]
    assert document["pools"][0]["operator"] is None
    assert document["suggestions"] is None
    assert NEEDS_THE_MODEL in plain(explanation_text(document))


def test_json_has_the_schema_and_what_saves_most_first():
    document = json.loads(explanation_json(explained(module())))
    assert (document["schema"], document["version"]) == ("usmp.explanation", 1)
    flags = [each["flag"] for each in document["suggestions"]]
    first = ["--large --small", "--large", "--large --none", "--small"]
    assert flags == [*first, "--none", "--never", "--worse"]


def test_estimates_of_shared_code_are_at_least():
    note = (
        "Estimated instructions leave out what shared code costs (code=small: up to about 40 % "
        "more); measure with tvmc run --board."
    )
    small = suggestion("--small", 2, shared_code="small")
    text = explanation_text(explanation_document(module(), FACTS, [small], None, OWN))
    assert "about 2.0 M" in text and "at least 2.0 M" in text
    assert note in plain(text)
    measured = {**small, "instructions_are_measured_after": True}
    text = explanation_text(explanation_document(module(), FACTS, [measured], None, OWN))
    assert "at least" not in text and "shared code" not in text


def test_less_code_is_a_gain_if_it_is_counted_and_costs_no_ram():
    less = {
        **suggestion("--code", 0),
        **costs("_before", code=90),
        **costs("_after", flash=480, code=70),
    }
    more = {**less, "flag": "--worse", "saved_bytes": -1}
    document = explanation_document(module(), FACTS, [less, more], None, {**OWN, "code_bytes": 90})
    text = plain(explanation_text(document))
    assert "than 152 bytes (each planned again):" in text
    assert "--code 152 0 about 2.0 M 480 does --code" in text
    assert "Tried, no gain: --worse." in text


def test_why_nothing_runs_interleaved_is_said():
    why = "Nothing runs interleaved, row by row: the model has one operator."
    document = explained(module(), FACTS, why)
    assert why in plain(explanation_text(document))
    assert markdown_text(why) in explanation_markdown(document)
