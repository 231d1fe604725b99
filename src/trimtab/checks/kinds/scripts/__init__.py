"""How the calls of a Python script are told in the words of `concepts`."""
