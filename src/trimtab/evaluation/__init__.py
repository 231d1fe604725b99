"""Evaluation of a model: the likelihood of given texts, and the quality of its own."""
