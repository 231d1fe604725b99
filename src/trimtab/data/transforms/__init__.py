"""What happens to a pair of strings before it becomes ids; one file a transform, `apply.py` strings them together."""
