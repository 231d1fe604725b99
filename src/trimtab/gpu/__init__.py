"""What kernels written in Triton need of the machine, for every stage that has some."""
