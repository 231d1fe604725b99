import pytest

from trimtab.checks.files import Files, read_bytes, speaks_of_training
from trimtab.checks.read.limits import MAX_BYTES
from trimtab.errors import InputError


def test_a_file_is_read_once_and_fails_each_time_in_the_same_way(tmp_path):
    good, broken = tmp_path / "a.json", tmp_path / "b.json"
    good.write_text("{}")
    broken.write_text("{")
    files = Files()
    assert files.document(str(good)) is files.document(str(good))
    for _ in range(2):
        with pytest.raises(InputError, match=r"b\.json:1"):
            files.document(str(broken))


def test_at_most_one_byte_more_than_allowed_is_read(tmp_path):
    path = tmp_path / "large.json"
    path.write_bytes(b" " * (MAX_BYTES + 1000))
    assert len(read_bytes(str(path))) == MAX_BYTES + 1
    with pytest.raises(InputError, match="too long"):
        Files().document(str(path))


def test_what_stands_beside_a_file_and_the_versions_asked_for_reach_its_description(tmp_path):
    (tmp_path / "args.json").write_text(
        '{"output_dir": "out", "per_device_train_batch_size": 8, "max_steps": 500}'
    )
    files = Files(versions={"transformers": (4, 40, 0)})
    (run,) = files.describe(files.document(str(tmp_path / "args.json")))
    assert run.version("transformers") == (4, 40, 0)


def test_what_a_script_installs_beats_what_is_installed_here_and_not_what_was_asked_for(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(
        "# !pip install transformers==4.45.0\nfrom transformers import Trainer\nTrainer(model=model)\n"
    )
    for asked, expected in (({}, (4, 45, 0)), ({"transformers": (4, 40)}, (4, 40))):
        files = Files(versions=asked)
        (run,) = files.describe(files.document(str(path)))
        assert run.version("transformers") == expected


def test_a_kind_that_is_said_decides_the_syntax_of_a_nameless_file(tmp_path):
    path = tmp_path / "config"
    path.write_text("a: 1\n")
    assert Files(as_kind="axolotl").document(str(path)).syntax == "yaml"


@pytest.mark.parametrize("text", ["learning_rate: [", "TrainingArguments("])
def test_a_broken_file_may_speak_of_training(tmp_path, text):
    path = tmp_path / "a"
    path.write_text(text)
    assert speaks_of_training(str(path))
    path.write_text("kind: Deployment\n")
    assert not speaks_of_training(str(path))
    assert not speaks_of_training(str(tmp_path / "nowhere"))


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_bytes(str(tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        "{{- if .Values.train }}\nlearning_rate: 1\n{{- end }}\n",
        "learning_rate: {{ rate }}\nbatch_size: 8\n",
        "{% for rate in rates %}\n- learning_rate: 1\n{% endfor %}\n",
        '{\n  "learning_rate": {{ rate | tojson }}\n}\n',
        '{\n  "learning_rate": ${RATE}\n}\n',
        "learning_rate: <%= rate %>: 1\n",
        "apiVersion: v1\nkind: ConfigMap\n---\nlearning_rate: 1\n",
    ],
)
def test_a_template_or_a_manifest_is_for_others_whatever_it_speaks_of(tmp_path, text):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert not speaks_of_training(str(path))


@pytest.mark.parametrize(
    "text",
    ["learning_rate: [\nchat_template: '{{ messages }}'\n", 'learning_rate: "\noutput_dir: "${OUT}/{{x}}"\n'],
)
def test_braces_within_a_value_between_quotes_make_no_template(tmp_path, text):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert speaks_of_training(str(path))
