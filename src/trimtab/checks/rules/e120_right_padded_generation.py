"""E120 right-padded-generation"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_causal
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n"
    "tokenizer = AutoTokenizer.from_pretrained('HuggingFaceTB/SmolLM2-135M', padding_side='{side}')\n"
    "model = AutoModelForCausalLM.from_pretrained('HuggingFaceTB/SmolLM2-135M').eval()\nfor texts in batches:\n"
    "    batch = tokenizer(texts, return_tensors='pt', padding=True)\n    model.generate(**batch, max_new_tokens=64)\n"
)

RULE = Rule(
    code="E120",
    name="right-padded-generation",
    severity="warning",
    message="`generate` gets a batch that is padded on the right: shorter prompts are continued after their padding",
    why="A causal model writes its next token after the last position of the batch. With padding on the right that is "
    "after padding for every prompt but the longest: it continues from a gap that it never saw in training.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/transformers/llm_tutorial#wrong-padding-side",
            "'LLMs are decoder-only architectures ... If your inputs do not have the same length, they need to "
            "be padded. "
            "Since LLMs are not trained to continue from pad tokens, your input needs to be left-padded.'",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/main/src/transformers/generation/utils.py",
            "'A decoder-only architecture is being used, but right-padding was detected! For correct generation "
            "results, "
            "please set `padding_side='left'` when initializing the tokenizer.'",
        ),
    ),
    fix=Fix("set `tokenizer.padding_side = 'left'` before generating"),
    bad=Example("generate.py", _SCRIPT.replace("{side}", "right")),
    good=Example("generate.py", _SCRIPT.replace("{side}", "left")),
    symptoms=(
        "A decoder-only architecture is being used, but right-padding was detected",
        "batched generation is worse than single",
        "generation is empty for short prompts",
        "batched generation differs from a single prompt",
    ),
)


_RIGHT_BY_DEFAULT: Final = (
    "gpt2",
    "distilgpt2",
    "openai-community/gpt2",
    "EleutherAI/gpt-neo",
    "EleutherAI/pythia",
)
"""Models whose tokenizers say no side, which is right."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A causal model of transformers that generates from several texts that a tokenizer padded, whose padding side is
    `right`, as written or by default."""
    flow = flow_of(run.document)
    for event in flow.named("generate"):
        if not is_causal(event.subject):
            continue
        given = (*event.value.args, *event.value.keywords.values())
        for each in (one for value in given for one in walk(value, most=12)):
            tokenizer = _padder(each)
            if tokenizer is not None and _side(flow, tokenizer, event.index) == "right":
                yield RULE.at(event.place)
                return


def _padder(value: Value) -> Value | None:
    """The tokenizer that made a padded batch of several texts."""
    if value.made != "call" or value.of is None or "okenizer" not in value.of.name:
        return None
    padding = value.keywords.get("padding")
    texts = value.args[0] if value.args else None
    is_one = texts is None or texts.made == "constant" or (texts.made == "list" and len(texts.args) < 2)
    return value.of if padding is not None and padding.constant in (True, "longest") and not is_one else None


def _side(flow: Flow, tokenizer: Value, index: int) -> object:
    """What is written of its padding side, the last before the call."""
    given, name = (
        tokenizer.keywords.get("padding_side"),
        tokenizer.argument(0, "pretrained_model_name_or_path"),
    )
    side = None if given is None else given.constant
    if given is None and name is not None and str(name.constant).startswith(_RIGHT_BY_DEFAULT):
        side = "right"
    for event in flow.sets("padding_side"):
        if event.subject is tokenizer and event.index < index:
            side = event.value.constant
    return side
