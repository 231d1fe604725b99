"""Pages of what is checked before the first step on the model and the step that were built: whether they do what the
recipe says."""

from trimtab.run_findings.spec import RunFinding

LABELS_NOT_NEXT_TOKENS = RunFinding(
    code="L202",
    name="labels-not-next-tokens",
    severity="error",
    when="before the first step",
    seen="a label is not the token after the decoder input, or padding counts in the loss",
    why=(
        "The label must be the token after the decoder input: with the input itself as label the model "
        "learns to copy, with a later token it learns to skip."
    ),
    fix="check where decoder inputs are made from targets: shift them once, by one",
    home="tasks/text/labels.py",
    symptoms=(
        "loss is too low",
        "output repeats the word before",
        "output leaves words out",
    ),
)

EXAMPLES_LOST_IN_PACKS = RunFinding(
    code="L203",
    name="examples-lost-in-packs",
    severity="error",
    when="before the first step",
    seen="the packs of a step do not contain each of the step's examples once",
    why=(
        "Lost examples are not learned, duplicates count twice, and a wrong count of targets scales "
        "every gradient."
    ),
    fix="report it; until then set step.tokens_per_micro_batch to step.tokens_per_step",
    home="tasks/text/labels.py",
    symptoms=("fewer examples than expected",),
)

LOSS_OF_ANOTHER_TOKEN = RunFinding(
    code="L204",
    name="loss-of-another-token",
    severity="error",
    when="before the first step",
    seen="the loss of a single label is not what the model predicts at its place",
    why="The loss compares a prediction with a label that is not its own, or not as cross-entropy does.",
    fix="look for labels that are shifted a second time, in the loss or in the model",
    home="tasks/text/labels.py",
    symptoms=(
        "loss does not fall as far as it should",
        "output leaves words out",
    ),
)

FUTURE_SEEN = RunFinding(
    code="M201",
    name="future-seen",
    severity="error",
    when="before the first step",
    seen="later target tokens change earlier predictions",
    why=(
        "A decoder that sees the token it is asked for learns to copy it: the loss becomes very low, and "
        "what the model writes is useless."
    ),
    fix="look at the causal mask of the decoder's self-attention",
    home="tasks/text/causality.py",
    symptoms=(
        "loss is too good to be true",
        "loss is low and the translations are bad",
    ),
)

INPUT_WITHOUT_EFFECT = RunFinding(
    code="M202",
    name="input-without-effect",
    severity="error",
    when="before the first step",
    seen="changing the source or earlier target tokens does not change the predictions",
    why=(
        "A model cannot learn from input that does not reach it: without the previous tokens it cannot "
        "write, without the source it cannot translate."
    ),
    fix=(
        "look at how the decoder reads it: self-attention, attention to the source, embeddings of the target"
    ),
    home="tasks/diagnoses.py",
    symptoms=(
        "output has nothing to do with the input",
        "every input gives the same output",
    ),
)

EXAMPLES_SEE_EACH_OTHER = RunFinding(
    code="M203",
    name="examples-see-each-other",
    severity="error",
    when="before the first step",
    seen="the tokens of one example change other examples of its pack",
    why=(
        "What a text means must not depend on which others it is trained beside: when the model is used "
        "they are not there."
    ),
    fix="look at the boundaries of segments, and at the mask of attention",
    home="tasks/diagnoses.py",
    symptoms=(
        "translations depend on the batch size",
        "validation differs from training",
    ),
)

EXAMPLE_DIFFERS_ALONE = RunFinding(
    code="M204",
    name="example-differs-alone",
    severity="error",
    when="before the first step",
    seen="an example alone gives other vectors than in a pack",
    why="The model sees padding, or the place in a pack; then its loss depends on how steps are cut.",
    fix="look at the mask of padding, and at how positions are counted",
    home="tasks/diagnoses.py",
    symptoms=(
        "translations depend on the batch size",
        "loss depends on the padding",
    ),
)

WEIGHT_WITHOUT_GRADIENT = RunFinding(
    code="M205",
    name="weight-without-gradient",
    severity="error",
    when="before the first step",
    seen="the gradient of a weight is missing, zero or not finite",
    why="What the loss does not reach is never trained: its random first value stays in the model.",
    fix="look for a detach, a no_grad, or a layer whose output is not used",
    home="training/preflight/gradients.py",
    symptoms=(
        "a layer does not learn",
        "loss falls slowly",
    ),
)

