"""A language model trained on pairs only: it writes after a separator and cannot continue a text without one."""

from shlex import quote

from trimtab.config.reserved import SEPARATOR
from trimtab.config.run import Recipe
from trimtab.errors import input_error


def learns_pairs_alone(recipe: Recipe) -> bool:
    """Whether every row that a language model is trained on is a source, a separator and a target."""
    return recipe.facts.continues_texts and not recipe.reads_texts


def refuse_pairs_alone(recipe: Recipe, *, name: str, instead: str | None = None) -> None:
    """Raises InputError for a model that cannot continue from a text, since it has never read one; `instead` is what to
    do with it, and is to translate where it is not said."""
    if learns_pairs_alone(recipe):
        raise input_error(
            f"{name}: was trained on pairs only, with {SEPARATOR} between source and target in every row",
            got="a text without one, which it has never learned to continue",
            allowed="a language model with a `text` among data.train",
            fix=f"{instead or f'translate with it: `trimtab translate {quote(name)}`'}, or train on a `text` too",
        )
