"""Experiment trackers that a run is also written to: one file each, and a thread that keeps them from the run."""
