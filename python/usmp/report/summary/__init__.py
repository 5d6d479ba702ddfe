"""The summary of a build: tables and sentences about its memory."""
