"""Instruments that print and verify the IR between passes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, TextIO

import tvm
from tvm.ir import IRModule
from tvm.ir.instrument import PassInstrument

_ALL = "*"


_OMITTED = "# Metadata omitted. Use show_meta=True in script() method to show it."
"""Line of TVM's printer with advice for Python, which `script_of` replaces."""


def script_of(mod: IRModule, show_meta: bool) -> str:
    """Return the module as TVMScript, with TVM's metadata section if `show_meta`."""
    text: str = mod.script(show_meta=show_meta).strip()
    return text.replace(_OMITTED, "# Metadata omitted; --show-meta prints it.")


def _printable_script(mod: IRModule, show_meta: bool) -> str:
    """Return the module as TVMScript, without the functions that TVM cannot print."""
    try:
        return script_of(mod, show_meta)
    except TypeError:
        functions = mod.functions.items()
    parts = []
    for variable, function in functions:
        try:
            parts.append(script_of(IRModule({variable: function}), show_meta))
        except TypeError as error:
            parts.append(f"# TVM cannot print {variable.name_hint}: {error}")
    return "\n".join(parts)


class Printer(PassInstrument):  # type: ignore[misc]
    """An instrument that prints the IR before and after selected passes.

    Parameters
    ----------
    before, after
        names of the passes, with or without `usmp.`; "*" selects all.
    show_meta
        whether to print TVM's metadata section, too: the objects in attributes.
    stream
        stream to print to.
    """

    # Without `__dict__`, an object of C++ cannot have attributes of Python.
    __slots__ = ("__dict__",)

    def __init__(
        self, before: Sequence[str], after: Sequence[str], show_meta: bool, stream: TextIO
    ) -> None:
        super().__init__()
        self.before, self.after = list(before), list(after)
        self.show_meta, self.stream = show_meta, stream
        self.seen: set[str] = set()

    def run_before_pass(self, mod: IRModule, info: Any) -> None:
        """Print `mod` if the pass is in `before`."""
        self._print("before", self.before, mod, str(info.name))

    def run_after_pass(self, mod: IRModule, info: Any) -> None:
        """Print `mod` if the pass is in `after`."""
        self._print("after", self.after, mod, str(info.name))

    def unseen(self) -> list[str]:
        """Return the selected passes that did not run."""
        return [name for name in (*self.before, *self.after) if name not in (_ALL, *self.seen)]

    def _print(self, when: str, selected: list[str], mod: IRModule, name: str) -> None:
        matching = {_ALL, name, name.removeprefix("usmp.")}.intersection(selected)
        if matching:
            self.seen |= matching
            script = _printable_script(mod, self.show_meta)
            print(f"# IR {when} {name}\n{script}\n", file=self.stream, flush=True)


class Verifier(PassInstrument):  # type: ignore[misc]
    """An instrument that checks the IR after each pass, and names the pass that broke it."""

    def run_after_pass(self, mod: IRModule, info: Any) -> None:
        """Raise ValueError if `mod` is not well-formed."""
        verify(mod, f"after {info.name}")

    def unseen(self) -> list[str]:
        """Return no passes, because a verifier selects none by name."""
        return []


def verify(mod: IRModule, when: str) -> None:
    """Raise ValueError if a module is not well-formed by TVM's rules of Relax and of TIR."""
    try:
        tvm.relax.analysis.well_formed(mod)
        for func in mod.functions.values():
            if isinstance(func, tvm.tirx.PrimFunc):
                is_schedulable = isinstance(func.body, tvm.s_tir.SBlockRealize)
                analysis = tvm.s_tir.analysis if is_schedulable else tvm.tirx.analysis
                analysis.verify_well_formed(func)
    except Exception as error:
        raise ValueError(f"{when}, the IR is not well-formed: {error}") from error


def instruments(options: argparse.Namespace, mod: IRModule) -> list[Printer | Verifier]:
    """Return the instruments of the options. With `--verify-each`, check `mod` at once."""
    selected = {
        when: [
            *(name for text in getattr(options, f"print_{when}") for name in text.split(",")),
            *([_ALL] if getattr(options, f"print_{when}_all") else []),
        ]
        for when in ("before", "after")
    }
    active: list[Printer | Verifier] = []
    if selected["before"] or selected["after"]:
        active.append(
            Printer(selected["before"], selected["after"], options.show_meta, options.stderr)
        )
    if options.verify_each:
        verify(mod, "as it was read")
        active.append(Verifier())
    return active
