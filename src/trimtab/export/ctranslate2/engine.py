"""A sequence-to-sequence model of CTranslate2, as decoding and scoring see it."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import torch

from trimtab.errors import input_error
from trimtab.export.ctranslate2.files import check_files, read_vocabularies
from trimtab.export.ctranslate2.search import Searcher
from trimtab.export.ctranslate2.search_end import Wanted
from trimtab.types import Ragged, Stream

BATCH_TOKENS = 4096
"""Tokens of one batch that is scored, padding included."""


def require_ctranslate2() -> None:
    """Raises InputError if ctranslate2 is not installed."""
    try:
        import ctranslate2  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "ctranslate2":
            raise
        raise input_error(
            "CTranslate2 models need ctranslate2, which is not installed",
            got="no ctranslate2",
            allowed="ctranslate2 4.6 or newer",
            fix='pip install "trimtab[train,ctranslate2]"',
        ) from None


def open_ctranslate2(
    folder: Path,
    *,
    device: torch.device,
    never: Sequence[int],
    expected: Mapping[str, int] | None = None,
    symbols: Mapping[str, str] | None = None,
) -> "CTranslate2Model":
    """The model in a folder that an export wrote, with the weights that it has.

    `never` are the target ids that no translation has. `expected` are sizes that are known from elsewhere, `symbols`
    what `config.json` must call the special ones. Raises InputError if the folder holds anything that an export does
    not write, and where CTranslate2 cannot read it or cannot use the device.
    """
    require_ctranslate2()
    import ctranslate2

    config = check_files(folder, expected or {})
    source, target = read_vocabularies(folder)
    wrong = [key for key, piece in (symbols or {}).items() if config[key] != piece]
    if wrong or config["eos_token"] not in target:
        raise input_error(
            f"{folder}: special symbols that differ from those of its tokenizers",
            got=", ".join(f"{key} {config[key]!r}" for key in wrong or ["eos_token"])[:200],
            allowed="the file as the export wrote it",
            fix="export the run again",
        )
    if device.type == "cuda" and ctranslate2.get_cuda_device_count() == 0:
        raise input_error(
            "device: this installation of CTranslate2 finds no GPU",
            got=str(device),
            allowed="cpu",
            fix="use --device cpu, or install a ctranslate2 built for this CUDA",
        )
    try:
        with _quiet():
            translator = ctranslate2.Translator(
                str(folder),
                device=device.type,
                device_index=device.index or 0,
                intra_threads=torch.get_num_threads(),
            )
    except Exception as error:  # a library may raise anything on a file of unknown origin
        raise input_error(
            f"{folder}: CTranslate2 cannot read it",
            got=" ".join(str(error).split())[:200] or type(error).__name__,
            allowed="the folder as the export wrote it",
            fix="export the run again",
        ) from None
    return CTranslate2Model(
        translator, vocabularies=(source, target), end=config["eos_token"], never=never, device=device
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """No warning among the translations that a CPU computes 16 bits in float32."""
    import ctranslate2

    level = ctranslate2.get_log_level()
    ctranslate2.set_log_level(logging.ERROR)
    try:
        yield
    finally:
        ctranslate2.set_log_level(level)


class CTranslate2Model:
    """An encoder-decoder of CTranslate2; see `export.target.Engine` and `types.SearchesItself`."""

    def __init__(
        self,
        translator: Any,
        *,
        vocabularies: tuple[list[str], list[str]],
        end: str,
        never: Sequence[int],
        device: torch.device,
    ) -> None:
        self.translator, self.device = translator, device
        self.source, self.target = vocabularies
        self.ids = {piece: id for id, piece in enumerate(self.target)}
        self.end = self.ids[end]
        self.searcher = Searcher(translator, end=end, never=[self.target[id] for id in never])

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> NoReturn:
        """Raises InputError: the library gives no scores of single steps."""
        raise input_error(
            "a CTranslate2 export runs its own search and gives no scores of single steps",
            got="a search that needs them: sampling, a forced prefix, a glossary, no-repeat n-grams, "
            "documents in context, or an ensemble",
            allowed="greedy and beam search with any beam, length penalty and number of candidates",
            fix="translate with the run itself, or with an export for hf",
        )

    def search(
        self,
        source: Ragged,
        *,
        limits: Sequence[int],
        beam: int,
        n: int,
        length_penalty: float,
        exact: bool,
    ) -> list[list[tuple[list[int], float]]]:
        """The best `n` translations that beam search finds for each row, the best first: see `types.SearchesItself`."""
        wanted = Wanted(beam=beam, n=n, length_penalty=length_penalty, exact=exact)
        found = self.searcher.search(self._read(source), limits=limits, wanted=wanted)
        return [[([self.ids[piece] for piece in each.pieces], each.score) for each in few] for few in found]

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token after its row of source ids, rows in their order."""
        written = [[self.target[id] for id in target.row(row).tolist()[:-1]] for row in range(len(target))]
        assert all(target.row(row)[-1] == self.end for row in range(len(target))), "a target without its end"
        results = self.translator.score_batch(
            self._read(source), written, max_batch_size=BATCH_TOKENS, batch_type="tokens", max_input_length=0
        )
        return [list(each.log_probs) for each in results]

    def _read(self, source: Ragged) -> list[list[str]]:
        """The pieces of each row; the library adds the end symbol."""
        return [[self.source[id] for id in source.row(row).tolist()[:-1]] for row in range(len(source))]
