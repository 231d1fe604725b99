"""A recorded step against its slow twin, the plain one. What needs no GPU is tested without."""

import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest
import torch

from tests.for_each import for_each
from tests.small_run import small_parts
from tests.streams import pack_of
from trimtab.step import step_graphs
from trimtab.step.step_graphs import WARM_UP_STEPS, StepGraphs, copy_into
from trimtab.training.preflight import preflight
from trimtab.types import PackedBatch, TrainState

RATES = {"learning_rate_multipliers": {"hidden": 0.25, "vector": 2.0}}
EXACT = {"step.precision": "auto", "step.deterministic": True, "model.dropout": 0.2}


def test_a_batch_overwritten_by_another_has_its_values_in_the_same_memory():
    first, second = pack_of([[5, 3]], [[8, 9, 3]]), pack_of([[6, 3]], [[7, 4, 3]])
    mine = first.clone()
    places = [tensor.data_ptr() for tensor in mine.tensors()]
    copy_into(mine, second)
    assert [tensor.data_ptr() for tensor in mine.tensors()] == places
    assert all(map(torch.equal, mine.tensors(), second.tensors()))
    assert not torch.equal(first.labels, second.labels)


def taken(parts, count, *, state=None, left_out=()):
    """Reports of so many steps from a state on, some of them left out."""
    state, reports = state or TrainState(), []
    parts.model.train()
    for window, packs in parts.stream.batches(state.position, step=state.step):
        if len(reports) == count:
            break
        parts.stepper.begin(state)
        parts.stepper.gate.masked = state.step in left_out
        report = parts.stepper.take_step(packs, learning_rate=parts.learning_rate.at(state))
        reports.append((float(report.loss), float(report.grad_norm), int(report.skip_reason)))
        state = replace(state, step=state.step + 1, position=window.position)
    return reports


def everything(parts):
    held = {**parts.model.state_dict(), **parts.stepper.optimizer.state_tensors()}
    return {name: tensor.clone() for name, tensor in held.items()}


def assert_same(first, second):
    assert first.keys() == second.keys()
    assert [name for name in first if not torch.equal(first[name], second[name])] == []


@pytest.fixture
def plain_determinism():
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(before)


@pytest.fixture
def recorded_on_a_cpu(monkeypatch):
    """Steps that would be recorded are taken; enough to see what happens around a recording. It says when one is."""
    cuda, recording = step_graphs.torch.cuda, []

    @contextmanager
    def graph(*_, **__):
        recording.append(True)
        yield
        recording.clear()

    for name in ("Stream", "graph_pool_handle", "CUDAGraph"):
        monkeypatch.setattr(cuda, name, lambda *_: None)
    monkeypatch.setattr(cuda, "graph", graph)
    monkeypatch.setattr(step_graphs, "on", lambda stream: nullcontext())
    monkeypatch.setattr(PackedBatch, "static_key", "of padded rows each step has another")
    return recording


@pytest.mark.quick("OutOfMemoryError")
@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError])
def test_a_recording_that_breaks_off_between_two_packs_leaves_nothing_to_the_plain_step(
    tmp_path, error, recorded_on_a_cpu
):
    plain, broken = (small_parts(tmp_path / name, **{"model.dropout": 0.0}) for name in ("plain", "broken"))
    broken.stepper.graphs = StepGraphs(device=torch.device("cpu"))
    healthy = broken.stepper.objective

    def objective(pack):
        if recorded_on_a_cpu:
            recorded_on_a_cpu.append(True)
            if len(recorded_on_a_cpu) == 3:
                recorded_on_a_cpu.clear()
                raise error("CUBLAS_STATUS_ALLOC_FAILED\nand more")
        return healthy(pack)

    broken.stepper.objective = objective
    with pytest.warns(
        UserWarning, match=r"kernel by kernel.*could not be recorded: CUBLAS_STATUS_ALLOC_FAILED\."
    ):
        reports = taken(broken, WARM_UP_STEPS + 3)
    assert reports == taken(plain, WARM_UP_STEPS + 3)
    assert_same(everything(broken), everything(plain))
    assert broken.stepper.graphs.recordings == {}


