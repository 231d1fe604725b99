"""Maps the branches of our own recipe to `concepts`."""
