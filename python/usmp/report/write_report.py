"""Write reports of a compiled module, in the format that the ending of the file name selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.report.exchange import FORMATS, Writer
from usmp.report.memory_maps import html_bytes, json_bytes, png_bytes, svg_bytes
from usmp.report.plan_formats import plan_csv

WRITERS: dict[str, Writer] = {
    ".html": html_bytes,
    ".svg": svg_bytes,
    ".png": png_bytes,
    ".json": json_bytes,
    ".csv": lambda metadata: plan_csv(metadata).encode(),
    **FORMATS,
}
"""Writers by the endings in `usmp.names.REPORTS`."""


def report_bytes(metadata: Mapping[str, Any], ending: str) -> bytes:
    """Return the content of a report.

    Parameters
    ----------
    metadata
        metadata of one module of an archive.
    ending
        one of `usmp.names.REPORTS`.

    Raises
    ------
    ValueError
        the metadata is damaged.
    ImportError
        a package is missing; the message says how to install it.
    """
    return WRITERS[ending](metadata)
