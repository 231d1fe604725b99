"""Detection: objects in images as boxes of a category."""
