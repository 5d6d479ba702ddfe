"""The command line: options in, calls out, no logic of its own."""
