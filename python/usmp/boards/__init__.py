"""Boards: their memories and pools, projects for programs, emulators and reports."""
