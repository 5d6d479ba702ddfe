"""All of a board: its memories, pools in them, project files, emulator and report."""
