"""M133 vocabulary-size-without-added-tokens"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M133",
    name="vocabulary-size-without-added-tokens",
    severity="error",
    message="`{tokenizer}.vocab_size` does not count added tokens: the id of the first is out of range",
    why="`vocab_size` is the size of the vocabulary as it was loaded. `len(tokenizer)` counts added "
    "tokens too, and their ids start at `vocab_size`.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/tokenization_utils_base.py",
            "vocab_size: 'Size of the base vocabulary (without the added tokens).'",
        ),
    ),
    fix=Fix("use `len({tokenizer})`"),
    bad=Example(
        "train.py",
        "import torch\nfrom transformers import AutoTokenizer\n"
        "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased')\n"
        "tokenizer.add_tokens(['<src>', '<tgt>'])\nembed = torch.nn.Embedding(tokenizer.vocab_size, 64)\n"
        "optimizer = torch.optim.AdamW(embed.parameters(), lr=1e-3)\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom transformers import AutoTokenizer\n"
        "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased')\n"
        "tokenizer.add_tokens(['<src>', '<tgt>'])\nembed = torch.nn.Embedding(len(tokenizer), 64)\n"
        "optimizer = torch.optim.AdamW(embed.parameters(), lr=1e-3)\n",
    ),
    symptoms=("index out of range in self", "CUDA error: device-side assert triggered"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """An embedding of so many rows, behind a call that adds tokens to the same tokenizer."""
    flow = flow_of(run.document)
    added = [event for event in flow.named("add_tokens", "add_special_tokens") if event.subject is not None]
    if not added:
        return
    for event in flow.named("Embedding"):
        rows = event.value.argument(0, "num_embeddings")
        if (
            event.value.name != "torch.nn.Embedding"
            or rows is None
            or rows.made != "attribute"
            or rows.name != "vocab_size"
        ):
            continue
        before = next((each for each in added if each.subject is rows.of and each.index < event.index), None)
        if before is not None and not _adds_padding_only(before):
            yield RULE.at(
                event.place, tokenizer=(rows.of.label if rows.of is not None else "") or "tokenizer"
            )
            return


def _adds_padding_only(event: Event) -> bool:
    """Whether it may be a token that the vocabulary has already, such as `{"pad_token": "</s>"}`."""
    given = event.value.args[0] if event.value.args else None
    return given is not None and given.made == "dict" and set(given.keywords) == {"pad_token"}
