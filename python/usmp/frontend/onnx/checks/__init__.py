"""Checks of ONNX models and nodes before anything is converted."""
