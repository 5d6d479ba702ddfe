"""The runtime that code is made for, as `tvm.relay.backend.Runtime` was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

NEEDS_NO_RUNTIME = "the C needs no runtime"


@dataclass(frozen=True)
class Runtime:
    """TVM's runtime for C, which the emitted code does without.

    Parameters
    ----------
    name
        "crt".
    options
        TVM's of that runtime: "system-lib", which must be false.

    Raises
    ------
    ValueError
        another runtime or option.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name != "crt":
            raise ValueError(
                f'unknown runtime "{self.name}"; supported: "crt"; {NEEDS_NO_RUNTIME}. For TVM\'s '
                'C++ runtime leave it out, and make packed functions: Executor("aot", '
                '{"interface-api": "packed"})'
            )
        for option, value in self.options.items():
            if option != "system-lib":
                raise ValueError(f'unknown option "{option}" of runtime crt; supported: system-lib')
            if value:
                raise ValueError(
                    "option system-lib of runtime crt must be false: functions are called by their "
                    "names in C, as tvmgen_<module>_run, and stand in no table"
                )
