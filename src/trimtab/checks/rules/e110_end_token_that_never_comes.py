"""E110 end-token-that-never-comes"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
    'tok = AutoTokenizer.from_pretrained("out")\nmodel = AutoModelForCausalLM.from_pretrained("out")\n'
    "ids = model.generate(**batch, max_new_tokens=256, eos_token_id={end})\n"
)

RULE = Rule(
    code="E110",
    name="end-token-that-never-comes",
    severity="warning",
    message="`eos_token_id={value}` is not a token: generation never ends before its length limit",
    why="`generate` stops a text when it writes this id. None has a negative one, so every answer "
    "continues past its end up to the limit. That is right for speed measurements, wrong for answers.",
    evidence=(Arithmetic("Ids are 0 to the size of the vocabulary less 1."),),
    fix=Fix("write `eos_token_id=tokenizer.eos_token_id`, or leave it out"),
    bad=Example("infer.py", _SCRIPT.format(end="-1")),
    good=Example("infer.py", _SCRIPT.format(end="tok.eos_token_id")),
    symptoms=(
        "does not stop",
        "generates until the limit",
        "repeats the same words",
        "model keeps talking after its answer",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A negative number that is written, in a script that keeps what is generated."""
    flow = flow_of(run.document)
    measures = any(True for _ in flow.named("perf_counter", "time", "synchronize", "Timer"))
    for event in flow.named("generate", "GenerationConfig"):
        end = event.value.keywords.get("eos_token_id")
        if end is not None and type(end.constant) is int and end.constant < 0 and not measures:
            yield RULE.at(event.place, value=end.constant)
