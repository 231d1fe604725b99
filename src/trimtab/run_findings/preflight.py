"""Pages of what is checked before the first step on its loss, its gradient, its learning rate and its updates."""

from trimtab.run_findings.spec import RunFinding

FIRST_LOSS_OFF = RunFinding(
    code="L201",
    name="first-loss-off",
    severity="error",
    when="before the first step",
    seen="the untrained model's loss is far from the logarithm of the vocabulary",
    why="An untrained model knows nothing, so each token should cost the logarithm of the vocabulary.",
    fix="look for a changed initialization, a wrong vocabulary size, or labels that are not shifted",
    home="training/preflight/cut.py",
    symptoms=(
        "first loss is too high",
        "first loss is too low",
        "loss is NaN from the start",
    ),
)

GRADIENT_DEPENDS_ON_CUT = RunFinding(
    code="S201",
    name="gradient-depends-on-cut",
    severity="error",
    when="before the first step",
    seen=("in three global batches in a row the gradient changes with the number of micro-batches"),
    why="The arithmetic of training must not depend on how much runs at once.",
    fix=(
        "set step.tokens_per_micro_batch to step.tokens_per_step, so that nothing is cut, and report "
        "it; if that does not fit in memory, lower both"
    ),
    home="training/preflight/cut.py",
    symptoms=(
        "loss grows with gradient accumulation",
        "accumulation gives another result than a large batch",
    ),
)

GRADIENT_DEPENDS_ON_RANKS = RunFinding(
    code="S214",
    name="gradient-depends-on-ranks",
    severity="error",
    when="before the first step, with several processes",
    seen="in three windows in turn the gradient that ranks sum is not the one that a rank computes alone",
    why="Several processes must compute what one computes: a rank that differs makes every step wrong.",
    fix=(
        "train without the host or the GPU of the rank that is named, and report it; if none is named, train on one "
        "rank"
    ),
    home="training/preflight/ranks.py",
    symptoms=(
        "several GPUs give another result than one",
        "loss differs with the number of GPUs",
    ),
)

PEAK_RATE_OUT_OF_RANGE = RunFinding(
    code="S202",
    name="peak-rate-out-of-range",
    severity="warning",
    when="before the first step",
    seen=("the peak learning rate of the schedule is below 1e-5 or above 1e-1, with an optimizer like Adam"),
    why="At such a learning rate the weights hardly move, or training diverges at once.",
    fix="set step.optimizer.learning_rate to what the finding says; with noam it is a factor, near 1",
    explains=(
        "S901",
        "S902",
        "S903",
        "S904",
        "S905",
        "S907",
        "S908",
        "S921",
        "S922",
        "M903",
        "M905",
        "E901",
        "E903",
        "E906",
    ),
    home="training/rates.py",
    symptoms=(
        "loss falls slowly",
        "loss flat",
        "diverged",
    ),
)

AVERAGE_OF_FIRST_WEIGHTS = RunFinding(
    code="S213",
    name="average-of-first-weights",
    severity="error",
    when="before the first step; where the length is in minutes, while training and as a warning",
    seen=(
        "a run whose length is in epochs, tokens or minutes refreshes its moving average so seldom that "
        "more than 1% of it is the untrained first weights at the end"
    ),
    why=(
        "Untrained weights are noise: with some per cent of them in it the average is worse than the "
        "weights that are trained, and it is what is scored and kept where `evaluate.weights` is ema."
    ),
    fix="lower step.ema.every, leave step.ema.warmup on, or train longer",
    home="training/refreshes.py",
    symptoms=(
        "the moving average is worse than the weights",
        "validation loss stays high with ema",
    ),
)

RATE_RISES_AGAIN = RunFinding(
    code="S203",
    name="rate-rises-again",
    severity="warning",
    when="when a run resumes",
    seen="a run resumes with a much higher learning rate than it ended with, such as one that is extended",
    why=(
        "The loss rises first, or the run diverges. A schedule that came down for the old length is higher again in "
        "a longer one; the result is not that of a run which had this length from the beginning."
    ),
    fix=(
        "if the learning rate was changed by mistake, set it back and resume from the checkpoint before; for a single "
        "decline over another length start a new run, as only inverse_sqrt and constant do not depend on it"
    ),
    explains=("S902", "S903", "S904", "S911"),
    home="training/rates.py",
    symptoms=("loss jumps after resuming",),
)

LONGEST_BATCH_DOES_NOT_FIT = RunFinding(
    code="P201",
    name="longest-batch-does-not-fit",
    severity="error",
    when="before the first step",
    seen="the largest micro-batch that can come does not fit into memory",
    why="The run would run out of memory at the first such batch, perhaps after hours.",
    fix="lower step.tokens_per_micro_batch; it changes speed and memory only",
    home="training/preflight/memory.py",
    symptoms=(
        "out of memory",
        "out of memory after hours",
    ),
)

DECODING_FAILS = RunFinding(
    code="E201",
    name="decoding-fails",
    severity="error",
    when="before the first step",
    seen="five lines could not be translated with the untrained model",
    why="The first evaluation would fail in the same way.",
    fix="read the message: it names what is wrong",
    home="tasks/text/text_task.py",
    symptoms=("crashes at the first evaluation",),
)

