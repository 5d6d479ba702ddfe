"""Vega outside of a browser: the package vl-convert, in a process of its own.

Its JavaScript engine reserves address space when it starts, and a signal ends the process if
the reservation fails.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib.util import find_spec

from usmp.support.distribution import install_command
from usmp.support.process.address_space import address_space_limit

_PROGRAM = """
import sys
sys.path[:] = sys.argv[1:]
import json, vl_convert
function, arguments = json.load(sys.stdin)
result = getattr(vl_convert, function)(**arguments)
sys.stdout.buffer.write(result if isinstance(result, bytes) else result.encode())
"""
_RESERVED = {"javascript_bundle": "about 300 MB", "vegalite_to_html": "about 300 MB"}
_RESERVED_TO_DRAW = "about 67 GB"
"""Reserved address space, most of which is never used."""


class ReportExtraMissing(ImportError):
    """The package vl-convert is not installed; the message says how to install it."""


class VegaFailed(RuntimeError):
    """The process of vl-convert failed; the message has the reason and the required memory."""


def check_vega(purpose: str) -> None:
    """Raise if vl-convert is not installed.

    Parameters
    ----------
    purpose
        the feature that needs vl-convert, such as "SVG".

    Raises
    ------
    ReportExtraMissing
        vl-convert is not installed.
    """
    if find_spec("vl_convert") is None:
        raise ReportExtraMissing(
            f"{purpose} needs the package vl-convert-python, which is not installed; install it "
            f"with: {install_command('report')}"
        )


def run_vega(purpose: str, function: str, **arguments: object) -> bytes:
    """Run a function of vl-convert in a process, and return its result; text is UTF-8.

    Parameters
    ----------
    purpose
        the feature that needs vl-convert, for messages.
    function
        name of the function in the module `vl_convert`.
    arguments
        keyword arguments that can be written as JSON.

    Raises
    ------
    ReportExtraMissing
        vl-convert is not installed.
    VegaFailed
        the process ends by a signal or an error, or cannot be started.
    """
    check_vega(purpose)
    command = [sys.executable, "-c", _PROGRAM, *sys.path]
    request = json.dumps([function, arguments]).encode()
    try:
        done = subprocess.run(command, input=request, capture_output=True, check=False)
    except (OSError, MemoryError) as error:
        raise VegaFailed(
            f"{purpose}: vl-convert, which draws, cannot be started: {error}"
        ) from error
    if done.returncode == 0:
        return done.stdout
    if done.returncode > 0:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise VegaFailed(f"{purpose}: vl-convert, which draws, failed: {last}")
    reserved = _RESERVED.get(function, _RESERVED_TO_DRAW)
    raise VegaFailed(
        f"{purpose}: vl-convert, which draws, ended by {signal.Signals(-done.returncode).name}; it "
        f"needs {reserved} of address space, and {address_space_limit()}; raise the limit, or "
        "write a report without a drawing"
    )
