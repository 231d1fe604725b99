"""The data of a recipe, looked at before a run: counts, lengths, what would be dropped."""

from trimtab.config.load import LoadedRecipe
from trimtab.config.paths import resolve_paths
from trimtab.config.written import lines_added
from trimtab.data.inspect import Report, render
from trimtab.errors import input_error
from trimtab.progress import Progress, Silent
from trimtab.tasks.task_of import task_of

__all__ = ["Report", "inspect_recipe", "render"]


def inspect_recipe(loaded: LoadedRecipe, *, limit: int = 200_000, progress: Progress | None = None) -> Report:
    """Looks at `limit` pairs of each corpus as training would see them, and checks every line for pairs that
    do not match and for duplicates, about a minute for each million; leaves no files behind.

    A recipe without `data.tokenizer.path` gets a temporary tokenizer, trained on at most twice `limit` lines, so its
    token counts are close to those of the run but not equal. For a language model it inspects the pairs, and
    conversations of which the answers are learned, not other texts. Raises InputError if data cannot be read, and if
    there are other texts alone.
    """
    recipe = resolve_paths(loaded)
    with lines_added(loaded):
        chats = any(corpus.learn == "answers" for corpus in recipe.data.train)
        if recipe.facts.writes_text and not recipe.translates and not chats:
            raise input_error(
                "data.train: has documents; trimtab inspects pairs and conversations",
                got="task: language_model, with texts only",
                allowed="a recipe with source and target, or conversations with `learn: answers`, among data.train",
                fix="check the text with `trimtab train RECIPE --smoke`; data_ledger.json counts its passages",
            )
        return task_of(recipe).inspect(recipe, limit=limit, progress=progress or Silent())
