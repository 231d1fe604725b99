"""A training toolkit for transformers that makes the small decisions of a run come out right."""
