"""Write docs/options.md: the options of every command, of passes and of memory pools.

python scripts/write_options.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import fill

from usmp.driver.options.pool_flags import CONSTANT, WORKSPACE, key_texts
from usmp.driver.options.pool_keys import KEYS
from usmp.driver.terminal.help import HELP_DESTINATIONS, HelpFormatter, Rare
from usmp.driver.tvmc import command_parsers
from usmp.names import OPTIONAL_PASSES, PASS_OPTIONS, REPORTS

PAGE = Path(__file__).resolve().parents[1] / "docs/options.md"

_COMPILE = "compile"
_KEY_FLAGS = (WORKSPACE.tvm_list, CONSTANT.tvm_list)
_INTRODUCTION = """\
# Options

Every option of [`tvmc`](tvmc.md) and of the passes. `tvmc COMMAND --help` shows the options that
are often needed, `tvmc COMMAND --help-all` also those with a star here. Write flags in full.
`scripts/write_options.py` writes this page from the code.
"""
_PASS_OPTIONS = """
## Pass options

Set them by `--pass-config NAME=VALUE`, or in Python by `PassContext(config={NAME: VALUE})`. A list
has commas between its words. `tvmc list pass-configs` prints them.
"""
_PASSES = """
## Passes that can be disabled

Results are right without them. Leave them out by `--disabled-pass=NAME,...`, or in Python by
`PassContext(disabled_pass=[NAME])`, to compare or to find a fault. `FuseOps` stands for all passes
that fuse operators. `tvmc list passes` prints them.
"""
_POOLS = """
## Keys of memory pools

The keys of `--usmp-workspace-pool-NAME` and `--usmp-parameter-pool-NAME`, with semicolons between
them, as in `"target=c;size=64K"`. [Memory pools](memory-pools.md) shows their use. Each key is also
a flag for all pools, as in TVM 0.18: `--workspace-pools` lists workspace pools, and
`--constant-pools` constant pools, whose flags begin with `--constant-pools-`.
"""
_REPORTS = """
## Reports

The endings of the files that `--report` writes:
"""


def options_page() -> str:
    """Return the text of the page."""
    commands = command_parsers()
    of_compile = [a for a in commands[_COMPILE]._actions if _is_listed(a)]
    known = {_text(action) for action in of_compile}
    lines = [_INTRODUCTION]
    for name, parser in commands.items():
        lines.append(f"## tvmc {name}\n\n{_paragraph(parser.description or '')}")
        flags = {_flag(action) for action in parser._actions}
        shares = name != _COMPILE and "--pass-config" in flags
        if shares:
            missing = [a for a in parser.shown(of_compile) if _flag(a) not in flags]
            lines.append(_shared(missing))
        for group in parser.groups():
            actions = [a for a in parser.shown(group._group_actions) if _is_listed(a)]
            rows = [_row(a) for a in actions if not shares or _text(a) not in known]
            if rows:
                title = (group.title or "").capitalize()
                lines.append(f"**{title}**\n\n" + _table(("option", ""), rows))
    lines += [_PASS_OPTIONS, _table(("option", "values", "default", ""), _pass_options())]
    passes = ((f"`{name}`", _cell(text)) for name, text in OPTIONAL_PASSES.items())
    lines += [_PASSES, _table(("pass", "what it does"), passes)]
    lines += [_POOLS, _table(("key", "flag for all pools", ""), _keys())]
    reports = ((f"`{ending}`", _cell(text)) for ending, text in REPORTS.items())
    lines += [_REPORTS, _table(("ending", "content"), reports)]
    return "\n".join(line.strip("\n") + "\n" for line in lines)


def _flag(action: argparse.Action) -> str:
    """Return the long flag of an option."""
    return next((flag for flag in action.option_strings if flag.startswith("--")), action.dest)


def _text(action: argparse.Action) -> tuple[str, str]:
    """Return the flag and the help of an option, which several commands may have."""
    return _flag(action), str(action.help)


def _is_listed(action: argparse.Action) -> bool:
    """Return whether a table of a command has the option. Keys of pools have one of their own."""
    return action.dest not in HELP_DESTINATIONS and not _flag(action).startswith(_KEY_FLAGS)


def _shared(missing: Iterable[argparse.Action]) -> str:
    """Return the sentence about a command that has the options of `tvmc compile`."""
    names = ", ".join(f"`{_flag(action)}`" for action in missing)
    but = f" except {names}" if names else ""
    return _paragraph(f"It has the options of [`tvmc compile`](#tvmc-compile){but}, and these:")


def _keys() -> Iterator[tuple[str, ...]]:
    for key, (written, text) in zip(KEYS, key_texts().items(), strict=True):
        _, separator, value = written.partition("=")
        flag = f"{WORKSPACE.tvm_flag(key)}=POOL{':' if separator else ''}{value}"
        yield _code(written), _code(flag), _cell(text)


def _row(action: argparse.Action) -> tuple[str, str]:
    formatter = HelpFormatter("tvmc")
    star = " \\*" if isinstance(action.help, Rare) else ""
    name = formatter._format_action_invocation(action)
    return f"{_code(name)}{star}", _cell(formatter._expand_help(action))


def _pass_options() -> Iterator[tuple[str, ...]]:
    for name, option in PASS_OPTIONS.items():
        values = [
            f"`{value}`: {_cell(text)}" if text else f"`{value}`"
            for value, text in option.values.items()
        ]
        default = f"`{option.default}`" if option.default is not None else ""
        shown = ("; " if any(option.values.values()) else ", ").join(values) or option.type_name
        yield f"`{name}`", shown.replace("<", "&lt;"), default, _cell(option.description)


def _table(titles: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table of Markdown, with escaped cells."""
    cells = [tuple(titles)]
    lines = [*cells, tuple("---" for _ in cells[0]), *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines) + "\n"


def _code(text: str) -> str:
    """Return a code span for a cell of a table."""
    return "`" + text.replace("|", "\\|") + "`"


def _cell(text: str) -> str:
    """Return a text with the special characters of tables escaped."""
    return text.replace("<", "&lt;").replace("|", "\\|").replace("[", "\\[")


def _paragraph(text: str) -> str:
    """Return a text in lines of the width of other pages."""
    return fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(options_page())
