"""Stages that choose the layout of images: channels first or last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from tvm.ir import IRModule

from usmp.names import COPIES, GROUPS, LAYOUT, ORDER, SEGMENTS, STRIPS
from usmp.planning.search import Allowance, Choice, LastModule, Race, Stage
from usmp.relax.transform.image_layouts import float_channels_last, integer_layouts

FIRST, LAST = Choice("NCHW", "channels first (NCHW)", (1,)), Choice("NHWC", "channels last (NHWC)")


Forms: TypeAlias = tuple[IRModule, IRModule | None]
"""A module with the channels of images as they are, and with channels last; None if that form is
equal or not worth a plan."""


class LayoutStage(Stage):
    """Compute convolutions of images with channels last, if memory allows it.

    Parameters
    ----------
    forms
        returns the two forms of a module.
    """

    name = LAYOUT
    allowance = Allowance.WITHIN
    rewrites_model = True
    # Without tiles: they do not lower the peak, and would use up the allowance a second time.
    decides = frozenset({STRIPS, GROUPS, COPIES, ORDER, SEGMENTS})

    def __init__(self, forms: Callable[[IRModule], Forms]) -> None:
        self._forms = LastModule(forms)

    def choices(self, mod: IRModule, race: Race) -> Iterator[Choice]:
        """Yield the layout of the model, then channels last."""
        yield FIRST
        if self._forms(mod)[1] is not None:
            yield LAST

    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with the layout."""
        first, last = self._forms(mod)
        return first if last is None or choice == FIRST else last

    def details(self, race: Race) -> dict[str, Any]:
        """Return the bytes with either layout, if both have a plan."""
        peaks = {leaf.choice.value: leaf.peaks for leaf in race.leaves}
        first, last = (peaks.get(choice.value) for choice in (FIRST, LAST))
        if first is None or last is None or race.taken is None:
            return {}
        return {
            "layout": str(race.taken.value),
            "channels_first_peak_bytes": sum(first),
            "channels_last_peak_bytes": sum(last),
        }


class FloatLayoutStage(LayoutStage):
    """Compute float convolutions with channels last (see `ConvertImageLayout`)."""

    pass_name = "usmp.ConvertImageLayout"

    def __init__(self) -> None:
        super().__init__(lambda mod: (mod, float_channels_last(mod)))


class IntegerLayoutStage(LayoutStage):
    """Compute quantized operators in integers, with channels first or last (see
    `ConvertQDQToIntegers`)."""

    pass_name = "usmp.ConvertQDQToIntegers"
    is_in_reference = True

    def __init__(self) -> None:
        super().__init__(integer_layouts)
