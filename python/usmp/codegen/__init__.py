"""Planned TIR to C sources, header and Model Library Format. Knows nothing of planning."""
