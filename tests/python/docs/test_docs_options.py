"""docs/options.md is what scripts/write_options.py writes, and has every option."""

from __future__ import annotations

import re
import runpy

from conftest import ROOT
from usmp.driver.options.pool_flags import CONSTANT, WORKSPACE
from usmp.driver.tvmc import command_parsers
from usmp.names import OPTIONAL_PASSES, PASS_OPTIONS

PAGE = (ROOT / "docs/options.md").read_text()


def test_the_page_is_written_from_the_code():
    script = runpy.run_path(str(ROOT / "scripts/write_options.py"))
    assert script["options_page"]() == PAGE, "run scripts/write_options.py"


def test_every_option_of_every_command_is_there():
    known = {
        flag
        for parser in command_parsers().values()
        for action in parser.shown(parser._actions)
        for flag in action.option_strings
        # Each key of a constant pool has the name of one of a workspace pool.
        if flag not in ("-h", "--help", "--help-all") and not flag.startswith(CONSTANT.tvm_list)
    }
    assert known - {WORKSPACE.tvm_list} <= {*re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", PAGE)}
    for name in (*PASS_OPTIONS, *OPTIONAL_PASSES):
        assert f"| `{name}` |" in PAGE
