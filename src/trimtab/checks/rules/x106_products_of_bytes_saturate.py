"""X106 products-of-bytes-saturate"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from onnxruntime.quantization import QuantType, quantize_static\n"
    'quantize_static("model.onnx", "int8.onnx", reader, activation_type=QuantType.{kind},\n'
    "                weight_type=QuantType.QInt8, per_channel=True)\n"
)

RULE = Rule(
    code="X106",
    name="products-of-bytes-saturate",
    severity="note",
    message="unsigned activations with signed weights, without `reduce_range`: on CPUs with AVX2 or AVX-512 but no "
    "VNNI sums of products saturate",
    why="Those CPUs add two products of a byte each in 16 bits, which do not hold them. The result then depends on the "
    "machine: right on one, wrong by much on another.",
    evidence=(
        Maintainer(
            "https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html",
            "'S8S8 with QDQ is the default setting and balances performance and accuracy'; U8S8 may saturate on AVX2 "
            "and AVX512, where `reduce_range` or U8U8 help.",
        ),
        Arithmetic("2 x 255 x 127 = 64,770, and 16 bits with a sign end at 32,767."),
    ),
    fix=Fix("take `QuantType.QInt8` for both, or set `reduce_range=True`"),
    bad=Example("quantize.py", _SCRIPT.format(kind="QUInt8")),
    good=Example("quantize.py", _SCRIPT.format(kind="QInt8")),
    tips=("S0-21",),
    symptoms=("int8 model is wrong on another machine", "quantized model is much worse"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the script writes unsigned activations for static quantization, and signed weights or none."""
    for event in flow_of(run.document).named("quantize_static"):
        made = event.value
        reduced = made.keywords.get("reduce_range")
        is_reduced = reduced is not None and reduced.constant is not False
        is_mixed = _kind(made, "activation_type") == "QUInt8" and _kind(made, "weight_type") in ("QInt8", "")
        if made.name.startswith("onnxruntime.") and is_mixed and not made.has_rest and not is_reduced:
            yield RULE.at(event.place)


def _kind(made: Value, name: str) -> str:
    given = made.keywords.get(name)
    return "" if given is None else given.last or "?"
