"""X102 int8-for-the-gpu"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import onnxruntime\nfrom onnxruntime.quantization import quantize_dynamic\n"
    'quantize_dynamic("model.onnx", "model.int8.onnx")\n'
    'session = onnxruntime.InferenceSession("model.int8.onnx", providers=["{provider}"])\n'
)

RULE = Rule(
    code="X102",
    name="int8-for-the-gpu",
    severity="note",
    message="a model quantised dynamically to int8 is run on the GPU",
    why="Dynamic quantisation is made for the CPU: many of its operators have no CUDA kernel, so that the "
    "graph hops between host and device, or fails to load. On a GPU fp16 or bf16 is the usual way to be "
    "smaller and faster.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/model_builder.py",
            "PyTorch's is the same: 'Dynamic 8-bit quantization is not supported on GPU' is raised.",
        ),
        Maintainer(
            "https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html",
            "'ONNX Runtime quantization on GPU only supports S8S8', on 'a device that supports Tensor Core int8 "
            "computation', and the TensorRT provider 'takes in a full precision model and a calibration result'.",
        ),
    ),
    fix=Fix("export in fp16 for the GPU, or run the int8 model with `CPUExecutionProvider`"),
    bad=Example("export.py", _SCRIPT.format(provider="CUDAExecutionProvider")),
    good=Example("export.py", _SCRIPT.format(provider="CPUExecutionProvider")),
    aliases=("ONNX002",),
    tips=("S0-21",),
    symptoms=("int8 is slower than fp32", "ONNX is slow on the GPU"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where one script quantises and makes a session on CUDA."""
    if not any(calls_of(run, "quantize_dynamic")) or "onnxruntime" not in run.document.imports:
        return
    for call in calls_of(run, "InferenceSession"):
        if "CUDAExecutionProvider" in repr(literal(call, "providers")):
            yield RULE.at(call.place)
