"""D102 batch-counted-in-sentences"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_MANY = 1024
_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\nsave_model: out/model\nencoder_type: transformer\n"
    "decoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\nposition_encoding: true\n"
    "{batch}normalization: tokens\n"
)

RULE = Rule(
    code="D102",
    name="batch-counted-in-sentences",
    severity="note",
    message="batches hold {size} sentences each, however long these are",
    why="A batch of long sentences is many times as large as one of short sentences: memory has to be kept "
    "for the largest, most steps use little of it, and with several devices all wait for the slowest. "
    "Counting tokens gives steps of one size.",
    evidence=(
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/docs/source/training_tips.md",
            "Recommends batches by tokens: in synchronous training all devices wait for the slowest.",
        ),
        Arithmetic("64 sentences of 10 tokens are 640 tokens, of 100 they are 6,400: ten times the work."),
    ),
    fix=Fix("{fix}"),
    bad=Example("opennmt.yaml", _YAML.format(batch="batch_size: 64\n")),
    good=Example("opennmt.yaml", _YAML.format(batch="batch_size: 4096\nbatch_type: tokens\n")),
    aliases=("PAD001",),
    tips=("S1-01", "S1-03"),
    symptoms=("training is slow", "GPU utilisation is low", "out of memory at a random step"),
)

_FIXES = {
    **dict.fromkeys(
        ("opennmt", "eole", "mammoth"), "set `batch_type: tokens` and a `batch_size` of about 4096 tokens"
    ),
    "marian": "set `mini-batch-fit`, which fills the workspace, or `mini-batch-words`",
    "sockeye": "set `batch-type` to `word`, and a `batch-size` of about 4096",
    "fairseq": "set `max-tokens` to about 4096 in its place",
}


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where text is trained on and the unit is the sentence; very large sizes are another rule's."""
    size, unit = run.setting("micro_batch"), run.setting("batch_unit")
    if run.tool == "fairseq" and run.value("task") != "translation":
        return  # its language models are cut into blocks of one length
    if run.tool not in _FIXES or size is None or unit is None:
        return
    if unit.value == "examples" and 1 < size.value < _MANY and (size.is_written or unit.is_written):
        yield RULE.at(unit if unit.is_written else size, size=size.value, fix=_FIXES[run.tool])
