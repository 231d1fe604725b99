"""How the model knows where a token is: a file a kind, all with the methods of `kind.Positions`."""
