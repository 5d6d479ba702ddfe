"""Converters of TFLite Micro's signal library, and of complex numbers."""
