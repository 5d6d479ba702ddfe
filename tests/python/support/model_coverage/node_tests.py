"""What becomes of the node tests that come with ONNX."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from support.model_coverage.case import Case
from support.model_coverage.judge import Judged, Verdict
from support.onnx_node_tests import NodeTest, node_tests
from support.operator_trials.trial import outcome

_VERDICTS: dict[str, Verdict] = {"wrong": "different"}
"""Where the trials of operators have another word."""


def judged_node_tests(expanded: bool) -> Iterator[Judged]:
    """Those of single operators with C types and fixed shapes, and with `expanded` those of the
    functions that operators stand for, too."""
    for test in node_tests():
        if test.trial is not None and (expanded or not test.is_expanded):
            yield _judged(test)


def _judged(test: NodeTest) -> Judged:
    assert test.trial is not None
    result = outcome(test.trial)
    verdict: Verdict = _VERDICTS.get(result.verdict, result.verdict)  # type: ignore[arg-type]
    return Judged(Case(test.name, Path()), verdict, result.detail, "ONNX's outputs")
