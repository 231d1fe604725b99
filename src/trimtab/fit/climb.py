"""What to change in a recipe that does not fit: the cheapest settings that do, as lines to paste."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from shlex import quote
from typing import Any

from pydantic_core import PydanticCustomError

from trimtab.config.optimizers import Adafactor, AdamW
from trimtab.config.parallel import FullySharded
from trimtab.config.run import Recipe
from trimtab.config.step import refuse_what_cannot_be_offloaded, refuse_what_needs_all_gradients
from trimtab.config.tokenizer import ByteLevel, SentencePieceTokenizer
from trimtab.fit.constants import PROPOSED_SHARE
from trimtab.fit.gpus import Gpu
from trimtab.fit.plan import Plan, plan_run
from trimtab.fit.planned_run import run_of, wants_compile
from trimtab.fit.shape import Shape
from trimtab.fit.sharded import trains_on
from trimtab.fit.speed import speed_of

EXACT, ROUNDED, TRAINED_OTHERWISE, OTHER_DATA, OTHER_MODEL = range(5)
"""What a change does to the training: nothing; another rounding; another optimizer; shorter texts; another model."""
NEAR = 0.05
"""Of the speed as it is: nearer to each other than this, estimates say nothing, and fewer changes are better."""
LEAST_MICRO_BATCH = 256
LEAST_LENGTH = 64
LEAST_VOCABULARY = 4000
EFFECTS = {
    EXACT: "the same updates",
    ROUNDED: "other rounding: weights or moments are stored in fewer bits by chance, right on average",
    TRAINED_OTHERWISE: "another optimizer: tune its learning rate again",
    OTHER_DATA: "long texts are dropped, or split in language models",
    OTHER_MODEL: "another model",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One setting, what it becomes, and what that does."""

    key: str
    value: str
    effect: int

    @property
    def override(self) -> str:
        """As on the command line."""
        return f"{self.key}={self.value}"


@dataclass(frozen=True, slots=True)
class Climb:
    """Changes with which a recipe fits."""

    changes: tuple[Change, ...]
    plan: Plan
    slowdown: float
    """Estimated share of the tokens per second that they cost, against the recipe as it is; below 0 where they gain."""

    @property
    def command_line(self) -> str:
        """All changes as overrides, for a shell."""
        return " ".join(quote(change.override) for change in self.changes)


@dataclass(frozen=True, slots=True)
class Situation:
    """What is to be changed, and where it has to fit."""

    recipe: Recipe
    folder: Path
    gpu: Gpu
    shape_of: Callable[[Recipe], Shape]
    ram: int | None = None
    """Bytes of the host's memory; where it is not known, nothing is proposed that moves there."""
    ranks: int = 1
    """Processes that train together, on cards like this one."""

    def planned(self, recipe: Recipe) -> Plan:
        """The plan of a recipe that was changed."""
        return plan_run(run_of(recipe, self.folder, self.gpu, self.shape_of(recipe), ranks=self.ranks))

    def fits(self, plan: Plan) -> bool:
        """Whether training and evaluation fit, with something to spare, and on the host what is moved there."""
        moves = plan.run.recipe.step.offload != self.recipe.step.offload
        on_host = not moves or (self.ram is not None and plan.host <= PROPOSED_SHARE * self.ram)
        return on_host and plan.peak <= PROPOSED_SHARE * self.gpu.memory


def cheapest_climb(situation: Situation) -> Climb | None:
    """The changes that make it fit and do least to the training; of those that do the same, the fewest that are as good
    as the fastest. None where nothing helps."""
    before = speed_of(situation.planned(situation.recipe), situation.gpu).tokens_per_second
    for effect in (EXACT, ROUNDED, TRAINED_OTHERWISE, OTHER_DATA, OTHER_MODEL):
        found = [
            Climb(changes, plan, 1 - speed_of(plan, situation.gpu).tokens_per_second / before)
            for changes, plan in _fitting(situation, effect)
        ]
        if found:
            least = min(climb.slowdown for climb in found)
            near = [climb for climb in found if climb.slowdown <= least + NEAR]
            return min(near, key=lambda climb: (len(climb.changes), climb.slowdown))
    return None


def smallest_plan(situation: Situation) -> Plan:
    """The least that all changes together bring it to."""
    options = [group[-1] for group in _options(situation, OTHER_MODEL)]
    recipe = situation.recipe
    for changes, changed in options:
        if not {"step.optimizer.states", "step.offload"} & {
            each.key for each in changes
        }:  # Adafactor needs less
            recipe = changed(recipe)
    return situation.planned(_with_micro_batch(recipe, list(_micro_batches(recipe))[-1]))


Option = tuple[tuple[Change, ...], Callable[[Recipe], Recipe]]


