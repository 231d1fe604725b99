"""M325 decoder-sees-its-targets"""

import re
from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.losses import cross_entropies
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.slices import is_tail_of, plain
from trimtab.checks.read.flow.values import Flow, Value, walk, walk_through
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nembed, head = nn.Embedding(1000, 64), nn.Linear(64, 1000)\n"
    "model = nn.Transformer(64, 4, batch_first=True)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "for source, target in loader:\n    mask = nn.Transformer.generate_square_subsequent_mask(target.size(1) - 1)\n"
    "    hidden = model(embed(source), embed(target[:, :-1]){mask})\n    logits = head(hidden)\n"
    "    loss = nn.functional.cross_entropy(logits.reshape(-1, 1000), target[:, 1:].reshape(-1))\n"
    "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
)

RULE = Rule(
    code="M325",
    name="decoder-sees-its-targets",
    severity="error",
    message="`nn.{module}` has no `{mask}`: each position attends to the tokens that it should predict",
    why="The decoders of torch.nn attend to the whole target unless they get a causal mask. The token to predict "
    "is the "
    "next input, so the model learns to copy it: the loss falls fast, and generation, which has no next token, fails.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.Transformer.html",
            "tgt_mask: the additive mask for the tgt sequence (optional); `generate_square_subsequent_mask` makes a "
            "causal one.",
        ),
        Arithmetic(
            "With targets t[1:] and inputs t[:-1] the target of position i is the input of position i + 1."
        ),
    ),
    fix=Fix("pass {fix}"),
    bad=Example("train.py", _SCRIPT.replace("{mask}", "")),
    good=Example("train.py", _SCRIPT.replace("{mask}", ", tgt_mask=mask")),
    symptoms=(
        "training loss near 0 and translations are garbage",
        "repeats the same words",
        "good validation loss and bad generation",
        "loss near zero within a few steps and generated text is nonsense",
        "causal mask is missing",
        "perplexity close to 1",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A decoder of torch.nn whose target is embedded tokens, in a script that cuts targets by one for a cross
    entropy."""
    is_shifted = _SHIFTED.search(run.document.text) is not None and not says(run.document, "mask", "causal")
    if not is_shifted and not says(run.document, ":-1]", ": -1]", ":-1,"):
        return
    flow = flow_of(run.document)
    if not cross_entropies(flow):
        return
    yield from _of_encoders(flow, is_shifted=is_shifted)
    for event in flow.named("__call__"):
        module = root(event.value.of)
        if module is None or module.made != "call" or event.value.has_rest:
            continue
        at = {"torch.nn.Transformer": (1, 3), "torch.nn.TransformerDecoder": (0, 2)}.get(module.name)
        if at is None or event.value.argument(at[1], "tgt_mask") is not None:
            continue
        target = event.value.argument(at[0], "tgt")
        if "tgt_is_causal" not in event.value.keywords and target is not None and _is_embedded(target):
            fix = "`tgt_mask=nn.Transformer.generate_square_subsequent_mask(length)`"
            yield RULE.at(event.place, module=module.last, mask="tgt_mask", fix=fix)
            return


_SHIFTED = re.compile(r"\[\s*(\w+)\s*\+\s*1\s*:\s*(?:\1\b|[^\]]*\+\s*1\s*\])")
"""`data[i + 1 : i + 1 + block]`: targets that are cut one token later than the inputs."""


def _of_encoders(flow: Flow, *, is_shifted: bool) -> Iterator[Diagnosis]:
    """A TransformerEncoder without a mask behind logits for `ids[:, :-1]`, whose targets are `ids[:, 1:]`, or in a
    script that cuts its targets out of the data one token later and speaks of no mask."""
    for loss in cross_entropies(flow):
        target = plain(loss.targets)
        if target is None:
            continue
        parts = list(walk_through(loss.logits))
        if not is_shifted and not any(is_tail_of(target, each) for each in parts if each.made == "item"):
            continue
        for call in parts:
            module = root(call.of) if call.made == "call" and call.name == "__call__" else None
            if module is None or module.name != "torch.nn.TransformerEncoder" or call.has_rest:
                continue
            is_masked = len(call.args) > 1 or {"mask", "src_mask", "is_causal"} & call.keywords.keys()
            if not is_masked and call.place is not None:
                fix = "`mask=nn.Transformer.generate_square_subsequent_mask(length), is_causal=True`"
                yield RULE.at(call.place, module=module.last, mask="mask", fix=fix)
                return


def _is_embedded(value: Value) -> bool:
    """Whether it comes from an embedding of tokens, and not of queries that are learned as they are."""
    for each in walk(value, most=60):
        module = root(each.of) if each.made == "call" and each.name == "__call__" else None
        if module is not None and module.made == "call" and module.name == "torch.nn.Embedding":
            return True
    return False
