"""A modular model: whether its directions have data, and what of a recipe is not for it."""

from collections.abc import Iterator, Sequence

from trimtab.config.complaint import Complaint
from trimtab.config.freezing import stages_of
from trimtab.config.modular_data import trained_directions
from trimtab.config.modular_model import ModularModel
from trimtab.config.nearest import did_you_mean, nearest_words
from trimtab.config.optimizers import AdamW, kinds_where
from trimtab.config.parallel import ByDirection
from trimtab.config.placement import placement_problems
from trimtab.config.run import Recipe
from trimtab.config.step import ClipAdaptive, ClipComponent


def modular_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """Directions without data, data without a direction, and settings that a modular model has not."""
    if not isinstance(recipe.model, ModularModel):
        yield from _only_for_modular(recipe)
        return
    yield from _unknown_directions(recipe, recipe.model)
    yield from _without_data(recipe, recipe.model)
    yield from _two_names_of_a_file(recipe, recipe.model)
    yield from _indistinct(recipe.model)
    yield from _not_for_modular(recipe, recipe.model)
    yield from _layer_decay(recipe)
    yield from _placed(recipe, recipe.model)


def _only_for_modular(recipe: Recipe) -> Iterator[Complaint]:
    named = {f"data.train.{number}": each.direction for number, each in enumerate(recipe.data.train)}
    for name, files in recipe.data.valid.items():
        named["data.valid" if name == "valid" else f"data.valid.{name}"] = files.direction
    for path, direction in named.items():
        if direction:
            yield Complaint(
                path=f"{path}.direction",
                what="directions belong to a modular model",
                got=f"{direction}, with `model.kind: {recipe.model.kind}`",
                allowed="nothing; `tags` tell the directions of one model apart",
                fix="remove it, or set `model: {kind: modular, ...}`",
            )
    if isinstance(recipe.parallel, ByDirection):
        yield Complaint(
            path="parallel.kind",
            what="directions belong to a modular model",
            got=f"by_direction, with `model.kind: {recipe.model.kind}`",
            allowed="data_parallel or fsdp",
            fix="remove `parallel`",
        )
    if isinstance(recipe.step.clip, ClipComponent):
        yield Complaint(
            path="step.clip.kind",
            what="components belong to a modular model",
            got=f"component, with `model.kind: {recipe.model.kind}`",
            allowed="global_norm, adaptive or off",
            fix="set `step.clip.kind: global_norm`",
        )


def _unknown_directions(recipe: Recipe, model: ModularModel) -> Iterator[Complaint]:
    named = [(path, direction) for path, direction, _ in trained_directions(recipe.data)]
    for name, files in recipe.data.valid.items():
        key = "data.valid" if name == "valid" else f"data.valid.{name}"
        named.append((f"{key}.direction", files.direction))
    for path, direction in named:
        if direction in model.directions:
            continue
        yield Complaint(
            path=path,
            what="no direction of the model"
            if direction
            else "a modular model needs the direction of each corpus",
            got=repr(direction) if direction else "none",
            allowed=_shown(list(model.directions)),
            fix=did_you_mean(nearest_words(direction, list(model.directions)))
            or "name one, or add it to `model.directions` with its components",
        )


def _without_data(recipe: Recipe, model: ModularModel) -> Iterator[Complaint]:
    trained = [direction for _, direction, _ in trained_directions(recipe.data)]
    for name in model.directions:
        if name not in trained:
            yield Complaint(
                path=f"model.directions.{name}",
                what="no corpus has this direction, so components that only it uses would stay untrained",
                got=f"corpora of {_shown(list(dict.fromkeys(filter(None, trained)))) or 'no direction'}",
                allowed="at least one corpus for each direction",
                fix=f"add a corpus with `direction: {name}`, or remove the direction; after training, "
                "`trimtab translate --direction` composes directions that were not trained",
            )
    stages = recipe.data.stages
    weights = {each.name: each.weight for each in recipe.data.train if each.name}
    if not stages or any(not each.name for each in recipe.data.train):
        return
    read = [{name for name, weight in (weights | stage.weights).items() if weight} for stage in stages]
    for name in model.directions:
        own = {each.name for _, direction, each in trained_directions(recipe.data) if direction == name}
        if own and not any(own & names for names in read):
            yield Complaint(
                path=f"model.directions.{name}",
                what="a direction without data: every stage leaves its corpora out",
                got=f"a weight of 0 for {_shown(sorted(own))} in each of `data.stages`",
                allowed="at least one corpus for each direction in some stage",
                fix="give it a weight above 0 in a stage, or remove the direction",
            )


def _two_names_of_a_file(recipe: Recipe, model: ModularModel) -> Iterator[Complaint]:
    """One file in two languages, where files hold one language each."""
    languages: dict[str, tuple[str, str]] = {}
    for path, direction, corpus in trained_directions(recipe.data):
        if direction not in model.directions or corpus.kind.key != "source":
            continue
        source, target = model.languages(direction)
        turned = path.endswith("reverse_direction")
        sides = (corpus.target, corpus.source) if turned else (corpus.source, corpus.target)
        for file, language in zip(map(str, sides), (source, target), strict=True):
            other, where = languages.setdefault(file, (language, direction))
            if other != language:
                yield Complaint(
                    path=path,
                    what=f"{file} is in two languages",
                    got=f"{other} in {where}, {language} in {direction}",
                    allowed="one name for the language of a file",
                    fix="name another direction, or give both directions the same `source` or `target` language",
                )


