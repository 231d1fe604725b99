"""S129 token-batch-by-sentences"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import AddKey, Edit, SetValue
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S129",
    name="token-batch-by-sentences",
    severity="warning",
    message="batches are counted in tokens, but the loss is divided by sentences{default}",
    why="A batch of 4,096 tokens holds 40 long sentences or 400 short ones. Its summed loss is divided by "
    "their number, so a batch of long sentences moves the weights ten times as far as one of short ones.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/trainer.py",
            "_accum_batches adds up tokens, or with `sents` the number of sentences, and the summed loss is "
            "divided by it; `sents` is the default in opts.py, and in Eole's config/training.py.",
        ),
        Arithmetic("4096 tokens / 100 a sentence = 41; 4096 / 10 = 410."),
    ),
    fix=Fix("set `{key_of_it}: tokens`"),
    bad=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\nbatch_type: tokens\nbatch_size: 4096\naccum_count: "
        "[4]\noptim: adam\nlearning_rate: 2.0\ndecay_method: noam\nwarmup_steps: 8000\n",
    ),
    good=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\nbatch_type: tokens\nnormalization: tokens\nbatch_size: "
        "4096\naccum_count: [4]\noptim: adam\nlearning_rate: 2.0\ndecay_method: noam\nwarmup_steps: 8000\n",
    ),
    aliases=("ACC001",),
    tips=("S1-02", "S0-96"),
    symptoms=("loss is noisy", "gradient norm jumps", "long sentences are learned, short ones are not"),
)

_PREFIX = {"opennmt": "", "eole": "training."}


def check(run: Description) -> Iterator[Diagnosis]:
    """OpenNMT-py and Eole; in Mammoth nothing reads the key."""
    prefix = _PREFIX.get(run.tool)
    if prefix is None:
        return
    unit, divisor = run.written(f"{prefix}batch_type"), run.written(f"{prefix}normalization")
    if unit is None or unit.value != "tokens" or (divisor is not None and divisor.value != "sents"):
        return
    key = f"{prefix}normalization"
    edits: tuple[Edit, ...] = (
        (AddKey(key, "tokens", after=unit.key),) if divisor is None else (SetValue(key, "tokens"),)
    )
    default = ", which is the default" if divisor is None else ""
    yield RULE.at(divisor or unit, default=default, key_of_it=key, edits=edits)
