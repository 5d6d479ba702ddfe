"""Signal handlers that end a command-line process at once, with cleanup.

An exception would not do, because libraries swallow it, print it, or are left in an inconsistent
state. So the handler itself removes temporary files, folders and child processes, prints one line,
and ends the process.

Only `usmp.__main__` installs the handler. In other processes signals are handled as before, and
registrations here have no effect; exceptions clean up.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import NoReturn

# Import nothing else here, so that the handler is installed as early as possible.

_WORDS = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "terminated, the terminal is gone",
}
_USUAL = (signal.SIG_DFL, signal.default_int_handler)


class _State:
    """The state of signal handling in this process."""

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
        name of the program, the prefix of the line.
    """
    _State.name = name
    _State.installed = tuple(s for s in _WORDS if signal.getsignal(s) in _USUAL)
    try:
        # Duplicate it, because descriptor 2 is redirected while TVM works.
        _State.stderr = os.dup(2)
    except OSError:
        _State.stderr = -1  # The stream is closed, so that the handler prints nothing.
    for number in _State.installed:
        signal.signal(number, _handle)


def is_own_process() -> bool:
    """Return whether this is a command-line process, not a program that imports usmp."""
    return bool(_State.name)


def use_default_signals() -> None:
    """Restore default handlers in a forked copy, so that signals end it without cleanup."""
    for number in _State.installed:
        signal.signal(number, signal.SIG_DFL)


def end(number: int) -> NoReturn:
    """Clean up, print one line, and end the process because of a signal."""
    ignore_signals()
    for undo in reversed(list(_undo.values())):
        _attempt(undo)
    if _State.settled is None:
        line = f"{_State.name}: {_WORDS[signal.Signals(number)]}\n"
        _attempt(lambda: os.write(_State.stderr, line.encode()))
    os._exit(128 + number if _State.settled is None else _State.settled)


def settle(status: int) -> None:
    """Let later signals end the process silently with this status.

    Call it when the command has succeeded, or has reported its failure.
    """
    _State.settled = status


def ignore_signals() -> None:
    """Ignore signals while the process ends."""
    for number in _State.installed:
        signal.signal(number, signal.SIG_IGN)


def undo_at_signal(undo: Callable[[], object]) -> Callable[[], object]:
    """Call `undo` if a signal ends the process, in reverse order of registration.

    Returns
    -------
    Callable[[], object]
        A function that removes the registration; may be called more than once.
    """
    key = object()
    _undo[key] = undo
    return lambda: _undo.pop(key, None)


class postponed_signals:
    """A context that postpones signals, for steps between creating and registering a resource."""

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
    """Run one step of the cleanup, and ignore errors so that the other steps run, too."""
    try:
        step()
    except Exception:
        return


def _handle(number: int, frame: FrameType | None) -> None:
    if _State.postponing:
        _State.postponed = number
    else:
        end(number)
