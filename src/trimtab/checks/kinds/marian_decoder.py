"""Marian: `model.npz.decoder.yml`, the options of `marian-decoder` that training writes beside its model."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.marian import SIGNS
from trimtab.checks.kinds.signs import names_of
from trimtab.checks.kinds.written import Written, settings_of

DECODES = frozenset(
    {
        "beam-size", "normalize", "word-penalty", "mini-batch", "maxi-batch", "maxi-batch-sort", "relative-paths",
        "vocabs", "cpu-threads", "shortlist", "n-best", "max-length-factor", "gemm-type", "skip-cost", "workspace",
        "mini-batch-words", "quiet-translation",
    }
)  # fmt: skip


def recognises(document: Document) -> bool:
    """The models, beside two options of decoding and none of training."""
    names = names_of(document)
    return "models" in names and len(names & DECODES) >= 2 and not names & (SIGNS - DECODES)


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """How it decodes."""
    # Most YAML is of another tool, and needs none of these.
    from trimtab.checks.kinds.nmt.options import typed

    table = load_table("marian_decoder", surroundings.versions)
    settings = typed(settings_of(document.entries.values(), table=table, converts=True), table)
    written = Written(path=document.path, settings=settings, table=table)
    concepts: Concepts = {}
    put(concepts, "beam", written.get("beam-size"))
    return [
        Description(
            tool="marian",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
        )
    ]


KIND = Kind(
    name="marian-decoder",
    tool="marian",
    title="Marian decoder YAML",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
)
