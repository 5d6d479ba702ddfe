"""A sweep: one model, its configurations in order, and the results that are known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from usmp.exploration.pareto import Verdict, judge
from usmp.exploration.result import FAILED, Result


@dataclass(frozen=True)
class Configuration:
    """One way to build the model.

    Parameters
    ----------
    name
        name of the set of flags, if there are several sets.
    options
        name and value of each varied option.
    arguments
        all arguments of `tvmc compile` without the files, unique to a configuration.
    command
        command that builds the configuration, as a line for a shell.
    duplicates
        labels of other combinations of options that give the same arguments.
    """

    name: str | None
    options: tuple[tuple[str, str], ...]
    arguments: tuple[str, ...]
    command: str
    duplicates: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The text that distinguishes this configuration from other ones."""
        varied = " ".join(f"{name}={value}" for name, value in self.options)
        return " ".join(filter(None, (self.name, varied))) or "as given"


@dataclass(frozen=True)
class InputFile:
    """A file that a sweep reads.

    Parameters
    ----------
    name
        name of the file, without its folder.
    sha256
        SHA-256 of the content, in hexadecimal.
    """

    name: str
    sha256: str

    @classmethod
    def of(cls, name: str, content: bytes) -> InputFile:
        """Return the name of a file with the SHA-256 of its content."""
        return cls(name, hashlib.sha256(content).hexdigest())


@dataclass
class Sweep:
    """The configurations of a sweep, and the results that are known.

    Parameters
    ----------
    version
        version of usmp; another one may give other results.
    inputs
        the models, and all other input files.
    configurations
        all configurations, in the order in which they are shown.
    max_ram_bytes, max_flash_bytes
        limits in bytes; configurations above them are not compared.
    results
        arguments of a configuration -> its result.
    """

    version: str
    inputs: Sequence[InputFile]
    configurations: Sequence[Configuration]
    max_ram_bytes: int | None = None
    max_flash_bytes: int | None = None
    results: dict[tuple[str, ...], Result] = field(default_factory=dict)

    @property
    def remaining(self) -> list[Configuration]:
        """Configurations without a result, and failed ones, because a retry may succeed."""
        return [c for c in self.configurations if not self._is_done(c)]

    def _is_done(self, configuration: Configuration) -> bool:
        result = self.results.get(configuration.arguments)
        return result is not None and result.outcome != FAILED

    def rows(self) -> list[Row]:
        """Return a row for each configuration with a result, in order of the configurations."""
        done = [
            (number, configuration, self.results[configuration.arguments])
            for number, configuration in enumerate(self.configurations, 1)
            if configuration.arguments in self.results
        ]
        verdicts = judge(
            [result for _, _, result in done], self.max_ram_bytes, self.max_flash_bytes
        )
        numbers = [number for number, _, _ in done]
        return [
            Row(
                *of_one,
                verdict,
                _number(verdict.dominated_by, numbers),
                _number(verdict.same_as, numbers),
            )
            for of_one, verdict in zip(done, verdicts, strict=True)
        ]


@dataclass(frozen=True)
class Row:
    """A configuration with its result, compared with the other results.

    Parameters
    ----------
    number
        number of the configuration in the sweep, from 1.
    dominated_by, same_as
        fields of `Verdict`, but with numbers of configurations instead of indices.
    """

    number: int
    configuration: Configuration
    result: Result
    verdict: Verdict
    dominated_by: int | None
    same_as: int | None

    @property
    def status(self) -> str:
        """The outcome, or the verdict on a built configuration, in a few words."""
        if self.result.reason is not None:
            return self.result.outcome
        if not self.verdict.is_within_limits:
            return "over a limit"
        if self.dominated_by is not None:
            return f"dominated by {self.dominated_by}"
        return "best" if self.same_as is None else f"same as {self.same_as}"


def best_first(rows: Sequence[Row]) -> list[Row]:
    """Return the front, sorted by RAM, flash and instructions, then the other rows in order."""
    best = sorted((row for row in rows if row.verdict.is_best), key=_costs)
    return [*best, *(row for row in rows if not row.verdict.is_best)]


def _costs(row: Row) -> tuple[int, int, int, int]:
    result = row.result
    return (
        result.ram_bytes or 0,
        result.flash_bytes or 0,
        result.instructions or 0,
        row.number,
    )


def _number(index: int | None, numbers: Sequence[int]) -> int | None:
    return None if index is None else numbers[index]


def option_names(configurations: Sequence[Configuration]) -> list[str]:
    """Return the names of the varied options, in order."""
    names: Mapping[str, None] = dict.fromkeys(
        name for configuration in configurations for name, _ in configuration.options
    )
    return list(names)
