"""Pages of what guards and watches see while a run takes its steps."""

from trimtab.run_findings.spec import RunFinding

NON_FINITE_STEP = RunFinding(
    code="S901",
    name="non-finite-step",
    severity="warning",
    when="while training",
    seen="a step was not applied, because its loss or its gradient was not a finite number",
    why=(
        "A number that is not finite would have made every weight NaN. Weights and moments are as before it."
    ),
    fix="a few in a run are harmless; many call for a lower learning rate, a longer warmup, or fp32",
    home="guard/finite.py",
    symptoms=(
        "loss is NaN",
        "loss is inf",
        "gradient norm is NaN",
        "diverged after some steps",
    ),
)

LOSS_SPIKE = RunFinding(
    code="S902",
    name="loss-spike",
    severity="warning",
    when="while training, and by `trimtab.guard`",
    seen="a loss more than 8 deviations above the median of the last accepted steps",
    why=(
        "The step's text is far harder than any before, or the weights are going astray; an update made "
        "of it can undo hundreds of good ones."
    ),
    fix=(
        "now and then it is a bad line of the data; often the learning rate is too high or the warmup too"
        " short"
    ),
    home="guard/outlier.py",
    symptoms=(
        "loss spikes",
        "diverged after some steps",
    ),
)

GRADIENT_SPIKE = RunFinding(
    code="S903",
    name="gradient-spike",
    severity="warning",
    when="while training, and by `trimtab.guard`",
    seen=(
        "the logarithm of a gradient norm more than 10 deviations above the median of the last accepted steps"
    ),
    why=(
        "The second moments of Adam have not seen gradients of this size, so the step along them is far "
        "too long, and clipping bounds its length but not its direction."
    ),
    fix=(
        "now and then it is a bad line of the data; often the learning rate is too high or the warmup too"
        " short"
    ),
    home="guard/outlier.py",
    symptoms=(
        "gradient norm spikes",
        "loss spikes",
    ),
)

REFUSED_IN_A_ROW = RunFinding(
    code="S904",
    name="refused-in-a-row",
    severity="warning",
    when="while training, and by `trimtab.guard`",
    seen="8 steps in a row were refused",
    why=(
        "Either the data has changed to another level, which is to be learned, or the weights are spoilt,"
        " which more refused steps do not mend."
    ),
    fix=(
        "where a held-out batch still has its old loss the data has changed; where it is worse, go back "
        "to an older checkpoint and leave out what came before the first of them"
    ),
    home="guard/streak.py",
    symptoms=(
        "loss jumps and stays",
        "loss is NaN",
    ),
)

TOO_MANY_REFUSED = RunFinding(
    code="S905",
    name="too-many-refused",
    severity="error",
    when="while training, and by `trimtab.guard`",
    seen=(
        "more than 1% of the last 1,000 steps were refused (a warning), or more than 5% (the run should stop)"
    ),
    why=(
        "A guard is for the rare step. A run that needs it all the time is not stable, and learns from a "
        "biased choice of its data."
    ),
    fix="lower the learning rate, lengthen the warmup, or look for bad lines in the data of those steps",
    home="guard/budget.py",
    symptoms=(
        "loss is NaN",
        "diverged after some steps",
    ),
)

NON_FINITE_TRACED = RunFinding(
    code="S910",
    name="non-finite-traced",
    severity="warning",
    when="while training, after a step that was not finite",
    seen="the first parameter, module or gradient that held NaN or infinity when the step was run again",
    why="The first tensor that is not finite is where it began; all after it only carry it on.",
    fix=(
        "in fp16 such a number is usually an overflow, which bf16 and fp32 do not have; elsewhere lower "
        "the learning rate, or look at the lines of that step in quarantine.jsonl"
    ),
    home="training/trace.py",
    symptoms=(
        "loss is NaN",
        "loss is inf",
        "gradient norm is NaN",
    ),
)

