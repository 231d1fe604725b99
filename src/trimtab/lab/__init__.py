"""Experiments: a claim, the arms that differ in it, a prediction written beforehand, and what the numbers say."""
