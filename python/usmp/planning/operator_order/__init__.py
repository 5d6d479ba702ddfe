"""The order of the calls of the main PrimFunc: rfcs/0010-operator-order.md."""
