from tests.checks.kinds.describing import document, words
from tests.for_each import for_each
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.scripts.toolkits import toolkit_of, toolkit_run


def call(line):
    script = document("a.sh", line + "\n")
    return script.calls[-1], script


@for_each(
    ("line", "toolkit"),
    [
        ("llamafactory-cli train a.yaml", "llamafactory"),
        ("llamafactory-cli chat a.yaml", ""),
        ("python src/train.py --stage sft --finetuning_type lora", "llamafactory"),
        ("python src/train.py --stage sft", ""),
        ("axolotl train a.yml --micro-batch-size 1", "axolotl"),
        ("axolotl train a.yml", ""),
        ("ls", ""),
    ],
)
def test_commands_are_known_by_program_and_options(line, toolkit):
    assert toolkit_of(call(line)[0]) == toolkit


def test_options_in_place_of_a_file_have_the_tools_defaults_and_over_one_they_have_none():
    made, script = call(
        "llamafactory-cli train --stage sft --do_train --finetuning_type lora --model_name_or_path x/y-7b"
    )
    _, told = toolkit_run(made, script, Surroundings())
    assert words(told)["learning_rate"] == 5e-5
    made, script = call("llamafactory-cli train a.yaml learning_rate=1e-5")
    written, told = toolkit_run(made, script, Surroundings())
    assert words(told) == {"learning_rate": 1e-5}
    assert not written.is_whole
