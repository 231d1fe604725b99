"""How the branches of our own recipe are told in the words of `concepts`."""
