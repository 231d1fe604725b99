"""The models, encoder-decoder and decoder-only, and their parts, over flat packs."""
