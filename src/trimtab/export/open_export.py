"""Opens a folder that an export wrote: its manifest, tokenizers and recipe first, then its weights in the library."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.config.export_targets import facts_of
from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.data.tokenizers import Tokenizers
from trimtab.device import choose_device
from trimtab.errors import reading
from trimtab.export.manifest import (
    MANIFEST,
    RECIPE,
    check_weights,
    read_manifest,
    read_tokenizers,
    unknown_manifest,
    without_base,
)
from trimtab.export.plain_files import JSON_BYTES, plain_file
from trimtab.export.target import Engine, TextEngine
from trimtab.export.targets import TARGETS, build_target


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An export whose weights are not read yet."""

    folder: Path
    manifest: dict[str, Any]
    recipe: Recipe
    tokenizers: Tokenizers

    def open(self, *, device: str | None = None) -> Engine | TextEngine:
        """The model, run by the library it was exported for; where no device is named on the one that fits it.

        Raises InputError if the weights are not those that were exported, and for a target that this version does
        not have, or not for such a model.
        """
        named = self.manifest["target"]
        with reading(self.folder):
            place = choose_device(device)
            target = next((each for each in TARGETS if each == named), None)
            if target is None or not facts_of(target).takes(self.recipe.model.kind):
                raise unknown_manifest(self.folder, got=f"an export for {named!r}"[:80])
            form = build_target(target)
            check_weights(self.folder, self.manifest, form.files)
            return form.open(
                self.folder, self.recipe, self.tokenizers, device=None if device is None else place
            )


def is_export(folder: Path) -> bool:
    """Whether a folder says that an export wrote it."""
    with reading(folder):
        return (folder / MANIFEST).is_file()


def read_export(folder: Path) -> Export:
    """The export in a folder. Raises InputError if something of it is missing, closed to this user, damaged or too
    new."""
    with reading(folder):
        manifest = read_manifest(folder)
        if manifest["target"] == "peft":
            raise without_base(folder)
        tokenizers = read_tokenizers(folder, manifest)
        recipe = load_recipe(plain_file(folder, str(RECIPE), most=JSON_BYTES)).recipe
    return Export(folder=folder, manifest=manifest, recipe=recipe, tokenizers=tokenizers)
