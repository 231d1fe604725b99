"""Exports a trained model to another library and verifies that it scores and translates as the trainer does."""
