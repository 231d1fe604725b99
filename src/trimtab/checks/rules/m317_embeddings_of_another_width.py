"""M317 embeddings-of-another-width"""

from collections.abc import Iterator
from typing import Any

from trimtab.checks.description import Description
from trimtab.checks.edits import AddKey, Edit, SetValue
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_DEFAULT = 500
_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "save_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: true\n"
    "hidden_size: 512\n{words}layers: 6\nheads: 8\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="M317",
    name="embeddings-of-another-width",
    severity="error",
    message="word vectors have {words} numbers{default}, but the transformer is {width} wide",
    why="The layers of a transformer add to the vectors they get, so that both must be equally wide; nothing "
    "in between changes the size, and the first layer fails.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/encoders/transformer.py",
            "The embeddings go into layers of width `enc_hid_size` as they are.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/opts.py",
            "`--src_word_vec_size` and `--tgt_word_vec_size` are 500 unless `--word_vec_size` is given.",
        ),
    ),
    fix=Fix("set `word_vec_size: {width}`"),
    bad=Example("opennmt.yaml", _YAML.format(words="")),
    good=Example("opennmt.yaml", _YAML.format(words="word_vec_size: 512\n")),
    symptoms=("shape mismatch in the first layer", "Given normalized_shape"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for transformers without features of words, which add to the width."""
    width = run.written("hidden_size")
    if run.tool != "opennmt" or width is None or type(width.value) is not int or width.value <= 0:
        return
    kinds = [run.written(name) for name in ("encoder_type", "decoder_type")]
    if not any(kind is not None and kind.value == "transformer" for kind in kinds):
        return
    if _value(run, "n_src_feats") or _value(run, "feat_vec_size"):
        return
    common = _value(run, "word_vec_size")
    if type(common) is int and common > 0:
        sizes = [common]
    else:
        sizes = [_value(run, f"{side}_word_vec_size") or _DEFAULT for side in ("src", "tgt")]
    wrong = [size for size in sizes if size != width.value]
    if wrong:
        written = run.written("word_vec_size")
        edit: Edit = AddKey("word_vec_size", width.value, after="hidden_size")
        if written is not None:
            edit = SetValue("word_vec_size", width.value)
        default = "" if wrong[0] != _DEFAULT else " (the default is 500)"
        yield RULE.at(written or width, edits=(edit,), words=wrong[0], default=default, width=width.value)


def _value(run: Description, key: str) -> Any:
    setting = run.written(key)
    return None if setting is None else setting.value
