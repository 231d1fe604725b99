"""S111 sgd-at-rate-one"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S111",
    name="sgd-at-rate-one",
    severity="warning",
    message="a transformer is trained by plain SGD at a rate of {rate:g}{default}",
    why="SGD at 1.0 is the default of the OpenNMT family from the time of recurrent networks. A "
    "transformer is trained with Adam and a warm-up; without `optim` you get this instead.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/opts.py",
            "optim is sgd and learning_rate 1.0 by default; the help of learning_rate recommends 1 for sgd "
            "and 0.001 for adam. Mammoth (opts.py) and Eole (config/training.py) have the same defaults.",
        ),
    ),
    fix=Fix(
        "set the optimizer to adam or adamw, with `noam` and a factor of 2, or a rate of about 0.0005 and a "
        "warm-up"
    ),
    bad=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\nlayers: 6\nhidden_size: 512\nheads: 8\ntrain_steps: "
        "100000\n",
    ),
    good=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\nlayers: 6\nhidden_size: 512\nheads: 8\ntrain_steps: "
        "100000\noptim: adam\nlearning_rate: 2.0\ndecay_method: noam\nwarmup_steps: 8000\n",
    ),
    aliases=("TT405",),
    tips=("S3-04", "S3-05"),
    symptoms=("loss flat", "model learns nothing", "repeats the same words", "diverged"),
)

HIGH = 0.5


def check(run: Description) -> Iterator[Diagnosis]:
    """For models that the file calls transformers; Mammoth has no others."""
    optimizer, rate = run.setting("optimizer"), run.setting("learning_rate")
    if optimizer is None or optimizer.value != "sgd" or rate is None or rate.value < HIGH:
        return
    if run.value("schedule") in ("noam", "noamwd", "rsqrt") or not is_opennmt_transformer(run):
        return
    written = next((setting for setting in (optimizer, rate) if setting.is_written), None)
    where = written if written is not None else run.place
    yield RULE.at(where, rate=rate.value, default="" if written is not None else ", the tool's default")


def is_opennmt_transformer(run: Description) -> bool:
    """Whether a configuration of the OpenNMT family names a transformer."""
    if run.tool == "mammoth":
        return True
    keys = {
        "opennmt": ("encoder_type", "decoder_type"),
        "eole": ("model.architecture", "model.decoder.decoder_type"),
    }
    settings = (run.written(key) for key in keys.get(run.tool, ()))
    return any(setting is not None and str(setting.value).startswith("transformer") for setting in settings)
