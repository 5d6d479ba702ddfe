"""What `usmp-opt` does between passes: it prints the IR, and checks it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, TextIO

import tvm
from tvm.ir import IRModule
from tvm.ir.instrument import PassInstrument

_ALL = "*"


_OMITTED = "# Metadata omitted. Use show_meta=True in script() method to show it."
"""TVM's advice to users of Python."""


def script_of(mod: IRModule, show_meta: bool) -> str:
    """The module as TVMScript, with advice for the command line; objects of attributes are printed
    with `show_meta`."""
    text: str = mod.script(show_meta=show_meta).strip()
    return text.replace(_OMITTED, "# Metadata omitted; --show-meta prints it.")


def _as_far_as_possible(mod: IRModule, show_meta: bool) -> str:
    """Return the module as TVMScript; if TVM cannot print it, the functions that it can print."""
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
    """Prints the IR before some passes and after some.

    Parameters
    ----------
    before, after
        names of the passes, with or without `usmp.`; "*" is all of them.
    show_meta
        whether objects of attributes are printed too.
    stream
        where to.
    """

    # Objects of C++ have no other attributes else.
    __slots__ = ("__dict__",)

    def __init__(
        self, before: Sequence[str], after: Sequence[str], show_meta: bool, stream: TextIO
    ) -> None:
        super().__init__()
        self.before, self.after = list(before), list(after)
        self.show_meta, self.stream = show_meta, stream
        self.seen: set[str] = set()

    def run_before_pass(self, mod: IRModule, info: Any) -> None:
        """Print `mod` if that is wanted."""
        self._print("before", self.before, mod, str(info.name))

    def run_after_pass(self, mod: IRModule, info: Any) -> None:
        """The same."""
        self._print("after", self.after, mod, str(info.name))

    def unseen(self) -> list[str]:
        """Passes whose IR was wanted, but that did not run."""
        return [name for name in (*self.before, *self.after) if name not in (_ALL, *self.seen)]

    def _print(self, when: str, wanted: list[str], mod: IRModule, name: str) -> None:
        matching = {_ALL, name, name.removeprefix("usmp.")}.intersection(wanted)
        if matching:
            self.seen |= matching
            script = _as_far_as_possible(mod, self.show_meta)
            print(f"# IR {when} {name}\n{script}\n", file=self.stream, flush=True)


class Verifier(PassInstrument):  # type: ignore[misc]
    """Checks what each pass leaves, and names the pass that leaves what is no IR."""

    def run_after_pass(self, mod: IRModule, info: Any) -> None:
        """Check `mod`.

        Raises
        ------
        ValueError
            it is not well-formed.
        """
        verify(mod, f"after {info.name}")

    def unseen(self) -> list[str]:
        """Nothing is waited for."""
        return []


def verify(mod: IRModule, when: str) -> None:
    """Check that a module is well-formed, by TVM's rules of Relax and of TIR.

    Raises
    ------
    ValueError
        it is not.
    """
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
    """What the options ask for; `mod`, which no pass made, is checked at once."""
    wanted = {
        when: [
            *(name for text in getattr(options, f"print_{when}") for name in text.split(",")),
            *([_ALL] if getattr(options, f"print_{when}_all") else []),
        ]
        for when in ("before", "after")
    }
    made: list[Printer | Verifier] = []
    if wanted["before"] or wanted["after"]:
        made.append(Printer(wanted["before"], wanted["after"], options.show_meta, options.stderr))
    if options.verify_each:
        verify(mod, "as it was read")
        made.append(Verifier())
    return made
