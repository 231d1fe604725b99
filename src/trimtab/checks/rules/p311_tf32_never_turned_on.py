"""P311 tf32-never-turned-on"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.modules import is_module
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import loaded_class, root
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom transformers import AutoModelForSeq2SeqLM\n{on}"
    'model = AutoModelForSeq2SeqLM.from_pretrained("google-t5/t5-small").cuda()\n'
    "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\nfor batch in loader:\n"
    "    model(**batch).loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="P311",
    name="tf32-never-turned-on",
    severity="note",
    message="the script trains `{model}` in fp32 on a GPU and never turns TF32 on",
    why="Since torch 1.12 matrix products in fp32 leave the tensor cores of GPUs from Ampere on unused unless TF32 is "
    "turned on. It keeps the range of fp32, rounds the factors to 10 bits and sums in fp32.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/pull/79537",
            "numerical_accuracy.rst: most networks converge with TF32 as with fp32; since 1.12 it is off by default "
            "for matrix products.",
        ),
    ),
    fix=Fix(
        'call `torch.set_float32_matmul_precision("high")` at the start, or train under autocast in bf16'
    ),
    bad=Example("train.py", _SCRIPT.format(on="")),
    good=Example("train.py", _SCRIPT.format(on='torch.set_float32_matmul_precision("high")\n')),
    tips=("S2-16",),
    symptoms=("training is slow", "GPU is not busy"),
)
_OTHERWISE = (
    "tf32", "matmul_precision", "fp32_precision", "autocast", "bfloat16", "float16", ".half(", "bf16", "fp16",
    "mixed_precision", "precision=", "load_in_", "Accelerator", "deepspeed", "Fabric",
)  # fmt: skip
"""Words of a script that knows another precision, or leaves it to a launcher."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A model of transformers, moved to a GPU by name, in a loop of its own where no other precision is spoken of."""
    if any(word in run.document.text for word in _OTHERWISE):
        return
    flow = flow_of(run.document)
    if not flow.is_whole or not training_loops(flow):
        return
    for event in flow.named("cuda", "to"):
        where = event.value.argument(0, "device")
        on_gpu = event.name == "cuda" or (where is not None and where.constant in ("cuda", "cuda:0"))
        model = root(event.subject)
        if on_gpu and model is not None and model.last == "from_pretrained" and is_module(model):
            yield RULE.at(event.place, model=loaded_class(model))
            return
