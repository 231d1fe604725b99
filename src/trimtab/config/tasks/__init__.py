"""What must hold between the task of a recipe and the rest of it, a file a task."""
