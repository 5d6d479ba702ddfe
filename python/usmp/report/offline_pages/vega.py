"""The JavaScript of Vega, which draws on pages.

Vega is part of the package vl-convert, one of the optional dependencies `report`.
"""

from __future__ import annotations

from functools import cache

from usmp.support.process.vega_process import run_vega

# Use Vega-Embed, because the `vega` of the bundle is empty. Vega-Embed also has an interpreter of
# expressions that needs no `eval`.
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_javascript() -> str:
    """Return Vega as a script that sets `window.vegaEmbed` and cannot end a script element.

    Raises
    ------
    ReportExtraMissing
        the package with Vega is not installed.
    VegaFailed
        the process that prints Vega's JavaScript failed.
    """
    bundle = run_vega("HTML", "javascript_bundle", snippet=_SNIPPET).decode()
    return bundle.replace("</script", "<\\/script")
