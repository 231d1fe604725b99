"""How good a model is: how likely it finds texts that are there, and how good its own are."""
