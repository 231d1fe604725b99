"""Values that are valid on their own but contradict one another: errors, not advice."""

from collections.abc import Iterator

from trimtab.config.complaint import Complaint
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.documents import document_contradictions
from trimtab.config.export_targets import obstacles
from trimtab.config.fitting import fitting_warmup
from trimtab.config.mixing import mixing_contradictions
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.modular_model import ModularModel
from trimtab.config.moving_average import moving_average_contradictions
from trimtab.config.mup import mup_contradictions
from trimtab.config.reserved import reserved_tags
from trimtab.config.run import Recipe
from trimtab.config.sharding import sharding_contradictions
from trimtab.config.step import Constant
from trimtab.config.tasks.contradictions import task_contradictions
from trimtab.config.tokenizer import SentencePieceTokenizer, SuperBpeTokenizer
from trimtab.config.trained_weights import weight_contradictions
from trimtab.config.x_transformers_options import x_transformers_contradictions
from trimtab.metrics.catalogue import OF_TRANSLATIONS

BYTE_PIECES = 256


def contradictions(recipe: Recipe) -> list[Complaint]:
    """Everything in a recipe that cannot hold together."""
    checks = (
        _longest_example,
        _warmup,
        _best_evaluation,
        _early_stopping,
        _corpora,
        mixing_contradictions,
        document_contradictions,
        task_contradictions,
        _tags,
        reserved_tags,
        _vocabulary,
        _two_vocabularies,
        weight_contradictions,
        _noise,
        _shift,
        _stochastic_depth,
        _module,
        x_transformers_contradictions,
        _output_multiplier,
        mup_contradictions,
        _recorded,
        moving_average_contradictions,
        sharding_contradictions,
    )
    return [complaint for check in checks for complaint in check(recipe)]


def _longest_example(recipe: Recipe) -> Iterator[Complaint]:
    longest, step = recipe.data.max_tokens, recipe.step
    if recipe.facts.one_target:
        return
    if longest > step.tokens_per_step:
        yield Complaint(
            path="step.tokens_per_step",
            what=f"a step is smaller than the longest example, {longest} tokens",
            got=str(step.tokens_per_step),
            allowed=f"at least {longest}, which is data.max_tokens",
            fix="raise it, or lower `data.max_tokens`",
        )
    elif step.batch_warmup is not None and longest > step.batch_warmup.start:
        yield Complaint(
            path="step.batch_warmup.start",
            what=f"the first step is smaller than the longest example, {longest} tokens",
            got=str(step.batch_warmup.start),
            allowed=f"at least {longest}, which is data.max_tokens",
            fix="raise it, or lower `data.max_tokens`",
        )
    elif longest > step.micro_batch_tokens:
        yield Complaint(
            path="step.tokens_per_micro_batch",
            what=f"a micro-batch is smaller than the longest example, {longest} tokens",
            got=str(step.micro_batch_tokens),
            allowed=f"at least {longest}, which is data.max_tokens",
            fix="raise it, or lower `data.max_tokens`",
        )


def _warmup(recipe: Recipe) -> Iterator[Complaint]:
    warmup, length = recipe.step.schedule.warmup, recipe.length
    if warmup is None or warmup.unit != length.unit or warmup.count <= length.count:
        return
    written = "warmup" in recipe.step.schedule.model_fields_set
    less = " or leave it out" if isinstance(recipe.step.schedule, Constant) else ""
    yield Complaint(
        path="step.schedule.warmup",
        what="the warmup is longer than the run",
        got=str(warmup) + ("" if written else ", the default"),
        allowed=f"at most {length}, which is `length`",
        fix=f"set it to `{fitting_warmup(length)}`{less}, or raise `length`",
    )


def _best_evaluation(recipe: Recipe) -> Iterator[Complaint]:
    evaluate, sets = recipe.evaluate, list(recipe.data.valid)
    chosen = evaluate.best.set
    if chosen is not None and chosen not in sets:
        yield Complaint(
            path="evaluate.best.set",
            what="no validation set has this name",
            got=repr(chosen),
            allowed=" or ".join(sets) or "none, because `data.valid` is empty",
            fix="name a set of `data.valid`, or leave `evaluate.best.set` out to take the first",
        )
    metric = evaluate.best.metric
    if metric != "loss" and metric not in evaluate.metrics:
        written = "metric" in evaluate.best.model_fields_set
        yield Complaint(
            path="evaluate.best.metric",
            what="a metric that is not measured",
            got=metric + ("" if written else ", the default"),
            allowed=" or ".join(dict.fromkeys([*evaluate.metrics, "loss"])),
            fix="choose another"
            if recipe.facts.scores_follow_from_the_loss and metric in OF_TRANSLATIONS
            else f"add {metric} to `evaluate.metrics`, or choose another",
        )


