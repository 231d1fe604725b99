"""What people see, in their words, and what is usually behind it: the table that `symptoms` searches."""

from trimtab.checks.record import record


@record
class Symptom:
    """Something that people see."""

    name: str
    also: tuple[str, ...]
    """Other ways to say it."""
    causes: tuple[str, ...]
    """The likeliest first; each says how to tell it from the others, or what to do."""
    parts: str = ""
    """Parts of trimtab that prevent it or show it."""


SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "repeats the same words",
        (
            "repetition",
            "loops",
            "stuck in a loop",
            "same phrase again and again",
            "repeated tokens",
            "degenerate text",
        ),
        (
            "too little training: repetition falls as the loss does; count it without blocking n-grams",
            "the end of a text was never learned: the end token is also the padding, and masked out of the loss",
            "greedy decoding of a language model that was tuned on little text",
            "adapters merged into tied embeddings, which changes both ends of the model",
        ),
        "`evaluation/repetition.py` counts repeated 4-grams at every evaluation",
    ),
    Symptom(
        "same output for every input",
        (
            "writes one token",
            "always the same sentence",
            "collapsed output",
            "identical translations",
            "ignores the source",
            "outputs only one word",
            "outputs only padding",
        ),
        (
            "the rate was too high, or the warm-up too short, and the encoder never came through: the loss falls "
            "anyway, to what the target language alone gives",
            "sources and targets are not aligned, so that ignoring the source is the best there is",
            "too early: a translator first learns the commonest sentences",
            "relative positions alone in a tiny translator",
        ),
        "`E901` and `M901` are looked for at every evaluation",
    ),
    Symptom(
        "loss is NaN",
        (
            "nan",
            "inf",
            "loss becomes nan",
            "not a number",
            "gradient norm is nan",
            "infinite loss",
            "overflow",
        ),
        (
            "fp16 with a model that was pretrained in bf16: activations exceed 65,504",
            "a rate that is too high, or no warm-up",
            "a row without any label: the mean over nothing is NaN",
            "label smoothing over logits that are masked with -inf",
            "new layers or tokens that were made in half precision",
        ),
        "`step/judge.py` refuses a step that is not finite (`S901`)",
    ),
    Symptom(
        "loss is flat",
        (
            "loss does not fall",
            "loss stays the same",
            "model learns nothing",
            "not learning",
            "loss plateaus at once",
            "loss does not decrease",
            "no progress",
            "loss never moves",
            "loss is stuck",
            "accuracy does not improve",
            "score does not rise",
        ),
        (
            "nothing is trained: the adapter gets no gradient, or everything is frozen",
            "weights in bf16 and a small rate: most updates are rounded away",
            "the rate is still in its warm-up, or is zero, or was given as text",
            "a dropped key: the value that you wrote is not the one that is used",
            "labels are all masked, or not shifted",
        ),
    ),
    Symptom(
        "adapter does not learn",
        (
            "lora does not learn",
            "lora learns nothing",
            "adapter has no effect",
            "lora is worse than full training",
            "qlora does not train",
        ),
        (
            "the rate is that of full training: an adapter wants about ten times as much",
            "it gets no gradient: reentrant checkpointing over frozen embeddings, or target modules that match nothing",
            "alpha and rank make its scale far too small or too large",
            "new tokens are not in `modules_to_save`, so that their rows stay as they were drawn",
            "every label is masked",
        ),
    ),
    Symptom(
        "score is zero",
        (
            "bleu is 0",
            "bleu near zero",
            "chrf is zero",
            "accuracy is 0",
            "validation score is zero",
            "very low bleu",
        ),
        (
            "outputs have collapsed to a few sentences: read some of them",
            "sources and references are not aligned, or are in the other direction",
            "outputs are still in pieces, or references are blank, lower-cased or tokenised otherwise",
            "decoding stops at once, or never: the end token is not the one that was trained",
        ),
        "`E901` and `D203`; `trimtab evaluate` prints examples",
    ),
    Symptom(
        "loss is zero",
        ("loss 0.0", "zero loss", "loss drops to zero", "training loss 0"),
        (
            "every label is masked, and NaN or nothing is logged as 0",
            "the log filters NaN: `logging_nan_inf_filter` shows the last finite loss or 0",
            "fp16 overflow, or a broken attention kernel, in the forward pass",
            "the answer is in the prompt",
        ),
    ),
    Symptom(
        "out of memory",
        (
            "oom",
            "cuda out of memory",
            "killed",
            "memory error",
            "memory grows",
            "does not fit",
            "out of memory after hours",
        ),
        (
            "one batch is longer than those before: try the longest first",
            "logits of a large vocabulary in fp32: take a loss in chunks",
            "optimizer state in fp32 (8 bytes a parameter): 8 bits, Adafactor, or paged",
            "evaluation keeps the logits of the whole set",
            "no gradient checkpointing, or a kind that a library switched off",
        ),
        "`P201` tries the largest batch before the first step; `loss/chunked.py`",
    ),
    Symptom(
        "diverged after some steps",
        (
            "loss spikes",
            "loss explodes",
            "training diverges",
            "gradient norm explodes",
            "sudden spike",
            "loss goes up",
            "unstable training",
            "blows up",
        ),
        (
            "the rate is too high for this size or batch, or the warm-up is too short",
            "a second moment kept in bf16 with beta2 above 0.996 does not follow the gradient",
            "one bad example: replay the step from the checkpoint before; if it spikes again it is the data",
            "label smoothing with accumulation in releases where the loss was not divided",
            "full tuning of weights into which an adapter of the embeddings was merged",
        ),
        "`step/judge.py`; `step.clip`; `step.optimizer: {kind: stable_adamw}`",
    ),
    Symptom(
        "worse after resume",
        ("resume", "loss jumps after resuming", "checkpoint worse", "restart", "continued training is worse"),
        (
            "optimizer state or schedule was not saved: the warm-up begins again, moments are zero",
            "the order of data begins again, so that the same examples are seen twice",
            "only the weights were saved, or the last checkpoint is damaged",
            "another number of GPUs or another accumulation changes the batch",
        ),
        "`checkpoint` resumes to the bit on a CPU",
    ),
    Symptom(
        "worse after merge",
        (
            "merge",
            "merged model is worse",
            "merged adapter",
            "merged lora gives nonsense",
            "reload gives other output",
        ),
        (
            "merged into a quantised base: the sum is rounded to 4 or 8 bits again",
            "tied embeddings: the adapter of one end was merged into both",
            "merged in half precision, or into another revision of the base",
            "embeddings of added tokens were not saved with the adapter",
        ),
    ),
    Symptom(
        "loss is too high with accumulation",
        (
            "accumulation changes the loss",
            "loss is multiplied by accumulation steps",
            "gradient accumulation is worse",
            "batch size changes the result",
        ),
        (
            "means of micro-batches are added up, or averaged although they hold different numbers of tokens",
            "a model class whose loss does not take the number of items in the batch",
            "schedule or warm-up counted in micro-batches",
        ),
        "`step/accumulate.py` divides the sum by the count of the whole step (`S201`)",
    ),
    Symptom(
        "loss falls slowly",
        (
            "slow convergence",
            "learns slowly",
            "converges slowly",
            "high loss at the end",
            "underfits",
            "undertrained",
        ),
        (
            "the rate is too low, in particular for LoRA, which wants about ten times that of full tuning",
            "the warm-up takes up much of the run, or ends after it",
            "an adapter that is too small, or only on attention",
            "weights in bf16 without stochastic rounding lose small updates",
        ),
    ),
    Symptom(
        "never stops generating",
        (
            "does not stop",
            "no end token",
            "generates until the limit",
            "endless output",
            "eos never produced",
        ),
        (
            "padding and end are one token, and padding is masked out of the loss",
            "the template puts no end token behind the answer, or another than the one that decoding waits for",
            "training texts are cut at the limit, so that the end is rarely seen",
        ),
    ),
    Symptom(
        "output has nothing to do with the input",
        (
            "hallucinates",
            "hallucination",
            "unrelated output",
            "nonsense",
            "gibberish",
            "garbage output",
            "wrong language",
        ),
        (
            "the template in training is not that of decoding",
            "tokenizer and embeddings do not belong together: tokens were added or trimmed",
            "an adapter on tied embeddings",
            "sources and targets are not aligned",
            "squashed images: lines of text that nobody could read",
        ),
        "`M901` compares the loss with the sources of other lines",
    ),
    Symptom(
        "forgets what it knew",
        ("catastrophic forgetting", "worse on old tasks", "loses general ability", "forgetting"),
        (
            "a rate for training from scratch on a pretrained model",
            "a few steps with huge gradients: clipping them is not enough, skip them",
            "full tuning on a narrow set; an adapter forgets less",
        ),
    ),
    Symptom(
        "overfits",
        (
            "validation loss rises",
            "overfitting",
            "training loss falls and validation loss rises",
            "eval loss goes up while train loss goes down",
            "memorises",
        ),
        (
            "too many epochs for so little text",
            "no dropout, no decay; but more data helps more than either",
            "the validation set is of another kind than the training set",
        ),
        "`evaluate.patience` stops early; the best checkpoint is kept",
    ),
    Symptom(
        "setting has no effect",
        (
            "option ignored",
            "ignored setting",
            "value is not used",
            "changing it does nothing",
            "key is ignored",
        ),
        (
            "the tool does not know the key and silently drops it",
            "the key was renamed, or is read only together with another",
            "a command line or a second file overrides it",
            "YAML reads the value as text, or the text as a boolean",
        ),
    ),
    Symptom(
        "crashes at the start",
        (
            "unexpected keyword argument",
            "typeerror",
            "unrecognized arguments",
            "config error",
            "validation error",
            "fails to start",
        ),
        (
            "a key that the installed version does not know, or no longer",
            "two options that exclude one another",
            "a value of the wrong type: `1e-4` is text in YAML 1.1",
        ),
    ),
    Symptom(
        "training is slow",
        (
            "slow",
            "gpu is idle",
            "low utilisation",
            "low gpu usage",
            "slower than expected",
            "few tokens per second",
        ),
        (
            "padding: sentences of very different lengths in one batch",
            "no TF32, no fused optimizer, an eager attention kernel",
            "the loader cannot keep up: more workers, or data read once",
            "compiling again and again for new shapes",
            "offload or DeepSpeed where the model would fit without",
        ),
        "packs instead of padding (`data/pack.py`); `tokens_per_second` in `metrics.jsonl`",
    ),
    Symptom(
        "no gradient",
        (
            "does not require grad",
            "element 0 of tensors does not require grad",
            "gradients are none",
            "gradient norm is zero",
            "grad_norm 0",
        ),
        (
            "reentrant checkpointing whose input needs no gradient, because the embeddings are frozen",
            "target modules of the adapter that match nothing",
            "every label is masked",
        ),
    ),
    Symptom(
        "learning rate is zero",
        (
            "learning rate 0",
            "lr is 0",
            "rate does not change",
            "learning rate wrong",
            "learning rate is too high",
        ),
        (
            "a warm-up that begins at zero and is longer than the run",
            "a schedule that was made for fewer steps than are trained",
            "schedules such as noam whose factor is not the rate",
            "the rate is text to YAML",
        ),
    ),
    Symptom(
        "unknown tokens in the output",
        (
            "unk",
            "missing characters",
            "characters are missing",
            "question marks in output",
            "new tokens never appear",
        ),
        (
            "the vocabulary does not cover the language: bytes as a fallback, or another tokenizer",
            "tokens were added, and their embeddings or the head are not trained",
        ),
        "`D201`; `data.tokenizer.byte_fallback`",
    ),
    Symptom(
        "best checkpoint is a bad one",
        (
            "best model not loaded",
            "wrong checkpoint",
            "last checkpoint is worse than the best",
            "early stopping fails",
        ),
        (
            "saving and evaluating do not fall on the same steps",
            "a metric of which less is better taken for one of which more is",
            "the best was removed because only the last ones are kept",
        ),
    ),
    Symptom(
        "results differ from run to run",
        ("not reproducible", "nondeterministic", "different result with same seed", "random results"),
        (
            "no seed, or one that workers do not share",
            "kernels that add in any order",
            "another number of workers or GPUs changes the order of examples",
        ),
        "`seed`, `step.deterministic`; the order of data is a function of seed and position",
    ),
    Symptom(
        "images are unreadable",
        ("squashed images", "text in images is not recognised", "ocr is bad", "aspect ratio", "blurry text"),
        ("lines of text are resized to a square", "training and use resize in different ways"),
    ),
    Symptom(
        "disk is full",
        ("no space left", "too many checkpoints", "no checkpoint was saved"),
        ("every checkpoint is kept", "optimizer state is three times the size of the weights"),
        "`checkpoint.keep`",
    ),
    Symptom(
        "worse on long inputs",
        ("long sentences are translated badly", "truncated output", "cut off", "length", "stops too early"),
        (
            "training texts are cut or dropped at a limit below what comes later",
            "positions that were never trained",
            "packing without walls between texts",
        ),
        "`D202`; `trimtab data inspect`",
    ),
    Symptom(
        "several GPUs give another result than one",
        (
            "different loss on two GPUs",
            "multi-GPU training is worse",
            "distributed training gives a higher loss",
            "loss depends on the number of GPUs",
            "DDP result differs from a single device",
        ),
        (
            "each device takes the mean over its own tokens, and the means are averaged: short batches weigh too much",
            "the batch grows with the number of devices, and the learning rate stays as it was",
            "the sampler is not told the epoch, so that every epoch has the same order",
            "batch norm takes its statistics on each device alone",
        ),
        "`step.tokens_per_step` counts the tokens of all devices together",
    ),
    Symptom(
        "gradients underflow",
        (
            "fp16 gradients are zero",
            "loss scale falls to zero",
            "grad scaler skips every step",
            "gradients vanish in half precision",
        ),
        (
            "fp16 without loss scaling: gradients below 6e-8 are zero; scale the loss, or take bf16",
            "a model that was pretrained in bf16 overflows in fp16, and the scale falls at each overflow",
            "an epsilon of the optimizer that fp16 cannot hold",
        ),
    ),
    Symptom(
        "every label is masked",
        ("all labels are -100", "no tokens to train on", "labels are empty", "assistant mask is all zero"),
        (
            "the markers of the answers are those of another chat template, so that none is found",
            "the template has no generation mark, and only assistant tokens count",
            "the answer is cut away because the prompt alone fills the maximal length",
        ),
    ),
    Symptom(
        "special tokens are there twice",
        ("double BOS token", "begin token twice", "two <s> at the start", "end token twice"),
        (
            "the chat template writes them, and the tokenizer adds them again: `add_special_tokens=False`",
            "the text in the data has them already",
        ),
    ),
)
