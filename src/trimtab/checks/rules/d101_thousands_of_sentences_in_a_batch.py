"""D101 thousands-of-sentences-in-a-batch"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import AddKey, Edit, RenameKey, SetValue
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

_MANY = 1024
_TOKENS = 25
_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\nsave_model: out/model\nencoder_type: transformer\n"
    "decoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\nposition_encoding: true\n"
    "batch_size: 4096\n{unit}normalization: tokens\n"
)

RULE = Rule(
    code="D101",
    name="thousands-of-sentences-in-a-batch",
    severity="warning",
    message="`{key}: {size}` counts sentences here ({unit}), about {tokens} tokens of ordinary text",
    why="The size is usual for tokens, but the default unit of this family of tools is the sentence. Such "
    "a batch is some twenty times as large as meant: it runs out of memory, or the run sees its data "
    "many times over.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/opts.py",
            "`--batch_type`: default sents, choices sents and tokens.",
        ),
        Arithmetic("4,096 sentences of 25 tokens are 102,400 tokens."),
    ),
    fix=Fix("{fix}"),
    bad=Example("opennmt.yaml", _YAML.format(unit="")),
    good=Example("opennmt.yaml", _YAML.format(unit="batch_type: tokens\n")),
    tips=("S1-01",),
    symptoms=("out of memory",),
)

_FIXES = {
    **dict.fromkeys(("opennmt", "eole", "mammoth"), "set `batch_type: tokens`"),
    "marian": "write `mini-batch-words` in its place, or `mini-batch-fit` beside it",
    "sockeye": "set `batch-type` to `word` or `max-word`",
    "fairseq": "write `max-tokens` in its place",
}


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for the tools whose unit is a setting, where the size is a thousand and more."""
    size, unit = run.setting("micro_batch"), run.setting("batch_unit")
    if run.tool == "fairseq" and run.value("task") != "translation":
        return  # its language models are cut into blocks of one length
    if run.tool not in _FIXES or size is None or unit is None or not size.is_written:
        return
    if unit.value == "examples" and size.value >= _MANY:
        how = _how(run, size, unit)
        tokens = f"{size.value * _TOKENS:,}"
        edits = _edits(run, size, unit)
        yield RULE.at(size, edits=edits, size=f"{size.value}", unit=how, tokens=tokens, fix=_FIXES[run.tool])


def _how(run: Description, size: Setting, unit: Setting) -> str:
    if unit.key == size.key:
        return f"`{'mini-batch-words' if run.tool == 'marian' else 'max-tokens'}` would count words or tokens"
    if not unit.is_written:
        return "`batch_type` is sents by default"
    return f"`{unit.key}: {'sentence' if run.tool == 'sockeye' else 'sents'}`"


def _edits(run: Description, size: Setting, unit: Setting) -> tuple[Edit, ...]:
    if run.tool == "marian" or run.tool == "fairseq":
        other = {"marian": "mini-batch-words", "fairseq": "max-tokens"}[run.tool]
        is_flag = run.document.syntax == "shell" or run.tool == "marian"
        return (RenameKey(size.key, other),) if is_flag and size.key in ("mini-batch", "batch-size") else ()
    if unit.is_written:
        return (SetValue(unit.key, "word" if run.tool == "sockeye" else "tokens"),)
    block, dot, _ = size.key.rpartition(".")
    return (AddKey(f"{block}{dot}batch_type", "tokens", after=size.key),)
