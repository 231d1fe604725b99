from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from tests.strategies import TRICKY
from trimtab.config.load import MAX_BYTES, load_recipe, parse_recipe
from trimtab.config.read_yaml import Position
from trimtab.config.task_facts import init_recipe
from trimtab.errors import InputError

GOOD = """\
data:
  train:
    - {source: train.en, target: train.de}
  valid: {source: dev.en, target: dev.de}
model: {preset: tiny}
length: 1000 steps
"""


def problems(text: str, *overrides: str):
    with pytest.raises(InputError) as raised:
        parse_recipe(text, path=Path("r.yaml"), overrides=overrides)
    return raised.value.problems


def refused(path: Path) -> str:
    with pytest.raises(InputError) as raised:
        load_recipe(path)
    return str(raised.value)


def test_a_recipe_file_gives_the_recipe_its_folder_and_its_positions(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    loaded = load_recipe(path)
    assert loaded.recipe.model.dim == 192
    assert loaded.folder == tmp_path
    assert loaded.path == path
    assert loaded.positions["data.train.0.target"] == Position(3, 26)
    assert loaded.where("data.train.0.target") == f"{path}:3:26"


def test_a_key_that_is_not_written_is_at_the_nearest_group_around_it():
    loaded = parse_recipe(GOOD, path=Path("r.yaml"))
    assert loaded.where("model.dropout") == "r.yaml:5:1"
    assert loaded.where("step.schedule.warmup") == "r.yaml"


def test_all_problems_come_at_once_in_the_order_of_the_file():
    text = (
        GOOD.replace("preset: tiny", "preset: tinny, dropout: 2").replace("1000 steps", "1000") + "sede: 1\n"
    )
    found = problems(text)
    assert [problem.where for problem in found] == ["r.yaml:5:9", "r.yaml:5:24", "r.yaml:6:1", "r.yaml:7:1"]
    assert [problem.fix for problem in found] == [
        "did you mean `tiny`?", "use one of the allowed values, or leave it out for the default, 0.1",
        "say the unit, such as '1000 steps' or '1000 epochs'", "did you mean `seed`?",
    ]  # fmt: skip


def test_a_misspelled_required_key_is_one_problem_not_two():
    (found,) = problems(GOOD.replace("length:", "lenght:"))
    assert found.what == "lenght: unknown key"
    assert found.fix == "did you mean `length`?"


def test_contradictions_between_keys_have_a_place_too():
    (found,) = problems(GOOD + "step: {tokens_per_step: 100}\n")
    assert found.what == "step.tokens_per_step: a step is smaller than the longest example, 256 tokens"
    assert found.where == "r.yaml:7:8"


def test_overrides_win_and_are_named_in_problems():
    loaded = parse_recipe(GOOD, overrides=["step.optimizer.learning_rate=3e-4", "data.train.0.weight=2"])
    assert loaded.recipe.step.optimizer.learning_rate == 3e-4
    assert loaded.recipe.data.train[0].weight == 2
    assert loaded.where("data.train.0.weight") == "command line: data.train.0.weight=2"
    (found,) = problems(GOOD, "step.optimizer.learning_rat=3e-4")
    assert found.where == "command line: step.optimizer.learning_rat=3e-4"
    assert found.fix == "did you mean `step.optimizer.learning_rate`?"
    (found,) = problems(GOOD, "setp.precision=fp32")
    assert (found.what, found.where) == ("setp: unknown key", "command line: setp.precision=fp32")


def test_a_kind_or_a_preset_can_be_overridden():
    loaded = parse_recipe(GOOD, overrides=["step.optimizer.kind=adafactor", "model.preset=base"])
    assert loaded.recipe.step.optimizer.kind == "adafactor"
    assert loaded.recipe.model.dim == 512


@for_each(
    ("text", "what"),
    [
        ("", "the recipe is empty"),
        ("# only a comment\n", "the recipe is empty"),
        ("null\n", "the recipe is empty"),
        ("- a\n- b\n", "not a recipe"),
        ("just words\n", "not a recipe"),
        ("3\n", "not a recipe"),
    ],
)
def test_what_is_not_a_mapping_is_no_recipe(text, what):
    (found,) = problems(text)
    assert found.what == what
    assert "trimtab init" in found.fix


def test_a_missing_file_names_a_near_one(tmp_path):
    (tmp_path / "en_de.yaml").write_text(GOOD)
    assert f"did you mean `{tmp_path / 'en_de.yaml'}`?" in refused(tmp_path / "en-de.yaml")
    assert f"did you mean `{tmp_path / 'en_de.yaml'}`?" in refused(tmp_path / "en_de")
    assert f"did you mean `{tmp_path / 'en_de.yaml'}`?" in refused(tmp_path / "other.yaml")
    assert "no such file" in refused(tmp_path / "en-de.yaml")


def test_a_missing_file_in_an_empty_or_missing_folder_says_what_to_do(tmp_path):
    assert "trimtab init" in refused(tmp_path / "en_de.yaml")
    assert "does not exist either" in refused(tmp_path / "no" / "en_de.yaml")


def test_a_folder_is_said_to_be_one_and_a_run_folder_names_its_recipe(tmp_path):
    assert "a folder" in refused(tmp_path)
    (tmp_path / "recipe.yaml").write_text(GOOD)
    assert f"did you mean `{tmp_path / 'recipe.yaml'}`?" in refused(tmp_path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a: 1\nb: \xff\n", "not UTF-8"),
        (GOOD.encode("utf-16"), "not a text file"),
        (b"\x1f\x8b\x08\x00\x00", "not a text file"),
        (b"#" * (MAX_BYTES + 1), "too large for a recipe"),
    ],
)
def test_files_that_are_no_text_are_refused_with_the_reason(tmp_path, data, said):
    path = tmp_path / "r.yaml"
    path.write_bytes(data)
    assert said in refused(path)


