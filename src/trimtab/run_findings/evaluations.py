"""Pages of what an evaluation shows."""

from trimtab.run_findings.spec import RunFinding

SOURCE_IGNORED = RunFinding(
    code="M901",
    name="source-ignored",
    severity="error",
    when="while training",
    seen="the loss is the same with shuffled sources",
    why=(
        "The model predicts the target from the target only: sources and targets do not match,"
        " or the encoder does not reach the decoder."
    ),
    fix=(
        "check that line n of the source is translated by line n of the target: `trimtab data inspect RECIPE`"
    ),
    home="tasks/text/diagnose.py",
    symptoms=(
        "output has nothing to do with the input",
        "hallucinates",
        "same output for every input",
    ),
)

WEIGHTS_NEVER_MOVE = RunFinding(
    code="M902",
    name="weights-never-move",
    severity="error",
    when="while training",
    seen="trainable tensors are bit-identical to a hundred updates before",
    why=(
        "No gradient reaches them, the optimizer does not have them, or each update is so small that it "
        "rounds away; they keep their first values, and the loss falls without them."
    ),
    fix=(
        "if it is all tensors, raise step.optimizer.learning_rate; if it is some, the loss does not "
        "depend on them: freeze them on purpose, or remove them from the model"
    ),
    home="watch/movement.py",
    symptoms=(
        "loss does not fall",
        "worse than a smaller model",
    ),
)

RESIDUAL_PATH_TOO_LARGE = RunFinding(
    code="M903",
    name="residual-path-too-large",
    severity="error",
    when="while training",
    seen=(
        "the root mean square of the residual path is above 1,000, or above 100 and raised more than "
        "eightfold by one layer (warnings), or is no finite number"
    ),
    why=(
        "The output of a layer is lost in a much larger residual path, half precision overflows, and a "
        "loss that looks healthy suddenly becomes NaN."
    ),
    fix=(
        "lower the learning rate or lengthen the warmup; `model.norm_position: after` or weight decay "
        "bounds the path; go back to a checkpoint from before it grew"
    ),
    home="watch/activations.py",
    symptoms=(
        "loss is NaN",
        "diverged after some steps",
        "loss spikes",
    ),
)

DEAD_UNITS = RunFinding(
    code="M904",
    name="dead-units",
    severity="warning",
    when="while training",
    seen="more than 95% of the feed-forward units of a layer were 0 for every token of a validation pack",
    why=(
        "A unit that no token activates has no gradient and never recovers: the layer has lost most of "
        "its width, typically after a few updates that were far too large."
    ),
    fix=(
        "lower the learning rate or lengthen the warmup and start again; `model.activation: gelu` or "
        "`swiglu` has no flat side to die on"
    ),
    home="watch/activations.py",
    symptoms=(
        "loss stays high",
        "worse than a smaller model",
    ),
)

ATTENTION_LOGITS_TOO_LARGE = RunFinding(
    code="M905",
    name="attention-logits-too-large",
    severity="error",
    when="while training",
    seen="an attention logit is above 1,000 (a warning), or above 10,000",
    why=(
        "A softmax of such logits is saturated and has no gradient: heads no longer learn, and a run"
        " whose logits keep growing diverges."
    ),
    fix=(
        "lower the learning rate (to a third) or lengthen the warmup, and go back to a checkpoint from "
        "before they grew; `step.weight_clip` and weight decay keep the maps of queries and keys small"
    ),
    home="watch/attention.py",
    symptoms=(
        "diverged after some steps",
        "loss spikes",
        "loss is NaN",
    ),
)

ATTENTION_SINKS = RunFinding(
    code="M906",
    name="attention-sinks",
    severity="warning",
    when="while training",
    seen=(
        "more than nine in ten heads of a side put almost all of their attention on one position of each row"
    ),
    why=(
        "Some attention sinks are normal; if almost all heads have one, tokens exchange no information "
        "and the model ignores its input."
    ),
    fix=(
        "lower the learning rate or lengthen the warmup and start again; where there is a source, check "
        "that its lines belong to those of the target: `trimtab data inspect RECIPE`"
    ),
    home="watch/attention.py",
    symptoms=(
        "output has nothing to do with the input",
        "loss stays high",
    ),
)

