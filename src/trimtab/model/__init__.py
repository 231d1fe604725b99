"""The translation model and its parts, over flat packs."""
