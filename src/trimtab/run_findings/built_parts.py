"""Pages of what is checked before the first step on the labels and on the model that was built: whether they do what
the recipe says."""

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
    EVALUATION_VARIES,
)
