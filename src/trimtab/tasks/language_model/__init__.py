"""Texts to go on with; pairs as rows of source and target."""
