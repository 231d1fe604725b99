"""X105 half-precision-for-the-cpu"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Folklore, Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import onnx\nimport onnxruntime\nfrom onnxconverter_common import float16\n"
    'model = float16.convert_float_to_float16(onnx.load("model.onnx"))\n'
    'onnx.save(model, "model.fp16.onnx")\n'
    'session = onnxruntime.InferenceSession("model.fp16.onnx", providers=["{provider}"])\n'
)

RULE = Rule(
    code="X105",
    name="half-precision-for-the-cpu",
    severity="note",
    message="a model converted to fp16 is run on the CPU",
    why="Most CPU kernels compute in fp32: the runtime puts casts around each operator, which costs time and "
    "keeps the rounding. On a CPU int8 is the usual way to be smaller and faster.",
    evidence=(
        Folklore("fp16 is bad on the CPU (the practitioner's notes behind this catalogue)."),
        Maintainer(
            "https://onnxruntime.ai/docs/performance/model-optimizations/float16.html",
            "float16 can 'decrease the model size (up to half) and improve performance on some GPUs'; of CPUs it says "
            "nothing.",
        ),
    ),
    fix=Fix("keep fp32 or quantise to int8 for the CPU, or run it with `CUDAExecutionProvider`"),
    bad=Example("export.py", _SCRIPT.format(provider="CPUExecutionProvider")),
    good=Example("export.py", _SCRIPT.format(provider="CUDAExecutionProvider")),
    tips=("S0-21",),
    symptoms=("fp16 is slower than fp32",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where one script converts and makes a session for the CPU alone."""
    if not any(calls_of(run, "convert_float_to_float16", "auto_convert_mixed_precision")):
        return
    for call in calls_of(run, "InferenceSession"):
        if literal(call, "providers") in (["CPUExecutionProvider"], ("CPUExecutionProvider",)):
            yield RULE.at(call.place)
