"""What a build is told about passes, on the command line and in Python: its PassContext."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from usmp.driver.errors import UsageError
from usmp.driver.options.pass_config import pass_context, told_settings


@dataclass(frozen=True)
class PassSettings:
    """What a build is told about passes; what is None is that of the current `PassContext`.

    Parameters
    ----------
    options
        pass options, as "tir.usmp.algorithm=hill_climb".
    opt_level
        of the context.
    disabled_pass
        names of passes, or one text with commas between them.
    instruments
        pass instruments of TVM.
    print_times
        whether to print what each pass took.
    print_before, print_after
        names of passes before and after which to print the module; with commas in one text.
    """

    options: Sequence[str] | None = None
    opt_level: int | None = None
    disabled_pass: str | Sequence[str] | None = None
    instruments: Sequence[object] | None = None
    print_times: bool = False
    print_before: str | Sequence[str] | None = None
    print_after: str | Sequence[str] | None = None

    @contextmanager
    def context(self) -> Iterator[None]:
        """Enter the context, and print at its end what is asked for.

        Raises
        ------
        UsageError
            a pass option is unknown or has no such value, or a pass to print did not run.
        """
        from tvm.ir.transform import PassContext

        from usmp.driver.options.pass_instruments import Printer
        from usmp.driver.options.pass_times import PassTimes

        given = (
            PassContext.current()
            if self.options is None
            else pass_context(told_settings(self.options))
        )
        before, after = _names(self.print_before), _names(self.print_after)
        printer = Printer(before, after, False, sys.stdout)
        times = PassTimes()
        instruments = given.instruments if self.instruments is None else self.instruments
        with PassContext(
            opt_level=given.opt_level if self.opt_level is None else self.opt_level,
            required_pass=list(given.required_pass),
            disabled_pass=list(given.disabled_pass)
            if self.disabled_pass is None
            else _names(self.disabled_pass),
            instruments=[
                *([times] if self.print_times else []),
                *([printer] if before or after else []),
                *instruments,
            ],
            config=dict(given.config),
        ):
            yield
        for name in printer.unseen():
            raise UsageError(
                f"pass {name} did not run, so there is nothing to print; print_pass_times "
                "(--print-pass-times) shows the names of those that do"
            )
        if self.print_times:
            print(times.table())


def _names(given: str | Sequence[str] | None) -> list[str]:
    """The names of passes in a list, or in one text with commas between them, which may stand in
    brackets."""
    if isinstance(given, str):
        return [name.strip() for name in given.strip("[]").split(",") if name.strip()]
    return list(given or [])
