"""The documents use the field's words, in American spelling."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT

DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
)
AVOIDED = {
    r"whoever": "say who, or any",
    r"nobody|somebody|everybody|anyone|someone": "say who",
    r"told|tells?|telling": "says, describes, returns, lists",
    r"dear|dearer": "expensive",
    r"rooms?": "space, packages",
    r"doors?": "entry points, interfaces",
    r"floors?|house": "layers",
}
"""A word that reads like a riddle in a technical text -> what to write instead."""
BRITISH = (
    r"(?:behavi|col|fav|neighb|hon)our\w*|centre\w*|licence\w*|"
    r"\w*(?:quant|normal|optim|initial|sanit|serial|recogn|legal|minim|maxim|organ)is(?:e|ed|es|ing|ation)"
)


def words_of(text: str) -> str:
    """The text without code, commands and addresses."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_words(path):
    text = words_of(path.read_text())
    for words, instead in AVOIDED.items():
        found = re.findall(rf"\b(?:{words})\b", text, re.IGNORECASE)
        assert found == [], f"write: {instead}"
    assert re.findall(rf"\b(?:{BRITISH})\b", text, re.IGNORECASE) == []
