"""M122 tie-lost"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import loaded_class, root
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.tied_models import is_tied

_SCRIPT = (
    "from torch import nn\nfrom transformers import AutoModelForCausalLM, Trainer\n"
    'model = AutoModelForCausalLM.from_pretrained("gpt2")\nnew = nn.Embedding(50300, 768)\n'
    "model.set_input_embeddings(new)\n{tie}Trainer(model=model, train_dataset=data).train()\n"
)

RULE = Rule(
    code="M122",
    name="tie-lost",
    severity="warning",
    message="{what} of a model whose input and output embeddings are one matrix: from here on they are two",
    why="The configuration still says that they are tied. The two matrices are trained apart, and when the model is "
    "saved and loaded again only one of them is kept: what was learned in the other is lost.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/transformers/main_classes/model",
            "`tie_weights` ties the input and output embeddings; `resize_token_embeddings` 'takes care of tying "
            "weights "
            "embeddings afterwards'.",
        ),
        Arithmetic("gpt2 has 124M parameters tied and 163M untied: 50,257 x 768 more."),
    ),
    fix=Fix("call `model.tie_weights()` afterwards, or use `model.resize_token_embeddings`"),
    bad=Example("train.py", _SCRIPT.format(tie="")),
    good=Example("train.py", _SCRIPT.format(tie="model.tie_weights()\n")),
    symptoms=(
        "nonsense after reload",
        "worse after loading",
        "new tokens are not learned",
        "lm_head is not the same tensor as embed_tokens after loading",
        "lm_head.weight is missing in the checkpoint",
    ),
)
_HEADS = ("lm_head", "embed_out")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a model that is known to be tied gets a new layer at one end, and is not tied again."""
    flow = flow_of(run.document)
    if not is_tied(run):
        return
    tied = max((event.index for event in flow.named("tie_weights", "resize_token_embeddings")), default=-1)
    if any(
        event.subject is not None and event.subject.name == "config"
        for event in flow.sets("tie_word_embeddings")
    ):
        return
    set_both = {event.name for event in flow.named("set_input_embeddings", "set_output_embeddings")}
    for event in flow.events:
        model = root(event.subject)
        if event.index < tied or model is None:
            continue
        if "For" not in loaded_class(model) and "LMHead" not in loaded_class(model):
            continue
        if "Classification" in loaded_class(model):
            continue
        if event.kind == "set" and event.name in _HEADS and event.value.last == "Linear":
            yield RULE.at(event.place, what=f"`{event.name}` is replaced")
            return
        if event.name in set_both and event.kind == "call" and len(set_both) == 1:
            yield RULE.at(event.place, what=f"`{event.name}` replaces one end")
            return