WORST_EXAMPLES = RunFinding(
    code="S911",
    name="worst-examples",
    severity="note",
    when="while training, after a step that was refused",
    seen="the lines of the refused step with the largest loss, which are written to quarantine.jsonl",
    why=(
        "One broken line can be the whole of a spike. Where no line stands out, the weights or the "
        "learning rate are the likelier cause."
    ),
    fix=(
        "read them in quarantine.jsonl; `trimtab replay RUN --step N` says whether data or state is at fault"
    ),
    home="training/example_losses.py",
    symptoms=(
        "loss spikes",
        "gradient norm spikes",
        "loss is NaN",
    ),
)

UPDATES_TOO_SMALL = RunFinding(
    code="S920",
    name="updates-too-small",
    severity="warning",
    when="while training",
    seen="a step moves matrices by less than a hundred-thousandth of their size, at a rate near the peak",
    why=(
        "At this pace a weight needs a hundred thousand steps to become another; the loss falls slowly or"
        " not at all, and nothing else shows it."
    ),
    fix=(
        "raise step.optimizer.learning_rate; look at the learning_rate of metrics.jsonl, whether it is "
        "the one that was meant"
    ),
    home="watch/update_ratio.py",
    symptoms=(
        "loss does not fall",
        "loss falls slowly",
    ),
)

UPDATES_TOO_LARGE = RunFinding(
    code="S921",
    name="updates-too-large",
    severity="warning",
    when="while training",
    seen="a step moves matrices by more than a tenth of their size",
    why=(
        "Ten such steps replace a weight altogether: what was learned is lost as fast as it comes, and "
        "the loss stays high or leaps."
    ),
    fix="lower step.optimizer.learning_rate (to a tenth), or lengthen the warmup",
    home="watch/update_ratio.py",
    symptoms=(
        "loss stays high",
        "loss spikes",
        "diverged after some steps",
    ),
)

CLIPS_ALMOST_ALWAYS = RunFinding(
    code="S922",
    name="clips-almost-always",
    severity="warning",
    when="while training",
    seen=(
        "more than four in five of the last steps were clipped, and to less than half of their norm at "
        "the median"
    ),
    why=(
        "A clip that always acts is no guard against spikes: it makes every gradient equally long, so "
        "that a step of rare, hard text weighs as much as any other."
    ),
    fix=(
        "set step.clip.at to twice the median of grad_norm in metrics.jsonl; where the norm was lower "
        "before, lower the learning rate"
    ),
    home="watch/clipping.py",
    symptoms=(
        "loss falls slowly",
        "gradient norm is large",
    ),
)

CLIP_OUT_OF_REACH = RunFinding(
    code="S923",
    name="clip-out-of-reach",
    severity="note",
    when="while training",
    seen="in thousands of steps no gradient norm came near a tenth of the clip",
    why="A spike of ten times the largest gradient so far would pass unclipped.",
    fix=(
        "set step.clip.at to three times the largest grad_norm of metrics.jsonl, or `step.clip.kind: "
        "adaptive`"
    ),
    home="watch/clipping.py",
    symptoms=("loss spikes",),
)

UPDATES_ROUND_AWAY = RunFinding(
    code="S924",
    name="updates-round-away",
    severity="warning",
    when="while training with weights in half precision, by `trimtab.watch`",
    seen="more than a fifth of the elements of the updates leave their weight as it is",
    why=(
        "A weight in half precision does not feel an update below half a unit in its last place: the more"
        " the learning rate falls, the fewer weights learn."
    ),
    fix=(
        "keep the weights in float32 and let only products run in half precision (autocast), or round at "
        "random (stochastic rounding)"
    ),
    home="watch/movement.py",
    symptoms=(
        "loss stays high",
        "worse in bf16 than in fp32",
    ),
)

WAITS_FOR_DATA = RunFinding(
    code="P901",
    name="waits-for-data",
    severity="warning",
    when="while training",
    seen="more than a tenth of the time of training is spent waiting for data",
    why=(
        "The device stands idle while text is read and cut into pieces; the run would be faster by this "
        "share."
    ),
    fix=(
        "raise data.workers; put the corpora on a local disk; unpack compressed ones once; take out "
        "costly data.transforms"
    ),
    home="watch/data_wait.py",
    symptoms=(
        "GPU is not busy",
        "training is slow",
    ),
)

