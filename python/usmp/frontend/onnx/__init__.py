"""Import of ONNX models, through TVM's importer and converters for single operators."""
