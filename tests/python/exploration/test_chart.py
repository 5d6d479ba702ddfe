"""The picture of a sweep."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import pytest

from support.sweeps import built, sweep
from usmp.exploration.chart import chart, picture_spec
from usmp.exploration.result import REFUSED, Result
from usmp.exploration.sweep import InputFile
from usmp.support.distribution import install_command
from usmp.support.process.vega_process import ReportExtraMissing

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def drawn():
    hostile = InputFile.of("</script><script>alert(1)</script>", b"")
    return sweep(built(3, 1), built(1, 3), built(3, 3), Result(REFUSED, "no"), inputs=[hostile])


@pytest.mark.slow
def test_files(drawn):
    pytest.importorskip("vl_convert")
    svg = ElementTree.fromstring(chart(drawn, ".svg"))
    assert svg.tag == f"{SVG}svg"
    texts = [element.text for element in svg.iter(f"{SVG}text")]
    assert {"RAM (bytes)", "flash (bytes)", "best", "1", "2"} <= set(texts)
    assert "4 of 4 configurations, 2 best" in texts
    assert chart(drawn, ".png").startswith(b"\x89PNG\r\n")
    page = chart(drawn, ".html").decode()
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert 'src="http' not in page
    assert picture_spec(drawn) == picture_spec(drawn)


def test_without_the_package(drawn, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ReportExtraMissing, match=re.escape(install_command("report"))):
        chart(drawn, ".svg")