def _early_stopping(recipe: Recipe) -> Iterator[Complaint]:
    evaluate = recipe.evaluate
    if evaluate.stop_on is None:
        return
    if evaluate.patience is None:
        yield Complaint(
            path="evaluate.stop_on",
            what="has no effect without `evaluate.patience`",
            got="no patience",
            allowed="beside `evaluate.patience`",
            fix="set `evaluate.patience: 5`, or leave it out",
        )
    allowed = [*dict.fromkeys([*evaluate.metrics, "loss"])]
    for metric in dict.fromkeys(evaluate.stop_on.metrics):
        if metric not in allowed:
            yield Complaint(
                path=f"evaluate.stop_on.{'any' if evaluate.stop_on.any else 'all'}",
                what="a metric that is not measured",
                got=metric,
                allowed=" or ".join(allowed),
                fix="leave it out"
                if recipe.facts.scores_follow_from_the_loss and metric in OF_TRANSLATIONS
                else f"add {metric} to `evaluate.metrics`, or leave it out",
            )


def _corpora(recipe: Recipe) -> Iterator[Complaint]:
    files: dict[tuple[object, ...], int] = {}
    names: dict[str, int] = {}
    for index, corpus in enumerate(recipe.data.train):
        first = files.setdefault(corpus.reads, index)
        if first != index:
            yield Complaint(
                path=f"data.train.{index}",
                what=f"the same files as data.train.{first}",
                fix=f"remove one of them; to show a corpus more often, raise `data.train.{first}.weight`",
            )
        namesake = names.setdefault(corpus.name, index) if corpus.name else index
        if namesake != index and first == index:
            yield Complaint(
                path=f"data.train.{index}.name",
                what=f"the same name as data.train.{namesake}",
                got=repr(corpus.name),
                fix="give each corpus a name of its own",
            )


def _tags(recipe: Recipe) -> Iterator[Complaint]:
    learned = sorted({tag for each in recipe.data.train for tag in (*each.tags, *each.reverse_tags)})
    for name, files in recipe.data.valid.items():
        if new := [tag for tag in files.tags if tag not in learned]:
            yield Complaint(
                path="data.valid.tags" if name == "valid" else f"data.valid.{name}.tags",
                what="a tag that no training corpus has",
                got=" and ".join(new),
                allowed=" or ".join(learned) or "none, because no corpus has tags",
                fix="write it as in `data.train`, or put it into the `tags` of a corpus",
            )


def _vocabulary(recipe: Recipe) -> Iterator[Complaint]:
    smallest = BYTE_PIECES + 5
    sides = {"data.tokenizer": recipe.data.tokenizer, "data.source_tokenizer": recipe.data.source_tokenizer}
    for key, tokenizer in sides.items():
        if isinstance(tokenizer, SuperBpeTokenizer):
            yield from _transition(key, tokenizer)
        if not isinstance(tokenizer, SentencePieceTokenizer):
            continue
        if tokenizer.path is not None or not tokenizer.byte_fallback:
            continue
        if tokenizer.vocabulary_size < smallest:
            yield Complaint(
                path=f"{key}.vocabulary_size",
                what="no room for anything but the bytes of `byte_fallback`",
                got=str(tokenizer.vocabulary_size),
                allowed=f"at least {smallest}, with byte_fallback",
                fix=f"raise it, or set `{key}.byte_fallback: false`",
            )


def _transition(key: str, tokenizer: SuperBpeTokenizer) -> Iterator[Complaint]:
    if tokenizer.transition_size is not None and tokenizer.transition_size >= tokenizer.vocabulary_size:
        yield Complaint(
            path=f"{key}.transition_size",
            what="no merge is left to go across spaces",
            got=f"{tokenizer.transition_size}, of a vocabulary of {tokenizer.vocabulary_size}",
            allowed=f"less than {key}.vocabulary_size",
            fix="lower it, or set `kind: byte_level_bpe` for a vocabulary without superwords",
        )


def _noise(recipe: Recipe) -> Iterator[Complaint]:
    if recipe.step.neftune_alpha is not None and not recipe.facts.continues_texts:
        yield Complaint(
            path="step.neftune_alpha",
            what="noise is added to the embeddings of language models alone",
            got=f"{recipe.step.neftune_alpha:g}, with `task: {recipe.task}`",
            allowed="`task: language_model`",
            fix="leave it out, or use `model.dropout`",
        )


def _shift(recipe: Recipe) -> Iterator[Complaint]:
    shift, model = recipe.step.position_shift, recipe.model
    if shift is None:
        return
    fix = "leave it out"
    match model:
        case ModularModel():
            got, allowed = "model.kind: modular", "kind: encoder_decoder or decoder"
        case EncoderDecoderModel() | DecoderModel():
            kinds = [each.kind for each in model.all_position_settings if not each.adds_vectors]
            if not kinds:
                return
            got, allowed = (
                f"positions: {' and '.join(dict.fromkeys(kinds))}",
                "sinusoidal or learned positions",
            )
            fix = "leave it out, since relative positions do not depend on where a text begins"
        case _:
            got, allowed = f"model.kind: {model.kind}", "kind: encoder_decoder or decoder"
    yield Complaint(
        path="step.position_shift",
        what="only positions that are added to the embeddings of a text model can be shifted",
        got=got,
        allowed=allowed,
        fix=fix,
    )


