"""What the tasks on text share; each of them composes it with what is its own."""
