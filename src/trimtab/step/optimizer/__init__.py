"""Optimizers, each able to skip an update without a trace."""
