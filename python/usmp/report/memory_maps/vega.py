"""Vega, which draws the map: its JavaScript.

It comes with the package vl-convert, which the extra `report` installs.
"""

from __future__ import annotations

from functools import cache

from usmp.support.vega_process import run_vega

# The bundle's `vega` itself is empty; what is whole is the one in Vega-Embed, which also has the
# interpreter of expressions that needs no `eval`.
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_javascript() -> str:
    """Vega as a script that sets `window.vegaEmbed`, with no text that would end a script element.

    Raises
    ------
    ReportExtraMissing
        the package that has it is not installed.
    VegaFailed
        the process that gives it fails.
    """
    bundle = run_vega("HTML", "javascript_bundle", snippet=_SNIPPET).decode()
    return bundle.replace("</script", "<\\/script")
