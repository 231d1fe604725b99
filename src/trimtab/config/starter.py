"""The commented recipe to start from: a file of `starters/` for each task."""

from importlib.resources import files

from trimtab.config.task_record import Task


def init_recipe(kind: Task = "translation") -> str:
    """A recipe that loads as it is, with a comment at every key that a first run may want to change."""
    return (files("trimtab.config") / "starters" / f"{kind}.yaml").read_text(encoding="utf-8")
