"""Maps LLaMA-Factory's own arguments to `concepts`."""
