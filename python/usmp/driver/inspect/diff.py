"""`tvmc diff`: compare the memory of two builds of a model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from usmp.driver.inspect.growth import checked_limits, growth_limit, growth_sentence
from usmp.driver.inspect.plan_files import PlannedModule, matching_modules, read_plans
from usmp.driver.output import (
    Show,
    check_output,
    chosen_format,
    is_read_on_terminal,
    print_or_write,
)
from usmp.driver.status import NOT_WITHIN
from usmp.driver.terminal.help import add_command
from usmp.driver.terminal.progress import add_quiet_option, stages
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    from rich.console import Console

    from usmp.report.diff.build_facts import BuildFacts
    from usmp.report.diff.plan_diff import ModuleDiff

FORMATS = ("table", "markdown", "json")
ENDINGS = {".md": "markdown", ".json": "json"}
"""Endings of a file name that select a format."""

_EXAMPLES = """\
  tvmc diff before.tar after.tar
      RAM and flash, and the pools, buffers and operators that are not the same
  tvmc diff before.tar after.tar --fail-on-growth 0 --fail-on-flash-growth 2%
      exit status 2 if the build takes more RAM, or more than 2 % more flash
  tvmc diff before.json after.json --format markdown -o comment.md
      the same of plans (tvmc plan --format json), for a comment on a pull request
  tvmc diff before.tar after.tar --format json | jq '.modules[].sums'"""


def add_diff_parser(commands: Any) -> None:
    """Add `tvmc diff` and its options."""
    parser = add_command(
        commands,
        "diff",
        diff_plans,
        summary="show what changed from one build to the next",
        description="Compare two builds: archives, their metadata.json, or plans as tvmc plan "
        "--format json writes them. The code of archives is compiled to measure it; nothing runs.",
        examples=_EXAMPLES,
    )
    parser.add_argument("BEFORE", help="an archive (.tar) or a JSON file")
    parser.add_argument("AFTER", help="what to compare it with")
    parser.add_argument(
        "--module-name", metavar="NAME", help="compare this module only (default: all, by name)"
    )
    for option, kind in (("growth", "RAM"), ("flash-growth", "flash")):
        parser.add_argument(
            f"--fail-on-{option}",
            type=growth_limit,
            metavar="LIMIT",
            help=f"exit with status {NOT_WITHIN} if the {kind} grows by more than this: bytes, or "
            "a percentage such as 2%%",
        )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="how to show it (default: as the ending of --output says, else table)",
    )
    parser.add_argument("-o", "--output", metavar="PATH", help="the file to write, not stdout")
    add_quiet_option(parser)


def diff_plans(options: argparse.Namespace) -> int:
    """Carry out `tvmc diff`, and return the exit status: 0 if the growth is within the limits."""
    for path in (options.BEFORE, options.AFTER) if options.output is not None else ():
        check_output(options.output, path, "the difference", "a file that it compares")
    with stages(options) as stage:
        stage("reading both files")
        before, after = read_plans(options.BEFORE), read_plans(options.AFTER)
        matched = matching_modules(before, after, options.module_name)
        stage("compiling the code")
        diffs = [_difference(*pair) for pair in matched]
    limits = [result for diff in diffs for result in checked_limits(options, diff)]
    unmatched = _unmatched(before, after, matched) if options.module_name is None else ([], [])
    _show(options, diffs, unmatched, limits)
    exceeded = [result for result in limits if result["exceeded"]]
    for result in [] if is_read_on_terminal(options) else exceeded:
        print(f"tvmc: {growth_sentence(result)}", file=options.stderr)
    return NOT_WITHIN if exceeded else 0


def _difference(
    name_before: str, before: PlannedModule, name_after: str, after: PlannedModule
) -> ModuleDiff:
    from usmp.report.diff.plan_diff import diff_builds

    facts, notes = [], []
    for side, name, module in (("before", name_before, before), ("after", name_after, after)):
        build, note = _facts(name, module)
        facts.append(build)
        notes += [f"Of the build {side}, {note}"] if note else []
    return diff_builds(facts[0], facts[1], notes)


def _facts(name: str, module: PlannedModule) -> tuple[BuildFacts, str]:
    """Return the facts of a module, and a note about unknown facts."""
    from usmp.driver.inspect.measured_code import module_code, source_bytes
    from usmp.report.diff.build_facts import build_facts

    facts = partial(
        build_facts,
        name,
        module.memory,
        module.operators,
        title=module.title or name,
        origins=module.origins,
        shared_code=module.shared_code,
    )
    if module.archive is None:
        return facts(), "the file has no code: flash is that of constants only."
    code = module_code(module.archive, name)
    size = source_bytes(module.archive, name)
    if isinstance(code, str):
        note = f"the code was not compiled ({code}): flash is that of constants only."
        return facts(None, size), note
    return facts(code, size), ""


def _unmatched(
    before: dict[str, PlannedModule],
    after: dict[str, PlannedModule],
    matched: Sequence[tuple[str, PlannedModule, str, PlannedModule]],
) -> tuple[list[str], list[str]]:
    """Return the names of modules that only the first file has, and that only the second has."""
    old, new = {pair[0] for pair in matched}, {pair[2] for pair in matched}
    return [name for name in before if name not in old], [n for n in after if n not in new]


def _show(
    options: argparse.Namespace,
    diffs: Sequence[ModuleDiff],
    unmatched: tuple[Sequence[str], Sequence[str]],
    limits: Sequence[dict[str, Any]],
) -> None:
    shown_as = chosen_format(options, ENDINGS)
    content: str | Show

    def show(console: Console | None) -> None:
        from rich.console import Console

        from usmp.report.diff.tables import print_diff
        from usmp.report.text_tables import print_text

        console = console or Console(highlight=False)
        for diff in diffs:
            print_diff(diff, console)
        for sentence in _sentences(unmatched, limits):
            print_text(sentence, console)

    if shown_as == "table":
        content = show
    elif shown_as == "json":
        from usmp.report.diff.document import diff_json

        content = diff_json((options.BEFORE, options.AFTER), diffs, unmatched, limits)
    else:
        from usmp.report.diff.tables import markdown_diff
        from usmp.report.text_tables import markdown_text

        parts = [markdown_diff(diff) for diff in diffs]
        parts += [f"{markdown_text(text)}\n" for text in _sentences(unmatched, limits)]
        content = "\n".join(parts)
    does_fit = not any(result["exceeded"] for result in limits)
    print_or_write(options.output, content, is_last=does_fit)


def _sentences(
    unmatched: tuple[Sequence[str], Sequence[str]], limits: Sequence[dict[str, Any]]
) -> list[str]:
    sentences = [
        f'Module "{shown(name)}" is only in the build {side}.'
        for side, names in zip(("before", "after"), unmatched, strict=True)
        for name in names
    ]
    return sentences + [growth_sentence(result) for result in limits]
