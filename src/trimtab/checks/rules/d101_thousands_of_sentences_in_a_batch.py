"""D101 thousands-of-sentences-in-a-batch"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import AddKey, Edit, SetValue
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
    fix=Fix("set `batch_type: tokens`"),
    bad=Example("opennmt.yaml", _YAML.format(unit="")),
    good=Example("opennmt.yaml", _YAML.format(unit="batch_type: tokens\n")),
    tips=("S1-01",),
    symptoms=("out of memory",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for the three tools whose unit is a setting, where the size is a thousand and more."""
    size, unit = run.setting("micro_batch"), run.setting("batch_unit")
    if run.tool not in ("opennmt", "eole", "mammoth") or size is None or unit is None or not size.is_written:
        return
    if unit.value == "examples" and size.value >= _MANY:
        how = f"`{unit.key}: sents`" if unit.is_written else "`batch_type` is sents by default"
        tokens = f"{size.value * _TOKENS:,}"
        yield RULE.at(size, edits=(_edit(size, unit),), size=f"{size.value}", unit=how, tokens=tokens)


def _edit(size: Setting, unit: Setting) -> Edit:
    if unit.is_written:
        return SetValue(unit.key, "tokens")
    block, dot, _ = size.key.rpartition(".")
    return AddKey(f"{block}{dot}batch_type", "tokens", after=size.key)
