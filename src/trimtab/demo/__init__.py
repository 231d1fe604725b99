"""A translator from the sample that comes with the package."""
