"""Builds in a PassContext of TVM 0.18, and the notes that they tell."""

from __future__ import annotations

import warnings

from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from support.relax_models import PARAMS
from usmp.support.compatibility import CompatibilityNote


@I.ir_module
class Fused:
    """Two operators that FuseOps joins."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.nn.relu(a)
            R.output(b)
        return b


WITH_PARAMS = {"params": PARAMS}


def told(module=Fused, arguments=None, **context):
    """What a build in a PassContext makes, and what it tells, in order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with PassContext(opt_level=context.pop("opt_level", 3), **context):
            factory = usmp.build(module, **arguments or {})
    notes = [warning for warning in caught if issubclass(warning.category, CompatibilityNote)]
    assert {warning.filename for warning in notes} <= {__file__}
    return factory, [str(warning.message) for warning in notes]


_FILES: dict[str, dict[str, bytes]] = {}


def without_notes(module=Fused, arguments=None, **context) -> dict[str, bytes]:
    """The files of a build that tells nothing, which is made once."""
    key = repr((id(module), arguments, context))
    if key not in _FILES:
        factory, notes = told(module, arguments, **context)
        assert notes == []
        _FILES[key] = factory.files()
    return _FILES[key]
