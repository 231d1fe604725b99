"""Pages of what guards and watches see while a run takes its steps."""

from trimtab.run_findings.spec import RunFinding

NON_FINITE_STEP = RunFinding(
    code="S901",
    name="non-finite-step",
    severity="warning",
    when="while training",
    seen="a step was skipped, because its loss or its gradient was not finite",
    why=("Applying it would have turned every weight into NaN. Weights and moments are as before the step."),
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
        "The step's text is far harder than any before, or the weights are diverging; an update made "
        "of it can undo hundreds of good ones."
    ),
    fix=(
        "if rare, it is a bad line of the data; if frequent, the learning rate is too high or the "
        "warmup too short"
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
        "if rare, it is a bad line of the data; if frequent, the learning rate is too high or the "
        "warmup too short"
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
    seen="8 steps in a row were skipped",
    why=(
        "Either the data has shifted and must be learned, or the weights are damaged, which more "
        "skipped steps do not repair."
    ),
    fix=(
        "if a held-out batch still has its old loss, accept the shift of the data; if its loss is "
        "higher, roll back to an older checkpoint and skip the data before the first of these steps"
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
        "more than 1% of the last 1,000 steps were skipped (a warning), or more than 5% (the run should stop)"
    ),
    why=(
        "A guard is for rare steps. A run that needs it constantly is unstable, and learns from a "
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
    why="The first tensor that is not finite is the origin; all later ones only propagate it.",
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
    seen="the lines of the skipped step with the largest loss, which are written to quarantine.jsonl",
    why=(
        "One broken line can cause a whole spike. If no line stands out, suspect the weights or the "
        "learning rate."
    ),
    fix=(
        "read them in quarantine.jsonl; `trimtab replay RUN --step N` says whether the data or the weights are at fault"
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
    seen="a step moves matrices by less than a hundred-thousandth of their size, at a learning rate near the peak",
    why=(
        "At this speed a weight needs a hundred thousand steps to change completely; the loss falls slowly or"
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
        "Ten such steps replace a weight completely: the model forgets as fast as it learns, and the "
        "loss stays high or jumps."
    ),
    fix="lower step.optimizer.learning_rate (to a tenth), or lengthen the warmup",
    explains=(
        "S901",
        "S902",
        "S903",
        "S904",
        "S905",
        "S907",
        "S908",
        "S922",
        "M903",
        "M905",
        "E901",
        "E903",
        "E906",
    ),
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
        "A clip that always acts does not guard against spikes: it makes every gradient equally long, "
        "so that a step of rare, hard text weighs as much as any other."
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
        "A weight in half precision ignores an update below half a unit in its last place: the more"
        " the learning rate falls, the fewer weights learn."
    ),
    fix=(
        "keep the weights in float32 and run only matrix products in half precision (autocast), or use "
        "stochastic rounding"
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
    seen="training spends more than a tenth of its time waiting for data",
    why=("The device is idle while text is read and tokenized; the run would be faster by this share."),
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
    seen="the batch of a skipped step could not be analyzed line by line, for example because memory ran out",
    why=(
        "Scoring its lines and tracing its numbers runs without compiled kernels and takes more memory "
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
        "Either the process was stopped, its machine was asleep or overloaded, or reading the data "
        "hung. The result is the same; the GPU was idle."
    ),
    fix=(
        "if it waited for batches, check the disk or network of the data, and data.workers; otherwise "
        "check what else runs on the machine"
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
        "many steps in a row were skipped, but the weights are healthy: the loss on an older batch is "
        "as low as it was"
    ),
    why="Text of another kind has another loss. If it were always skipped it would never be learned.",
    fix="nothing, if a new domain begins there; otherwise check the corpora from there on",
    home="training/rollback.py",
    symptoms=("the loss jumps and stays there",),
)

REWOUND = RunFinding(
    code="S907",
    name="rewound",
    severity="warning",
    when="while training",
    seen=(
        "many steps in a row were skipped, and the loss on an older batch is higher than it was: the "
        "run rolled back to its newest healthy checkpoint and leaves out the steps around"
    ),
    why=(
        "An update before the first skipped step has damaged the weights. With other weights the same "
        "data is usually harmless."
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
        " that knows nothing; steps skipped as outliers do not count"
    ),
    why=(
        "The model is worse than an untrained one. The guard compares a step with accepted steps "
        "before it, and a short run has too few of them."
    ),
    fix="start again with a lower step.optimizer.learning_rate, such as a tenth, or a longer warmup",
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
