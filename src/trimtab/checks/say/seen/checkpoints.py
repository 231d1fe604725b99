"""Pages of what goes wrong around checkpoints and the files of a run."""

from trimtab.checks.say.seen.page import SeenPage

PAGES: tuple[SeenPage, ...] = (
    SeenPage(
        code="K901",
        name="damaged-checkpoint",
        severity="warning",
        when="at a checkpoint",
        seen="the newest checkpoint does not agree with its checksums",
        why="A disk or a transfer changed it; the best is then only the best that an older one knows.",
        fix="go on with the run by --resume, which sets the damaged one aside and makes it anew",
        home="checkpoint/resolve.py",
        symptoms=("checkpoint cannot be loaded", "worse after resume"),
    ),
    SeenPage(
        code="K904",
        name="leftover-not-removed",
        severity="warning",
        when="at a checkpoint",
        seen="an old checkpoint could not be removed",
        why="It takes room on the disk and is not needed any more",
        fix="remove it by hand; the run does not use it",
        home="checkpoint/retention.py",
        symptoms=("disk is full",),
    ),
    SeenPage(
        code="K905",
        name="log-not-written",
        severity="warning",
        when="while training",
        seen="a log of the run could not be written",
        why="Records wait in memory, and those beyond a bound are lost. Training goes on.",
        fix="free some space; the waiting records are then written by themselves",
        home="checkpoint/journal.py",
        symptoms=("disk is full", "metrics are missing"),
    ),
    SeenPage(
        code="K907",
        name="checkpoint-not-saved",
        severity="warning",
        when="at a checkpoint",
        seen="a checkpoint did not fit on the disk",
        why="Training goes on for some more tries; the checkpoints before are intact.",
        fix="free some space",
        home="training/record.py",
        symptoms=("disk is full", "no checkpoint was saved"),
    ),
)
