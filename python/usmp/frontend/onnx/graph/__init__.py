"""Nodes, tensors and operator sets of an ONNX graph."""
