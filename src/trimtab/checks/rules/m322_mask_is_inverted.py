"""M322 mask-is-inverted"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nPAD = 0\nclass Encoder(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.embed = nn.Embedding(1000, 64)\n"
    "        layer = nn.TransformerEncoderLayer(64, 4, batch_first=True)\n"
    "        self.encoder = nn.TransformerEncoder(layer, 2)\n    def forward(self, ids):\n"
    "        return self.encoder(self.embed(ids), src_key_padding_mask=(ids {test} PAD))\n"
    "optimizer = torch.optim.AdamW(Encoder().parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="M322",
    name="mask-is-inverted",
    severity="error",
    message="`{argument}` must mark {said}, but this mask marks {given}",
    why="The padding masks of torch.nn mark what is left out, those of transformers and the boolean mask of "
    "`scaled_dot_product_attention` what takes part. The wrong way round the model sees nothing but padding, and a row "
    "without any gives NaN.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html",
            "key_padding_mask: 'For a binary mask, a True value indicates that the corresponding key value will be "
            "ignored for the purpose of attention.'",
        ),
        Arithmetic("A softmax over scores that are all -inf is 0 / 0: NaN."),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.replace("{test}", "!=")),
    good=Example("train.py", _SCRIPT.replace("{test}", "==")),
    symptoms=(
        "loss is NaN from the first step",
        "padding changes the output",
        "model ignores its input",
        "NaN for padded sequences",
        "attention only sees padding",
    ),
)
_PADDING: Final = (
    "key_padding_mask",
    "src_key_padding_mask",
    "tgt_key_padding_mask",
    "memory_key_padding_mask",
)
_SAME: Final = frozenset({"bool", "to", "type", "cuda", "contiguous", "detach", "squeeze"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Padding masks of torch.nn made of what is no padding, and boolean masks of `scaled_dot_product_attention` made of
    what is."""
    if not says(run.document, "key_padding_mask", "scaled_dot_product_attention"):
        return
    if "flash_attn" in run.document.imports:
        return  # its padding masks mark what takes part
    reported: set[object] = set()
    for event in flow_of(run.document).each("call"):
        if event.place in reported:
            continue
        for argument in _PADDING:
            given = event.value.keywords.get(argument)
            if given is not None and not _is_own(event) and _keeps(given):
                reported.add(event.place)
                yield RULE.at(
                    event.place,
                    argument=argument,
                    said="padding, which is left out",
                    given="the tokens",
                    fix="invert it: `ids == pad`, or `~mask.bool()`",
                )
        both = _given_twice(event)
        if both is not None:
            reported.add(event.place)
            yield RULE.at(
                event.place,
                argument=both,
                said="the padding of each sequence",
                given="which positions see each other",
                fix=f"pass a padding mask of shape (batch, length) as `{both}`",
            )
        if event.name == "scaled_dot_product_attention":
            given = event.value.argument(3, "attn_mask")
            if given is not None and _is_padding(given):
                reported.add(event.place)
                yield RULE.at(
                    event.place,
                    argument="attn_mask",
                    said="what takes part, where it is boolean",
                    given="padding",
                    fix="invert it: `ids != pad`, or `~mask`",
                )


def _given_twice(event: Event) -> str | None:
    """The argument for padding that gets the mask of pairs of positions: `mask=mask, src_key_padding_mask=mask`."""
    given = event.value.keywords
    pairs = [given[name] for name in ("mask", "src_mask", "attn_mask", "tgt_mask") if name in given]
    for name in _PADDING:
        mask = given.get(name)
        if mask is not None and mask.made != "constant" and any(mask is each for each in pairs):
            return name
    return None


def _is_own(event: Event) -> bool:
    """Whether it is a module of the script, which may read the argument in its own way."""
    of = event.subject
    return event.value.made == "object" or (of is not None and of.made in ("object", "function", "class"))


def _plain(value: Value) -> Value:
    while value.made == "call" and value.name in _SAME and value.of is not None:
        value = value.of
    if (
        value.made == "item"
        and value.of is not None
        and value.args
        and value.args[0].made in ("list", "unknown")
    ):
        return _plain(value.of)  # mask[:, None, None, :]
    return value


def _keeps(value: Value) -> bool:
    """`ids != pad`, or the attention mask of a tokenizer."""
    value = _plain(value)
    if value.made == "compare" and value.name == "NotEq" and len(value.args) == 2:
        return _is_pad(value.args[1])
    if value.made == "compare" and value.name in ("Eq", "Gt") and len(value.args) == 2:
        is_kept = value.args[1].constant == (1 if value.name == "Eq" else 0)
        return is_kept and _is_attention_mask(value.args[0])
    if value.made == "call" and value.name in ("ne", "torch.ne"):
        return _is_pad(value.args[-1]) if value.args else False
    return _is_attention_mask(value)


def _is_attention_mask(value: Value) -> bool:
    value = _plain(value)
    if value.made == "item":
        return bool(value.args) and value.args[0].constant == "attention_mask"
    is_held = value.made == "attribute" and value.name == "attention_mask"
    return is_held or (value.made == "parameter" and value.name == "attention_mask")


def _is_padding(value: Value) -> bool:
    value = _plain(value)
    while value.made == "call" and value.name in ("unsqueeze", "expand", "view") and value.of is not None:
        value = _plain(value.of)
    is_equal = value.made == "compare" and value.name == "Eq" and len(value.args) == 2
    return (
        is_equal and _is_pad(value.args[1]) and "pad" in (value.args[1].label or value.args[1].name).lower()
    )


def _is_pad(value: Value) -> bool:
    name = (value.label or value.name).lower()
    return "pad" in name or (
        value.constant is not UNKNOWN and value.constant in (0, 1) and value.made == "constant"
    )
