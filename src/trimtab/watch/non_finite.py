"""Where NaN or infinity came from: the first parameter, module or gradient that holds one."""

import random
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from trimtab.arguments import described, instance_of, wrong

Place = Literal["parameter", "input", "forward", "loss", "backward"]


@dataclass(frozen=True, slots=True)
class NonFinite:
    """The first tensor that is not finite."""

    place: Place
    """A parameter or buffer before anything ran; an input of the model; the output of a module whose inputs were all
    finite; the loss, where no module's output was to blame; a gradient that left a module though none had entered."""
    name: str
    """Of the parameter, or of the module, as `named_modules` says."""
    kind: str
    """Class of the module, or the shape of the parameter."""
    count: int
    """Elements that are not finite."""
    total: int
    largest: float
    """Magnitude of the largest finite number among the inputs of the module, or in the parameter; 0 where none is."""

    def __str__(self) -> str:
        who = f"{self.name or 'the model'} ({self.kind})"
        said = {
            "parameter": f"the parameter {self.name} {self.kind} is not finite before anything ran",
            "input": f"an input of {who} is not finite",
            "forward": f"{who} made it of finite inputs, the largest {self.largest:.4g}",
            "loss": "the loss itself made it: every module's output was finite",
            "backward": f"the gradient through {who} is the first that is not finite",
        }[self.place]
        return f"{said}; {self.count:,} of {self.total:,} numbers"


def first_non_finite(model: nn.Module, run: Callable[[], Tensor]) -> NonFinite | None:
    """The first tensor that is not finite when `run` computes a loss with the model; None if all is finite.

    `run` must call the model as training does, with the same random numbers, and give the loss, whose backward pass is
    run here too. It is slow, since every output is looked at: it is for the one step that was refused. Gradients of the
    model, its buffers, such as the statistics of BatchNorm, and the state of random numbers are afterwards what they
    were before; compiled modules run as they are written. InputError where `run` gives no loss.
    """
    instance_of(
        model, nn.Module, name="first_non_finite: model", allowed="an nn.Module", fix="pass the model itself"
    )
    with _untouched(model):
        return traced(model, run)


def traced(model: nn.Module, run: Callable[[], Tensor]) -> NonFinite | None:
    """The same, but that buffers and random numbers are left where `run` leaves them, so that packs of one step can be
    run one after another."""
    found = _in_parameters(model)
    if found is not None:
        return found
    kept = [parameter.grad for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = None
    try:
        with _eager(), _watching(model) as seen:
            loss = run()
            if not isinstance(loss, Tensor) or (loss.requires_grad and loss.numel() != 1):
                raise wrong(
                    "first_non_finite: run",
                    "gives no loss",
                    got=described(loss),
                    allowed="a function without arguments that returns the loss, one number",
                    fix="first_non_finite(model, lambda: loss_of(model(batch)))",
                )
            if not seen and not bool(torch.isfinite(loss).all()):
                seen.append(_of([loss], "loss", "", "loss", []))
            if not seen and loss.requires_grad:
                loss.backward()  # type: ignore[no-untyped-call]
                if not seen:
                    seen += _in_gradients(model)
        return seen[0] if seen else None
    finally:
        for parameter, grad in zip(model.parameters(), kept, strict=True):
            parameter.grad = grad


def _in_parameters(model: nn.Module) -> NonFinite | None:
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if not _is_finite(tensor):
            return _of([tensor], "parameter", name, str(tuple(tensor.shape)), [tensor])
    return None


def _in_gradients(model: nn.Module) -> list[NonFinite]:
    """A parameter whose gradient is not finite though every gradient that passed between modules was."""
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not _is_finite(parameter.grad):
            module = model.get_submodule(name.rpartition(".")[0])
            return [_of([parameter.grad], "backward", name, type(module).__name__, [])]
    return []


@contextmanager
def _watching(model: nn.Module) -> Generator[list[NonFinite]]:
    """Hooks on every module; what is found, in the order of execution, innermost module first."""
    seen: list[NonFinite] = []

    def after(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(module: nn.Module, inputs: Any, outputs: Any) -> None:
            if seen or all(_is_finite(each) for each in _tensors(outputs)):
                return
            given = _tensors(inputs)
            place: Place = "forward" if all(_is_finite(each) for each in given) else "input"
            seen.append(_of(_tensors(outputs), place, name, type(module).__name__, given))

        return hook

    def behind(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(module: nn.Module, grad_inputs: Any, grad_outputs: Any) -> None:
            entered = all(_is_finite(each) for each in _tensors(grad_outputs))
            if not seen and entered and not all(_is_finite(each) for each in _tensors(grad_inputs)):
                given = _tensors(grad_outputs)
                seen.append(_of(_tensors(grad_inputs), "backward", name, type(module).__name__, given))

        return hook

    with ExitStack() as hooks:
        named = cast("Iterable[tuple[str, nn.Module]]", model.named_modules())
        for name, module in named:
            hooks.callback(module.register_forward_hook(after(name)).remove)
            hooks.callback(module.register_full_backward_hook(behind(name)).remove)
        yield seen


@contextmanager
def _untouched(model: nn.Module) -> Generator[None]:
    """Buffers and the state of every random generator are afterwards what they were before."""
    buffers = [
        (module, name, buffer, buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module.named_buffers(recurse=False)
    ]
    cuda = {parameter.device for parameter in model.parameters() if parameter.device.type == "cuda"}
    python, numbers = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=sorted(cuda, key=str)):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numbers)
        with torch.no_grad():
            for module, name, buffer, before in buffers:
                setattr(module, name, buffer)  # the model may have put another in its place
                if not torch.equal(buffer, before):
                    buffer.copy_(before)


@contextmanager
def _eager() -> Generator[None]:
    with torch.compiler.set_stance("force_eager"), torch.enable_grad(), warnings.catch_warnings():
        # The first module's input needs no gradient; there is nothing to be seen behind it.
        warnings.filterwarnings("ignore", message="Full backward hook is firing")
        yield


def _tensors(value: Any) -> list[Tensor]:
    """Every tensor of floating point in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        return [value] if value.is_floating_point() else []
    if isinstance(value, dict):
        return _tensors(list(cast("dict[Any, Any]", value).values()))
    if isinstance(value, tuple | list):
        return [each for part in cast("Sequence[Any]", value) for each in _tensors(part)]
    return []


def _is_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor.detach()).all())


def _of(tensors: list[Tensor], place: Place, name: str, kind: str, given: list[Tensor]) -> NonFinite:
    wrong = sum(int((~torch.isfinite(each.detach())).sum()) for each in tensors)
    finite = [each.detach()[torch.isfinite(each.detach())].abs() for each in given]
    return NonFinite(
        place=place,
        name=name,
        kind=kind,
        count=wrong,
        total=sum(each.numel() for each in tensors),
        largest=max((float(each.max()) for each in finite if each.numel()), default=0.0),
    )
