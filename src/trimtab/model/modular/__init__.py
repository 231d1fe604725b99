"""Translation models for many directions, of shared and own components."""