def test_recordings_are_forgotten_when_the_device_is_done_with_them(recorded_on_a_cpu, monkeypatch):
    graphs, seen = StepGraphs(device=torch.device("cpu")), []
    graphs.recordings["a shape"] = object()

    def done(device):
        seen.append((device, len(graphs.recordings)))
        raise RuntimeError("an illegal memory access, as was told before")

    monkeypatch.setattr(step_graphs.torch.cuda, "synchronize", done)
    graphs.close()
    graphs.close()
    assert seen == [(torch.device("cpu"), 1)]
    assert graphs.recordings == {}


@for_each(
    ("free", "share", "whole_segments", "kept"),
    [
        (12, 1.0, 0, True),
        (10, 1.0, 0, False),
        (10, 1.0, 5, True),
        (50, 0.35, 0, False),  # of 100, of which 30 are taken
        (50, 0.45, 0, True),
    ],
)
def test_recordings_make_room_where_not_so_much_is_left_beside_them(free, share, whole_segments, kept):
    cuda, held = step_graphs.torch.cuda, 30 - 10 - whole_segments
    stats = {"reserved_bytes": 30, "active_bytes": held - 2, "inactive_split_bytes": 2}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("Stream", "graph_pool_handle", "synchronize"):
            patch.setattr(cuda, name, lambda *_: None)
        patch.setattr(cuda, "mem_get_info", lambda _: (free, 100))
        patch.setattr(cuda, "get_per_process_memory_fraction", lambda _: share)
        patch.setattr(cuda, "memory_stats", lambda _: {f"{k}.all.current": v for k, v in stats.items()})
        graphs = StepGraphs(device=torch.device("cpu"))
        graphs.recordings["a shape"], graphs.pool_bytes = object(), 10
        graphs.make_room(11.0)
        assert (graphs.recordings != {}, graphs.pool_bytes) == ((True, 10) if kept else (False, 0))


def test_recordings_are_forgotten_before_an_evaluation_unless_most_of_the_device_is_free(
    recorded_on_a_cpu, monkeypatch
):
    graphs, asked = StepGraphs(device=torch.device("cpu")), []
    graphs.recordings["a shape"] = object()
    monkeypatch.setattr(step_graphs.torch.cuda, "synchronize", lambda _: None)
    monkeypatch.setattr(step_graphs.torch.cuda, "mem_get_info", lambda _: (0, 100))
    for left in (75, 74):
        monkeypatch.setattr(step_graphs, "bytes_left", lambda device, *, pool_bytes, left=left: left)
        graphs.make_room_to_evaluate()
        asked.append(bool(graphs.recordings))
    assert asked == [True, False]


