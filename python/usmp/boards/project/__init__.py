"""A project for a board: the files that turn a model's C into a program."""

from usmp.boards.project.project import project_files

__all__ = ["project_files"]
