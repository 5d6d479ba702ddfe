"""TFLite files: quantized operators in integers, others in the types that they have."""
