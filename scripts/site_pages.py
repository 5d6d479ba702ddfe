"""A hook of MkDocs that adds the pages outside of docs/ to the site, and rewrites links.

On GitHub, documents link to each other by their paths in the repository, but MkDocs knows one
folder only. So this hook adds the other pages, and turns links between pages into links of the
site. Links to files that are not pages, such as sources, become plain text. A link to a file that
does not exist ends the build.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = "CHANGELOG.md"
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "examples/README.md": "examples/index.md",
    "examples/digits/README.md": "examples/digits.md",
    "examples/06_accelerator/README.md": "examples/accelerator.md",
    "src/usmp_solver/README.md": "solver-sources.md",
}
"""Path in the repository -> page of the site, without RFCs and the changelog."""
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\(([^)\s]+)\)")


def pages() -> dict[str, str]:
    """Return all pages outside of docs/: path in the repository -> page of the site."""
    rfcs = {f"rfcs/{path.name}": f"rfcs/{path.name}" for path in sorted(ROOT.glob("rfcs/*.md"))}
    changelog = {CHANGELOG: "changelog.md"} if (ROOT / CHANGELOG).exists() else {}
    return PAGES | rfcs | changelog


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the RFCs, and the changelog if there is one, to the last group of the navigation."""
    (project,) = config.nav[-1].values()
    if CHANGELOG in pages():
        project.append({"Changelog": pages()[CHANGELOG]})
    project.append({"RFCs": [page for page in pages().values() if page.startswith("rfcs/")]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside of docs/."""
    for source, page in pages().items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages."""
    sources = {name: path for path, name in pages().items()}
    source = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    parts = FENCE.split(markdown)
    fences = FENCE.findall(markdown)
    texts = [LINK.sub(lambda link: site_link(link, source, page.file.src_uri), p) for p in parts]
    return "".join(t + f for t, f in zip(texts, [*fences, ""], strict=True))


def site_link(link: re.Match[str], source: str, page: str) -> str:
    """Return the text on the site of a link in the file `source`."""
    text, target = link.groups()
    if re.match(r"[a-z]+:|#", target):
        return link[0]
    path, mark, anchor = target.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if not (ROOT / path).exists():
        raise PluginError(f"{source} links to {path}, which does not exist")
    if (ROOT / path).is_dir():
        path = f"{path}/README.md"
    target_page = pages().get(
        path, path.removeprefix("docs/") if path.startswith("docs/") else None
    )
    if target_page is None:
        return text
    return f"[{text}]({posixpath.relpath(target_page, posixpath.dirname(page))}{mark}{anchor})"
