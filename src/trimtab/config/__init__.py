"""One frozen, torch-free tree of settings: a recipe read from YAML 1.2."""
