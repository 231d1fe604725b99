"""Plans the memory and the speed of a run before its first step; without torch and without a GPU."""
