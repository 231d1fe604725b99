"""`--to torch_export`: a language model as one program of `torch.export`, with its sentencepiece model beside it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.config.export_targets import obstacles
from trimtab.config.run import Recipe
from trimtab.data.exact_text import ExactText
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import Problem, input_error
from trimtab.export.padded_rows import padded
from trimtab.export.target import TargetCard, Trained, decoder_of
from trimtab.export.tokenizer_files import SOURCE, write_models
from trimtab.export.torch_export.program import PROGRAM, write_program


@dataclass(frozen=True, slots=True)
class TorchExport:
    """Every decoder that reads from left to right, whatever its norms, positions and activations."""

    name: str = "torch_export"
    files: tuple[str, ...] = (PROGRAM,)

    def supports(self, recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
        """Every key of the recipe that prevents the export."""
        found = obstacles("torch_export", model=recipe.model, transforms=recipe.data.transforms)
        return [*found, *_of_vocabulary(tokenizers)]

    def write(self, trained: Trained, folder: Path) -> None:
        """The program with its weights, and the sentencepiece model of the training."""
        write_program(decoder_of(trained), folder)
        write_models(trained.tokenizers, folder)

    def open(
        self, folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device | None
    ) -> NoReturn:
        """Refuses: PyTorch unpickles parts of a program, so a folder from elsewhere could execute anything."""
        raise input_error(
            f"{folder}: trimtab does not open torch.export programs, since PyTorch unpickles parts of them",
            got="an export for torch_export",
            allowed="a run, or an export for hf",
            fix="use the run, or torch.export.load for a program that you trust, as the model card shows",
        )

    def as_users_open_it(self, folder: Path) -> "OpenedProgram":
        """The draft, which was written here just now, as `torch.export.load` opens it."""
        return OpenedProgram(folder)

    def card(self, trained: Trained, *, name: str, tags: Sequence[str] = ()) -> TargetCard:
        """How PyTorch uses the folder, and where it differs from the trainer."""
        tokenizer, window = trained.tokenizer, trained.recipe.data.max_tokens
        return TargetCard(
            library="pytorch",
            usage=(
                "import sentencepiece\nimport torch\n\n"
                f"folder = {json.dumps(name, ensure_ascii=False)}\n"
                f'pieces = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/{SOURCE}")\n'
                f'program = torch.export.load(f"{{folder}}/{PROGRAM}").module()\n'
                f'ids = [{tokenizer.start}, *pieces.encode("Once")]\n'
                "with torch.inference_mode():\n"
                f"    while len(ids) < {min(window, 32)} and ids[-1] != {tokenizer.end}:\n"
                "        ids.append(int(program(torch.tensor([ids]))[0, -1].argmax()))\n"
                "print(pieces.decode(ids))"
            ),
            limits=(
                f"It reads at most {window} tokens, the start symbol included. Rows are filled up after their ends.",
                "The program gives all logits of the rows and keeps no keys and values: each new token reads the whole "
                "text again.",
                "`torch.export.load` unpickles parts of the file: open no program that you do not trust. trimtab opens "
                "none.",
                "The sign `▁` in a text is read as a space, as sentencepiece does; trimtab spells it in bytes.",
            ),
            class_name="torch.export",
        )


class OpenedProgram:
    """What `torch.export.load` makes of a folder; see `export.target.ContinuesPrompts`."""

    def __init__(self, folder: Path) -> None:
        self.program = torch.export.load(folder / PROGRAM).module()
        self.tokenizer = ExactText(SentencePiece((folder / SOURCE).read_bytes()))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The start symbol and what sentencepiece gives for each text."""
        return [[self.tokenizer.start, *row] for row in self.tokenizer.ids(texts)]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """What sentencepiece makes of each row."""
        return self.tokenizer.decode(rows)

    @torch.inference_mode()
    def logits(self, rows: Sequence[Sequence[int]]) -> list[Float[Tensor, "tokens vocabulary"]]:
        """The logits after each token of each row."""
        ids, _ = padded(rows, pad=self.tokenizer.pad, device=torch.device("cpu"))
        return [logits[: len(row)] for logits, row in zip(self.program(ids), rows, strict=True)]

    def continued(self, prompt: Sequence[int], *, limit: int) -> list[int]:
        """The likeliest token each time, but for padding, start and unknown."""
        never = sorted(
            {self.tokenizer.pad, self.tokenizer.start, self.tokenizer.unknown} - {self.tokenizer.end}
        )
        written: list[int] = []
        while len(written) < limit and self.tokenizer.end not in written[-1:]:
            scores = self.logits([[*prompt, *written]])[0][-1].clone()
            scores[never] = float("-inf")
            written.append(int(scores.argmax()))
        return written


def _of_vocabulary(tokenizers: Tokenizers) -> Iterator[Problem]:
    if isinstance(tokenizers.target, FastTokenizer):
        yield Problem(
            what="data.tokenizer: a torch.export program comes with a sentencepiece model",
            got="the tokenizer of a pretrained model",
            allowed="sentencepiece or bytes",
            fix="export it for hf instead of torch_export: `--to hf`",
        )
