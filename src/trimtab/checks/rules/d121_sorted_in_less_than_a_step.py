"""D121 sorted-in-less-than-a-step"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import SetValue
from trimtab.checks.evidence import Arithmetic, Folklore
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "tasks:\n  train_en-de:\n    src_tgt: en-de\n    path_src: a.en\n    path_tgt: a.de\n    enc_sharing_group: [en]\n"
    "    dec_sharing_group: [de]\n    node_gpu: '0:0'\nsave_model: out\noptim: adam\nlearning_rate: 0.0003\n"
    "decay_method: linear_warmup\nwarmup_steps: 4000\nbatch_type: tokens\nbatch_size: 4096\naccum_count: 10\n"
    "lookahead_minibatches: {size}\n"
)

RULE = Rule(
    code="D121",
    name="sorted-in-less-than-a-step",
    severity="note",
    message="`{key}: {size}` sorts by length within {size} of the {accumulation} micro-batches of a step",
    why="Mammoth reads so many micro-batches at once, sorts them by length, and cuts them. Sorted over a whole step, "
    "short sentences meet short ones, and little of each micro-batch is padding; the step holds the same examples "
    "either way, so that nothing is lost by it.",
    evidence=(
        Arithmetic("Unsorted sentences of 5 to 50 tokens in one batch: about 27 of 50 places hold a token."),
        Folklore("Practitioners of Mammoth set it to the value of `accum_count`."),
    ),
    fix=Fix("set `{key}: {accumulation}`"),
    bad=Example("mammoth.yaml", _YAML.format(size=1)),
    good=Example("mammoth.yaml", _YAML.format(size=10)),
    tips=("S1-02", "S1-03"),
    symptoms=("much of each batch is padding", "training is slow"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Mammoth, where both numbers are written."""
    setting, accumulation = run.written("lookahead_minibatches"), run.setting("accumulation")
    if run.tool != "mammoth" or setting is None or accumulation is None or not accumulation.is_written:
        return
    if type(setting.value) is int and 0 < setting.value < accumulation.value:
        edits = (SetValue(setting.key, accumulation.value),)
        yield RULE.at(setting, edits=edits, size=setting.value, accumulation=accumulation.value)