@pytest.mark.gpu
@pytest.mark.usefixtures("plain_determinism")
class TestOnGpu:
    CHANGES = (
        {},
        {"step.optimizer": {"kind": "adafactor"}, "step.clip": {"kind": "adaptive", "first_steps": 4}},
        {"step.optimizer": {"kind": "stable_adamw", "weight_decay": 0.1}, "step.weight_clip": 2.0},
        {"step.optimizer": {"kind": "lion"}, "step.precision": "fp16_mixed"},
        {"step.optimizer": {"kind": "sgd"}, "step.tokens_per_micro_batch": 64},
        {"step.batch_warmup": {"start": 40, "over": "12 steps"}, "step.tokens_per_micro_batch": 64},
        {"step.compile": "on"},
        {"step.precision": "bf16"},
        {"step.optimizer": {"kind": "adamw", "weight_decay": 0.1, **RATES}},
        {"step.optimizer": {"kind": "lion", **RATES}},
        {"step.optimizer": {"kind": "adamw", **RATES}, "step.precision": "bf16"},
        {"step.ema": {"decay": 0.9}, "step.clip": {"kind": "off"}},
    )

    @pytest.mark.parametrize("changes", CHANGES, ids=str)
    def test_recorded_steps_have_the_bits_of_plain_ones(self, tmp_path, changes):
        plain = small_parts(tmp_path / "a", **EXACT | changes | {"step.cuda_graph": "off"})
        recorded = small_parts(tmp_path / "b", **EXACT | changes)
        assert plain.stepper.graphs is None
        assert recorded.recipe.step.cuda_graph == "on"
        left_out = (1, 5, 12)
        assert taken(recorded, 20, left_out=left_out) == taken(plain, 20, left_out=left_out)
        assert_same(everything(recorded), everything(plain))
        assert recorded.stepper.gate.to_dict() == plain.stepper.gate.to_dict()
        assert recorded.stepper.clip.to_dict() == plain.stepper.clip.to_dict()
        assert recorded.stepper.scale.to_dict() == plain.stepper.scale.to_dict()
        assert recorded.stepper.graphs.recordings
        assert recorded.stepper.graphs.given_up is None

    def test_recordings_that_make_room_are_made_again_with_the_same_bits(self, tmp_path, monkeypatch):
        changes = {"step.batch_warmup": {"start": 40, "over": "12 steps"}, "step.tokens_per_micro_batch": 64}
        plain = small_parts(tmp_path / "a", **EXACT | changes | {"step.cuda_graph": "off"})
        recorded, made = small_parts(tmp_path / "b", **EXACT | changes), []
        record = recorded.stepper.graphs.record
        monkeypatch.setattr(
            recorded.stepper.graphs, "record", lambda *given: [made.append(1), record(*given)]
        )
        monkeypatch.setattr(step_graphs, "bytes_left", lambda device, *, pool_bytes: 0)
        assert taken(recorded, 20) == taken(plain, 20)
        assert_same(everything(recorded), everything(plain))
        assert recorded.stepper.graphs.given_up is None
        assert made
        assert recorded.stepper.graphs.pool_bytes > 0

    def test_a_window_that_is_not_finite_is_refused_by_a_recording_too(self, tmp_path):
        parts = small_parts(tmp_path, **EXACT)
        taken(parts, WARM_UP_STEPS + 2)
        with torch.no_grad():
            weight = parts.model.embedding.weight[7].clone()
            parts.model.embedding.weight[7] = torch.nan
        before = everything(parts)
        (report,) = taken(parts, 1)
        assert report[2] == 1
        after = everything(parts)
        assert all(torch.equal(before[name].nan_to_num(), after[name].nan_to_num()) for name in before)
        with torch.no_grad():
            parts.model.embedding.weight[7] = weight
        assert taken(parts, 1)[0][2] == 0

    def test_a_recording_goes_on_from_what_is_restored(self, tmp_path):
        parts, twin = small_parts(tmp_path / "a", **EXACT), small_parts(tmp_path / "b", **EXACT)
        taken(parts, 6)
        model = {name: tensor.clone() for name, tensor in parts.model.state_dict().items()}
        moments = {name: tensor.clone() for name, tensor in parts.stepper.optimizer.state_tensors().items()}
        gate = parts.stepper.gate.to_dict()
        onwards = taken(parts, 6, state=TrainState(step=6))
        parts.model.load_state_dict(model)
        parts.stepper.optimizer.load_state_tensors(moments)
        parts.stepper.gate.forget()
        parts.stepper.gate.from_dict(gate)
        assert taken(parts, 6, state=TrainState(step=6)) == onwards
        twin.model.load_state_dict(model)
        twin.stepper.optimizer.load_state_tensors(moments)
        twin.stepper.gate.from_dict(gate)
        assert taken(twin, 6, state=TrainState(step=6)) == onwards
        assert_same(everything(parts), everything(twin))

    def test_another_variant_of_the_loss_has_a_recording_of_its_own(self, tmp_path):
        changes = {"loss.truncate": {"error_norm": 1.2, "after": "8 steps"}}
        plain = small_parts(tmp_path / "a", **EXACT | changes | {"step.cuda_graph": "off"})
        recorded = small_parts(tmp_path / "b", **EXACT | changes)
        assert taken(recorded, 20) == taken(plain, 20)
        assert_same(everything(recorded), everything(plain))
        assert len(recorded.stepper.graphs.recordings) == 2

    def test_nobody_is_warned_of_steps_that_run_plainly_first(self, tmp_path):
        parts = small_parts(tmp_path, **EXACT)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            list(preflight(parts))  # which copies the optimizer
            taken(parts, WARM_UP_STEPS + 2)
        assert [str(each.message) for each in seen if "capturable" in str(each.message)] == []

    def test_where_there_is_no_memory_for_a_recording_steps_stay_plain(self, tmp_path, monkeypatch):
        def no_room(*_, **__):
            raise torch.cuda.OutOfMemoryError("no room")

        monkeypatch.setattr(step_graphs.torch.cuda, "graph", no_room)
        parts = small_parts(tmp_path, **EXACT)
        with pytest.warns(UserWarning, match="kernel by kernel"):
            reports = taken(parts, WARM_UP_STEPS + 3)
        assert parts.stepper.graphs.given_up == "no room"
        assert parts.stepper.graphs.recordings == {}
        assert all(skip_reason == 0 for _, _, skip_reason in reports)
