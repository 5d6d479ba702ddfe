"""Sentences about pairs of buffers, and the lower bound of a peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from usmp.names import OVERLAP_INPUTS_AND_OUTPUTS
from usmp.report.explanation.operators import joined, operator_label
from usmp.support.text.plain_text import shown

_MOST_BUFFERS = 8
"""Most buffers that a sentence names."""


def pair_sentence(module: Mapping[str, Any], pair: Mapping[str, Any], at: int | None) -> str:
    """Return a sentence about why two buffers share no more bytes.

    Parameters
    ----------
    pair
        a `usmp.planning.sharing_reasons.SharingReason` as plain data, with the shared bytes.
    at
        index of the statement at the peak.
    """
    names = f"{shown(pair['dying'])} and {shown(pair['written'])}"
    kind = pair["kind"]
    if kind == "distance":
        return _distance_sentence(module, pair, at)
    reason = {
        "kept": _kept(pair),
        "no common operator": "no operator accesses both, so each must be intact while the other "
        "is used; they can share no byte",
        "overlap is off": f"overlap is off (--disabled-pass={OVERLAP_INPUTS_AND_OUTPUTS}, or an "
        "algorithm that shares nothing)",
        "entries that run at once": "they belong to entries of which each may interrupt the other",
    }.get(kind, "the analysis does not say why")
    return f"{names}: {reason}."


def _kept(pair: Mapping[str, Any]) -> str:
    kinds = {pair["dying"]: pair["dying_kind"], pair["written"]: pair["written_kind"]}
    states = [shown(name) for name, kind in kinds.items() if kind == "state"]
    if states:
        are = "are" if len(states) > 1 else "is"
        return f"{joined(states)} {are} kept between runs, so nothing else may have these bytes"
    if set(kinds.values()) == {"output"}:
        return "both are outputs, which must be intact after the run"
    if set(kinds.values()) == {"input"}:
        return "both are inputs, which are given before the run"
    needed = joined([f"{shown(name)} ({kind})" for name, kind in kinds.items()])
    return f"{needed} have their content before the run, or must be intact after it"


def _distance_sentence(module: Mapping[str, Any], pair: Mapping[str, Any], at: int | None) -> str:
    dying, written = shown(pair["dying"]), shown(pair["written"])
    distance, size = pair["distance_bytes"], pair["size_bytes"]
    if distance >= size:
        result = "they can share no byte"
    else:
        most = min(size - distance, pair["dying_size_bytes"])
        here = pair["shared_bytes"]
        alignment = pair["alignment_bytes"]
        aligned = f" (offsets are multiples of {alignment})" if 0 < most - here < alignment else ""
        result = (
            f"at a distance of {distance} bytes they can share {most}, and share {here}{aligned}"
        )
    largest = " (at the largest sizes)" if pair["at_largest_sizes"] else ""
    return f"{dying} and {written}: {_because(module, pair, at)}{largest}; {result}."


def _because(module: Mapping[str, Any], pair: Mapping[str, Any], at: int | None) -> str:
    because = pair["because"]
    dying, written = shown(pair["dying"]), shown(pair["written"])
    where = _operator_of(module, because["functions"], at)
    access = "writes" if because["is_write"] else "reads"
    kind = because["kind"]
    if kind == "order of accesses":
        first = _place(because["first_accessed"], pair["dying_row_bytes"], is_end=False)
        end = _place(because["written_end"], pair["written_row_bytes"], is_end=True)
        again = " again" if because["is_write"] else ""
        return f"{where} {access} {first} of {dying}{again} after it has written {end} of {written}"
    if kind == "later access":
        writer = where if because["functions"] else "an earlier operator"
        still = "written again" if because["is_write"] else "read"
        end = _place(because["written_end"], pair["written_row_bytes"], is_end=True)
        return f"{dying} is still {still} after {writer} has written {end} of {written}"
    if kind == "stated by kernel":
        return f"{where} is an external kernel, which states no smaller distance"
    return {
        "loop without order": f"a loop in {where} may run in any order (it is parallel, or how "
        "often it runs is not known)",
        "too many iterations": f"not every iteration or condition in {where} was followed, so any "
        "order was assumed",
        "unknown address": f"which bytes {where} accesses is not known before the run",
        "kept address": f"the address of one of them is kept or passed on in {where}, so any code "
        "may use it",
        "too many accesses": f"{where} has more accesses, or deeper calls, than are compared",
    }.get(kind, "the analysis does not say why")


def _place(byte: int | None, row_bytes: int | None, is_end: bool) -> str:
    """Return a byte of a tensor and its row as text; for an end, the last byte before it."""
    if byte is None:
        return "a part"
    byte = max(0, byte - 1) if is_end else byte
    row = f" (row {byte // row_bytes})" if row_bytes else ""
    return f"byte {byte}{row}"


def _operator_of(module: Mapping[str, Any], functions: Sequence[str], at: int | None) -> str:
    """Return a label of the operator that calls PrimFuncs, or the name of the first PrimFunc."""
    if not functions:
        return "the program"
    if at is not None and functions[0] in module["operators"][at].get("functions", ()):
        return "the operator"
    for position, operator in enumerate(module.get("operators", ())):
        if functions[0] in operator.get("functions", ()):
            return operator_label(module, position)
    return shown(functions[0])


def bound_sentence(pool: Mapping[str, Any]) -> str:
    """Return a sentence about the proof of a peak, and the buffers that force the lower bound."""
    peak, bound = pool["peak_bytes"], pool["lower_bound_bytes"]
    if pool["optimal"]:
        proved = f"Proved: no plan of these buffers has a peak below {peak} bytes"
    elif peak == bound:
        proved = (
            f"No plan that puts the same buffers here has a peak below {bound} bytes; whether "
            "others here would do better is not proved"
        )
    else:
        proved = f"Not proved: the peak is {peak} bytes, and none below {bound} bytes is possible"
    forcing = pool.get("forced_by")
    if forcing is None:
        return f"{proved}."
    names = [shown(name) for name in forcing["buffers"]]
    listed = joined(
        names
        if len(names) <= _MOST_BUFFERS
        else [*names[: _MOST_BUFFERS - 1], f"{len(names) - _MOST_BUFFERS + 1} others"]
    )
    tails = forcing.get("bytes_behind_states", 0)
    if tails:
        listed += f" (with {tails} bytes behind states, for new rows)"
    how = {
        "live at one time": "are live at one time and need as much one above the other, what they "
        "may share taken off",
        "live at several times": "need as much: which of them are live together, at which times, "
        "leaves no lower arrangement",
        "search": "need as much: a search through all their arrangements found none that is lower",
    }[forcing["kind"]]
    return f"{proved}: {listed} {how if len(names) > 1 else 'alone needs as much'}."
