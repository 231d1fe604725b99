"""Text classification: a text gets one label of a fixed set."""
