"""Vega, which draws the map: its JavaScript, and what runs it outside of a browser.

Both come with the package vl-convert, which the extra `report` installs.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from usmp.support.distribution import install_command

# The bundle's `vega` itself is empty; what is whole is the one in Vega-Embed, which also has the
# interpreter of expressions that needs no `eval`.
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


class ReportExtraMissing(ImportError):
    """What draws is not installed; the message says how to install it."""


def load_vl_convert(what: str) -> Any:
    """The module `vl_convert`.

    Parameters
    ----------
    what
        it is for, in the message.

    Raises
    ------
    ReportExtraMissing
        it is not installed.
    """
    try:
        return import_module("vl_convert")
    except ImportError as error:
        raise ReportExtraMissing(
            f"{what} needs the package vl-convert-python, which is not installed; install it "
            f"with: {install_command('report')}"
        ) from error


@cache
def vega_javascript() -> str:
    """Vega as a script that sets `window.vegaEmbed`, with no text that would end a script element.

    Raises
    ------
    ReportExtraMissing
        the package that has it is not installed.
    """
    bundle: str = load_vl_convert("HTML").javascript_bundle(snippet=_SNIPPET)
    return bundle.replace("</script", "<\\/script")
