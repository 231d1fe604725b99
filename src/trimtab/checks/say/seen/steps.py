"""Pages of what guards and watches see while a run takes its steps."""

from trimtab.checks.say.seen.page import SeenPage

PAGES: tuple[SeenPage, ...] = (
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
)
