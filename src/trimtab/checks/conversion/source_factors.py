"""Source factors of Sockeye, Marian and OpenNMT-py as `data.source_factors` of a recipe."""

from dataclasses import dataclass
from typing import Any

from trimtab.checks.conversion.draft import Draft, scalar
from trimtab.checks.kinds.concept_map import text_list
from trimtab.checks.kinds.nmt.programs import program_of
from trimtab.checks.listed import numbers

OPENNMT_SEPARATOR = "￨"
OF_SOCKEYE = (
    "source-factors",
    "validation-source-factors",
    "source-factors-combine",
    "source-factors-num-embed",
)
SAME_HERE = ("source-factor-vocabs", "source-factors-share-embedding", "source-factors-use-source-vocab")
"""Of Sockeye: vocabularies of factors follow from the files here, and no table is shared."""


@dataclass(frozen=True, slots=True)
class SourceFactors:
    """What a configuration says of them."""

    names: tuple[str, ...] = ()
    train: tuple[str, ...] = ()
    """Files, where there are any."""
    valid: tuple[str, ...] = ()
    combine: tuple[str, ...] = ()
    dims: tuple[int, ...] = ()


def source_factors(draft: Draft) -> SourceFactors:
    """Those of Sockeye, which are files beside the source; none where validation lacks a file for each."""
    if draft.run.tool != "sockeye":
        return SourceFactors()
    train, valid, combine, widths = (_value(draft, name) for name in OF_SOCKEYE)
    files = tuple(text_list(train) or ())
    held = tuple(text_list(valid) or ())
    if not files or (held and len(held) != len(files)):
        return SourceFactors()
    kinds = [*(text_list(combine) or []), *["concat"] * len(files)][: len(files)]
    dims = [*map(int, numbers(widths)), *[8] * len(files)][: len(files)]
    names = tuple(f"factor{number}" for number in range(1, len(files) + 1))
    return SourceFactors(names, files, held, tuple(kinds), tuple(dims))


def named_files(draft: Draft, files: tuple[str, ...]) -> str:
    """The files of factors as a key of a corpus; nothing where there are none."""
    if not files:
        return ""
    names = source_factors(draft).names
    named = ", ".join(f"{name}: {scalar(file)}" for name, file in zip(names, files, strict=True))
    return f", factors: {{{named}}}"


def write_factors(draft: Draft) -> None:
    """Writes `source_factors` of Sockeye and Marian."""
    if draft.run.tool == "marian":
        _of_marian(draft)
        return
    found = source_factors(draft)
    if not found.names:
        if draft.run.tool == "sockeye" and _value(draft, "source-factors"):
            draft.note("source factors: name a file of each for the validation set too, with `factors`")
        return
    for name in (*OF_SOCKEYE, *SAME_HERE):
        _account(draft, name)
    parts = [
        f"{{kind: file, name: {name}{_embedded(combine, dim)}}}"
        for name, combine, dim in zip(found.names, found.combine, found.dims, strict=True)
    ]
    draft.say(f"source_factors: [{', '.join(parts)}]", level=1, comment="source-factors")
    draft.note(
        "source factors: their files have a value for each word that white space separates in the text that you name"
    )
    if any(each not in ("sum", "concat") for each in found.combine):
        draft.note("factors that are averaged there, or share the table of the words, are summed here")
    if any(each == "concat" for each in found.combine):
        draft.note(
            "`combine: concat` needs a table of the source's own: the recipe has `tie_embeddings: decoder`"
        )


def appends_factors(draft: Draft) -> bool:
    """Whether factors make the embeddings of the source narrower than those of the target."""
    if draft.run.tool == "marian":
        return _has_factored_vocabulary(draft) and _value(draft, "factors-combine") == "concat"
    return "concat" in source_factors(draft).combine


def _of_marian(draft: Draft) -> None:
    """Marian reads factors behind the pieces of prepared text, and which they are from the vocabulary."""
    if not _has_factored_vocabulary(draft):
        return
    combine, width = _value(draft, "factors-combine"), _value(draft, "factors-dim-emb")
    for name in ("factors-combine", "factors-dim-emb"):
        _account(draft, name)
    dim = int(width) if isinstance(width, int) and width > 0 else 8
    draft.say(
        f"source_factors: [{{kind: case{_embedded(str(combine), dim)}}}]",
        level=1,
        comment="a .fsv vocabulary",
    )
    draft.note(
        "the factored vocabulary (.fsv) is of prepared text; here the case of each word of plain text is a factor, and "
        "what else is known of words are files: `{kind: file, name: pos}` and `factors` of each corpus"
    )


def note_without_vocabulary(draft: Draft) -> None:
    """Says of Marian's options about factors that they count for nothing without a factored vocabulary."""
    if not _has_factored_vocabulary(draft):
        draft.note("factors: there they are those of a factored vocabulary (.fsv), and none is named")


def _has_factored_vocabulary(draft: Draft) -> bool:
    return any(name.endswith(".fsv") for name in text_list(_value(draft, "vocabs")) or [])


def opennmt_separator(draft: Draft) -> str:
    """`factor_separator` as a key of a corpus, where OpenNMT-py reads features behind words."""
    return f', factor_separator: "{OPENNMT_SEPARATOR}"' if _num_features(draft) else ""


def write_features(draft: Draft) -> None:
    """Writes `source_factors` of OpenNMT-py, which reads `n_src_feats` of them behind each word."""
    count = _num_features(draft)
    if not count:
        return
    for name in ("n_src_feats", "feat_merge", "feat_vec_size", "feat_vec_exponent", "src_feats_defaults"):
        _account(draft, name)
    parts = ", ".join(f"{{kind: file, name: feature{number}}}" for number in range(1, count + 1))
    draft.say(f"source_factors: [{parts}]", level=1, comment="n_src_feats")
    draft.note(
        "features are summed here; `{combine: concat, dim: N}` with `model.tie_embeddings: decoder` appends them, as "
        "feat_merge: concat there"
    )


def _num_features(draft: Draft) -> int:
    count = _value(draft, "n_src_feats")
    return min(count, 8) if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0


def _embedded(combine: str, dim: int) -> str:
    return f", combine: concat, dim: {dim}" if combine == "concat" else ""


def _value(draft: Draft, name: str) -> Any:
    found = draft.run.keys.get(name) or draft.run.keys.get(name.replace("-", "_"))
    return _of_preparation(draft, name) if found is None else found.value


def _of_preparation(draft: Draft, name: str) -> Any:
    """The value of an option of `sockeye-prepare-data` in the same script."""
    for call in draft.run.document.calls:
        if program_of(call) == "sockeye-prepare" and name == "source-factors":
            found = next(
                (call.arguments[each] for each in (name, "sf", "source_factors") if each in call.arguments),
                None,
            )
            return None if found is None else found.value
    return None


def _account(draft: Draft, name: str) -> None:
    draft.account(draft.run.keys.get(name) or draft.run.keys.get(name.replace("-", "_")))
