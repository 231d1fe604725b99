"""How LLaMA-Factory's own arguments are told in the words of `concepts`."""
