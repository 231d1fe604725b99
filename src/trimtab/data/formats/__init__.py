"""The forms in which pairs and documents lie on disk, a file a form; see `pairs.Pairs` for what each gives."""
