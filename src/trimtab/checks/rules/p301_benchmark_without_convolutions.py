"""P301 benchmark-without-convolutions"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.place import Place
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom transformers import AutoModelForCausalLM\n{flag}"
    'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-4B")\n'
)

RULE = Rule(
    code="P301",
    name="benchmark-without-convolutions",
    severity="note",
    message="`cudnn.benchmark` chooses among convolutions, and a text model has none",
    why="The flag has no effect here. Where there are convolutions it pays only if inputs keep their size: "
    "each new size is tried out again.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide",
            "The tuning guide of PyTorch: cuDNN supports many algorithms for a convolution; the autotuner "
            "selects the fastest for a given input size.",
        ),
    ),
    fix=Fix("remove the line", safety="same training"),
    bad=Example("train.py", _SCRIPT.format(flag="torch.backends.cudnn.benchmark = True\n")),
    good=Example("train.py", _SCRIPT.format(flag="")),
    aliases=("HW003",),
    tips=("S2-23",),
    symptoms=("a setting has no effect",),
)
_FLAG = r"(?m)^[ \t]*((?:torch\.backends\.)?cudnn\.benchmark)[ \t]*=[ \t]*True\b"
_TEXT_MODELS = ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForSequenceClassification")
_OTHERS = frozenset({"torchvision", "timm", "diffusers", "ultralytics", "torchaudio", "PIL", "cv2"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires in a script that loads a text model and shows no image, sound or convolution."""
    document = run.document
    if not document.path.endswith(".py") or "benchmark" not in document.text or document.imports & _OTHERS:
        return
    if any(
        call.name.startswith(("Conv", "AutoModelForVision")) or "Vision" in call.qualifier
        for call in document.calls
    ):
        return
    loads = [call.qualifier.rpartition(".")[2] for call in calls_of(run, "from_pretrained", "from_config")]
    if not any(name in _TEXT_MODELS for name in loads):
        return
    for found in re.finditer(_FLAG, document.text):
        line = document.text.count("\n", 0, found.start(1)) + 1
        column = found.start(1) - document.text.rfind("\n", 0, found.start(1))
        yield RULE.at(Place(document.path, line, column))
