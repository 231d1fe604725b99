"""`--to peft`: an adapter in the format of PEFT."""
