from tests.checks.written import run_of, setting
from tests.for_each import for_each
from trimtab.checks.check import check
from trimtab.checks.placeholder import is_placeholder, placeholders, without_placeholders

TEMPLATE = """\
base_model: ${BASE_MODEL}
datasets:
  - path: data.jsonl
    type: alpaca
micro_batch_size: ${MICRO_BATCH_SIZE}
gradient_accumulation_steps: 4
warmup_steps: ${WARMUP_STEPS}
warmup_ratio: ${WARMUP_RATIO}
optimizer: ${OPTIMIZER}
learning_rate: 2e-4
"""


def codes(tmp_path, text):
    file = tmp_path / "axolotl.yaml"
    file.write_text(text)
    return [each.finding.code for each in check(file).diagnoses]


@for_each("value", ["${RATE}", "$RATE", "{{ rate }}", "out/${RUN}", "${oc.env:RATE,1}", ["a", "$B"]])
def test_what_is_to_be_filled_in_is_a_placeholder(value):
    assert is_placeholder(value)


@for_each(
    "value",
    [
        "adamw",
        "$5 a day",
        "a $b",
        "{{ bos_token }}{% for m in messages %}{{ m }}{% endfor %}",
        3,
        None,
        [],
        {},
    ],
)
def test_other_values_are_what_they_say(value):
    assert not is_placeholder(value)


def test_a_template_is_not_blamed_for_values_that_it_does_not_have_yet(tmp_path):
    assert codes(tmp_path, TEMPLATE) == []
    assert "C103" in codes(tmp_path, TEMPLATE.replace("${MICRO_BATCH_SIZE}", "two"))


def test_a_key_of_a_template_may_be_wrong_all_the_same(tmp_path):
    assert codes(tmp_path, TEMPLATE + "weight_deacy: ${DECAY}\n") == ["C101"]


def test_a_placeholder_says_nothing_of_the_run():
    rate = setting("learning_rate", "$RATE")
    run = run_of(keys={"learning_rate": "$RATE"}, concepts={"learning_rate": rate, "steps": 5})
    assert [each.key for each in placeholders(run)] == ["learning_rate"]
    known = without_placeholders(run)
    assert known.setting("learning_rate") is None
    assert known.value("steps") == 5
    assert known.written("learning_rate") is not None
