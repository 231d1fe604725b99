"""D120 targets-without-tags"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

_RECIPE = (
    "task: translation\ndata:\n  train:\n    - {{source: en.txt, target: de.txt{de}}}\n"
    "    - {{source: en.txt, target: fr.txt{fr}}}\n  valid: {{source: dev.en, target: dev.de{de}}}\n"
    "model: {{preset: base}}\nlength: 5 epochs\n"
)

RULE = Rule(
    code="D120",
    name="targets-without-tags",
    severity="warning",
    message="`{source}` is paired with {count} targets, and nothing tells the model which of them is wanted",
    why="The same sentence then has several right translations with nothing to choose by. The model learns their "
    "mixture: it "
    "changes the language inside a text, or always writes the more frequent one.",
    evidence=(
        Arithmetic(
            "Two targets, equally often: the best possible prediction of the first token gives each 1/2."
        ),
    ),
    fix=Fix("give each corpus `tags` that name its target, such as `tags: [<2de>]`"),
    bad=Example("recipe.yaml", _RECIPE.format(de="", fr="")),
    good=Example("recipe.yaml", _RECIPE.format(de=", tags: [<2de>]", fr=", tags: [<2fr>]")),
    symptoms=("translates into the wrong language", "mixes languages"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires in our own recipes where several corpora use one source file without tags, with different targets."""
    if run.tool != "trimtab":
        return
    targets: dict[str, set[str]] = {}
    first: dict[str, Setting] = {}
    for setting in run.below("data.train"):
        start, _, name = setting.key.rpartition(".")
        if name != "source" or not isinstance(setting.value, str):
            continue
        target, tags = run.written(f"{start}.target"), run.written(f"{start}.tags")
        if target is None or not isinstance(target.value, str) or (tags is not None and tags.value):
            continue
        if run.written(f"{start}.direction") is not None:
            continue  # of a modular model, whose directions have components or tags of their own
        targets.setdefault(setting.value, set()).add(target.value)
        first.setdefault(setting.value, setting)
    for source, found in targets.items():
        if len(found) > 1:
            yield RULE.at(first[source], source=source, count=len(found))
