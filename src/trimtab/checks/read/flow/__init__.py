"""What a script does, followed without running it: which object each name holds, and every call in the order in which
it would happen, inside the loops and branches around it."""
