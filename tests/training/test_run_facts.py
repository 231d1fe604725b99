import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.small_line import small_line
from trimtab.training import run_facts as module
from trimtab.training.run_facts import MOST_BINS, histogram, note_beginning, note_end


@given(st.lists(st.integers(0, 5000), max_size=50))
def test_every_length_is_in_one_bin(lengths):
    found = histogram(np.array(lengths, dtype=np.int64))
    assert sum(found["bins"]) == len(lengths)
    assert len(found["bins"]) <= MOST_BINS
    for number, count in enumerate(found["bins"]):
        low = number * found["width"]
        assert count == sum(low <= each < low + found["width"] for each in lengths)


def test_a_run_begins_with_what_it_reads_and_where(tmp_path):
    line = small_line(tmp_path)
    note_beginning(line.run, line.parts)
    facts = json.loads(line.run.facts.read_bytes())
    source, target = facts["examples"]["sides"]
    assert (source["name"], source["unknown"], facts["machine"]["device"]) == ("source", 0, "CPU")
    assert sum(target["bins"]) == facts["examples"]["seen"] == 200
    assert source["tokens"] == line.parts.datasets.sample.source.values.size
    assert "memory" not in facts


def test_measured_memory_stands_beside_the_plan(tmp_path, monkeypatch):
    line = small_line(tmp_path)
    monkeypatch.setattr(module, "planned_bytes", lambda parts: {"reserved": 10, "owners": {"weights": 4}})
    monkeypatch.setattr(module, "measured_bytes", lambda device: {"reserved": 11})
    note_beginning(line.run, line.parts)
    note_end(line.run, line.parts)
    facts = json.loads(line.run.facts.read_bytes())
    assert facts["memory"] == {
        "planned": {"reserved": 10, "owners": {"weights": 4}},
        "measured": {"reserved": 11},
    }
    assert facts["machine"]["device"] == "CPU"


@pytest.mark.parametrize("content", [None, b"[]", b"\xff"])
def test_facts_that_cannot_be_written_or_read_end_no_run(tmp_path, monkeypatch, content):
    line = small_line(tmp_path)
    monkeypatch.setattr(module, "measured_bytes", lambda device: {"reserved": 11})
    if content is None:
        line.run.facts.mkdir()
        note_beginning(line.run, line.parts)
        note_end(line.run, line.parts)
        return
    line.run.facts.write_bytes(content)
    note_end(line.run, line.parts)
    assert json.loads(line.run.facts.read_bytes()) == {"memory": {"measured": {"reserved": 11}}}


def test_a_rank_that_does_not_write_writes_nothing(tmp_path):
    line = small_line(tmp_path)
    note_beginning(replace(line.run, writes=False), line.parts)
    assert not line.run.facts.exists()
