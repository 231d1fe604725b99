"""Texts to continue with; pairs as rows of source and target."""
