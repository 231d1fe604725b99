"""Each direction of a modular model as a plain recipe, and untrained directions, composed of trained ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.config.language_layers import PREPOSITIONS
from trimtab.config.modular_data import of_direction
from trimtab.config.modular_model import Layers, ModularModel, Route
from trimtab.config.nearest import did_you_mean, nearest_words
from trimtab.config.run import Recipe
from trimtab.errors import InputError, input_error

MOST_SHOWN = 12


def modular_of(recipe: Recipe) -> ModularModel:
    """The model of a modular recipe."""
    assert isinstance(recipe.model, ModularModel), "the task of modular models has one"
    return recipe.model


def plain_recipe(recipe: Recipe, direction: str) -> Recipe:
    """The recipe of the translator that a direction is by itself: its corpora, its validation sets, its components."""
    valid = {
        name: files.model_copy(update={"direction": ""})
        for name, files in recipe.data.valid.items()
        if files.direction == direction
    }
    train = of_direction(recipe.data, direction)
    return _with(recipe, modular_of(recipe).route(direction), train=train, valid=valid)


def named_route(recipe: Recipe, name: str) -> tuple[Route, Recipe, tuple[str, ...]]:
    """What a user calls a direction: its route, the recipe of the translator that it is, and the tags of its lines.

    `en-de` is a trained direction, or the languages of one; `de-pt` or `de:pt`, where there is none, is composed of the
    encoder that reads de and the decoder that writes pt, if all directions agree on these. Language-specific layers are
    those of de and pt: where `de-en` runs through `shared_to_en`, `de-pt` runs through `shared_to_pt`. `de-en/en-pt`
    has the encoder of the one and the decoder of the other, whatever others do. Without a name it is the only direction
    that there is.
    Raises InputError, with what there is, for any other name.
    """
    model = modular_of(recipe)
    if not name and len(model.directions) == 1:
        name = next(iter(model.directions))
    if name in model.directions:
        return model.route(name), plain_recipe(recipe, name), model.directions[name].tags
    if not name:
        raise _not_named(model)
    encoder, slash, decoder = name.partition("/")
    if slash:
        return _composed(recipe, _known(model, encoder), _known(model, decoder))
    source, target = _languages(model, name)
    trained = [each for each in model.directions if model.languages(each) == (source, target)]
    if trained:
        return model.route(trained[0]), plain_recipe(recipe, trained[0]), model.directions[trained[0]].tags
    readers = [each for each in model.directions if model.languages(each)[0] == source]
    writers = [each for each in model.directions if model.languages(each)[1] == target]
    encoders = {each: _read_for(model, model.route(each), target) for each in readers}
    decoders = {each: _written_from(model, model.route(each), source) for each in writers}
    _refuse_several(model, name, encoders, "encoder")
    _refuse_several(model, name, decoders, "decoder")
    composed = Route(source, target, encoders[readers[0]], decoders[writers[0]])
    return _composed(recipe, readers[0], writers[0], route=composed)


def _composed(
    recipe: Recipe, reader: str, writer: str, *, route: Route | None = None
) -> tuple[Route, Recipe, tuple[str, ...]]:
    """The encoder of a direction with the decoder of another, or `route` with the data of the two."""
    model = modular_of(recipe)
    if route is None:
        one, other = model.route(reader), model.route(writer)
        route = Route(one.source, other.target, one.encoder, other.decoder)
    train = (*of_direction(recipe.data, reader), *of_direction(recipe.data, writer))
    return route, _with(recipe, route, train=train, valid={}), model.directions[writer].tags


def _with(
    recipe: Recipe, route: Route, *, train: Sequence[TrainCorpus], valid: dict[str, ValidFiles]
) -> Recipe:
    """The recipe of a plain translator with these data. What is for training alone (stages, frozen weights, a clip by
    component) is left out, as it would name what the translator has not."""
    data = recipe.data.model_copy(update={"train": tuple(train), "valid": valid, "stages": ()})
    evaluate, best = recipe.evaluate, recipe.evaluate.best
    if best.set is not None and best.set not in valid:
        evaluate = evaluate.model_copy(update={"best": best.model_copy(update={"set": None})})
    kept: dict[str, Any] = {"data": data, "evaluate": evaluate, "freeze": (), "reinitialize": ()}
    if recipe.step.clip.kind == "component":
        kept["step"] = recipe.step.model_copy(update={"clip": type(recipe.step)().clip})
    return recipe.model_copy(update={**kept, "model": modular_of(recipe).plain(route)})


def _languages(model: ModularModel, name: str) -> tuple[str, str]:
    """The languages that a name such as `de-pt` or `zh-Hans:pt` is of. InputError where they are none of the model."""
    known = model.all_languages
    pairs = [name.split(":")] if ":" in name else []
    pairs += [[name[:place], name[place + 1 :]] for place, sign in enumerate(name) if sign == "-"]
    for pair in pairs:
        if len(pair) == 2 and pair[0] in known and pair[1] in known:
            return pair[0], pair[1]
    near = nearest_words(name.replace(":", "-"), list(model.directions))
    raise input_error(
        f"no direction {name.replace(':', '-')}",
        got=name,
        allowed=f"{_shown(list(model.directions))}; or two of the languages {_shown(list(known))}, as in "
        f"`{known[0]}-{known[-1]}`",
        fix=did_you_mean(near) or "name one of these",
    )


def _known(model: ModularModel, name: str) -> str:
    if name in model.directions:
        return name
    raise input_error(
        f"no direction {name!r}",
        got=name,
        allowed=_shown(list(model.directions)),
        fix=did_you_mean(nearest_words(name, list(model.directions)))
        or "write a trained direction on each side of the slash: the encoder of the first, the decoder of the second",
    )


def _read_for(model: ModularModel, route: Route, target: str) -> tuple[Layers, ...]:
    """The encoder of a route with the layers that are specific to another target language, where there are any."""
    old, new = (f"_{PREPOSITIONS['target']}_{each}" for each in (route.target, target))
    return tuple(_of_language(each, old, new, known=model.encoder_components) for each in route.encoder)


def _written_from(model: ModularModel, route: Route, source: str) -> tuple[Layers, ...]:
    """The decoder of a route with the layers that are specific to another source language, where there are any."""
    old, new = (f"_{PREPOSITIONS['source']}_{each}" for each in (route.source, source))
    return tuple(_of_language(each, old, new, known=model.decoder_components) for each in route.decoder)


def _of_language(part: Layers, old: str, new: str, *, known: Mapping[str, int]) -> Layers:
    name = part.component.removesuffix(old) + new
    belongs = part.component.endswith(old) and known.get(name, 0) >= part.stop
    return replace(part, component=name) if belongs else part


def _refuse_several(
    model: ModularModel, name: str, stacks: Mapping[str, tuple[Layers, ...]], side: str
) -> None:
    """InputError where a language is read, or written, in several ways, or in none; `stacks` are those of the trained
    directions with this language on this side."""
    ways: dict[tuple[tuple[Layers, ...], tuple[str, ...]], str] = {}
    for each, layers in stacks.items():
        tags = model.directions[each].tags if side == "decoder" else ()
        ways.setdefault((layers, tags), each)
    if len(ways) == 1:
        return
    verb = "reads its source" if side == "encoder" else "writes its target"
    if not ways:
        raise input_error(
            f"no direction {verb.replace('its source', 'this source').replace('its target', 'this target')}: {name}",
            got=name,
            allowed=_shown(list(model.directions)),
            fix="train a direction with this language on that side",
        )
    first, *others = ways.values()
    raise input_error(
        f"{name}: several directions have a way of their own that {verb}",
        got=_shown(list(ways.values())),
        allowed="the encoder of one direction and the decoder of another",
        fix=f"write `{first}/DIRECTION` or `{others[0]}/DIRECTION`"
        if side == "encoder"
        else f"write `DIRECTION/{first}` or `DIRECTION/{others[0]}`",
    )


def _not_named(model: ModularModel) -> InputError:
    first = next(iter(model.directions))
    return input_error(
        "the model has several directions, so name one",
        got="no direction",
        allowed=_shown(list(model.directions)),
        fix=f"name one: `--direction {first}`, or `RUN#{first}`",
    )


def _shown(names: Sequence[str]) -> str:
    more = len(names) - MOST_SHOWN
    return ", ".join(names[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
