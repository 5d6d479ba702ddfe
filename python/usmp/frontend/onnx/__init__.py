"""ONNX operators that TVM's importer converts wrongly, or in a form of which later passes could see
little: one function each. The others are TVM's, where they were compared."""
