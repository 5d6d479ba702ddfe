"""The option `tir.usmp.stream_inputs`: inputs written row by row, and windows with new rows."""

from __future__ import annotations

from collections.abc import Iterable

OPTION = "tir.usmp.stream_inputs"
OUTPUT_OPTION = "tir.usmp.stream_outputs"
HOP = ":hop="


def split_stream_inputs(texts: Iterable[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the inputs that are written row by row, and windows with their new rows in each run.

    Parameters
    ----------
    texts
        names of inputs; a window of 2 new rows is `name:hop=2`.

    Raises
    ------
    ValueError
        a hop is no number of rows; or an input has two hops, or is also written row by row.
    """
    rows: list[str] = []
    hops: dict[str, int] = {}
    for text in texts:
        name, is_window, hop = text.rpartition(HOP)
        if not is_window:
            rows.append(text)
            continue
        if not (hop.isascii() and hop.isdecimal() and int(hop[:10]) > 0 and len(hop) < 10):
            raise ValueError(
                f'{OPTION}: the hop of "{name}" must be how many rows are new in each run, at '
                f'least 1, not "{hop}"'
            )
        if name in hops and hops[name] != int(hop):
            raise ValueError(
                f'{OPTION}: input "{name}" has two hops, {hops[name]} and {int(hop)} rows; '
                "give one of them"
            )
        hops[name] = int(hop)
    both = [name for name in rows if name in hops]
    if both:
        raise ValueError(
            f'{OPTION}: input "{both[0]}" is given row by row ("{both[0]}"), and as the new rows '
            f'of a window ("{both[0]}{HOP}{hops[both[0]]}"); give one of the two'
        )
    return tuple(rows), hops
