"""Rewrites of ONNX models before TVM's importer converts them."""
