"""In which order to make the calls of the main PrimFunc: rfcs/0010-operator-order.md."""
