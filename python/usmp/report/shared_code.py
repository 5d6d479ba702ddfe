"""Sentences about the instructions of shared code, which estimates leave out."""

from __future__ import annotations

SHARED_CODE_COST = (
    "Estimated instructions leave out what shared code costs (code=small: up to about 40 % more)"
)
MEASURE_IT = "measure with tvmc run --board"


def shared_code_note(before: str | None, after: str | None) -> str | None:
    """Return a sentence about the estimates of two builds, or None if both share code alike.

    Parameters
    ----------
    before, after
        value of `shared_code` in metadata.json of each build; None if no operators share code.
    """
    if before == after:
        return None
    texts = ("no shared code" if code is None else f"code={code}" for code in (before, after))
    return f"{SHARED_CODE_COST}, and it is not the same in both ({', '.join(texts)}): {MEASURE_IT}."
