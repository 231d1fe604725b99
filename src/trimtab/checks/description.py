"""A run as rules see it, whatever tool it is configured for."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from trimtab.checks.concepts import CONCEPTS
from trimtab.checks.document import Document
from trimtab.checks.keytable import KeyTable
from trimtab.checks.place import Place
from trimtab.checks.record import record
from trimtab.checks.setting import Setting

Version = tuple[int, ...]


@record(kw_only=True)
class Description:
    """One run, or a part of one. Three answers are possible to "what is the learning rate?": a `Setting` from the file,
    a `Setting` with the tool's default, or None: it cannot be known from here, and rules stay silent."""

    tool: str
    """transformers, trl, peft, accelerate, deepspeed, axolotl, llamafactory, opennmt, eole, mammoth, marian, sockeye,
    fairseq, trimtab, torch."""
    kind: str
    """Name of the kind that made it, as `--as` takes it: `hf-training`, `peft-adapter`, `axolotl`, ..."""
    document: Document
    keys: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    """What is written, by dotted key, in the order of the file. What is no literal is left out."""
    concepts: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    """By the words of `concepts.CONCEPTS`; defaults of the tool only where nothing unseen can override them."""
    table: KeyTable | None = None
    """What the tool knows at the version that counts; None if nobody can say."""
    versions: Mapping[str, Version] = field(default_factory=dict[str, Version])
    """Libraries: from `--with`, from requirements beside the file, or installed."""
    nearby: tuple["Description", ...] = ()
    """What other files of the same folder say of the same run (adapter and model, training and accelerate)."""

    def setting(self, concept: str) -> Setting | None:
        """What is known of a concept; raises KeyError for a word that is no concept."""
        assert concept in CONCEPTS, concept
        return self.concepts.get(concept)

    def value(self, concept: str) -> Any:
        """The value of a concept, None if it is unknown."""
        setting = self.setting(concept)
        return None if setting is None else setting.value

    def is_written(self, concept: str) -> bool:
        """Whether the file itself says it, so that no default speaks."""
        setting = self.setting(concept)
        return setting is not None and setting.is_written

    def written(self, key: str) -> Setting | None:
        """A key of the tool's own, as written."""
        return self.keys.get(key)

    def below(self, key: str) -> Iterator[Setting]:
        """Every written setting under a dotted key."""
        return (setting for name, setting in self.keys.items() if name.startswith(key + "."))

    def version(self, library: str) -> Version | None:
        """The library's version that counts here, None if nobody knows."""
        return self.versions.get(library)

    def at_least(self, library: str, *version: int) -> bool | None:
        """Whether it is at least this version; None if nobody knows."""
        known = self.version(library)
        return None if known is None else known >= version

    @property
    def place(self) -> Place:
        """The file as a whole."""
        return Place(self.document.path)
