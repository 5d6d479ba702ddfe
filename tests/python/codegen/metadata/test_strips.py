"""What metadata.json says of operators in strips: what was chosen, and from what."""

from __future__ import annotations

from tvm.ir import IRModule

from usmp.codegen.metadata.strips import strips_metadata
from usmp.objects.attributes.compared import Compared, with_compared
from usmp.objects.attributes.module_attributes import STRIPS_ATTR


def test_without_operators_in_strips_nothing_is_said():
    assert strips_metadata(IRModule({})) == {}
    assert strips_metadata(IRModule({}).with_attr("other", 1)) == {}


def test_chains_and_choices_are_said_with_their_counts():
    chain = {"operators": ["conv", "add"], "strips": 3}
    said = {
        "max_extra_macs": 0.5,
        "unsplit_peak_bytes": 9,
        "peak_bytes": 5,
        "macs_before": 10,
        "macs": 12,
        "chains": [chain],
        "choices": [{"peak_bytes": 7, "macs": 11, "chains": []}],
    }
    compared = with_compared(IRModule({}), [Compared("strips", "a", details=said)])
    # A module that went through the pass; and one of a search, whose attribute says less.
    for mod in (
        IRModule({}).with_attr(STRIPS_ATTR.name, said),
        compared.with_attr(STRIPS_ATTR.name, chain),
    ):
        assert strips_metadata(mod) == {"strips": said}
    assert strips_metadata(IRModule({}).with_attr(STRIPS_ATTR.name, chain)) == {}
