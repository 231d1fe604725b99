"""D106 source-and-target-are-one-file"""

from collections.abc import Iterator

from trimtab.checks.corpora import Corpus, corpora_of, setting_of
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.file_pairs import training_pair
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: {target}}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\nsave_model: out/model\nencoder_type: transformer\n"
    "decoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\nposition_encoding: true\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="D106",
    name="source-and-target-are-one-file",
    severity="warning",
    message="`{key}` is {path}, and so is the source: the model learns to copy",
    why="Unless noise is put on the source, copying is all that there is to learn. The loss falls to almost "
    "zero and translations repeat their input.",
    evidence=(
        Arithmetic(
            "If the target is the source, the output that copies has probability 1: the least loss is zero, "
            "whatever the language."
        ),
    ),
    fix=Fix("give the target's own file, or add a noise transform for denoising"),
    bad=Example("opennmt.yaml", _YAML.format(target="train.en")),
    good=Example("opennmt.yaml", _YAML.format(target="train.de")),
    symptoms=("copies the source", "loss zero"),
)
_NOISE = frozenset({"bart", "denoising", "tokendrop", "tokenmask", "switchout", "fuzzymatch", "docify"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for plain pairs; the same language on both sides, noise or a tag say that it is meant."""
    for corpus in corpora_of(run):
        target = setting_of(run, corpus, "path_tgt")
        if target is not None and target.value == corpus.options.get("path_src") and not _is_meant(corpus):
            yield RULE.at(target, path=str(target.value))
    pair = training_pair(run)
    if pair is not None and pair.source == pair.target:
        yield RULE.at(pair.target_setting, path=pair.target)
    for setting in run.below("data") if run.tool == "trimtab" else ():
        corpus = setting.key.removesuffix(".target")
        source, text = run.written(f"{corpus}.source"), run.written(f"{corpus}.text")
        same = source is not None and source.value == setting.value
        if setting.key.endswith(".target") and same and text is None:
            yield RULE.at(setting, path=str(setting.value))


def _is_meant(corpus: Corpus) -> bool:
    source, _, target = str(corpus.options.get("src_tgt", "")).partition("-")
    has_tag = any(
        corpus.options.get(name) for name in ("src_prefix", "tgt_prefix", "src_suffix", "tgt_suffix")
    )
    return bool(_NOISE.intersection(corpus.transforms)) or has_tag or (bool(source) and source == target)
