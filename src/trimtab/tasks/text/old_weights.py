"""The weights of another run on text, fitted to this one's vocabularies."""

from trimtab.data.piece_map import PieceMap, map_pieces
from trimtab.model.kinds import Model
from trimtab.model.warm_start import RowMap, take_weights
from trimtab.tasks.text.datasets import Sources
from trimtab.translator.load import LoadedModel


def take_text_weights(old: LoadedModel, sources: Sources, model: Model, *, name: str) -> str:
    """Puts the weights of `old` into the model, piece by piece where vocabularies differ, each side from the same side
    of the old run; says what was mapped. Raises InputError where the models differ."""
    here = sources.tokenizers
    target = map_pieces(old.tokenizers.target, here.target)
    shared = old.tokenizers.shared and here.shared
    source = target if shared else map_pieces(old.tokenizers.source, here.source)
    take_weights(model, old.model, source=rows_of(source), target=rows_of(target), name=name)
    return str(target) if shared else f"source: {source}; target: {target}"


def rows_of(pieces: PieceMap) -> RowMap:
    """The map of a vocabulary, as the model takes it."""
    return RowMap(pieces.same, pieces.spelled)