WEIGHT_FROZEN = RunFinding(
    code="M206",
    name="weight-frozen",
    severity="error",
    when="before the first step",
    seen="a weight is frozen, though no setting asks for it",
    why=(
        "A frozen weight keeps its random first value: a model whose embeddings are frozen learns slowly "
        "and ends worse, without any warning."
    ),
    fix="look for requires_grad that is set to False",
    home="training/preflight/gradients.py",
    symptoms=(
        "embeddings do not change",
        "loss falls slowly",
    ),
)

ADAPTER_CHANGES_BASE = RunFinding(
    code="M210",
    name="adapter-changes-base",
    severity="error",
    when="before the first step",
    seen="a new adapter changes what the model computes before it has learned anything",
    why=(
        "An adapter begins as nothing: the second matrices are zero, and with DoRA each row has the length that it "
        "has in the base. Where it does not, training first repairs the damage, and forgets on the way."
    ),
    fix="report it: the adapter was trained on a different base",
    home="training/preflight/every_check.py",
    symptoms=(
        "high loss at the first step",
        "model forgot everything",
    ),
)

TIED_WEIGHTS_APART = RunFinding(
    code="M207",
    name="tied-weights-apart",
    severity="error",
    when="before the first step",
    seen="embeddings that the recipe ties are two matrices, or become two when weights are loaded",
    why=(
        "Matrices that should be one are trained apart from then on: a resumed run is not the run that "
        "was stopped, and what is loaded to be used is not the model that was trained."
    ),
    fix="look at what replaces a module or a parameter, and tie it again there",
    home="training/preflight/ties.py",
    symptoms=(
        "loss jumps after resuming",
        "a loaded model is worse than it was",
    ),
)

WEIGHTS_LOST_IN_LOADING = RunFinding(
    code="M208",
    name="weights-lost-in-loading",
    severity="error",
    when="before the first step",
    seen="loading the model's own weights does not restore the model",
    why="A checkpoint that does not restore every weight resumes, and is used, as a different model.",
    fix="look at what state_dict leaves out, and at what load_state_dict does not fill",
    home="training/preflight/ties.py",
    symptoms=(
        "loss jumps after resuming",
        "a loaded model is worse than it was",
    ),
)

DROPOUT_NOT_AS_SAID = RunFinding(
    code="M209",
    name="dropout-not-as-said",
    severity="error",
    when="before the first step",
    seen=(
        "two passes in training agree although there is dropout, or differ from evaluation although there"
        " is none"
    ),
    why=(
        "A small model without the dropout that was asked for memorizes its examples; one with "
        "dropout that was not asked for learns less than it could."
    ),
    fix="look at whether the model is in training mode, and where dropout is applied",
    home="training/preflight/modes.py",
    symptoms=(
        "overfits early",
        "dropout has no effect",
    ),
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
    why="Frozen weights and tables that change make another model of it than the recipe describes.",
    fix="take it out of the optimizer, or look for what writes to it in the forward pass",
    home="training/preflight/updates.py",
    symptoms=("a frozen layer changes",),
)

EVALUATION_VARIES = RunFinding(
    code="E202",
    name="evaluation-varies",
    severity="error",
    when="before the first step",
    seen="two evaluations of the same tokens differ",
    why=(
        "Something is still random, usually dropout that is on during evaluation: losses are too "
        "high, and whatever the model writes is worse than it could be and changes from one time to the "
        "next."
    ),
    fix="look for dropout that ignores whether the model is in training mode",
    home="training/preflight/modes.py",
    symptoms=(
        "evaluation differs from one time to the next",
        "validation loss is too high",
    ),
)


ALL = (
    LABELS_NOT_NEXT_TOKENS,
    EXAMPLES_LOST_IN_PACKS,
    LOSS_OF_ANOTHER_TOKEN,
    FUTURE_SEEN,
    INPUT_WITHOUT_EFFECT,
    EXAMPLES_SEE_EACH_OTHER,
    EXAMPLE_DIFFERS_ALONE,
    WEIGHT_WITHOUT_GRADIENT,
    WEIGHT_FROZEN,
    ADAPTER_CHANGES_BASE,
    TIED_WEIGHTS_APART,
    WEIGHTS_LOST_IN_LOADING,
    DROPOUT_NOT_AS_SAID,
    WEIGHT_DOES_NOT_MOVE,
    RATE_NOT_APPLIED,
    SKIPPED_STEP_CHANGES_SOMETHING,
    GRADIENTS_LEFT_OVER,
    CLIPPED_TOO_LATE,
    DECAY_ON_OTHER_WEIGHTS,
    OPTIMIZER_OF_OTHER_TENSORS,
    SCHEDULE_NOT_AS_SAID,
    MOVES_THOUGH_NOT_TRAINED,
    EVALUATION_VARIES,
)