def _stochastic_depth(recipe: Recipe) -> Iterator[Complaint]:
    chance = recipe.step.stochastic_depth
    match recipe.model:
        case EncoderDecoderModel() | DecoderModel() if not isinstance(recipe.model, ModularModel):
            return
        case model if chance is not None:
            yield Complaint(
                path="step.stochastic_depth",
                what="not for this kind of model",
                got=f"{chance:g}, with model.kind: {model.kind}",
                allowed="kind: encoder_decoder or decoder",
                fix="use `model.drop_path`, which is the same"
                if model.kind == "vision"
                else "leave it out, or use `model.dropout`",
            )
        case _:
            return


def _module(recipe: Recipe) -> Iterator[Complaint]:
    """What a module of another library, whose rows are padded to many shapes, does not do."""
    library = recipe.model.library
    if not library:
        return
    model = recipe.model.pretrained_path or f"kind: {recipe.model.kind}"
    for key in ("compile", "cuda_graph"):
        if getattr(recipe.step, key) == "on":
            yield Complaint(
                path=f"step.{key}",
                what=f"trimtab neither compiles nor records modules of {library}, whose padded rows come in many "
                "shapes",
                got=f"on, with {model}",
                allowed="auto or off",
                fix="leave it out",
            )
    if recipe.step.recompute != "none":
        yield Complaint(
            path="step.recompute",
            what=f"trimtab cannot recompute the layers of a model that {library} computes",
            got=f"{recipe.step.recompute}, with {model}",
            allowed="none",
            fix="leave it out; a smaller `step.tokens_per_micro_batch` saves activations as well",
        )


def _recorded(recipe: Recipe) -> Iterator[Complaint]:
    """Steps that are to be recorded and cannot be."""
    step = recipe.step
    if step.cuda_graph != "on" or recipe.model.explains_recording:
        return  # those say so themselves
    if step.gradients == "released":
        other, why = "gradients: released", "updates within the backward pass are not recorded"
    elif step.recompute == "block" and step.stochastic_depth is not None:
        other, why = "recompute: block", "sub-layers that are skipped by chance again cannot be recorded"
    elif step.recompute == "block" and recipe.model.dropout > 0:
        other, why = "recompute: block", "dropout that is drawn again cannot be recorded"
    else:
        return
    yield Complaint(
        path="step.cuda_graph",
        what=why,
        got=f"on, with `step.{other}`",
        allowed="auto or off",
        fix=f"leave it out, or `{other}`",
    )


def _output_multiplier(recipe: Recipe) -> Iterator[Complaint]:
    output, tied = recipe.step.optimizer.learning_rate_multipliers.output, recipe.model.tie_embeddings
    if output != 1 and tied not in ("none", False):
        written = "tie_embeddings" in recipe.model.model_fields_set
        untied = "none" if isinstance(tied, str) else "false"
        yield Complaint(
            path="step.optimizer.learning_rate_multipliers.output",
            what="the output has no matrix of its own",
            got=f"{output:g}, with `model.tie_embeddings: {str(tied).lower()}`"
            + ("" if written else ", the default"),
            allowed=f"1, or `model.tie_embeddings: {untied}`",
            fix="set `learning_rate_multipliers.embedding`, which the tied matrix has, or untie it",
        )


def _for_exports(recipe: Recipe) -> str:
    """What the exports of the recipe ask for besides, where each side has a vocabulary of its own."""
    untied = recipe.model.model_copy(update={"tie_embeddings": "decoder"})
    found = [
        problem for target in recipe.export for problem in obstacles(target, model=untied, transforms=())
    ]
    fixes = [each.fix for each in found if each.what.startswith("model.tie_embeddings:")]
    return f" and {fixes[0].removeprefix('set ')}" if fixes else ""


def _two_vocabularies(recipe: Recipe) -> Iterator[Complaint]:
    """What cannot be shared where the source has a vocabulary of its own."""
    if recipe.data.source_tokenizer is None:
        return
    if recipe.model.tie_embeddings == "all":
        written = "tie_embeddings" in recipe.model.model_fields_set
        yield Complaint(
            path="model.tie_embeddings",
            what="one matrix cannot hold two vocabularies",
            got="all" + ("" if written else ", the default") + ", beside `data.source_tokenizer`",
            allowed="decoder (target and output share one), or none",
            fix=f"set `model.tie_embeddings: decoder`{_for_exports(recipe)}, or remove `data.source_tokenizer` to "
            "share one vocabulary",
        )
    for index, corpus in enumerate(recipe.data.train):
        if corpus.both_directions:
            yield Complaint(
                path=f"data.train.{index}.both_directions",
                what="each language is both source and target, so each vocabulary would need both languages",
                got="true, beside `data.source_tokenizer`",
                allowed="false, or one shared vocabulary",
                fix="remove `data.source_tokenizer`, or train one direction",
            )
