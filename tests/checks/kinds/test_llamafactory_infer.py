from tests.checks.kinds.yaml_runs import told, unknown_keys
from tests.for_each import for_each
from trimtab.checks.kinds.llamafactory_infer import KIND

HEAD = "model_name_or_path: meta-llama/Llama-2-7b-hf\ntemplate: llama2\n"


@for_each(
    "more",
    [
        "",
        "infer_backend: vllm\n",
        "export_dir: out\nexport_size: 5\n",
        "task: mmlu_test\nn_shot: 5\nlang: en\n",
    ],
)
def test_nothing_is_trained_by_it(more):
    run = told(KIND, HEAD + more)
    assert set(run.concepts) <= {"model_name", "model_family", "parameters_billion", "encoder_decoder"}
    assert unknown_keys(run) == []


def test_a_key_of_training_is_refused():
    run = told(KIND, HEAD + "gradient_accumulation_steps: 4\n")
    assert (run.table.unknown_keys, unknown_keys(run)) == ("refused", ["gradient_accumulation_steps"])
