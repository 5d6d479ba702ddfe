"""What the summary says of operators that are computed in strips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from usmp.support.plain_text import shown


def strips_sentences(metadata: Mapping[str, Any]) -> list[str]:
    """Which operators are in strips, what that saves and takes, and what other choices would give;
    none if none could be.

    Parameters
    ----------
    metadata
        of one module of an archive.
    """
    said = metadata["memory"].get("strips")
    if said is None:
        return []
    others = [choice for choice in said["choices"] if choice["chains"] != said["chains"]]
    sentences = [_taken(said)]
    if others:
        what = "Other strips" if said["chains"] else "Strips"
        planned = "; ".join(
            f"{_chains(choice)}: {_bytes(choice)}, {_more(said, choice)} MACs" for choice in others
        )
        sentences.append(f"{what} that were planned: {planned}.")
    return sentences


def _taken(said: Mapping[str, Any]) -> str:
    limit = f"tir.usmp.max_extra_macs={_number(said['max_extra_macs'])}%"
    if not said["chains"]:
        return f"No operators are in strips: their plan would not be smaller ({limit})."
    before = f"{said['unsplit_peak_bytes']} -> " if "unsplit_peak_bytes" in said else ""
    # Nothing was planned where the first choice is taken.
    peak = f"workspace {before}{_bytes(said)}, " if "peak_bytes" in said else ""
    return (
        f"In strips: {_chains(said)}; {peak}MACs "
        f"{said['macs_before']} -> {said['macs']} ({_more(said, said)}; {limit})."
    )


def _chains(choice: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{_operators(chain['operators'])} in {chain['strips']}" for chain in choice["chains"]
    )


def _operators(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{shown(names[0])} (1 operator)"
    return f"{shown(names[0])} to {shown(names[-1])} ({len(names)} operators)"


def _bytes(choice: Mapping[str, Any]) -> str:
    return f"{choice['peak_bytes']} bytes" if "peak_bytes" in choice else "no plan fits"


def _more(said: Mapping[str, Any], choice: Mapping[str, Any]) -> str:
    """How many more multiply-accumulates, in percent."""
    more = choice["macs"] - said["macs_before"]
    return f"+{100 * more / said['macs_before'] if more else 0:.1f} %"


def _number(percent: float) -> str:
    return f"{percent:g}"