def _fitting(situation: Situation, effect: int) -> Iterator[tuple[tuple[Change, ...], Plan]]:
    """Combinations of changes up to this effect, each with the largest micro-batch that fits with it."""
    for combined in product(*_worth_trying(_options(situation, effect), effect)):
        changes = tuple(change for some, _ in combined for change in some)
        if effect and all(change.effect < effect for change in changes):
            continue  # tried before
        keys = {each.key for each in changes}
        if "step.optimizer" in keys and keys & {"step.optimizer.states", "step.offload"}:
            continue  # states of the optimizer that is replaced
        recipe = situation.recipe
        for some, changed in combined:
            recipe = changed(recipe) if some else recipe
        sizes = [*_micro_batches(recipe)]
        if not situation.fits(situation.planned(_with_micro_batch(recipe, sizes[-1]))):
            continue
        for tokens in sizes:
            plan = situation.planned(_with_micro_batch(recipe, tokens))
            if situation.fits(plan):
                smaller = tokens < situation.recipe.step.micro_batch_tokens
                own = (Change("step.tokens_per_micro_batch", str(tokens), EXACT),) if smaller else ()
                if changes or own:
                    yield (*changes, *own), plan
                break


def _worth_trying(groups: list[list[Option]], effect: int) -> list[list[Option]]:
    """Where data or model would change, what does less to the training has not been enough: of that, only what saves
    the most is combined with them."""
    if effect < OTHER_DATA:
        return groups
    return [
        group
        if any(change.effect >= OTHER_DATA for changes, _ in group for change in changes)
        else group[-1:]
        for group in _without_states_of_another(groups)
    ]


def _without_states_of_another(groups: list[list[Option]]) -> list[list[Option]]:
    """Without narrower states where the optimizer is replaced."""
    keys = [{change.key for changes, _ in group for change in changes} for group in groups]
    replaced = {"step.optimizer"} in keys
    return [
        group
        for group, of in zip(groups, keys, strict=True)
        if not (replaced and of in ({"step.optimizer.states"}, {"step.offload"}))
    ]


def may_be_released(recipe: Recipe) -> bool:
    """Whether gradients can be released with what else the recipe says; see `config.step`."""
    step = recipe.step
    if step.cuda_graph == "on":
        return False
    try:
        refuse_what_needs_all_gradients(
            step.model_copy(update={"tokens_per_micro_batch": step.tokens_per_step})
        )
    except PydanticCustomError:
        return False
    return step.micro_batch_tokens == step.tokens_per_step


def may_be_offloaded(recipe: Recipe) -> bool:
    """Whether the optimizer's states can be kept on the host; see `config.step`."""
    try:
        refuse_what_cannot_be_offloaded(recipe.step)
    except PydanticCustomError:
        return False
    return True


def _micro_batches(recipe: Recipe) -> Iterator[int]:
    """As it is, then halves, as long as the longest example fits in; released gradients allow no cut."""
    least = recipe.facts.targets_of_longest(recipe.data.max_tokens)
    tokens = recipe.step.micro_batch_tokens
    yield tokens
    if recipe.step.gradients == "released":
        return
    while tokens // 2 >= max(least, 1 if recipe.facts.one_target else min(LEAST_MICRO_BATCH, tokens)):
        tokens //= 2
        yield tokens
    if tokens > least and not recipe.facts.one_target:
        yield max(least, LEAST_MICRO_BATCH) if least < LEAST_MICRO_BATCH <= tokens else least


