"""The difference of two builds, as data, tables and JSON."""
