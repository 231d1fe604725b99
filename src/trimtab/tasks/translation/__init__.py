"""Translation: a source to read, a target to write."""
