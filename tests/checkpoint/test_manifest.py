import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checkpoint.manifest import (
    MAX_BYTES,
    MODEL,
    OPTIMIZER,
    STATE,
    Damaged,
    NewerFormat,
    parse,
    render,
)

PLACE = Path("run/checkpoints/step-00000003")
RECORD = {"size": 8, "sha256": "a" * 64}
FIELDS: dict[str, Any] = {
    "format": 1,
    "step": 3,
    "files": {MODEL: RECORD, OPTIMIZER: RECORD, STATE: RECORD},
    "tensors": {MODEL: {"é": {"dtype": "F32", "shape": [2, 0]}}, OPTIMIZER: {}},
    "fingerprints": {"data": "d1"},
    "parent": {"step": 2, "digest": "b" * 64},
    "versions": {"trimtab": "0.1.0"},
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def test_what_is_rendered_is_read_back():
    manifest = parse(render(FIELDS), checkpoint=PLACE)
    assert manifest.step == 3
    assert manifest.files.named().keys() == {MODEL, OPTIMIZER, STATE}
    assert manifest.tensors[MODEL]["é"].shape == (2, 0)
    assert manifest.parent is not None
    assert manifest.parent.step == 2


@given(
    st.dictionaries(st.sampled_from([*FIELDS, "a", "digest"]) | st.text(max_size=5), json_values, max_size=3)
)
def test_the_spelling_is_that_of_json_with_the_hash_of_the_rest(fields: dict[str, Any]):
    def written(value: Any) -> bytes:
        return (json.dumps(value, sort_keys=True, indent=1) + "\n").encode()

    digest = hashlib.sha256(written(fields)).hexdigest()
    assert render(fields) == written({**fields, "digest": digest})


@given(st.binary(max_size=300))
def test_junk_is_damage_and_nothing_else(content: bytes):
    with pytest.raises(Damaged, match=r"manifest\.json"):
        parse(content, checkpoint=PLACE)


@given(json_values)
def test_any_json_is_damage_and_nothing_else(value: Any):
    with pytest.raises(Damaged):
        parse(json.dumps(value).encode(), checkpoint=PLACE)


@pytest.mark.slow
@given(st.sampled_from([*FIELDS]), json_values)
def test_a_field_of_another_kind_is_refused_even_under_a_right_hash(name: str, value: Any):
    content = render({**FIELDS, name: value})
    try:
        manifest = parse(content, checkpoint=PLACE)
    except (Damaged, NewerFormat):
        return
    # What is let through has the meaning that was written.
    assert json.loads(manifest.model_dump_json(by_alias=True))[name] == value


@given(st.integers(min_value=0), st.integers(0, 255))
def test_any_other_byte_anywhere_is_refused(place: int, value: int):
    content = bytearray(render(FIELDS))
    place %= len(content)
    if content[place] != value:
        content[place] = value
        with pytest.raises(Damaged):
            parse(bytes(content), checkpoint=PLACE)


@for_each(
    "names",
    [
        ["../../outside.safetensors", OPTIMIZER, STATE],
        ["/etc/passwd", OPTIMIZER, STATE],
        [MODEL, OPTIMIZER],
        [MODEL, OPTIMIZER, STATE, "more/model.safetensors"],
        [MODEL, OPTIMIZER, STATE, "model.safetensors\n"],
    ],
)
def test_files_of_other_names_are_refused(names: list[str]):
    content = render({**FIELDS, "files": dict.fromkeys(names, RECORD)})
    with pytest.raises(Damaged, match="is not a manifest: files"):
        parse(content, checkpoint=PLACE)


def test_a_name_that_stands_twice_is_refused():
    twice = render(FIELDS).replace(b'"step": 3,', b'"step": 3,\n "step": 3,')
    with pytest.raises(Damaged, match="own hash"):
        parse(twice, checkpoint=PLACE)


@for_each("record", [{"size": -1}, {"size": True}, {"size": 8.0}, {"sha256": "A" * 64}, {"link": "x"}])
def test_a_wrong_file_record_is_refused(record: dict[str, Any]):
    files = {**FIELDS["files"], STATE: {**RECORD, **record}}
    with pytest.raises(Damaged, match=r"files\.state\.json"):
        parse(render({**FIELDS, "files": files}), checkpoint=PLACE)


def test_a_later_format_is_told_from_damage():
    with pytest.raises(NewerFormat) as caught:
        parse(render({**FIELDS, "format": 2, "unheard_of": 1}), checkpoint=PLACE)
    assert str(caught.value) == (
        "checkpoint step-00000003 was written by a newer trimtab   (run/checkpoints/step-00000003/manifest.json)\n"
        "  got     format 2\n"
        "  allowed format 1\n"
        "  fix     update trimtab, or use an older checkpoint of the run"
    )


def test_deep_nesting_and_great_size_are_refused():
    for content in (b"[" * 100_000, b" " * (MAX_BYTES + 1)):
        with pytest.raises(Damaged):
            parse(content, checkpoint=PLACE)


def test_damage_says_which_checkpoint_which_file_and_why():
    with pytest.raises(Damaged) as caught:
        parse(b"", checkpoint=PLACE)
    assert caught.value.exit_code == 2
    assert str(caught.value) == (
        "checkpoint step-00000003 is damaged: manifest.json cannot be read as a manifest   "
        "(run/checkpoints/step-00000003/manifest.json)\n"
        "  got     manifest.json cannot be read as a manifest\n"
        "  allowed the file as it was committed, byte by byte\n"
        "  fix     restore the file from a copy; the run has no other checkpoint"
    )


def test_damage_names_the_other_checkpoints_of_the_run_and_not_the_damaged_one(tmp_path: Path):
    run = tmp_path / "run"
    for step in (1, 2, 3, 4, 5):
        (run / "checkpoints" / f"step-{step:08d}").mkdir(parents=True)
    with pytest.raises(Damaged) as caught:
        parse(b"", checkpoint=run / "checkpoints" / "step-00000005")
    assert caught.value.problems[0].fix == (
        f"use another checkpoint of the run ({run}@4, {run}@3, {run}@2), or restore the file from a copy"
    )
