"""Maps the calls of a Python script to `concepts`."""
