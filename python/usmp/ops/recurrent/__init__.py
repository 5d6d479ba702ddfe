"""Recurrent layers of float32: loops over the steps of a sequence."""

from usmp.ops.recurrent.activation import Activation
from usmp.ops.recurrent.cells import Cell, GruCell, LstmCell, RnnCell
from usmp.ops.recurrent.layer import Weights, recurrent_layer
from usmp.ops.recurrent.placed import Placed

__all__ = [
    "Activation",
    "Cell",
    "GruCell",
    "LstmCell",
    "Placed",
    "RnnCell",
    "Weights",
    "recurrent_layer",
]