def test_the_line_of_a_byte_that_is_not_utf8_is_given(tmp_path):
    path = tmp_path / "r.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    assert f"{path}:2:1" in refused(path)


def test_a_byte_order_mark_and_carriage_returns_are_accepted(tmp_path):
    path = tmp_path / "r.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load_recipe(path).recipe == parse_recipe(GOOD).recipe


LINES = init_recipe().splitlines()


@pytest.mark.slow
@given(st.integers(0, len(LINES) - 1), st.sampled_from([*TRICKY, "3", "-1", "true", "{kind: x}", ".inf", "a=b", ""]),
       st.sampled_from(["value", "key", "delete", "insert"]))  # fmt: skip
def test_a_damaged_recipe_is_read_or_refused_with_places_and_in_our_words(index, text, how):
    lines = list(LINES)
    key, colon, _ = lines[index].partition(":")
    match how:
        case "value":
            lines[index] = f"{key}{colon} {text}"
        case "key":
            lines[index] = lines[index].replace(key.strip(" -{"), text, 1)
        case "delete":
            del lines[index]
        case _:
            lines.insert(index, text)
    assert is_well_said(refusal("\n".join(lines)))


@pytest.mark.slow
def test_overrides_of_any_kind_are_taken_or_refused_in_our_words():
    for key in [
        "data",
        "data.train",
        "data.train.0",
        "data.valid",
        "model",
        "step.clip",
        "length",
        "seed",
        "x",
        "task",
    ]:
        for value in [*TRICKY, "3", "[]", "{}", "[[1]]", "{a: {b: 1}}", "true", ".nan", ""]:
            assert is_well_said(refusal(GOOD, f"{key}={value}")), (key, value)


def refusal(text: str, *overrides: str) -> InputError | None:
    try:
        parse_recipe(text, path=Path("r.yaml"), overrides=overrides)
    except InputError as error:
        return error
    return None


JARGON = (
    "Input should",
    "valid dictionary",
    "instance of",
    "pydantic",
    "literal[",
    "discriminator",
    "NoneType",
)


def is_well_said(error: InputError | None) -> bool:
    if error is None:
        return True
    placed = all(problem.where.startswith(("r.yaml", "command line")) for problem in error.problems)
    return placed and not any(word in str(error) for word in JARGON)


def test_recipe_and_overrides_may_be_dicts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = {
        "data": {
            "train": [{"source": "ü.en", "target": "a.de"}],
            "valid": {"source": "v.en", "target": "v.de"},
        },
        "model": {"preset": "tiny"},
        "length": "1000 steps",
    }
    loaded = load_recipe(
        recipe, {"step.optimizer.learning_rate": 3e-5, "data.train.0.tags": ["<ui>"], "seed": 7}
    )
    assert loaded.recipe.step.optimizer.learning_rate == 3e-5
    assert (loaded.recipe.data.train[0].source, loaded.recipe.data.train[0].tags) == ("ü.en", ("<ui>",))
    assert (loaded.recipe.seed, loaded.folder) == (7, tmp_path)
    with pytest.raises(InputError, match=r"step\.optimiser: unknown key"):
        load_recipe(recipe, {"step.optimiser": {}})


@pytest.mark.parametrize(
    ("recipe", "allow", "words"),
    [
        ({"seed": 1}, {"D106": " "}, "allow: not a reason for a code"),
        ({"seed": 1}, {"": "it learns to copy"}, "allow: not a reason for a code"),
        ("my.yaml", {"D106": "it learns to copy"}, "allow: only for a recipe that is a dict"),
    ],
)
def test_rules_are_allowed_with_a_reason_and_where_no_comment_can_be_written(recipe, allow, words):
    with pytest.raises(InputError, match=words):
        load_recipe(recipe, allow=allow)
