"""What the summary says of images whose channels come first or last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.names import BALANCED, BALANCED_PERCENT, SPEED


def layout_sentence(metadata: Mapping[str, Any]) -> str | None:
    """What the other order of channels would take, if one saves memory and the other instructions;
    None if not.

    Parameters
    ----------
    metadata
        of one module of an archive.
    """
    said = metadata.get("image_layout")
    if said is None:
        return None
    first, last = said["channels_first_peak_bytes"], said["channels_last_peak_bytes"]
    if last <= first:
        return None
    if said["layout"] == "NHWC":
        return (
            f"Images have their channels last, for fewer instructions; with channels first the "
            f"workspace would take {first} bytes, not {last}."
        )
    goals = [BALANCED, SPEED] if 100 * last <= BALANCED_PERCENT * first else [SPEED]
    more = 100 * (last / first - 1) if first else 0.0
    return (
        f"Images keep their channels first: with channels last, tir.usmp.optimize="
        f"{' or '.join(goals)}, they would take fewer instructions, but {last} bytes of workspace, "
        f"not {first} ({more:+.1f} %)."
    )