def _options(situation: Situation, effect: int) -> list[list[Option]]:
    """For each setting, to leave it and what it may become; only changes up to an effect, for so many processes."""
    recipe = situation.recipe
    nothing: Option = ((), lambda recipe: recipe)
    groups: list[list[Option]] = []

    def group(*options: tuple[Change, Callable[[Recipe], Recipe]]) -> None:
        few = [((change,), changed) for change, changed in options if change.effect <= effect]
        if allowed := [each for each in few if trains_on(each[1](recipe), situation.ranks)]:
            groups.append([nothing, *allowed])

    step = recipe.step
    if not wants_compile(recipe) and step.precision not in ("fp32", "tf32"):
        group((Change("step.compile", "on", EXACT), lambda recipe: _with_step(recipe, compile="on")))
    group(*_recomputed(recipe))
    group(*_sharded(situation))
    if step.gradients == "kept" and may_be_released(recipe):
        group(
            (
                Change("step.gradients", "released", EXACT),
                lambda recipe: _with_step(recipe, gradients="released"),
            )
        )
    group(*_offloaded(situation))
    if step.cuda_graph != "off":
        group((Change("step.cuda_graph", "off", EXACT), lambda recipe: _with_step(recipe, cuda_graph="off")))
    if step.precision in ("fp32", "tf32"):
        group(
            (
                Change("step.precision", "bf16_mixed", ROUNDED),
                lambda recipe: _with_step(recipe, precision="bf16_mixed"),
            )
        )
    elif step.precision in ("auto", "bf16_mixed") and recipe.adapter is None:
        group(
            (Change("step.precision", "bf16", ROUNDED), lambda recipe: _with_step(recipe, precision="bf16"))
            if step.ema is None
            else (
                Change("step.ema", "null", TRAINED_OTHERWISE),
                lambda recipe: _with_step(recipe, ema=None),
            )
        )
    group(*_narrower_states(recipe))
    if step.optimizer.kind != "adafactor" and recipe.adapter is None:
        group(
            (
                Change("step.optimizer", "{kind: adafactor}", TRAINED_OTHERWISE),
                lambda recipe: _with_step(recipe, optimizer=Adafactor()),
            )
        )
    group(*_shortened(recipe))
    size = _vocabulary(recipe)
    if size and size // 2 >= LEAST_VOCABULARY:
        group(
            (
                Change("data.tokenizer.vocabulary_size", str(size // 2), OTHER_MODEL),
                _with_vocabulary(size // 2),
            )
        )
    return groups


def _sharded(situation: Situation) -> Iterator[tuple[Change, Callable[[Recipe], Recipe]]]:
    """Shares of the weights, where several processes train."""
    parallel = situation.recipe.parallel
    if situation.ranks > 1 and parallel.kind != "fsdp":
        divided = FullySharded(timeout=parallel.timeout)
        yield (
            Change("parallel.kind", "fsdp", EXACT),
            lambda recipe: recipe.model_copy(update={"parallel": divided}),
        )


def _offloaded(situation: Situation) -> Iterator[tuple[Change, Callable[[Recipe], Recipe]]]:
    """States on the host, where its memory is known."""
    recipe = situation.recipe
    known = situation.ram is not None and recipe.adapter is None
    if known and recipe.step.offload == "none" and may_be_offloaded(recipe):
        yield (
            Change("step.offload", "optimizer_states", EXACT),
            lambda recipe: _with_step(recipe, offload="optimizer_states"),
        )


def _recomputed(recipe: Recipe) -> Iterator[tuple[Change, Callable[[Recipe], Recipe]]]:
    """What may be computed again; nothing of layers that another library computes."""
    kinds = {"none": ("feed_forward", "block"), "feed_forward": ("block",), "block": ()}
    if recipe.model.library:
        return
    for kind in kinds[recipe.step.recompute]:
        yield (
            Change("step.recompute", kind, EXACT),
            lambda recipe, kind=kind: _with_step(recipe, recompute=kind),
        )


def _narrower_states(recipe: Recipe) -> Iterator[tuple[Change, Callable[[Recipe], Recipe]]]:
    """Fewer bits for the moments of AdamW."""
    optimizer = recipe.step.optimizer
    if isinstance(optimizer, AdamW) and optimizer.states == "float32" and recipe.adapter is None:
        for states, effect in (("8bit", ROUNDED), ("4bit", TRAINED_OTHERWISE)):
            yield Change("step.optimizer.states", states, effect), _with_states(states)


def _shortened(recipe: Recipe) -> Iterator[tuple[Change, Callable[[Recipe], Recipe]]]:
    """Shorter texts."""
    for length in (recipe.data.max_tokens // part for part in (2, 4)):
        if length >= LEAST_LENGTH:
            yield Change("data.max_tokens", str(length), OTHER_DATA), _shorter(length)


def _vocabulary(recipe: Recipe) -> int:
    tokenizer = recipe.data.tokenizer
    if isinstance(tokenizer, SentencePieceTokenizer | ByteLevel) and tokenizer.path is None:
        return tokenizer.vocabulary_size
    return 0


def _with_step(recipe: Recipe, **changes: Any) -> Recipe:
    return recipe.model_copy(update={"step": recipe.step.model_copy(update=changes)})


def _with_states(states: str) -> Callable[[Recipe], Recipe]:
    def changed(recipe: Recipe) -> Recipe:
        return _with_step(recipe, optimizer=recipe.step.optimizer.model_copy(update={"states": states}))

    return changed


def _with_micro_batch(recipe: Recipe, tokens: int) -> Recipe:
    """The source's slots go with the target's."""
    step = recipe.step
    source = step.source_tokens_per_micro_batch
    share = tokens / step.micro_batch_tokens
    return _with_step(
        recipe,
        tokens_per_micro_batch=tokens,
        source_tokens_per_micro_batch=None if source is None else max(1, int(source * share)),
    )


def _shorter(length: int) -> Callable[[Recipe], Recipe]:
    def changed(recipe: Recipe) -> Recipe:
        return recipe.model_copy(update={"data": recipe.data.model_copy(update={"max_tokens": length})})

    return changed


def _with_vocabulary(size: int) -> Callable[[Recipe], Recipe]:
    def changed(recipe: Recipe) -> Recipe:
        tokenizer = recipe.data.tokenizer.model_copy(update={"vocabulary_size": size})
        tokenizer.model_fields_set.add("vocabulary_size")
        return recipe.model_copy(update={"data": recipe.data.model_copy(update={"tokenizer": tokenizer})})

    return changed
