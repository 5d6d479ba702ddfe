"""Reports of a compiled module, each in the format that the ending of its file says."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from usmp.names import REPORTS
from usmp.support.plain_text import shown


def report_ending(path: str | Path) -> str:
    """The ending of a file's name that says what to write; of several, the longest.

    Raises
    ------
    ValueError
        there is none that is known.
    """
    name = Path(path).name.lower()
    endings = [ending for ending in REPORTS if name.endswith(f".{ending}")]
    if not endings:
        known = ", ".join(f".{ending}" for ending in REPORTS)
        raise ValueError(
            f"{shown(path)}: unknown kind of report; its name ends with one of {known}"
        )
    return max(endings, key=len)


def report_bytes(metadata: Mapping[str, Any], ending: str) -> bytes:
    """What the file has.

    Parameters
    ----------
    metadata
        of one module of an archive.
    ending
        one of `usmp.names.REPORTS`.

    Raises
    ------
    ValueError
        the metadata is damaged.
    ImportError
        a package is missing; the message says how to install it.
    """
    module, function, _ = REPORTS[ending]
    content: bytes = getattr(import_module(module), function)(metadata)
    return content
