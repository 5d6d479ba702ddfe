"""The title of a module in reports."""

from __future__ import annotations

import pytest

from usmp.report.title import title_of


@pytest.mark.parametrize(
    ("files", "module", "title"),
    [
        (["vww_96.tflite"], "default", "vww_96"),
        (["my.model.v2.onnx"], "default", "my.model.v2"),
        (["kws.tflite", "vww.onnx"], "default", "kws + vww"),
        (["net.pt2", "net.tflite"], "default", "net"),
        (["vww.tflite"], "person", "vww, module person"),
        (["vww.tflite"], "vww", "vww"),
        (["kws.tflite", "vww.tflite"], "both", "kws + vww, module both"),
        ([""], "default", "default"),
        ([], "net", "net"),
        (None, "default", "default"),
    ],
)
def test_titles(files, module, title):
    known = {} if files is None else {"model_files": files}
    assert title_of({"model_name": module, **known}) == title
