"""What differs between tasks, a folder a task: data, model, loss, checks before the first step.

`task_of` is the one place where a recipe's task is looked at. Everything above takes a `Task` and asks it; the loop,
the step, the guard and checkpoints know neither tokenizers nor vocabularies.
"""
