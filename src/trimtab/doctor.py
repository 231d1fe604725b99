"""`trimtab doctor`: what is installed, which paths run on the GPUs and why others do not, on one page.

torch is imported only where it is installed, and nothing else is: versions are those that the installers wrote down.
"""

import os
import platform
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trimtab.host_memory import host_memory

NAME = "trimtab"
GIB = 1024**3
DRIVER_S = 5.0
"""`nvidia-smi` takes some 50 ms; on a machine with a broken driver it may never end."""
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*)(?:;\s*(.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
FOR_DEVELOPERS = ("dev", "docs")
"""Extras that nobody needs to train, which the page leaves out."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package that an extra asks for."""

    name: str
    needed: str
    """Such as `>=2.11`; empty where any version will do."""
    installed: str | None

    @property
    def is_missing(self) -> bool:
        """Whether it is not there, or older than what is needed."""
        return self.installed is None or not new_enough(self.installed, self.needed)


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of trimtab, as in `pip install "trimtab[train]"`."""

    name: str
    packages: tuple[Package, ...]

    @property
    def missing(self) -> tuple[Package, ...]:
        """The packages that it still needs."""
        return tuple(each for each in self.packages if each.is_missing)


@dataclass(frozen=True, slots=True)
class GpuPath:
    """Something that runs on some GPUs only."""

    name: str
    runs: bool
    why: str


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU that PyTorch sees."""

    name: str
    capability: str
    memory_gib: float
    free_gib: float
    paths: tuple[GpuPath, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything on the page; `dataclasses.asdict` makes JSON of it."""

    trimtab: str
    python: str
    system: str
    cores: int
    memory_gib: float | None
    free_memory_gib: float | None
    disk_free_gib: float
    """Of the folder in which the command runs."""
    torch: dict[str, str] = field(default_factory=dict)
    """Its version and what it was built for; why it could not be imported; empty where it is not installed."""
    driver: str | None = None
    """The version of NVIDIA's driver, or what is wrong with it."""
    gpus: tuple[Gpu, ...] = ()
    no_gpu: str = ""
    """Why PyTorch sees no GPU."""
    extras: tuple[Extra, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the command that installs what an extra lacks."""
        told = asdict(self)
        for extra, plain in zip(self.extras, told["extras"], strict=True):
            plain["missing"] = [each.name for each in extra.missing]
            plain["install"] = install_command(extra.name) if extra.missing else None
        return told


def diagnose(folder: Path = Path()) -> Diagnosis:
    """Looks at this machine and this installation; it never fails because of what it finds."""
    total, free = memory()
    torch_facts, gpus, no_gpu = _torch()
    return Diagnosis(
        trimtab=_version(NAME) or "running from source, not installed",
        python=f"{platform.python_version()}, {platform.python_implementation()}",
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gib=total,
        free_memory_gib=free,
        disk_free_gib=round(shutil.disk_usage(folder).free / GIB, 1),
        torch=torch_facts,
        driver=driver(),
        gpus=gpus,
        no_gpu=no_gpu,
        extras=extras_of(requires(NAME) or () if _version(NAME) else ()),
    )


def render(found: Diagnosis) -> str:
    """The page as text, to be pasted into a report."""
    memory_text = (
        "unknown" if found.memory_gib is None else f"{found.free_memory_gib} of {found.memory_gib} GiB free"
    )
    lines = [
        f"trimtab   {found.trimtab}",
        f"Python    {found.python}",
        f"system    {found.system}, {found.cores} cores",
        f"memory    {memory_text}",
        f"disk      {found.disk_free_gib} GiB free here",
        f"torch     {', '.join(found.torch.values()) if found.torch else 'not installed'}",
        f"driver    {found.driver or 'no nvidia-smi'}",
    ]
    if not found.gpus:
        lines.append(f"GPU       none: {found.no_gpu}")
    for number, gpu in enumerate(found.gpus):
        lines.append(
            f"GPU {number}     {gpu.name}, compute capability {gpu.capability}, "
            f"{gpu.free_gib} of {gpu.memory_gib} GiB free"
        )
        lines += [f"  {'yes' if path.runs else 'no ':<4}{path.name:<30}{path.why}" for path in gpu.paths]
    lines.append("extras")
    width = max((len(each.name) for each in found.extras), default=0) + 1
    for extra in found.extras:
        has = ", ".join(f"{each.name} {each.installed}" for each in extra.packages if not each.is_missing)
        lacks = ", ".join(
            f"{each.name} {each.installed or 'missing'}{f' (needs {each.needed})' if each.needed else ''}"
            for each in extra.missing
        )
        told = "; ".join(filter(None, [lacks, has]))
        lines.append(f"  {'yes' if not lacks else 'no ':<4}{extra.name:<{width}}{told}")
        if lacks:
            lines.append(f"      {'':<{width}}{install_command(extra.name)}")
    return "\n".join(lines)


def install_command(extra: str) -> str:
    """What installs an extra."""
    return f'pip install "{NAME}[{extra}]"'


def extras_of(requirements: Sequence[str]) -> tuple[Extra, ...]:
    """The extras that metadata names, each with its packages; those for developing trimtab are left out."""
    found: dict[str, list[Package]] = {}
    for text in requirements:
        match = _REQUIREMENT.fullmatch(text.strip())
        extra = _EXTRA.search(match[3] or "") if match else None
        if match is None or extra is None or extra[1] in FOR_DEVELOPERS or match[1] == NAME:
            continue
        needed = match[2].strip().strip("()")
        found.setdefault(extra[1], []).append(Package(match[1], needed, _version(match[1])))
    return tuple(Extra(name, tuple(packages)) for name, packages in found.items())


def new_enough(installed: str, needed: str) -> bool:
    """Whether a version meets the bounds `>=` and `<` of a requirement, and what is pinned by `==`."""
    for bound in filter(None, map(str.strip, needed.split(","))):
        match = re.fullmatch(r"(>=|<=|==|<|>|!=|~=)\s*(\S+)", bound)
        if match is None:
            continue
        has, limit = _numbers(installed), _numbers(match[2])
        if match[1] in (">=", "~=") and has < limit:
            return False
        if match[1] == "<" and has >= limit:
            return False
        if match[1] == "==" and installed.partition("+")[0] != match[2]:
            return False
    return True


def _numbers(text: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", text)
    found = [int(each) for each in match[0].split(".")] if match else [0]
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def memory() -> tuple[float | None, float | None]:
    """GiB of memory in all and free, None where the system does not say."""
    total, free = (None if each is None else round(each / GIB, 1) for each in host_memory())
    return total, free


def driver() -> str | None:
    """The version of NVIDIA's driver, or what `nvidia-smi` says in its place; None where it is not installed."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    asked = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=DRIVER_S, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return f"nvidia-smi fails: {type(error).__name__}"
    told = (done.stdout or done.stderr).strip().splitlines()
    first = told[0] if told else f"exit code {done.returncode}"
    return first if done.returncode == 0 else f"nvidia-smi fails: {first}"


def _torch() -> tuple[dict[str, str], tuple[Gpu, ...], str]:
    """What is known of PyTorch, its GPUs, and why there are none."""
    if find_spec("torch") is None:
        return {}, (), 'PyTorch is not installed: pip install "trimtab[train]"'
    try:
        import torch

        built = f"CUDA {torch.version.cuda}" if torch.version.cuda else ""
        built = f"ROCm {torch.version.hip}" if torch.version.hip else built
        facts = {"version": torch.__version__, "build": f"built for {built or 'CPU only'}"}
        facts["installer"] = f"from {_installer('torch')}"
        if not torch.cuda.is_available():
            why = "PyTorch sees none; check the driver and CUDA_VISIBLE_DEVICES" if built else ""
            return facts, (), why or "this build of PyTorch is CPU-only"
        return facts, tuple(_gpu(number) for number in range(torch.cuda.device_count())), ""
    # Of any kind: a library may be missing, or the driver too old.
    except Exception as error:
        first, *_ = str(error).splitlines() or [""]
        return (
            {"version": f"{_version('torch')}, import failed: {type(error).__name__}: {first[:200]}"},
            (),
            "PyTorch could not be imported",
        )


def _installer(name: str) -> str:
    return (distribution(name).read_text("INSTALLER") or "an unknown installer").strip()


def _gpu(number: int) -> Gpu:
    import torch

    device = torch.device("cuda", number)
    free, total = torch.cuda.mem_get_info(device)
    major, minor = torch.cuda.get_device_capability(device)
    return Gpu(
        name=torch.cuda.get_device_name(device),
        capability=f"{major}.{minor}",
        memory_gib=round(total / GIB, 1),
        free_gib=round(free / GIB, 1),
        paths=gpu_paths((major, minor), device),
    )


def gpu_paths(capability: tuple[int, int], device: Any) -> tuple[GpuPath, ...]:
    """Which paths run on a GPU, each with its reason."""
    from trimtab.gpu.triton_runs import triton_runs_on
    from trimtab.model.attention_flash4 import HOPPER, flash4_runs_on

    has_bf16 = capability >= (8, 0)
    too_old = f"needs compute capability 8.0, this GPU has {capability[0]}.{capability[1]}"
    kernels, said = _asked(triton_runs_on, device)
    why = said or ("Triton is not installed" if find_spec("triton") is None else "")
    flash, flash_said = _asked(flash4_runs_on, device)
    no_flash = (
        f"is for compute capability {HOPPER}.x"
        if capability[0] != HOPPER
        else flash_said or f"is not installed: {install_command('flash4')}"
    )
    return (
        GpuPath(
            "bfloat16", has_bf16, "step.precision: auto takes it" if has_bf16 else f"{too_old}; fp16_mixed"
        ),
        GpuPath("trimtab kernels", kernels, "by Triton" if kernels else (why or too_old)),
        GpuPath("flash-attn-4", flash, "for heads of 64 and 128" if flash else no_flash),
        GpuPath(
            "CUDA graphs (recorded steps)",
            kernels,
            "step.cuda_graph: auto" if kernels else "need the kernels",
        ),
        GpuPath("fp8", False, "trimtab trains in bf16, fp16, tf32 or fp32"),
    )


def _asked(question: Callable[[Any], bool], device: Any) -> tuple[bool, str]:
    """The answer, and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = question(device)
    return answer, "; ".join(str(each.message) for each in caught)
