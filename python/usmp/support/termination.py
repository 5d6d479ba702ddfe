"""How signals end a process of the command line: at once, whatever it is doing, and tidily.

An exception would not do: libraries swallow it, print it, or are left half-made by it. So the
handler itself undoes what must not stay (temporary files, folders and programs), says in one line
what happened, and ends the process.

Only `usmp.__main__` installs the handler. In any other process signals are handled as they
were, and what is registered here has no effect; exceptions clean up.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import NoReturn

# Nothing more is imported here: until the handler is installed, Python's own answers.

_WORDS = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "terminated, the terminal is gone",
}
_USUAL = (signal.SIG_DFL, signal.default_int_handler)


class _State:
    """Of the process."""

    name = ""
    stderr = -1
    installed: tuple[int, ...] = ()
    postponing = 0
    postponed: int | None = None
    settled: int | None = None


_undo: dict[object, Callable[[], object]] = {}


def end_by_signals(name: str) -> None:
    """Let SIGINT, SIGTERM and SIGHUP end the process with status 128 + number, and one line.

    Signals that the parent process ignores stay ignored, as under `nohup`.

    Parameters
    ----------
    name
        of the program, which begins the line.
    """
    _State.name = name
    _State.installed = tuple(s for s in _WORDS if signal.getsignal(s) in _USUAL)
    try:
        # Number 2 is turned away while TVM works.
        _State.stderr = os.dup(2)
    except OSError:
        _State.stderr = -1  # It is closed: nothing can be printed.
    for number in _State.installed:
        signal.signal(number, _handle)


def is_own_process() -> bool:
    """Whether the process is one of the command line, not that of a program which calls it."""
    return bool(_State.name)


def use_default_signals() -> None:
    """Let signals end a copy of the process without a word, and without undoing anything."""
    for number in _State.installed:
        signal.signal(number, signal.SIG_DFL)


def end(number: int) -> NoReturn:
    """End the process as the signal does."""
    ignore_signals()
    for undo in reversed(list(_undo.values())):
        _attempt(undo)
    if _State.settled is None:
        line = f"{_State.name}: {_WORDS[signal.Signals(number)]}\n"
        _attempt(lambda: os.write(_State.stderr, line.encode()))
    os._exit(128 + number if _State.settled is None else _State.settled)


def settle(status: int) -> None:
    """What the command was to do is done, or has failed and the user knows: a signal that comes
    from now on ends the process with this status, and says nothing.
    """
    _State.settled = status


def ignore_signals() -> None:
    """The process ends; no signal gets in between."""
    for number in _State.installed:
        signal.signal(number, signal.SIG_IGN)


def undo_at_signal(undo: Callable[[], object]) -> Callable[[], object]:
    """Call `undo` if a signal ends the process, what was registered last first.

    Returns
    -------
    Callable[[], object]
        What takes it back; may be called more than once.
    """
    key = object()
    _undo[key] = undo
    return lambda: _undo.pop(key, None)


class postponed_signals:
    """Inside, signals wait: for the steps between making something and registering its undoing."""

    def __enter__(self) -> None:
        _State.postponing += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _State.postponing -= 1
        if not _State.postponing and _State.postponed is not None:
            end(_State.postponed)


def _attempt(step: Callable[[], object]) -> None:
    """The others come all the same."""
    try:
        step()
    except Exception:
        return


def _handle(number: int, frame: FrameType | None) -> None:
    if _State.postponing:
        _State.postponed = number
    else:
        end(number)
