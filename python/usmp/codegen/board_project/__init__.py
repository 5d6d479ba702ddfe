"""A project for a board: the files that turn a model's C into a program."""

from usmp.codegen.board_project.project import PROJECT_FOLDER, project_files

__all__ = ["PROJECT_FOLDER", "project_files"]
