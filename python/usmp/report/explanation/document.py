"""The document of an explanation: all facts about a peak, as plain data for JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from usmp.report.explanation.live_buffers import (
    described_buffer,
    live_at_peak,
    operator_at_peak,
    unused_bytes,
)
from usmp.report.explanation.operators import knows_operators, operator_label
from usmp.report.explanation.sentences import bound_sentence, pair_sentence
from usmp.report.summary.io import io_sentences
from usmp.report.title import title_of
from usmp.report.unfinished_search import unfinished_search

SCHEMA = "usmp.explanation"
VERSION = 1

NO_OPERATORS = (
    "The metadata does not say when operators run and what they access, so the operator at the "
    "peak and the readers of buffers are not known."
)
NEEDS_THE_MODEL = (
    "Why buffers share no more, what forces the peak, and what would reduce it is found with the "
    "model: tvmc explain MODEL."
)


def explanation_document(
    module: Mapping[str, Any],
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    suggestions: Sequence[Mapping[str, Any]] | None = None,
    not_interleaved: str | None = None,
    own_figures: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the document of an explanation.

    Parameters
    ----------
    module
        metadata of a module, as in metadata.json of an archive.
    facts
        facts of the analysis by the names of workspace pools: `live_at_peak`, `pairs`, `forced_by`
        and `next_peak`; None for an archive.
    suggestions
        results of planning with other options; None if they were not tried.
    not_interleaved
        why no operators run interleaved; None if some do, or if the reason is not known.
    own_figures
        instructions, flash and code of the model as it is; None for an archive.
    """
    pools = [p for p in module["memory"]["pools"] if p["kind"] == "workspace" and p["buffers"]]
    notes = [] if knows_operators(module) else [NO_OPERATORS]
    if facts is None:
        notes.append(NEEDS_THE_MODEL)
    notes += unfinished_search(module["memory"])
    notes += io_sentences(module["memory"])
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "model_name": module["model_name"],
        "title": title_of(module),
        "algorithm": module["memory"]["algorithm"],
        "ram": module["memory"].get("ram"),
        "pools": [_pool(module, pool, (facts or {}).get(pool["name"], {})) for pool in pools],
        "search": module.get("search", []),
        "not_interleaved": not_interleaved,
        "as_it_is": own_figures,
        "suggestions": None if suggestions is None else _sorted(suggestions),
        "notes": notes,
    }


def explanation_json(document: Mapping[str, Any]) -> str:
    """Return the document of an explanation as JSON."""
    return json.dumps(document, indent=2) + "\n"


def _pool(
    module: Mapping[str, Any], pool: Mapping[str, Any], facts: Mapping[str, Any]
) -> dict[str, Any]:
    pool = {**pool, "live_at_peak": facts.get("live_at_peak", pool["live_at_peak"])}
    at = operator_at_peak(module, pool)
    next_peak = facts.get("next_peak")
    described = {
        "name": pool["name"],
        "size_hint_bytes": pool["size_hint_bytes"],
        **({"io": pool["io"]} if "io" in pool else {}),
        "peak_bytes": pool["peak_bytes"],
        "lower_bound_bytes": pool["lower_bound_bytes"],
        "optimal": pool["optimal"],
        "operator": None if at is None else _operator(module, at),
        "entries": list(pool.get("entries_at_peak", ())),
        "live_at_peak": [described_buffer(module, b, at) for b in live_at_peak(pool)],
        "unused_bytes": unused_bytes(pool),
        "pairs": [_pair(module, pool, at, pair) for pair in facts.get("pairs", ())],
        "forced_by": facts.get("forced_by"),
        "next_peak": None if next_peak is None else _next_peak(module, next_peak),
    }
    return {**described, "proof": bound_sentence(described)}


def _operator(module: Mapping[str, Any], position: int) -> dict[str, Any]:
    operator = module["operators"][position]
    return {
        "position": position,
        "label": operator_label(module, position),
        "entry": operator["entry"],
        "functions": list(operator["functions"]),
        "model_operators": list(operator.get("model_operators", ())),
    }


def _next_peak(module: Mapping[str, Any], peak: Mapping[str, Any]) -> dict[str, Any]:
    at = peak["operator"]
    operator = None if at is None else _operator(module, at)
    return {"peak_bytes": peak["peak_bytes"], "optimal": peak["optimal"], "operator": operator}


def _pair(
    module: Mapping[str, Any], pool: Mapping[str, Any], at: int | None, pair: Mapping[str, Any]
) -> dict[str, Any]:
    by_name = {buffer["name"]: buffer for buffer in pool["buffers"]}
    one, other = by_name[pair["dying"]], by_name[pair["written"]]
    shared = _shared(one, other)
    full = {
        **pair,
        "dying_kind": one["kind"],
        "written_kind": other["kind"],
        "dying_size_bytes": one["size"],
        "alignment_bytes": max(one["alignment"], other["alignment"]),
        "shared_bytes": shared,
    }
    return {**full, "text": pair_sentence(module, full, at)}


def _shared(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """Return the number of bytes that two buffers of a pool share."""
    end = min(one["offset"] + one["size"], other["offset"] + other["size"])
    return int(max(0, end - max(one["offset"], other["offset"])))


def _sorted(suggestions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sort suggestions by saved bytes, the most first, and keep the order of equal ones."""
    return sorted(map(dict, suggestions), key=lambda s: -(s["saved_bytes"] or 0))
