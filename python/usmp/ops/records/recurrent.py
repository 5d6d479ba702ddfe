"""Records of operators with a state."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.ops.records.base import QuantizedOp


@dataclass(frozen=True, kw_only=True)
class Lstm(QuantizedOp, kind="lstm"):
    """Long short-term memory over a sequence.

    Inputs are data, hidden and cell state, then the weights of each gate: of the data and of the
    hidden state. Outputs are the output, hidden and cell state.

    Parameters
    ----------
    cell_clip
        the greatest magnitude of the cell state, as a real number; 0 for no limit.
    time_major
        whether the steps are the first axis of data and output, instead of the second.
    """

    cell_clip: float
    time_major: bool


@dataclass(frozen=True, kw_only=True)
class Svdf(QuantizedOp, kind="svdf"):
    """Singular value decomposition filter: the sums over time.

    Parameters
    ----------
    rank
        number of filters of each unit.
    """

    rank: int


class SvdfState(QuantizedOp, kind="svdf_state"):
    """Singular value decomposition filter: the sums over features, in a state."""
