"""Suggestions of options that reduce memory, as a table and as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from usmp.names import SMALL
from usmp.report.counts import shortened
from usmp.report.shared_code import MEASURE_IT, SHARED_CODE_COST
from usmp.report.text_tables import TextTable
from usmp.support.text.plain_text import shown

NO_TIME = "the time budget ended before it was tried"
"""Reason why a suggestion was not tried."""

_CONSTANTS_ONLY = "each planned again; flash without code, which --measure compiles"


def suggestions_title(document: Mapping[str, Any]) -> str:
    """Return the title of the table of suggestions: how the figures were found."""
    own = document["as_it_is"]
    how = "each planned again" if own["code_bytes"] is not None else _CONSTANTS_ONLY
    return f"What would need less RAM than {document['ram']['size_bytes']} bytes ({how})"


def _gains(suggestions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the suggestions that save RAM, or flash without more RAM. Pairs save more than each of
    their two options."""
    by_flag = {s["flag"]: s for s in suggestions}
    return [
        s
        for s in suggestions
        if _saved(s) > max([(0, 0), *(_saved(by_flag[flag]) for flag in s["pair_of"])])
    ]


def _saved(suggestion: Mapping[str, Any]) -> tuple[int, int]:
    """Return the saved bytes of RAM, and of flash if its code is known."""
    code = suggestion["code_bytes_before"], suggestion["code_bytes_after"]
    saved = suggestion["saved_bytes"]
    if saved is None:
        return 0, 0
    flash = suggestion["flash_bytes_before"] - suggestion["flash_bytes_after"]
    return saved, 0 if saved < 0 or None in code else flash


def suggestion_table(document: Mapping[str, Any]) -> TextTable | None:
    """Return a table of the options that save memory, after a row of the model as it is; None if no
    option does."""
    gains = _gains(document["suggestions"])
    if not gains:
        return None
    own = document["as_it_is"]
    rows = [
        ["as it is", str(document["ram"]["size_bytes"]), "", *_costs(own, "")],
        *(
            [
                "\n".join(filter(None, (shown(s["flag"]), suggestion_sentence(s)))),
                str(s["ram_bytes_after"]),
                str(s["saved_bytes"]),
                *_costs(s, "_after"),
            ]
            for s in gains
        ),
    ]
    return TextTable(
        "",
        ("option of tvmc", "RAM", "saves", "instructions", "flash"),
        rows,
        names=frozenset({0}),
        numbers=frozenset({1, 2, 3, 4}),
        several_lines=frozenset({0}),
    )


def _costs(figures: Mapping[str, Any], suffix: str) -> list[str]:
    """Return the cells of instructions and flash."""
    count, flash = figures[f"instructions{suffix}"], figures[f"flash_bytes{suffix}"]
    if figures[f"instructions_are_measured{suffix}"]:
        about = ""
    else:
        about = "at least " if _leaves_out_costs(figures, suffix) else "about "
    return ["" if count is None else f"{about}{shortened(count)}", str(flash)]


def _leaves_out_costs(figures: Mapping[str, Any], suffix: str) -> bool:
    """Return whether instructions are an estimate without what small code costs."""
    is_estimate = not figures[f"instructions_are_measured{suffix}"]
    return is_estimate and figures[f"shared_code{suffix}"] == SMALL


def costs_note(document: Mapping[str, Any]) -> str | None:
    """Return a sentence about operators whose costs are not known; None if all are."""
    own = document["as_it_is"]
    unknown = own["operators"] - own["estimated_operators"]
    if own["instructions_are_measured"] or not unknown:
        return None
    problem = f"The costs of {unknown} of {own['operators']} operators are not known"
    if own["instructions"] is None:
        return f"{problem}, so instructions are not estimated."
    return f"{problem}, so instructions are more."


def suggestion_sentence(suggestion: Mapping[str, Any]) -> str:
    """Return what an option does, and what the application has to change; empty for a pair."""
    if suggestion["pair_of"]:
        return ""
    return "; ".join(filter(None, (suggestion["what"], suggestion["application"])))


def lines_below(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences about unknown costs, and suggestions without a gain or that were refused."""
    suggestions = document["suggestions"]
    gains = _gains(suggestions)
    note = costs_note(document)
    if gains and note is not None:
        yield note
    if any(_leaves_out_costs(s, "_after") for s in gains):
        yield f"{SHARED_CODE_COST}; {MEASURE_IT}."
    useless = [s for s in suggestions if s["saved_bytes"] is not None and s not in gains]
    if useless:
        yield f"Tried, no gain: {', '.join(shown(s['flag']) for s in useless)}."
    for s in suggestions:
        if s["refused"] is not None:
            label = "Not tried" if s["refused"] == NO_TIME else "Not possible"
            yield f"{label}: {shown(s['flag'])}: {s['refused']}."
