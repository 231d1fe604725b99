"""D104 no-length-limit"""

from collections.abc import Iterator

from trimtab.checks.corpora import corpora_of
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de, transforms: [sentencepiece{filter}]}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de, transforms: [sentencepiece]}}\n"
    "src_subword_model: en-de.model\ntgt_subword_model: en-de.model\nsave_model: out/model\n"
    "encoder_type: transformer\ndecoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\n"
    "position_encoding: true\nbatch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="D104",
    name="no-length-limit",
    severity="note",
    message="corpus `{corpus}` is segmented on the fly, but nothing leaves out very long lines",
    why="Without the transform `filtertoolong` a line of any length is trained on. One line of ten thousand "
    "pieces, such as a whole page on one line, makes a batch of its own that may not fit.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/transforms/misc.py",
            "`src_seq_length` and `tgt_seq_length` (192) are options of the transform `filtertoolong` alone.",
        ),
        Arithmetic(
            "Attention without a fused kernel holds heads * length^2 scores: 8 heads, 10,000 pieces and 2 "
            "bytes are 1.6 GB a layer."
        ),
    ),
    fix=Fix("add `filtertoolong` as the last of its `transforms`"),
    bad=Example("opennmt.yaml", _YAML.format(filter="")),
    good=Example("opennmt.yaml", _YAML.format(filter=", filtertoolong")),
    tips=("S0-68",),
    symptoms=("out of memory at a random step",),
)
_SEGMENTS = frozenset({"sentencepiece", "bpe", "onmt_tokenize"})
_LIMITS = frozenset({"filtertoolong", "docify"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for the first corpus segmented on the fly without a limit; prepared text may be filtered."""
    if not run.is_written("output_dir"):
        return
    for corpus in corpora_of(run):
        names = set(corpus.transforms)
        if not corpus.is_validation and names & _SEGMENTS and not names & _LIMITS:
            where = run.written(f"{corpus.key}.transforms") or run.written("transforms")
            if where is not None:
                yield RULE.at(where, corpus=corpus.name)
            return
