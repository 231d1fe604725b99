"""How Axolotl's options are told in the words of `concepts`: training, machine, adapters, data."""
