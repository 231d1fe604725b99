"""Recognition of text lines: an image of a line becomes its text."""
