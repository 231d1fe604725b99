"""A trained recognizer, ready to read images."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from trimtab.checkpoint.load import Checkpoint
from trimtab.config.run import Recipe
from trimtab.config.trocr_model import TrOCRModel
from trimtab.decode.search import Search
from trimtab.device import choose_device
from trimtab.errors import input_error
from trimtab.inference.ready import prepare_for_inference
from trimtab.tasks.images.feed import joined
from trimtab.tasks.images.given import Given, each_given, name_of, opened
from trimtab.tasks.images.pixels import BadImage, padded, to_row
from trimtab.tasks.recognition.batches import BatchShape, cut
from trimtab.tasks.recognition.building import largest, reader_model
from trimtab.tasks.recognition.charset import AnyCharset, load_charset, load_pieces
from trimtab.tasks.recognition.datasets import ImageReader, reader_of
from trimtab.tasks.recognition.reading import Reading, read_batch
from trimtab.tasks.recognition.trocr import AnyReader
from trimtab.tasks.recognition.validation import main_head
from trimtab.tasks.stream import rounded_up
from trimtab.tasks.trained_run import trained_run
from trimtab.types import Ragged

IMAGES_AT_ONCE = 256
"""Images that are loaded ahead and read together."""
COLUMNS_AT_ONCE = {"cuda": 65536, "cpu": 8192}
"""Columns of patches of a batch, by the kind of device."""
Head = Literal["ctc", "attention"]


@dataclass(frozen=True, slots=True)
class Recognized:
    """What is read in one image."""

    image: str
    """Its path; empty for one that has none."""
    text: str
    confidence: float
    """0 to 1; see `reading.Reading`."""
    error: str = ""
    """Why it could not be read; the text is then empty and the confidence 0."""


@dataclass(frozen=True, slots=True)
class Recognizer:
    """A checkpoint's model on its device, with the characters that belong to it."""

    recipe: Recipe
    checkpoint: Checkpoint
    model: AnyReader
    reader: ImageReader
    head: Head
    beam: int = 1
    """Hypotheses that a decoder follows for each image; 1 is greedy."""

    def __repr__(self) -> str:
        return f"Recognizer({str(self.checkpoint.folder)!r}, {self.head}, {len(self.charset)} characters)"

    @property
    def charset(self) -> AnyCharset:
        """Which characters it can write."""
        return self.reader.charset

    def recognize(self, images: Iterable[Given]) -> Iterator[Recognized]:
        """What is read in each image, in order and in bounded memory; images of similar width are read together.

        An image is a path, the bytes of a file, a Pillow image, or an array `height width` or `height width 3` of 8
        bits. One that cannot be read has an `error` in place of a text. Raises InputError for one path in place of a
        list.
        """
        return self._in_blocks(each_given(images))

    def _in_blocks(self, images: Iterator[Given]) -> Iterator[Recognized]:
        while block := list(islice(images, IMAGES_AT_ONCE)):
            names = [name_of(each) for each in block]
            rows = [self._row(each) for each in block]
            good = [number for number, row in enumerate(rows) if not isinstance(row, BadImage)]
            found = dict(zip(good, self._readings([rows[number] for number in good]), strict=True))
            for number, (name, row) in enumerate(zip(names, rows, strict=True)):
                if isinstance(row, BadImage):
                    yield Recognized(name, "", 0.0, error=str(row))
                else:
                    yield Recognized(name, found[number].text, found[number].confidence)

    def _row(self, given: Given) -> Any:
        """The bytes of an image as it is read, or the BadImage."""
        config = self.reader.images
        try:
            return to_row(padded(self.reader.sized(opened(given, config)), self.reader.multiple))
        except BadImage as bad:
            return bad

    def _readings(self, rows: list[np.ndarray]) -> list[Reading]:
        """By width, and in the order that they were given."""
        order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
        images = joined([rows[number] for number in order])
        nothing = Ragged.of([[self.charset.end]] * len(rows))
        device = next(self.model.parameters()).device
        found = list[Reading]()
        for batch in cut(images, nothing, self.batch_shape(device), start=self.charset.start):
            found += read_batch(
                self.model,
                batch.to(device),
                self.charset,
                head=self.head,
                most=self.recipe.data.max_tokens,
                beam=self.beam,
            )
        back = dict(zip(order, found, strict=True))
        return [back[number] for number in range(len(rows))]

    def batch_shape(self, device: torch.device) -> BatchShape:
        """How many images are read at once on a device."""
        height, width = largest(self.recipe)
        patch = self.reader.patch
        return BatchShape(
            patch=patch,
            num_batches=1,
            columns=rounded_up(max(COLUMNS_AT_ONCE.get(device.type, 8192), width // patch[1] + 1), 16),
            rows=height // patch[0],
            examples=IMAGES_AT_ONCE,
            characters=IMAGES_AT_ONCE,
            widest=width // patch[1],
            longest=1,
            fixed=False,
            sort=False,
        )


def load_recognizer(
    spec: Path | str, *, device: str | None = None, head: Head | None = None, beam: int = 1
) -> Recognizer:
    """The recognizer of `RUN`, `RUN@last` or `RUN@500`; on a GPU in half precision. `head` chooses between the heads of
    a model that has both; by default it is the decoder. `beam` is how many hypotheses the decoder follows; 1 is greedy.

    Raises InputError if there is no such run or checkpoint, it is no recognizer or lacks this head, a beam is asked of
    CTC or out of range, the checkpoint is
    damaged, or recipe or characters are not those that it was trained with.
    """
    place = choose_device(device)
    run = trained_run(spec, task="recognition", kind="recognizer")
    recipe = run.recipe
    charset = charset_of(recipe, run.folder.tokenizer)
    run.check_trained_with(
        charset.fingerprint,
        name="charset",
        what="characters",
        got=f"{len(charset)} of them, sha256 {charset.fingerprint[:16]}",
    )
    model = reader_model(recipe, charset)
    heads = [
        name
        for name, there in (("attention", model.config.has_decoder), ("ctc", model.config.has_ctc))
        if there
    ]
    if head is not None and head not in heads:
        raise input_error("head: the model has no such head", got=str(head), allowed=" or ".join(heads))
    run.load_weights(model)
    chosen: Any = head or main_head(model)
    if chosen == "ctc" and beam != 1:
        raise input_error(
            "beam: a CTC head searches for the likeliest id of each column",
            got=f"a beam of {beam}",
            allowed="1" + (", or the attention head" if "attention" in heads else ""),
            fix="leave it out",
        )
    Search(beam=beam)  # refuses what is out of range
    return Recognizer(
        recipe,
        run.checkpoint,
        prepare_for_inference(place, model, kernel="varlen"),
        reader_of(recipe, charset),
        chosen,
        beam,
    )


def charset_of(recipe: Recipe, folder: Path) -> AnyCharset:
    """What a run with this recipe writes its texts in; InputError if its files are missing or damaged."""
    assert recipe.data.charset is not None, "the task has defaults for it"
    if isinstance(recipe.model, TrOCRModel):
        return load_pieces(folder, normalization=recipe.data.charset.normalization)
    return load_charset(folder)
