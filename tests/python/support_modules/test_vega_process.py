"""Where vl-convert has not the memory it needs, its own process ends, and usmp says so."""

from __future__ import annotations

import sys

import pytest

from support.children import run
from usmp.support.process.vega_process import VegaFailed, run_vega

_SWEEP = """
import sys
from resource import RLIM_INFINITY, RLIMIT_AS, setrlimit
from usmp.support.process.vega_process import VegaFailed, run_vega

PICTURE = {"$schema": "https://vega.github.io/schema/vega/v6.json", "width": 9, "height": 9}
for megabytes in map(int, sys.argv[1:]):
    setrlimit(RLIMIT_AS, (megabytes << 20, RLIM_INFINITY))
    for function, arguments in (
        ("javascript_bundle", {"snippet": ""}),
        ("vega_to_svg", {"vg_spec": PICTURE}),
        ("vega_to_png", {"vg_spec": PICTURE}),
    ):
        try:
            run_vega(f"{megabytes}", function, **arguments)
        except VegaFailed as error:
            print(error)
"""


@pytest.mark.slow
@pytest.mark.process
def test_each_limit_of_address_space_ends_in_a_message():
    pytest.importorskip("vl_convert")
    limits = [60, 100, 4000]
    done = run(sys.executable, "-c", _SWEEP, *limits)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    # In 4 GB, JavaScript can be joined, but nothing be drawn.
    assert len(lines) == 3 * len(limits) - 1
    assert all(": vl-convert, which draws, " in line for line in lines)
    needs = "it needs about 67 GB of address space"
    limit = "a process may take 4194304000 bytes here (ulimit -v 4096000)"
    advice = "raise the limit, or write a report without a drawing"
    ended = "4000: vl-convert, which draws, ended by SIGTRAP"
    assert lines[-2:] == [f"{ended}; {needs}, and {limit}; {advice}"] * 2


@pytest.mark.process
def test_an_error_of_vega_is_named():
    pytest.importorskip("vl_convert")
    with pytest.raises(VegaFailed, match=r"^SVG: vl-convert, which draws, failed: TypeError: "):
        run_vega("SVG", "vega_to_svg", unknown=1)
