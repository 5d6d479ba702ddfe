"""The tables of a TFLite file."""
