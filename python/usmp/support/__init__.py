"""What has to do with no compiler: texts, folders, signals, errors."""
