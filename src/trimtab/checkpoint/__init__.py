"""Saves a run so that it can be killed at any moment, and finds what was saved."""
