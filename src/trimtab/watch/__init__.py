"""What is looked for in a running model: where a number stopped being finite, and which weights never move."""
