from tests.checks.rules.findings import findings
from tests.for_each import for_each
from trimtab.checks.rules import c113_essential_missing as c113

AXOLOTL = (
    "base_model: a/b\ndatasets:\n  - path: c\n    type: alpaca\nmicro_batch_size: 1\nlearning_rate: 1e-4\n"
)
FACTORY = (
    "model_name_or_path: a/b\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\ndataset: c\n"
)


@for_each(
    ("text", "keys"),
    [
        (AXOLOTL + "output_dir:\n", ["output_dir"]),
        (AXOLOTL + "output_dir: null\n", ["output_dir"]),
        (AXOLOTL + "output_dir: ''\n", []),
        (AXOLOTL + "output_dir: out\n", []),
        (AXOLOTL, []),
        (FACTORY + "output_dir:\n", []),
        (AXOLOTL.replace("a/b", ""), ["base_model"]),
    ],
)
def test_a_folder_that_is_null_is_refused_by_the_schema_that_takes_no_null(text, keys):
    assert [found.key for found in findings(c113, "run.yaml", text)] == keys
