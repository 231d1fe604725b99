"""File formats of pairs and documents, one file per format; `pairs.Pairs` is their interface."""
