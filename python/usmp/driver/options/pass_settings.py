"""The pass settings of a build, from the command line or from Python, and their PassContext."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from usmp.driver.errors import UsageError
from usmp.driver.options.pass_config import pass_context, told_settings


@dataclass(frozen=True)
class PassSettings:
    """The settings of a build for its `PassContext`.

    Parameters
    ----------
    options
        pass options, such as "tir.usmp.algorithm=hill_climb"; None for the options of the
        current context, which then also has the defaults of the next three fields.
    opt_level
        optimization level of the context.
    disabled_pass
        names of passes, as a list or as text separated by commas.
    instruments
        pass instruments of TVM.
    print_times
        whether to print the time of each pass.
    print_before, print_after
        names of passes before and after which to print the module, as a list or as text.
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
        """Enter the context, and print the times of the passes at its end.

        Raises
        ------
        UsageError
            a pass option or its value is unknown, or a pass to print did not run.
        """
        from tvm.ir.transform import PassContext

        from usmp.driver.options.pass_instruments import Printer
        from usmp.driver.options.pass_times import PassTimes

        base = PassContext.current()
        disabled = list(base.disabled_pass)
        if self.disabled_pass is not None:
            disabled = _names(self.disabled_pass)
        if self.options is not None:
            settings, replaced = told_settings(self.options)
            base = pass_context(settings)
            disabled = [*_names(self.disabled_pass), *replaced]
        before, after = _names(self.print_before), _names(self.print_after)
        printer = Printer(before, after, False, sys.stdout)
        times = PassTimes()
        instruments = base.instruments if self.instruments is None else self.instruments
        with PassContext(
            opt_level=base.opt_level if self.opt_level is None else self.opt_level,
            required_pass=list(base.required_pass),
            disabled_pass=disabled,
            instruments=[
                *([times] if self.print_times else []),
                *([printer] if before or after else []),
                *instruments,
            ],
            config=dict(base.config),
        ):
            yield
        for name in printer.unseen():
            raise UsageError(
                f"pass {name} did not run, so there is nothing to print; print_pass_times "
                "(--print-pass-times) shows the names of those that do"
            )
        if self.print_times:
            print(times.table())


def _names(names: str | Sequence[str] | None) -> list[str]:
    """Return the names in a list, or in text separated by commas, which may be in brackets."""
    if isinstance(names, str):
        return [name.strip() for name in names.strip("[]").split(",") if name.strip()]
    return list(names or [])
