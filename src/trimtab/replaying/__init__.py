"""One step of a run again, from the checkpoint before it: whether its data or the state of its weights is at fault."""
