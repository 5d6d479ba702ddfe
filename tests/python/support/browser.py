"""Chromium, for pages: what they show, what they say on the console, and what they ask for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The path of a browser of this host."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def started_browser() -> Iterator[Browser]:
    """A browser without a window; the test is skipped where there is none."""
    path = chromium()
    if path is None:
        pytest.skip(f"needs a browser: none of {', '.join(PROGRAMS)} is installed")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, file: Path, **settings: Any) -> Iterator[Page]:
    """A page of its own, once it answers; nothing may be said on the console or be fetched."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 1500}, **settings})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: said.append(f"request: {request.url}"))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready=true]", state="attached")
    yield page
    context.close()
    assert said == [f"request: {file.as_uri()}"]
