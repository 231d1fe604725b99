"""X101 onnx-copies-every-call"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import onnxruntime\n"
    'session = onnxruntime.InferenceSession("decoder.onnx", providers=["CUDAExecutionProvider"])\n'
    "{call}\n"
)

RULE = Rule(
    code="X101",
    name="onnx-copies-every-call",
    severity="note",
    message="a session on the GPU is called with `run`: inputs and outputs travel through the host each time",
    why="Without binding, ONNX Runtime copies inputs to the device and outputs back in every call. In a "
    "decoder, which is called once a token with its whole cache, that can be most of the time; for one call "
    "on a small input it does not matter.",
    evidence=(
        Maintainer(
            "https://onnxruntime.ai/docs/performance/tune-performance/iobinding.html",
            "Copies are part of `Run()` where inputs and outputs are not on the device: 'misleading users "
            "into thinking ORT is slow when the majority of the time is spent in these copies'.",
        ),
    ),
    fix=Fix("use `session.io_binding()` and `run_with_iobinding`, or Optimum's models, which do"),
    bad=Example("decode.py", _SCRIPT.format(call='session.run(None, {"input_ids": ids})')),
    good=Example(
        "decode.py",
        _SCRIPT.format(call="binding = session.io_binding()\nsession.run_with_iobinding(binding)"),
    ),
    aliases=("ONNX001",),
    tips=("S0-19", "S0-22"),
    symptoms=("ONNX is slow on the GPU", "GPU utilisation is low"),
)
_BOUND = ("io_binding", "IOBinding", "run_with_iobinding", "OrtValue", "ortvalue_from_numpy")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a script makes a CUDA session, runs one, and never binds."""
    if "onnxruntime" not in run.document.imports or any(calls_of(run, *_BOUND)):
        return
    runs = [call for call in calls_of(run, "run") if len(call.positional) >= 2]
    for call in calls_of(run, "InferenceSession"):
        if runs and "CUDAExecutionProvider" in repr(literal(call, "providers")):
            yield RULE.at(runs[0].place)
            return
