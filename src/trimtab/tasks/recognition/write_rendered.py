"""Lines of a text as image files with a list: the folder that `trimtab data render` writes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.config.corpora import TrainCorpus
from trimtab.config.images import Augmentation, ImageConfig, Rendering
from trimtab.data.order import random_stream
from trimtab.errors import input_error, reading
from trimtab.progress import Progress
from trimtab.tasks.images.new_folder import check_new
from trimtab.tasks.images.pixels import BadImage
from trimtab.tasks.images.rendering import augmented
from trimtab.tasks.images.sources import open_images

MOST_NAMED = 5
_AUGMENT = 2


@dataclass(frozen=True, slots=True)
class RenderReport:
    """What was written."""

    folder: Path
    written: int
    fonts: int
    left_out: dict[str, list[int]]
    """Lines of the text, from 1, that were not drawn, by reason."""

    def render(self) -> str:
        """Lines for people."""
        lines = [f"{self.folder}: {self.written:,} images by {self.fonts:,} fonts, and labels.tsv"]
        for reason, numbers in self.left_out.items():
            named = ", ".join(map(str, numbers[:MOST_NAMED])) + (" ..." if len(numbers) > MOST_NAMED else "")
            lines.append(f"{len(numbers):,} lines were left out: {reason} (lines {named})")
        return "\n".join(lines)


def write_rendered(
    text: Path,
    out: Path,
    *,
    fonts: Sequence[str],
    count: int | None,
    seed: int,
    augment: bool,
    progress: Progress,
) -> RenderReport:
    """Draws lines into `out/images/` and lists them in `out/labels.tsv`; line by line in their order, and again from
    the first where `count` is larger. The same arguments give the same files with the same version of Pillow.

    Raises InputError for a folder that is not empty, a text that cannot be read, and fonts that are none.
    """
    check_new(out)
    config = Rendering(fonts=tuple(fonts))
    told = TrainCorpus.model_validate({"text": str(text), "render": config})
    corpus = open_images(told, key="TEXT", seed=seed, normalization="nfc")
    assert corpus.fonts is not None
    with reading(out):
        (out / "images").mkdir(parents=True)
    left_out, rows = dict[str, list[int]](), list[str]()
    reasons = Counter[str]()
    total = len(corpus) if count is None else count
    for number in range(total):
        line, turn = number % len(corpus), number // len(corpus)
        try:
            image, words = corpus.image(line, ImageConfig(), random_stream(seed, turn, 0, line))
        except BadImage as bad:
            reasons[bad.reason] += 1
            if turn == 0:
                left_out.setdefault(bad.reason, []).append(line + 1)
            continue
        if augment:
            image = augmented(image, Augmentation(), rng=random_stream(seed, turn, 0, line, _AUGMENT))
        name = f"images/{number:08d}.png"
        image.save(out / name)
        rows.append(f"{name}\t{words.replace(chr(9), ' ')}\n")
        if number % 1000 == 999:
            progress.message(f"{number + 1:,} of {total:,} images")
    if not rows:
        raise input_error(
            f"{text}: no line could be drawn",
            got=", ".join(f"{reason} {found:,}" for reason, found in reasons.items()),
            allowed="lines whose characters a font has",
            fix="name fonts for the script of the text",
        )
    (out / "labels.tsv").write_text("".join(rows), encoding="utf-8")
    return RenderReport(out, len(rows), len(corpus.fonts.paths), left_out)
