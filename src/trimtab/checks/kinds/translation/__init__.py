"""Maps the options that OpenNMT-py, Mammoth and Eole share to `concepts`."""
