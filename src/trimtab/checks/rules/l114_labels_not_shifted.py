"""L114 labels-not-shifted"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.losses import CrossEntropy, cross_entropies
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_causal, is_causal_class, loaded_class, root
from trimtab.checks.read.flow.slices import cut, plain
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport torch.nn.functional as F\nfrom transformers import AutoModelForCausalLM\n"
    'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
    "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\nfor ids in loader:\n"
    "    logits = model(input_ids=ids).logits{end}\n"
    "    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), ids{start}.reshape(-1))\n    loss.backward()\n"
    "    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="L114",
    name="labels-not-shifted",
    severity="warning",
    message="logits and {labels} meet unshifted: position i is compared with token i, which it has just read",
    why="The logits of position i are about token i + 1. The model shifts labels only where it is given them; a "
    "loss of "
    "one's own has to do it. Unshifted the model learns to copy its input: the loss falls to almost nothing, and what "
    "it writes repeats the last token.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/loss/loss_utils.py",
            "ForCausalLMLoss: 'Shift so that tokens < n predict n'.",
        ),
        Arithmetic(
            "The target of position i is then an input of position i: it can be read off, with a loss of 0."
        ),
    ),
    fix=Fix("compare `logits[:, :-1]` with `labels[:, 1:]`, or give `labels=` to the model"),
    bad=Example("train.py", _SCRIPT.format(end="", start="")),
    good=Example("train.py", _SCRIPT.format(end="[:, :-1]", start="[:, 1:]")),
    symptoms=(
        "loss is near zero at the first steps",
        "loss falls to zero",
        "loss is very low from the start",
        "repeats the same words",
        "loss near zero within a few steps and generated text is nonsense",
        "language model copies its input",
        "perplexity close to 1",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where logits of a causal model of transformers go whole into a cross entropy, and the targets are the very
    ids that the model was given, or the `labels` of the same batch; labels that come from elsewhere may be shifted."""
    flow = flow_of(run.document)
    losses = cross_entropies(flow)
    yield from _own_heads(run, losses)
    for loss in losses:
        forward = _forward(plain(loss.logits))
        if forward is None or "labels" in forward.keywords:
            continue
        if _is_own_decoder(run, forward) and loss.name == "cross_entropy":
            given = plain(forward.args[0]) if forward.args else None
            if given is not None and plain(loss.targets) is given:
                yield RULE.at(loss.event.place, severity="error", labels="the ids that the model reads")
                return
        if not is_causal(forward.of) and not (_is_trainers(forward, loss.event) and _loads_causal_only(flow)):
            continue
        target, given = plain(loss.targets), forward.argument(0, "input_ids")
        inputs = plain(given) if given is not None else None
        if target is None or inputs is None:
            continue
        if forward.has_rest and target.of is inputs and _is_of_batch(target, "labels"):  # `model(**batch)`
            yield RULE.at(loss.event.place, labels="`labels` of the batch")
            continue
        if target is inputs:
            yield RULE.at(loss.event.place, severity="error", labels="the ids that the model reads")
        elif _is_of_batch(target, "labels") and _is_of_batch(inputs, "input_ids") and target.of is inputs.of:
            yield RULE.at(loss.event.place, labels="`labels` of the batch")


def _is_own_decoder(run: Description, forward: Value) -> bool:
    """Whether a class of the script, in which something is causal, makes logits in its `forward`."""
    model = root(forward.of)
    return (
        model is not None and model.made == "object" and forward.name == "__call__" and _is_causal_text(run)
    )


def _is_trainers(forward: Value, event: Event) -> bool:
    """Whether it is the model that a Trainer hands to its `compute_loss`."""
    methods = [block.value for block in event.path if block.kind == "function" and block.value is not None]
    is_method = any(method.name == "compute_loss" for method in methods)
    return (
        is_method and forward.of is not None and forward.of.made == "parameter" and forward.of.name == "model"
    )


def _loads_causal_only(flow: Flow) -> bool:
    loaded = [loaded_class(event.value) for event in flow.named("from_pretrained", "from_config")]
    models = [name for name in loaded if "For" in name or "LMHead" in name]
    return bool(models) and all(is_causal_class(name) for name in models)


def _own_heads(run: Description, losses: list[CrossEntropy]) -> Iterator[Diagnosis]:
    """Models of the script that compute their loss in `forward`: over the very ids that they read, in a causal model;
    and over labels that another model of the same file shifts, under the same name."""
    shifted: dict[str, Value] = {}
    straight: list[tuple[CrossEntropy, Value]] = []
    for loss in losses:
        block = next((each for each in reversed(loss.event.path) if each.kind == "function"), None)
        target, logits = plain(loss.targets), plain(loss.logits)
        if block is None or block.value is None or block.value.name != "forward":
            continue
        if target is None or logits is None or loss.name != "cross_entropy" or _is_masked(loss, block.value):
            continue
        ends = cut(target), cut(logits)
        if ends[0] is not None and ends[1] is not None and (ends[0][1], ends[1][2]) == (1, -1):
            inner = plain(ends[0][0])
            if inner is not None and inner.made == "parameter":
                shifted[inner.name] = logits
        elif target.made in ("parameter", "item", "element") and _head(logits).endswith(
            ("head", "output", "proj", "out")
        ):
            straight.append((loss, target))
    for loss, target in straight:
        reads = any(each is target for each in walk(loss.logits, most=80))
        if reads and _is_causal_text(run):
            yield RULE.at(loss.event.place, labels=f"`{target.name}`, which the model reads")
            return
        if reads or "label" not in target.name:
            continue
        whole = cut(plain(shifted[target.name]) or target) if target.name in shifted else None
        if whole is not None and _head(plain(whole[0])) == _head(plain(loss.logits)):
            yield RULE.at(
                loss.event.place, labels=f"`{target.name}`, which another model of the file shifts,"
            )
            return
        if says(run.document, "mlm=False"):
            yield RULE.at(loss.event.place, labels="labels of a collator that does not shift them")
            return


def _is_masked(loss: CrossEntropy, function: Value) -> bool:
    """Whether it is the loss of a masked language model, whose labels stand where they are predicted."""
    owner = function.frame.owner if function.frame is not None else None
    names = (loss.event.value.label, owner.name if owner is not None else "")
    return any("mask" in name.lower() or "mlm" in name.lower() for name in names)


def _head(logits: Value | None) -> str:
    """The name of the module that makes logits: of `self.lm_head(hidden)` lm_head."""
    if logits is None or logits.made != "call" or logits.of is None:
        return ""
    return (logits.of.label or logits.of.name) if logits.name == "__call__" else logits.name


def _is_causal_text(run: Description) -> bool:
    return says(run.document, "is_causal", "tril(", "triu(", "causal", "GPT") and not says(
        run.document, "mask_token", "mlm", "Autoencoder", "AutoEncoder", "VAE"
    )


def _forward(logits: Value | None) -> Value | None:
    """The call of the model that logits come from."""
    if logits is None:
        return None
    if (logits.made == "attribute" and logits.name == "logits") or (
        logits.made == "item"
        and logits.of is not None
        and logits.args
        and logits.args[0].constant in (0, "logits")
    ):
        logits = logits.of
    return logits if logits is not None and logits.made == "call" and logits.of is not None else None


def _is_of_batch(value: Value, key: str) -> bool:
    if value.made == "item" or (value.made == "call" and value.name in ("pop", "get")):
        return bool(value.args) and value.args[0].constant == key
    return value.made == "attribute" and value.name == key
