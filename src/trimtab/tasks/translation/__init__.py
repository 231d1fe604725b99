"""A source to read, a target to write."""
