"""What makes a model fit that does not: an option, or two, with the command to copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    from usmp.report.verdicts import Need

_LONGEST_FLAGS = 200
"""Most characters of flags in a sentence; the command has all."""


@dataclass(frozen=True)
class Fitting:
    """The first option or pair of options with which a model fits, or the one that misses least.

    Parameters
    ----------
    flags
        flags of `tvmc`; empty if no option brings the model closer.
    what
        what they do.
    application
        what the application has to change; empty for nothing.
    command
        command that compiles the model with them.
    ram, flash
        needed and available bytes with them.
    why_not
        reason, other than the sizes, why the model does not fit.
    tried
        flags of all options that were planned, in their order.
    pairs
        how many of these are pairs.
    seconds
        most time that trials take.
    is_complete
        whether the time was enough to try all.
    """

    flags: str
    what: str
    application: str
    command: str
    ram: Need
    flash: Need
    why_not: str = ""
    tried: Sequence[str] = ()
    pairs: int = 0
    seconds: int = 0
    is_complete: bool = True

    @property
    def fits(self) -> bool:
        """Whether the model fits with them."""
        return bool(self.flags) and not (self.ram.missing or self.flash.missing or self.why_not)

    def sentences(self) -> Iterator[str]:
        """Yield what fits and by how much, or what misses least."""
        if not self.flags:
            yield f"Nothing that was tried needs less. {self._extent()}"
            return
        known = (("RAM", self.ram), ("flash", self.flash))
        figures = "; ".join(_figure(*each) for each in known if each[1].available is not None)
        flags = shown(self.flags, _LONGEST_FLAGS)
        if self.fits:
            yield f"It fits with {flags}: {figures}."
        else:
            yield f"Nothing that was tried fits; closest is {flags}: {figures}."
        words = "; ".join(filter(None, (self.what, self.application)))
        yield f"{words[:1].upper()}{words[1:]}. {self._extent()}"

    def _extent(self) -> str:
        counts = len(self.tried) - self.pairs, self.pairs
        named = zip(counts, ("option", "pair"), strict=True)
        tried = " and ".join(f"{n} {name}{'' if n == 1 else 's'}" for n, name in named if n)
        if self.tried and not self.fits:
            tried = f"{', '.join(shown(flags, _LONGEST_FLAGS) for flags in self.tried)} ({tried})"
        end = "" if self.is_complete else ", which ended before all were tried"
        return f"Tried: {tried or 'nothing'}, in at most {self.seconds} s{end}."

    def as_json(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        return {
            "fits": self.fits,
            "flags": self.flags,
            "what": self.what,
            "application": self.application,
            "command": self.command,
            "ram": self.ram.as_json(),
            "flash": self.flash.as_json(),
            "why_not": self.why_not,
            "tried": list(self.tried),
            "pairs": self.pairs,
            "seconds": self.seconds,
            "is_complete": self.is_complete,
        }


def _figure(memory: str, need: Need) -> str:
    """Return the needed bytes and the distance from the limit."""
    rest = (need.available or 0) - need.needed
    where = f"{rest} below the limit" if rest >= 0 else f"{-rest} too many"
    return f"{memory} {need.needed} bytes, {where}"
