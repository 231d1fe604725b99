"""Image classification: which of a set of classes an image belongs to."""
