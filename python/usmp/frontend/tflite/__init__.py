"""TFLite files: quantized operators in integers, float ones through TVM's importer."""
