"""M132 adapter-beside-trained-weights"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M132",
    name="adapter-beside-trained-weights",
    severity="warning",
    message="all weights are unfrozen again after `{how}`: the adapter saves no memory, and its file holds "
    "only a part of what was trained",
    why="PEFT freezes the base model when it adds the adapter. If all weights are unfrozen, base and adapter "
    "are both trained, but `save_pretrained` stores only the adapter.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/peft/developer_guides/troubleshooting",
            "Of a classification head: 'If you do not add this layer to `modules_to_save`, the classification head "
            "won't be saved.'",
        ),
        Arithmetic(
            "Adam's moments of a model of 7 billion parameters take 56 GB in fp32, those of an adapter of "
            "rank 16 about 0.3 GB."
        ),
    ),
    fix=Fix("leave the weights of the base model frozen, or train all of them without an adapter"),
    bad=Example(
        "train.py",
        "from peft import LoraConfig, get_peft_model\nfrom transformers import AutoModelForCausalLM, Trainer\n"
        "model = get_peft_model(AutoModelForCausalLM.from_pretrained('gpt2'), LoraConfig(r=8, "
        "target_modules=['c_attn', 'c_fc']))\nfor p in model.parameters():\n    p.requires_grad = True\n"
        "Trainer(model=model, train_dataset=data).train()\n",
    ),
    good=Example(
        "train.py",
        "from peft import LoraConfig, get_peft_model\nfrom transformers import AutoModelForCausalLM, Trainer\n"
        "model = get_peft_model(AutoModelForCausalLM.from_pretrained('gpt2'), LoraConfig(r=8, "
        "target_modules=['c_attn', 'c_fc']))\nTrainer(model=model, train_dataset=data).train()\n",
    ),
    symptoms=("out of memory although LoRA is used", "worse after loading the adapter"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Gradients of every parameter of an adapted model, switched on without a condition."""
    flow = flow_of(run.document)
    wrapped = [event.value for event in flow.named("get_peft_model") if event.value.name.startswith("peft.")]
    if not wrapped:
        return
    for event in flow.sets("requires_grad"):
        of = event.subject
        is_each = of is not None and of.made == "element" and of.of is not None and of.of.name == "parameters"
        if is_each and event.value.constant is True and not _is_conditional(event):
            model = of.of.of if of is not None and of.of is not None else None
            if any(each is model and each.index < event.index for each in wrapped):
                yield RULE.at(event.place, how="get_peft_model")
                return
    for event in flow.named("requires_grad_"):
        given = event.value.argument(0, "requires_grad")
        if any(event.subject is each for each in wrapped) and (given is None or given.constant is True):
            yield RULE.at(event.place, how="get_peft_model")
            return


def _is_conditional(event: Event) -> bool:
    return any(block.kind in ("if", "else") for block in event.path)
