"""TFLite files: quantized operators become integer arithmetic, others keep their types."""
