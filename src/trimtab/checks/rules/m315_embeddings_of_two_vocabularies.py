"""M315 embeddings-of-two-vocabularies"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.listed import text_list
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "src_vocab: vocab.en\ntgt_vocab: vocab.de\nshare_vocab: {shared}\n"
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "training:\n  model_path: out\n  batch_type: tokens\n  batch_size: 4096\n  normalization: tokens\n"
    "model:\n  architecture: transformer\n  hidden_size: 512\n  heads: 8\n  share_embeddings: true\n"
)

RULE = Rule(
    code="M315",
    name="embeddings-of-two-vocabularies",
    severity="error",
    message="`{key}: true`, but source and target have vocabularies of their own ({source} and {target})",
    why="Row 17 is then one word on the source side and another on the target side, in one matrix. "
    "OpenNMT-py refuses, Marian stops unless both have as many rows; Eole silently uses the source's matrix for the "
    "target, and fails only if ids run over its end.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/model_builder.py",
            "'preprocess with -share_vocab if you use share_embeddings' is asserted.",
        ),
        Maintainer(
            "https://github.com/eole-nlp/eole/blob/ce7139c/eole/models/model.py",
            "`tgt_emb.embeddings.weight = src_emb.embeddings.weight`, with a note that the assertion is "
            "still to come.",
        ),
        Maintainer(
            "https://github.com/marian-nmt/marian-dev/blob/c9f287d/src/graph/expression_graph.h",
            "'Requested shape {} for existing parameter does not match original shape': both sides ask for one "
            "parameter, each with the rows of its own vocabulary.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("eole.yaml", _YAML.format(shared="false")),
    good=Example("eole.yaml", _YAML.format(shared="true")),
    symptoms=("index out of range", "BLEU stays low", "translates into nonsense"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where both files are named and differ, and nothing says that the vocabulary is shared."""
    yield from _of_marian(run)
    key = {"eole": "model.share_embeddings", "opennmt": "share_embeddings"}.get(run.tool)
    shared = run.written(key) if key is not None else None
    source, target, one = run.written("src_vocab"), run.written("tgt_vocab"), run.written("share_vocab")
    if shared is None or shared.value is not True or source is None or target is None:
        return
    if (one is None or one.value is False) and source.value and target.value and source.value != target.value:
        fix = f"set `share_vocab: true` with one vocabulary of both languages, or `{shared.key}: false`"
        yield RULE.at(shared, source=source.value, target=target.value, fix=fix)


def _of_marian(run: Description) -> Iterator[Diagnosis]:
    """Its vocabularies are files beside the switch."""
    shared = next(
        (each for name in ("tied-embeddings-all", "tied-embeddings-src") if (each := run.written(name))), None
    )
    vocabularies = run.written("vocabs") if run.tool == "marian" else None
    names = text_list(vocabularies.value) if vocabularies is not None else None
    if shared is None or shared.value is not True or names is None or len(set(names)) != 2:
        return
    yield RULE.at(
        shared,
        source=names[0],
        target=names[-1],
        fix=f"give one vocabulary of both languages twice in `vocabs`, or write `tied-embeddings` for `{shared.key}`",
    )
