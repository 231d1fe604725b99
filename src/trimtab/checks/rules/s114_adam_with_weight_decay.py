"""S114 adam-with-weight-decay"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import Edit, SetValue
from trimtab.checks.evidence import Maintainer, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="S114",
    name="adam-with-weight-decay",
    severity="warning",
    message="weight decay {decay:g} with Adam, not AdamW: it goes through the gradient and the moments",
    why="Adam adds the decay to the gradient, where it is divided by the root of the second moment like "
    "everything else: weights with large gradients hardly decay. AdamW takes it off the weights. Both need "
    "the same memory.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/1711.05101",
            "Loshchilov and Hutter: L2 regularisation and weight decay are the same for SGD, but not for "
            "adaptive methods such as Adam; decoupling them improves Adam's generalisation substantially.",
        ),
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/mammoth/utils/optimizers.py",
            "adam is torch.optim.Adam with weight_decay, adamw is torch.optim.AdamW.",
        ),
    ),
    fix=Fix("use AdamW"),
    bad=Example(
        "mammoth.yaml",
        "tasks:\n  train_en-de:\n    src_tgt: en-de\n    enc_sharing_group: [en]\n    dec_sharing_group: "
        "[de]\n    node_gpu: '0:0'\n    path_src: en.txt\n    path_tgt: de.txt\nsave_model: "
        "out/model\noptim: adam\nlearning_rate: 0.0003\ndecay_method: linear_warmup\nwarmup_steps: "
        "1000\nweight_decay: 0.05\n",
    ),
    good=Example(
        "mammoth.yaml",
        "tasks:\n  train_en-de:\n    src_tgt: en-de\n    enc_sharing_group: [en]\n    dec_sharing_group: "
        "[de]\n    node_gpu: '0:0'\n    path_src: en.txt\n    path_tgt: de.txt\nsave_model: "
        "out/model\noptim: adamw\nlearning_rate: 0.0003\ndecay_method: linear_warmup\nwarmup_steps: "
        "1000\nweight_decay: 0.05\n",
    ),
    aliases=("OPT001",),
    tips=("S0-103",),
    symptoms=("over-fits although weight decay is set",),
)

_PENALTY = 1e-3
"""Up to here it is the size of an L2 penalty, as papers on small networks have it on purpose; AdamW's decay is 0.01 and
more."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Where the tool's `adam` is plain Adam: not DeepSpeed's, which is AdamW unless `adam_w_mode` is off."""
    optimizer, decay = run.setting("optimizer"), run.setting("weight_decay")
    if decay is None or not decay.is_written or decay.value <= 0:
        return
    if run.tool == "deepspeed":
        mode = run.written("optimizer.params.adam_w_mode")
        if mode is not None and mode.value is False:
            yield RULE.at(mode, decay=decay.value)
    elif optimizer is not None and optimizer.value == "adam" and optimizer.is_written:
        is_penalty = run.kind == "python" and decay.value <= _PENALTY
        severity = "note" if is_penalty else None
        yield RULE.at(decay, severity=severity, decay=decay.value, edits=_edits(run, optimizer))


def _edits(run: Description, optimizer: Setting) -> tuple[Edit, ...]:
    return (SetValue(optimizer.key, "adamw"),) if run.tool in ("mammoth", "eole") else ()
