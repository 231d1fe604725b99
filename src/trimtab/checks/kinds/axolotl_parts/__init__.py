"""Maps Axolotl's options to `concepts`: training, machine, adapters, data."""
