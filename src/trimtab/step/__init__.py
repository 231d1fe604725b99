"""One step: gradients of a window become one update, or none."""
