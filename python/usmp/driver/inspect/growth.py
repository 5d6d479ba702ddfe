"""`--fail-on-growth`: limits on the growth of memory between two builds."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.options.byte_count import INT64_MAX, byte_count
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    from usmp.report.diff.plan_diff import Change, ModuleDiff

_PERCENT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%")


@dataclass(frozen=True)
class GrowthLimit:
    """The largest growth that is allowed: in bytes, or in percent of the size before.

    Parameters
    ----------
    text
        limit as the user wrote it.
    bytes
        limit in bytes; None if `percent` is set.
    percent
        limit in percent; None if `bytes` is set.
    """

    text: str
    bytes: int | None
    percent: Fraction | None = None

    def allows(self, change: Change) -> bool:
        """Return whether a change is within the limit."""
        if self.percent is not None:
            return 100 * change.growth <= self.percent * (change.before or 0)
        assert self.bytes is not None
        return change.growth <= self.bytes


def growth_limit(text: str) -> GrowthLimit:
    """Parse the value of `--fail-on-growth` or `--fail-on-flash-growth`."""
    percent = _PERCENT.fullmatch(text.strip())
    if percent:
        return GrowthLimit(text.strip(), None, Fraction(percent[1]))
    number = byte_count(text)
    if number is None or number > INT64_MAX:
        raise argparse.ArgumentTypeError(
            f"must be bytes or a percentage, such as 0, 1K or 2%, not {shown(text)}"
        )
    return GrowthLimit(text.strip(), number)


def checked_limits(options: argparse.Namespace, diff: ModuleDiff) -> list[dict[str, Any]]:
    """Compare the changes of a module with the limits, and return a result for each limit.

    Raises
    ------
    UsageError
        there is a limit for the RAM, but a file lacks the size of the RAM.
    """
    results = []
    if options.fail_on_growth is not None:
        if "ram_size_bytes" not in diff.sums:
            raise UsageError(
                "--fail-on-growth: a file lacks the RAM in all (an earlier version wrote it); "
                "compile that model again"
            )
        change = diff.sums["ram_size_bytes"]
        results.append(_result("--fail-on-growth", "RAM", options.fail_on_growth, diff, change))
    if options.fail_on_flash_growth is not None:
        has_code = "flash_size_bytes" in diff.sums
        memory = "flash" if has_code else "flash for constants (code not counted)"
        limit = options.fail_on_flash_growth
        results.append(_result("--fail-on-flash-growth", memory, limit, diff, diff.flash))
    return results


def _result(
    option: str, memory: str, limit: GrowthLimit, diff: ModuleDiff, change: Change
) -> dict[str, Any]:
    return {
        "module": diff.name,
        "option": option,
        "limit": limit.text,
        "what": memory,
        "before": change.before,
        "after": change.after,
        "exceeded": not limit.allows(change),
    }


def growth_sentence(result: dict[str, Any]) -> str:
    """Return a result of `checked_limits` as a sentence."""
    growth = result["after"] - result["before"]
    name = f"{shown(result['module'])}: " if result["module"] else ""
    if not result["exceeded"]:
        return (
            f"{name}{result['what']} {result['before']} -> {result['after']} bytes, within "
            f"{result['option']}={result['limit']}"
        )
    return (
        f"{name}{result['what']} grew by {growth} bytes, from {result['before']} to "
        f"{result['after']}, more than {result['option']}={result['limit']}"
    )
