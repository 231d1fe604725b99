"""Pages of what is found before the first step and while a run runs; the code that finds it stands in `home`.

Those findings carry their numbers with them. Here stands what is the same each time, so that `trimtab explain` and the
index of symptoms know them without torch.
"""

from dataclasses import dataclass

from trimtab.finding import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPage:
    """The page of a code that no configuration shows."""

    code: str
    name: str
    severity: Severity
    """The highest that it is told with."""
    when: str
    """before the first step, where a run goes on, while training, at a checkpoint."""
    seen: str
    why: str
    fix: str
    home: str
    """The module that finds it."""
    symptoms: tuple[str, ...] = ()


PAGES: tuple[SeenPage, ...] = (
    SeenPage(
        code="D201",
        name="unknown-pieces",
        severity="error",
        when="before the first step",
        seen="more tokens than 0.5% (a warning) or 5% (an error) are unknown to the vocabulary",
        why="Unknown tokens carry no meaning, and the model learns to write them.",
        fix="set data.tokenizer.byte_fallback: true, or train the tokenizer on this text",
        home="training/preflight.py",
        symptoms=("unknown tokens in the output", "characters are missing in the output"),
    ),
    SeenPage(
        code="D202",
        name="examples-dropped",
        severity="error",
        when="before the first step",
        seen="many of the first examples are dropped by a filter or a limit",
        why="What is dropped is not learned; a filter or limit does not fit this text.",
        fix="loosen data.transforms or raise data.max_tokens; `trimtab data inspect` shows examples",
        home="training/preflight.py",
        symptoms=("long sentences are translated badly", "fewer examples than expected"),
    ),
    SeenPage(
        code="D203",
        name="blank-validation-lines",
        severity="error",
        when="before the first step",
        seen="pairs of a validation set have no text on one side",
        why="Scores against blank references say nothing, and they choose the best checkpoint.",
        fix="take the blank lines out of both files, or name others under data.valid",
        home="training/preflight.py",
        symptoms=("validation score is zero", "best checkpoint is a bad one"),
    ),
    SeenPage(
        code="D204",
        name="validation-set-without-tags",
        severity="warning",
        when="before the first step",
        seen="a validation set has no tags, and every training corpus has",
        why="Its lines look like none that the model learns from, so its scores are worse than the model is, and they "
        "choose the best checkpoint.",
        fix="write under data.valid the `tags` that say what is wanted of it, as in data.train",
        home="data/tags.py",
        symptoms=("validation score is low", "best checkpoint is a bad one"),
    ),
    SeenPage(
        code="D205",
        name="validation-in-training",
        severity="warning",
        when="before the first step",
        seen="more than a tenth of a validation set's pairs stand in a training corpus too",
        why="What the model has learned by heart is no measure of what it translates, and such scores choose a "
        "checkpoint that is trained too long.",
        fix="take these lines out of training; `trimtab data inspect` counts them all",
        home="data/corpus_findings.py",
        symptoms=("validation score is too good to be true", "good validation score and bad translations"),
    ),
    SeenPage(
        code="D206",
        name="sides-apart",
        severity="warning",
        when="before the first step",
        seen="from some line on, the lengths of the two sides of a corpus do not go together, or its sides are "
        "exchanged",
        why="A model that is shown sentences beside others' translations learns to ignore the source.",
        fix="look at the lines there and some before: one is lost, doubled or broken in two on one side; "
        "`trimtab data inspect` looks at every line",
        home="data/corpus_findings.py",
        symptoms=("output has nothing to do with the input", "loss falls and the output stays wrong"),
    ),
    SeenPage(
        code="L201",
        name="first-loss-off",
        severity="error",
        when="before the first step",
        seen="the untrained model's loss is far from the logarithm of the vocabulary",
        why="An untrained model knows nothing, so each token should cost the logarithm of the vocabulary.",
        fix="look for a changed initialisation, a wrong vocabulary size, or labels that are not shifted",
        home="training/preflight.py",
        symptoms=(
            "first loss is too high",
            "first loss is too low",
            "loss is NaN from the start",
        ),
    ),
    SeenPage(
        code="S201",
        name="gradient-depends-on-cut",
        severity="error",
        when="before the first step",
        seen="one step's gradient changes with the number of micro-batches it is cut into",
        why="The arithmetic of training must not depend on how much runs at once.",
        fix="report it; until then set step.tokens_per_micro_batch to step.tokens_per_step",
        home="training/preflight.py",
        symptoms=(
            "loss grows with gradient accumulation",
            "accumulation gives another result than a large batch",
        ),
    ),
    SeenPage(
        code="S202",
        name="peak-rate-out-of-range",
        severity="warning",
        when="before the first step",
        seen="the highest learning rate of the schedule is below 1e-5 or above 1e-1, with an optimizer like Adam",
        why="At such a rate the weights hardly move, or leave at once every place where the loss is low.",
        fix="set step.optimizer.learning_rate to what the finding says; with noam it is a factor, near 1",
        home="training/rates.py",
        symptoms=("loss falls slowly", "loss flat", "diverged"),
    ),
    SeenPage(
        code="S203",
        name="rate-rises-again",
        severity="warning",
        when="where a run goes on",
        seen="a run that goes on with a longer length has a much higher learning rate than it ended with",
        why="A schedule that came down for the old length is higher again in a longer one, so the loss rises first; "
        "the result is not that of a run which had this length from the beginning.",
        fix="for one decline begin a new run with this length; inverse_sqrt and constant do not depend on it",
        home="training/rates.py",
        symptoms=("loss jumps after resuming",),
    ),
    SeenPage(
        code="P201",
        name="longest-batch-does-not-fit",
        severity="error",
        when="before the first step",
        seen="the largest micro-batch that can come does not fit into memory",
        why="The run would end at the first such batch, perhaps after hours.",
        fix="lower step.tokens_per_micro_batch; it changes speed and memory only",
        home="training/preflight.py",
        symptoms=("out of memory", "out of memory after hours"),
    ),
    SeenPage(
        code="E201",
        name="decoding-fails",
        severity="error",
        when="before the first step",
        seen="five lines could not be translated with the untrained model",
        why="The first evaluation would fail in the same way.",
        fix="read the message: it names what is wrong",
        home="training/preflight.py",
        symptoms=("crashes at the first evaluation",),
    ),
    SeenPage(
        code="S901",
        name="non-finite-step",
        severity="warning",
        when="while training",
        seen="a step was not applied, because its loss or its gradient was not a finite number",
        why="A number that is not finite would have made every weight NaN. Weights and moments are as before it.",
        fix="a few in a run are harmless; many call for a lower learning rate, a longer warmup, or fp32",
        home="guard/finite.py",
        symptoms=("loss is NaN", "loss is inf", "gradient norm is NaN", "diverged after some steps"),
    ),
    SeenPage(
        code="S902",
        name="loss-spike",
        severity="warning",
        when="while training, by `trimtab.guard`",
        seen="a loss more than 8 deviations above the median of the last accepted steps",
        why="The step's text is far harder than any before, or the weights are going astray; an update made of it can "
        "undo hundreds of good ones.",
        fix="now and then it is a bad line of the data; often the learning rate is too high or the warmup too short",
        home="guard/outlier.py",
        symptoms=("loss spikes", "diverged after some steps"),
    ),
    SeenPage(
        code="S903",
        name="gradient-spike",
        severity="warning",
        when="while training, by `trimtab.guard`",
        seen="the logarithm of a gradient norm more than 10 deviations above the median of the last accepted steps",
        why="The second moments of Adam have not seen gradients of this size, so the step along them is far too long, "
        "and clipping bounds its length but not its direction.",
        fix="now and then it is a bad line of the data; often the learning rate is too high or the warmup too short",
        home="guard/outlier.py",
        symptoms=("gradient norm spikes", "loss spikes"),
    ),
    SeenPage(
        code="S904",
        name="refused-in-a-row",
        severity="warning",
        when="while training, by `trimtab.guard`",
        seen="8 steps in a row were refused",
        why="Either the data has changed to another level, which is to be learned, or the weights are spoilt, "
        "which more refused steps do not mend.",
        fix="where a held-out batch still has its old loss the data has changed; where it is worse, go back to an "
        "older checkpoint and leave out what came before the first of them",
        home="guard/streak.py",
        symptoms=("loss jumps and stays", "loss is NaN"),
    ),
    SeenPage(
        code="S905",
        name="too-many-refused",
        severity="error",
        when="while training, by `trimtab.guard`",
        seen="more than 1% of the last 1,000 steps were refused (a warning), or more than 5% (the run should stop)",
        why="A guard is for the rare step. A run that needs it all the time is not stable, and learns from a "
        "biased choice of its data.",
        fix="lower the learning rate, lengthen the warmup, or look for bad lines in the data of those steps",
        home="guard/budget.py",
        symptoms=("loss is NaN", "diverged after some steps"),
    ),
    SeenPage(
        code="M901",
        name="source-ignored",
        severity="error",
        when="while training",
        seen="the loss is the same with the sources of other lines",
        why="The model predicts the target from the target alone: sources and targets do not belong together, or the "
        "encoder does not reach the decoder.",
        fix="check that line n of the source is translated by line n of the target: `trimtab data inspect RECIPE`",
        home="training/validate.py",
        symptoms=("output has nothing to do with the input", "hallucinates", "same output for every input"),
    ),
    SeenPage(
        code="E901",
        name="collapsed-outputs",
        severity="error",
        when="while training",
        seen="different sentences have almost all the same translation",
        why="The model gives the same few sentences whatever it reads: it has learned the target language's commonest "
        "phrases and ignores the source. The loss falls all the same.",
        fix="if the loss is still high, train longer; otherwise lower the learning rate (to a half or a third) or "
        "lengthen the warmup; if it stays, check that the two sides of the data belong together",
        home="scoring/repetition.py",
        symptoms=("same output for every input", "repeats the same words", "writes one token"),
    ),
    SeenPage(
        code="E902",
        name="tags-unlike-training",
        severity="warning",
        when="when translating or evaluating",
        seen="lines come without a tag, or with one that no line of the training had",
        why="The model was told by the tag what to write; without it, it mixes what it learned.",
        fix="say the tag by `--tag`, or `tags` in Python, as in the recipe's data.train",
        home="data/tags.py",
        symptoms=("wrong language in the output", "worse when translating than in validation"),
    ),
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


def seen_page_text(page: SeenPage) -> str:
    """The page in Markdown, as `docs/rules/` and `trimtab explain` have it."""
    fix = page.fix[:1].upper() + page.fix[1:]
    lines = [
        f"# {page.code} {page.name}",
        "",
        f"Seen by trimtab itself, {page.when} (`{page.home}`); at most told as: {page.severity}.",
        "",
        f"> {page.seen}",
        "",
        *("## Why", "", page.why, ""),
        *("## What to do", "", f"{fix}.", ""),
        *("## What people see", "", *(f"- {symptom}" for symptom in page.symptoms)),
    ]
    return "\n".join(lines) + "\n"
