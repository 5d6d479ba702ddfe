"""Windows that slide over height and width."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """Extents are (height, width)."""

    kernel: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: str = "SAME"

    def output(self, height: int, width: int) -> tuple[int, int]:
        """The extents of the output."""
        extents = []
        for axis, extent in enumerate((height, width)):
            reach = (self.kernel[axis] - 1) * self.dilation[axis]
            room = extent if self.padding == "SAME" else extent - reach
            extents.append(-(-room // self.stride[axis]))
        return extents[0], extents[1]
