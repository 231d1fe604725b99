"""OpenNMT-py: the options of training (and building vocabularies) and of translation."""

from dataclasses import replace
from typing import Any

from key_readers.argparse_options import Program, constants_of, registered_in
from key_readers.tree import Rows, Tree

CORPUS = ("path_src", "path_tgt", "path_txt", "path_align", "transforms", "weight")
CORPUS_OF_TRANSFORMS = ("prefix", "suffix", "clean", "normalize")
"""Transforms that read their options from the corpus first."""


def read(trees: list[Tree]) -> dict[str, Any]:
    """`opennmt` for training, `opennmt_translate` for translation."""
    tree = trees[-1]
    program = _program(tree)
    head = {"tool": "opennmt", "library": "OpenNMT-py", "version": tree.version, "abbreviations": True}
    train = replace(program, settings={"is_train": True}).rows("train_opts")
    return {
        "opennmt": {
            **head,
            "source": f"OpenNMT-py {tree.version}: onmt/opts.py, train_opts and data_prepare_opts",
            "unknown_keys": "dropped",
            "keys": {**train, **_corpus(train)},
        },
        "opennmt_translate": {
            **head,
            "source": f"OpenNMT-py {tree.version}: onmt/opts.py, translate_opts",
            "unknown_keys": "refused",
            "keys": replace(program, settings={"is_train": False}).rows("translate_opts"),
        },
    }


def _program(tree: Tree) -> Program:
    transforms = sorted((tree.folder / "onmt/transforms").glob("*.py"))
    parts = tuple(tree.module(str(path.relative_to(tree.folder))) for path in transforms)
    return Program(
        tree.module("onmt/opts.py"),
        parts=parts,
        enums=constants_of(tree.module("onmt/constants.py", "onmt/modules/position_ffn.py")),
        choices={"AVAILABLE_TRANSFORMS": registered_in(parts, "register_transform")},
    )


def _corpus(train: Rows) -> Rows:
    """What may stand below a corpus of `data`: nothing checks it, so the list is of what is read."""
    fields = {name: {"types": ["any"]} for name in CORPUS}
    fields["weight"] = {"types": ["integer"], "default": 1}
    of_transforms = (
        "src_prefix", "tgt_prefix", "src_suffix", "tgt_suffix", "src_lang", "tgt_lang", "penn", "norm_quote_commas",
        "norm_numbers", "pre_replace_unicode_punct", "post_remove_control_chars", "src_eq_tgt", "same_char",
        "same_word", "scripts_ok", "scripts_nok", "src_tgt_ratio", "avg_tok_min", "avg_tok_max", "langid",
    )  # fmt: skip
    fields |= {name: train[name] for name in of_transforms}
    return {"data.*": {"types": ["mapping"]}, **{f"data.*.{name}": row for name, row in fields.items()}}
