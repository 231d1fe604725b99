"""From text files to the windows and packs of a run: read, transform, tokenise, order, pack."""
