"""Pages of what goes wrong with experiment trackers (`log` in the recipe)."""

from trimtab.run_findings.spec import RunFinding

TRACKER_FAILED = RunFinding(
    code="K913",
    name="tracker-failed",
    severity="warning",
    when="while training",
    seen="an experiment tracker of `log` raised an error, or did not finish in time",
    why="The run continues without it: its own logs have every number, and `trimtab report` shows them.",
    fix="fix the error that the tracker reports, then resume the run, which continues there; or take it out of `log`",
    home="trackers/trackers.py",
    symptoms=(
        "nothing in tensorboard",
        "wandb run crashed",
        "mlflow connection refused",
    ),
)

TRACKER_BEHIND = RunFinding(
    code="K914",
    name="tracker-behind",
    severity="warning",
    when="while training",
    seen="an experiment tracker takes numbers more slowly than the run makes them",
    why="Numbers wait in a bounded queue; the tracker misses those beyond it. The run's own logs have them all.",
    fix="check what slows the tracker down, such as its server; or take it out of `log`",
    home="trackers/trackers.py",
    symptoms=("points are missing in wandb",),
)

ALL = (TRACKER_FAILED, TRACKER_BEHIND)
