from tests.checks.kinds.describing import document
from trimtab.checks.kinds.scripts.own_loop import own_loop_concepts, trained_models
from trimtab.checks.read.flow.of import flow_of

SCRIPT = (
    "import torch\nfrom transformers import AutoModelForCausalLM\n"
    'model = AutoModelForCausalLM.from_pretrained("gpt2"){cast}\n{between}'
    "optimizer = torch.optim.AdamW({given}, lr=1e-5)\n"
)


def told(cast="", between="", given="model.parameters()"):
    script = document("train.py", SCRIPT.format(cast=cast, between=between, given=given))
    return {name: setting.value for name, setting in own_loop_concepts(script).items()}


def test_a_model_whose_parameters_an_optimizer_gets_is_trained_whole():
    assert told() == {"adapter": "none"}


def test_the_dtype_that_it_is_cast_to():
    assert told(".to(torch.bfloat16).cuda()")["weights_dtype"] == "bf16"
    assert told(".half()")["weights_dtype"] == "fp16"
    assert told(between="model.bfloat16()\n")["weights_dtype"] == "bf16"


def test_nothing_is_known_where_an_adapter_or_frozen_weights_may_be():
    assert told(between="model = get_peft_model(model, config)\n") == {}
    assert told(between="for p in model.parameters():\n    p.requires_grad = False\n") == {}
    assert told(given="[p for p in model.parameters() if p.requires_grad]") == {}


def test_the_models_that_optimizers_are_made_for():
    script = document("train.py", SCRIPT.format(cast="", between="", given="model.parameters()"))
    ((event, model),) = trained_models(flow_of(script))
    assert event.name == "AdamW"
    assert model.last == "from_pretrained"
