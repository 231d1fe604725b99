"""A text to read, one of a fixed set of labels to say of it."""
