"""How the options that OpenNMT-py, Mammoth and Eole share are told in the words of `concepts`."""
