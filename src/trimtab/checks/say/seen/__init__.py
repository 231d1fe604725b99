"""Pages of what is found before the first step and while a run runs, by the place where it is looked for."""
