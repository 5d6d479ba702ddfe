"""The documents use the field's words, in American spelling."""

from __future__ import annotations

import re

from conftest import ROOT

DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("rfcs/*.md"),
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


def faults_of(text: str) -> list[str]:
    """List the words that a text avoids, and what to write instead."""
    words = words_of(text)
    return [
        f"{word}: write {instead}"
        for pattern, instead in {**AVOIDED, BRITISH: "as Americans spell it"}.items()
        for word in re.findall(rf"\b(?:{pattern})\b", words, re.IGNORECASE)
    ]


def test_words():
    assert len(DOCUMENTS) > 40
    found = [
        f"{path.relative_to(ROOT)}: {fault}"
        for path in DOCUMENTS
        for fault in faults_of(path.read_text())
    ]
    assert not found, "\n".join(found)


def test_words_that_are_found():
    found = faults_of("Whoever tells the colour.\n\n    whoever\n\n`rooms` [x](doors) Normalise")
    assert [fault.split(":")[0] for fault in found] == [
        "Whoever",
        "tells",
        "colour",
        "Normalise",
    ]
