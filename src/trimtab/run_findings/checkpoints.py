"""Pages of what goes wrong around checkpoints and the files of a run."""

from trimtab.run_findings.spec import RunFinding

DAMAGED_CHECKPOINT = RunFinding(
    code="K901",
    name="damaged-checkpoint",
    severity="warning",
    when="at a checkpoint",
    seen="the newest checkpoint does not agree with its checksums",
    why="A disk or a transfer changed it; the best checkpoint is then the best one recorded by an older checkpoint.",
    fix="resume the run with --resume, which sets the damaged one aside and writes it again",
    home="checkpoint/store_findings.py",
    symptoms=(
        "checkpoint cannot be loaded",
        "worse after resume",
    ),
)

LEFTOVER_NOT_REMOVED = RunFinding(
    code="K904",
    name="leftover-not-removed",
    severity="warning",
    when="at a checkpoint",
    seen="an old checkpoint could not be removed",
    why="It takes disk space and is no longer needed",
    fix="remove it by hand; the run does not use it",
    home="checkpoint/retention.py",
    symptoms=("disk is full",),
)

LOG_NOT_WRITTEN = RunFinding(
    code="K905",
    name="log-not-written",
    severity="warning",
    when="while training",
    seen="a log of the run could not be written",
    why="Records wait in memory, and those beyond a bound are lost. Training continues.",
    fix="free some space; the waiting records are then written automatically",
    home="checkpoint/journal.py",
    symptoms=(
        "disk is full",
        "metrics are missing",
    ),
)

CHECKPOINT_NOT_SAVED = RunFinding(
    code="K907",
    name="checkpoint-not-saved",
    severity="warning",
    when="at a checkpoint",
    seen="a checkpoint did not fit on the disk",
    why="Training continues and retries; earlier checkpoints are intact.",
    fix="free some space",
    home="training/checkpointer.py",
    symptoms=(
        "disk is full",
        "no checkpoint was saved",
    ),
)

HEALTHY_MARK_NOT_WRITTEN = RunFinding(
    code="K908",
    name="healthy-mark-not-written",
    severity="warning",
    when="while training",
    seen="a checkpoint could not be marked healthy",
    why="A run that goes wrong rolls back to the newest checkpoint marked healthy, which is now an older one.",
    fix="free some space, and check that the folder is writable",
    home="checkpoint/store_findings.py",
    symptoms=("disk is full",),
)

ABANDONED_REMOVED = RunFinding(
    code="K909",
    name="abandoned-removed",
    severity="note",
    when="at a checkpoint",
    seen="checkpoints of branches that the run left long ago were removed",
    why="A run that rolls back repeatedly would fill the disk with unused checkpoints.",
    fix="copy what you want to keep out of the folder",
    home="checkpoint/store_findings.py",
    symptoms=(
        "disk is full",
        "a checkpoint is gone",
    ),
)

TRAINING_WAITS_FOR_THE_COPY = RunFinding(
    code="K910",
    name="training-waits-for-the-copy",
    severity="note",
    when="at a checkpoint",
    seen="the GPU has no memory for a copy of weights and moments",
    why=("With a copy on the GPU the pause is some milliseconds; without, it lasts as long as the transfer."),
    fix="nothing, if checkpoints are rare; else lower step.tokens_per_micro_batch, which frees memory",
    home="checkpoint/background.py",
    symptoms=("training pauses at checkpoints",),
)

LAST_CHECKPOINT_NOT_SAVED = RunFinding(
    code="K911",
    name="last-checkpoint-not-saved",
    severity="warning",
    when="when a run ends",
    seen="the save that was under way when the run ended failed",
    why="The run had ended when its last save failed. The checkpoints before are intact.",
    fix="free some space or repair the disk, then use --resume to continue from the checkpoint before",
    home="checkpoint/background.py",
    symptoms=(
        "disk is full",
        "no checkpoint was saved",
    ),
)

REPORT_NOT_WRITTEN = RunFinding(
    code="K912",
    name="report-not-written",
    severity="warning",
    when="at a checkpoint",
    seen="a report beside a checkpoint could not be written",
    why="The report is that of an earlier checkpoint now; nothing that training needs is in it.",
    fix="free some space; the next checkpoint writes it again",
    home="checkpoint/background.py",
    symptoms=("disk is full",),
)

NEWER_CHECKPOINT = RunFinding(
    code="K902",
    name="newer-checkpoint",
    severity="warning",
    when="when a run resumes",
    seen="a checkpoint was written by a newer trimtab",
    why="A newer trimtab wrote it in a format that this version does not know; it is neither read nor changed.",
    fix="update trimtab; otherwise the run resumes from an older one",
    home="checkpoint/store_findings.py",
    symptoms=("a checkpoint is passed over",),
)

ABANDONED_CHECKPOINT = RunFinding(
    code="K903",
    name="abandoned-checkpoint",
    severity="note",
    when="at a checkpoint",
    seen="the run rolled back, and its later checkpoints are set aside as `.abandoned-...`",
    why="The next resume would take it for the run's newest checkpoint.",
    fix="delete the folder if that branch is not wanted",
    home="checkpoint/store_findings.py",
    symptoms=("a checkpoint is gone",),
)

FOREIGN_FILE = RunFinding(
    code="K906",
    name="foreign-file",
    severity="warning",
    when="when a run resumes",
    seen="a checkpoint's folder has a file that its manifest does not list",
    why="It is never read, though you may expect that it is.",
    fix="move it elsewhere",
    home="checkpoint/store_findings.py",
    symptoms=("a file in a checkpoint is not used",),
)


ALL = (
    DAMAGED_CHECKPOINT,
    LEFTOVER_NOT_REMOVED,
    LOG_NOT_WRITTEN,
    CHECKPOINT_NOT_SAVED,
    HEALTHY_MARK_NOT_WRITTEN,
    ABANDONED_REMOVED,
    TRAINING_WAITS_FOR_THE_COPY,
    LAST_CHECKPOINT_NOT_SAVED,
    REPORT_NOT_WRITTEN,
    NEWER_CHECKPOINT,
    ABANDONED_CHECKPOINT,
    FOREIGN_FILE,
)
