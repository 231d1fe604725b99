"""X103 opset-without-attention"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_FIRST = 14
_SCRIPT = (
    "import torch\nfrom transformers import AutoModelForSeq2SeqLM\n"
    'model = AutoModelForSeq2SeqLM.from_pretrained("Helsinki-NLP/opus-mt-en-de")\n'
    'torch.onnx.export(model.get_encoder(), inputs, "encoder.onnx", opset_version={opset}, dynamo=False)\n'
)

RULE = Rule(
    code="X103",
    name="opset-without-attention",
    severity="warning",
    message="opset {opset} has no `scaled_dot_product_attention`, which models of transformers use by "
    "default; 14 has",
    why="The export stops with UnsupportedOperatorError for every model whose attention is sdpa, the default "
    "since 4.36.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/setfit/issues/560",
            "'Exporting the operator aten::scaled_dot_product_attention to ONNX opset version 12 is not "
            "supported. Support for this operator was added in version 14'.",
        ),
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/onnx/_internal/torchscript_exporter/"
            "symbolic_opset14.py",
            "The operator's symbolic is registered from opset 14 on.",
        ),
    ),
    fix=Fix('set `opset_version=17`, or load the model with `attn_implementation="eager"`'),
    bad=Example("export.py", _SCRIPT.format(opset=12)),
    good=Example("export.py", _SCRIPT.format(opset=17)),
    tips=("S0-20",),
    symptoms=(
        "UnsupportedOperatorError",
        "ONNX export fails",
        "scaled_dot_product_attention is not supported in the ONNX opset",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a model of transformers is loaded without naming its attention."""
    loads = list(calls_of(run, "from_pretrained", "from_config"))
    models = [call for call in loads if "Model" in call.qualifier]
    if "transformers" not in run.document.imports or not models:
        return
    if any("attn_implementation" in call.arguments or call.has_rest for call in loads):
        return
    for call in calls_of(run, "export"):
        opset = literal(call, "opset_version")
        if call.qualifier.endswith("onnx") and type(opset) is int and 0 < opset < _FIRST:
            yield RULE.at(call.arguments["opset_version"].place, opset=opset)