REFUSED_WINDOW_NOT_LOOKED_INTO = RunFinding(
    code="S912",
    name="refused-window-not-looked-into",
    severity="note",
    when="while training",
    seen="a window that was refused could not be looked at line by line, as where memory ran out",
    why=(
        "Its lines are scored and its numbers traced without compiled kernels: that takes more memory "
        "than a step."
    ),
    fix="`trimtab replay RUN --step N --device cpu` looks at it elsewhere",
    home="training/quarantine.py",
    symptoms=("out of memory after a refused step",),
)

STEP_STALLED = RunFinding(
    code="P902",
    name="step-stalled",
    severity="warning",
    when="while training",
    seen=(
        "a step took 20 seconds longer than the steps before it, and more than ten of them; or the first "
        "batches were as long in coming"
    ),
    why=(
        "Either the process did not run, because it was stopped or its machine was asleep or full, or "
        "reading the data hung. What is trained is the same; a GPU that is paid for stood still."
    ),
    fix=(
        "where no batch was there look at the disk or the network that the data is on, and at "
        "data.workers; otherwise at what else runs on the machine"
    ),
    home="training/step_judge.py",
    symptoms=(
        "training hangs for a while",
        "one step takes very long",
    ),
)

NEW_LEVEL_ACCEPTED = RunFinding(
    code="S906",
    name="new-level-accepted",
    severity="warning",
    when="while training",
    seen=(
        "many steps in a row were refused, and the weights are well: the loss of an older window is as low"
    ),
    why="Text of another kind has another loss. Refused for ever it would never be learned.",
    fix="nothing, where a new domain began there; else look at what the corpora hold from there on",
    home="training/rollback.py",
    symptoms=("the loss jumps and stays there",),
)

REWOUND = RunFinding(
    code="S907",
    name="rewound",
    severity="warning",
    when="while training",
    seen=(
        "many steps in a row were refused, and the loss of an older window is higher than it was: the run"
        " went back to its newest healthy checkpoint and leaves out the steps around"
    ),
    why=(
        "An update before the first refused step has spoilt the weights. The same data meets other "
        "weights without harm more often than not, but not these."
    ),
    fix=(
        "if it happens again lower the learning rate or lengthen the warmup; `trimtab replay` says what "
        "was at fault"
    ),
    home="training/rollback.py",
    symptoms=(
        "the loss explodes and stays high",
        "the loss becomes nan",
    ),
)

ENDED_DIVERGED = RunFinding(
    code="S908",
    name="ended-diverged",
    severity="error",
    when="while training, after the last step",
    seen=(
        "most of the last 3 steps were not finite, or their loss is more than 1.05 times that of the "
        "first step and more than 1.5 times the logarithm of the vocabulary, which is the loss of a model"
        " that knows nothing; steps that were refused as outliers do not count"
    ),
    why=(
        "The weights are worse than none. The guard compares a step with the accepted ones before it, and"
        " a short run has too few of them."
    ),
    fix="begin anew with a lower step.optimizer.learning_rate, such as a tenth, or a longer warmup",
    home="training/diverged.py",
    symptoms=(
        "the loss explodes and stays high",
        "loss is NaN",
        "the run ends well and the model is useless",
    ),
)


ALL = (
    NON_FINITE_STEP,
    LOSS_SPIKE,
    GRADIENT_SPIKE,
    REFUSED_IN_A_ROW,
    TOO_MANY_REFUSED,
    NON_FINITE_TRACED,
    WORST_EXAMPLES,
    UPDATES_TOO_SMALL,
    UPDATES_TOO_LARGE,
    CLIPS_ALMOST_ALWAYS,
    CLIP_OUT_OF_REACH,
    UPDATES_ROUND_AWAY,
    WAITS_FOR_DATA,
    REFUSED_WINDOW_NOT_LOOKED_INTO,
    STEP_STALLED,
    NEW_LEVEL_ACCEPTED,
    REWOUND,
    ENDED_DIVERGED,
)