def _indistinct(model: ModularModel) -> Iterator[Complaint]:
    """Directions to different languages that nothing tells apart."""
    first: dict[object, str] = {}
    for name, direction in model.directions.items():
        source, target = model.languages(name)
        paths = (model.layers(name, "encoder"), model.layers(name, "decoder"))
        own = (source, target) if model.embeddings == "language" else ()
        other = first.setdefault((paths, own, direction.tags), name)
        if model.languages(other)[1] != target:
            yield Complaint(
                path=f"model.directions.{name}",
                what=f"nothing tells the model to write {target} and not {model.languages(other)[1]}, as in {other}",
                got="the same components and tags in both directions",
                allowed="tags, or a component or embeddings of its own",
                fix=f"write `tags: [<2{target}>]` here, and a tag of its own in {other}",
            )


def _not_for_modular(recipe: Recipe, model: ModularModel) -> Iterator[Complaint]:
    what = NOT_SUPPORTED
    if recipe.data.source_tokenizer is not None:
        yield Complaint(
            path="data.source_tokenizer",
            what=f"{what}, which use the same language as source and as target",
            got="a separate source tokenizer",
            allowed="one vocabulary for all languages",
            fix="remove it",
        )
    if recipe.parallel.kind == "fsdp":
        yield Complaint(
            path="parallel.kind",
            what=f"{what}: each micro-batch uses different weights",
            got="fsdp",
            allowed="data_parallel or by_direction",
            fix="set `parallel: {kind: by_direction}`: each process then keeps only the states that it needs",
        )
    if recipe.step.gradients == "released":
        yield Complaint(
            path="step.gradients",
            what=f"{what}: a step is one micro-batch there, and here at least one for each direction",
            got="released",
            allowed="kept",
            fix="remove it",
        )
    if stages_of(recipe.freeze) and isinstance(recipe.step.clip, ClipComponent):
        yield Complaint(
            path="step.clip.kind",
            what="components cannot be clipped separately while some of their weights are not trained yet",
            got="component, with `until` in `freeze`",
            allowed="global_norm, adaptive or off",
            fix="set `step.clip.kind: global_norm`, or freeze for the whole run",
        )
    if recipe.export:
        first = next(iter(model.directions))
        yield Complaint(
            path="export",
            what=f"{what}: one direction of it can be exported",
            got=f"[{', '.join(recipe.export)}]",
            allowed="nothing here",
            fix=f"remove it; after training, `trimtab export RUN#{first} --to {recipe.export[0]}` exports a direction",
        )
    if recipe.adapter is not None:
        yield Complaint(
            path="adapter",
            what=what,
            got="an adapter",
            allowed="components of their own, with `freeze` for others",
            fix='add a component, and freeze the rest: `freeze: ["encoder.shared.*"]` beside `model.warm_start`',
        )
    for number, transform in enumerate(recipe.data.transforms):
        if transform.kind == "context":
            yield Complaint(
                path=f"data.transforms.{number}",
                what=what,
                got="context",
                allowed="other transforms",
                fix="remove it",
            )


def _layer_decay(recipe: Recipe) -> Iterator[Complaint]:
    if (decay := recipe.step.optimizer.learning_rate_multipliers.layer_decay) != 1:
        yield Complaint(
            path="step.optimizer.learning_rate_multipliers.layer_decay",
            what=f"{NOT_SUPPORTED}: a layer that several directions share may have another depth in each",
            got=f"{decay:g}",
            allowed="1",
            fix='remove it; `learning_rate_multipliers: {names: {"encoder.*": 0.5}}` sets a factor by names',
        )


def _placed(recipe: Recipe, model: ModularModel) -> Iterator[Complaint]:
    """Directions on processes: a placement that does not fit, and what needs the weights of all components at once."""
    if not isinstance(recipe.parallel, ByDirection):
        return
    given = recipe.parallel.placement
    for each in placement_problems(given, list(model.directions), key="placement") if given else ():
        what = each.what.removeprefix("placement: ")
        yield Complaint(
            path="parallel.placement", what=what, got=each.got, allowed=each.allowed, fix=each.fix
        )
    step, remove = (
        recipe.step,
        "remove it, or `parallel`: with `data_parallel` every process trains all components",
    )
    optimizer = step.optimizer
    if not (optimizer.is_elementwise and optimizer.steps_by_tensor):
        got = optimizer.kind
        allowed = kinds_where(lambda each: each.is_elementwise and each.steps_by_tensor)
        yield Complaint(path="step.optimizer", what=NEEDS_ALL, got=got, allowed=allowed, fix=ADAMW)
    elif isinstance(optimizer, AdamW) and optimizer.states != "float32":
        yield Complaint(
            path="step.optimizer.states", what=NEEDS_ALL, got=optimizer.states, allowed="float32", fix=remove
        )
    if isinstance(step.clip, ClipAdaptive):
        allowed = "global_norm, component or off"
        fix = "set `step.clip: {kind: global_norm}`"
        yield Complaint(path="step.clip", what=NEEDS_ALL, got="adaptive", allowed=allowed, fix=fix)
    if step.ema is not None:
        yield Complaint(
            path="step.ema", what=NEEDS_ALL, got="a moving average", allowed="nothing", fix=remove
        )


NOT_SUPPORTED = "is not supported with modular models"
NEEDS_ALL = (
    "needs all components on each process; with by_direction a process trains those of its directions only"
)
ADAMW = "set `step.optimizer: {kind: adamw}`"


def _shown(names: Sequence[str]) -> str:
    """Some of them, since there may be hundreds."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
