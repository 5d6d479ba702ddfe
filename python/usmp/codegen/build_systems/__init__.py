"""Files that let an archive be a library in the build systems of firmware."""
