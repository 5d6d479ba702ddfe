"""Files that make an archive a library in the build systems of firmware."""
