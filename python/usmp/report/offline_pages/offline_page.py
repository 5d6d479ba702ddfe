"""A single HTML file that opens offline, with tables and interactive drawings.

The policy of a page allows only its own scripts and styles, by their digests. It forbids `eval` and
all access to the network.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from usmp.report.offline_pages.vega import vega_javascript
from usmp.support.text.plain_text import shown

_SHARED = ("usmp.report.offline_pages", "files")


def offline_page(title: str, package: str, folder: str, **parts: str) -> str:
    """Return the HTML of a page.

    Parameters
    ----------
    title
        the title as text.
    package, folder
        package and folder with the page's own files: `page.html`, its body as a template with the
        place `drawings`; `*.js` in the order of their names, and `*.css`, both after those that
        all pages share.
    parts
        HTML for the other places of the template and of `drawings.html`, by name.

    Raises
    ------
    ReportExtraMissing
        the package with Vega is not installed.
    VegaFailed
        the process that prints Vega's JavaScript failed.
    """
    vega, script = vega_javascript(), _script(package, folder)
    style = _all(*_SHARED, ".css") + _all(package, folder, ".css")
    drawings = Template(_file(*_SHARED, "drawings.html")).substitute(
        parts, vega=vega, script=script
    )
    body = Template(_file(package, folder, "page.html")).substitute(parts, drawings=drawings)
    return Template(_file(*_SHARED, "shell.html")).substitute(
        policy=_policy([vega, script], style), title=escape(shown(title)), style=style, body=body
    )


def script_json(data: dict[str, Any]) -> str:
    """Return data as JSON that is safe inside a script element."""
    # Escape these characters, so that no text can end the script element or begin a comment.
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def drawing_html(title: str, facts: str, name: str, label: str) -> str:
    """Return the HTML around a drawing, with a title and zoom buttons.

    Parameters
    ----------
    title, facts
        title and line below it, as HTML.
    name
        the title as text.
    label
        description of the drawing and its keys for screen readers, as text.
    """
    name, label = escape(shown(name)), escape(label)
    buttons = "".join(
        f'<button type="button" data-zoom="{direction}" aria-label="{words} {name}">{sign}</button>'
        for direction, words, sign in (
            ("in", "Zoom in on", "+"),
            ("out", "Zoom out of", "&minus;"),
            ("all", "Show all of", "Show all"),
        )
    )
    return (
        f'<section class="map"><div class="map-head"><div><h3>{title}</h3><p>{facts}</p></div>'
        f'<div class="zoom" role="group" aria-label="Zoom of {name}">{buttons}</div></div>'
        f'<div class="drawing" role="application" tabindex="0" aria-label="{label}"></div>'
        "</section>"
    )


@cache
def _file(package: str, folder: str, name: str) -> str:
    return files(package).joinpath(folder, name).read_text(encoding="utf-8")


@cache
def _all(package: str, folder: str, ending: str) -> str:
    """Return the files of a folder with an ending, concatenated in the order of their names."""
    names = sorted(file.name for file in files(package).joinpath(folder).iterdir())
    return "\n".join(_file(package, folder, name) for name in names if name.endswith(ending))


@cache
def _script(package: str, folder: str) -> str:
    shared, own = _all(*_SHARED, ".js"), _all(package, folder, ".js")
    return "\n".join(['(() => {\n"use strict";', shared, own, "})();\n"])


def _policy(scripts: list[str], style: str) -> str:
    """Return the Content-Security-Policy of the page."""
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