WEIGHT_DOES_NOT_MOVE = RunFinding(
    code="S204",
    name="weight-does-not-move",
    severity="error",
    when="before the first step",
    seen="an update does not change a weight",
    why="A weight that no update changes is not trained, whatever the loss says.",
    fix="check which tensors the optimizer has, and its learning rate",
    home="training/preflight/updates.py",
    symptoms=(
        "loss flat",
        "weights do not change",
    ),
)

RATE_NOT_APPLIED = RunFinding(
    code="S205",
    name="rate-not-applied",
    severity="error",
    when="before the first step",
    seen="half the learning rate does not give half the update",
    why=(
        "The weights do not follow the learning rate that is given and written down, so there is no "
        "warmup and no decay of it."
    ),
    fix="check how the learning rate of a step reaches the optimizer",
    home="training/preflight/updates.py",
    symptoms=(
        "loss flat",
        "learning rate has no effect",
    ),
)

SKIPPED_STEP_CHANGES_SOMETHING = RunFinding(
    code="S206",
    name="skipped-step-changes-something",
    severity="error",
    when="before the first step",
    seen="a skipped step changes weights or moments",
    why="One such step turns every weight into NaN, and a run cannot recover from it.",
    fix="look at how the verdict reaches the optimizer, and that moments are left alone too",
    home="training/preflight/updates.py",
    symptoms=("everything is NaN after one bad step",),
)

GRADIENTS_LEFT_OVER = RunFinding(
    code="S207",
    name="gradients-left-over",
    severity="error",
    when="before the first step",
    seen="repeating a step gives another gradient",
    why=(
        "Gradients of the steps before are added to each new one, so the weights move along old "
        "directions, faster and faster."
    ),
    fix="check where gradients are zeroed after an update",
    home="training/preflight/step_order.py",
    symptoms=(
        "diverged",
        "gradient norm grows with every step",
    ),
)

CLIPPED_TOO_LATE = RunFinding(
    code="S208",
    name="clipped-too-late",
    severity="error",
    when="before the first step",
    seen="a gradient is applied before it is clipped",
    why="Clipping after the update, or not at all, lets a single bad step ruin the weights.",
    fix="look at the order within a step: accumulate, clip, judge, update",
    home="training/preflight/step_order.py",
    symptoms=("loss spikes in spite of clipping",),
)

DECAY_ON_OTHER_WEIGHTS = RunFinding(
    code="S209",
    name="decay-on-other-weights",
    severity="error",
    when="before the first step",
    seen="weight decay changes norms, biases or embeddings, or leaves out a matrix",
    why=(
        "Decay is meant for the matrices of linear maps: it pulls gains of norms away from 1 and the "
        "vectors of rare words to zero."
    ),
    fix="look at the optimizer's groups: norms, biases and embeddings have none",
    home="training/preflight/decay.py",
    symptoms=(
        "loss rises slowly",
        "rare words are translated badly",
    ),
)

OPTIMIZER_OF_OTHER_TENSORS = RunFinding(
    code="S210",
    name="optimizer-of-other-tensors",
    severity="error",
    when="before the first step",
    seen="the optimizer's tensors are not exactly the model's, each once",
    why="Updates go to tensors that the model does not read: the loss stays where it was.",
    fix="create the optimizer after the model was moved, copied or wrapped",
    home="training/preflight/gradients.py",
    symptoms=(
        "loss flat",
        "weights do not change",
    ),
)

SCHEDULE_NOT_AS_SAID = RunFinding(
    code="S211",
    name="schedule-not-as-said",
    severity="error",
    when="before the first step",
    seen="the learning rate of a step differs from its schedule, or changes when computed again",
    why=(
        "A schedule that is stepped twice for each update, or not at all, does not follow the warmup and the "
        "length that the recipe gives."
    ),
    fix="check how the step number is used; the learning rate must depend on it only",
    home="training/preflight/schedule.py",
    symptoms=(
        "warmup is too short",
        "learning rate ends too early",
    ),
)

MOVES_THOUGH_NOT_TRAINED = RunFinding(
    code="S212",
    name="moves-though-not-trained",
    severity="error",
    when="before the first step",
    seen="an update changes a frozen tensor",
    why="If frozen weights or tables change, the run trains another model than the recipe describes.",
    fix="take it out of the optimizer, or look for what writes to it in the forward pass",
    home="training/preflight/updates.py",
    symptoms=("a frozen layer changes",),
)


ALL = (
    FIRST_LOSS_OFF,
    GRADIENT_DEPENDS_ON_CUT,
    GRADIENT_DEPENDS_ON_RANKS,
    PEAK_RATE_OUT_OF_RANGE,
    AVERAGE_OF_FIRST_WEIGHTS,
    RATE_RISES_AGAIN,
    LONGEST_BATCH_DOES_NOT_FIT,
    DECODING_FAILS,
    WEIGHT_DOES_NOT_MOVE,
    RATE_NOT_APPLIED,
    SKIPPED_STEP_CHANGES_SOMETHING,
    GRADIENTS_LEFT_OVER,
    CLIPPED_TOO_LATE,
    DECAY_ON_OTHER_WEIGHTS,
    OPTIMIZER_OF_OTHER_TENSORS,
    SCHEDULE_NOT_AS_SAID,
    MOVES_THOUGH_NOT_TRAINED,
)