COLLAPSED_OUTPUTS = RunFinding(
    code="E901",
    name="collapsed-outputs",
    severity="error",
    when="while training",
    seen="different sentences have almost anyway translation",
    why=(
        "The model writes the same few sentences for any input: it has learned the target language's "
        "commonest phrases and ignores the source. The loss falls anyway."
    ),
    fix=(
        "if the loss is still high, train longer; otherwise lower the learning rate (to a half or a "
        "third) or lengthen the warmup; if it stays, check that line n of the source is translated by "
        "line n of the target (`trimtab data inspect RECIPE`)"
    ),
    home="evaluation/repetition.py",
    symptoms=(
        "same output for every input",
        "repeats the same words",
        "writes one token",
    ),
)

TAGS_UNLIKE_TRAINING = RunFinding(
    code="E902",
    name="tags-unlike-training",
    severity="warning",
    when="when translating or evaluating",
    seen="lines come without a tag, or with one that no line of the training had",
    why="The tag told the model what to write; without it, it mixes what it learned.",
    fix="pass the tag with `--tag`, or `tags` in Python, as in the recipe's data.train",
    home="data/tags.py",
    symptoms=(
        "wrong language in the output",
        "worse when translating than in validation",
    ),
)

ADAPTER_OF_PACKED_BASE = RunFinding(
    code="E904",
    name="adapter-of-packed-base",
    severity="warning",
    when="when an adapter is used beside its base",
    seen="the adapter was trained on a base in 4 bits, and is used on the weights in their full precision",
    why=(
        "The adapter learned to compensate for the rounding of its base. On full-precision weights the outputs differ "
        "a little from those of the run, which was evaluated on the quantized base."
    ),
    fix="use the run itself, which quantizes its base as in training; or export it with `--to hf` and evaluate that",
    home="inference/adapter_folder.py",
    symptoms=("worse when translating than in validation", "worse after merge"),
)

TRANSLATIONS_REPEAT_THEMSELVES = RunFinding(
    code="E903",
    name="translations-repeat-themselves",
    severity="warning",
    when="while training",
    seen=(
        "one translation in ten, and at least three, loops; and more than 5% of all 4-grams, and ten "
        "times the share of the references, repeat one earlier in the line"
    ),
    why=(
        "The decoder follows its own last words and no longer looks at the source: typical of a model "
        "that has not learned enough yet, or has too little data."
    ),
    fix=(
        "train longer or on more text, and look for training lines that repeat themselves (`trimtab "
        "data inspect RECIPE`); `--no-repeat-ngram 4` hides loops when translating, but does not fix "
        "the model"
    ),
    home="evaluation/repetition.py",
    symptoms=(
        "repeats the same words",
        "output does not end",
    ),
)

EVALUATION_NOT_FINITE = RunFinding(
    code="E906",
    name="evaluation-not-finite",
    severity="error",
    when="while training",
    seen="the loss of a validation set is NaN or infinite",
    why="The weights contain values that are not finite, or so large that they overflow.",
    fix=(
        "let the run continue: its guard rolls back to a healthy checkpoint; or start again with a lower learning rate"
    ),
    home="tasks/diagnoses.py",
    symptoms=("the validation loss is nan",),
)

VALIDATION_CHANGED = RunFinding(
    code="E907",
    name="validation-changed",
    severity="warning",
    when="where a run goes on",
    seen="a run resumes with other validation lines, another metric or another search than its best evaluation had",
    why="Scores of different texts cannot be compared: the best checkpoint and the patience would follow from which"
    " text is easier.",
    fix="nothing, if the change is meant: the next evaluation is the first to compare with; otherwise put the old"
    " set back",
    home="training/comparison.py",
    symptoms=(
        "the best checkpoint is not the best",
        "stopped too early",
    ),
)

ALL = (
    SOURCE_IGNORED,
    WEIGHTS_NEVER_MOVE,
    RESIDUAL_PATH_TOO_LARGE,
    DEAD_UNITS,
    ATTENTION_LOGITS_TOO_LARGE,
    ATTENTION_SINKS,
    COLLAPSED_OUTPUTS,
    TAGS_UNLIKE_TRAINING,
    ADAPTER_OF_PACKED_BASE,
    TRANSLATIONS_REPEAT_THEMSELVES,
    EVALUATION_NOT_FINITE,
    VALIDATION_CHANGED,
)
