"""Elements that follow each other: copied, or compared one by one."""
