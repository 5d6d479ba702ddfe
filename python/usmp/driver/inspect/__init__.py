"""Commands that look at a model, an archive or a plan: info, list, check, diff, explain."""
