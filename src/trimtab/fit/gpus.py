"""GPUs by name: memory, rate and bandwidth, as a plan needs them; and the one in this machine."""

from dataclasses import dataclass
from difflib import get_close_matches

from trimtab.errors import input_error
from trimtab.fit.memory_size import GIB, MIB

ALL = "all"
NVIDIA_SMI_S = 5.0
"""`nvidia-smi` takes some 50 ms; on a machine with a broken driver it may never end."""
HIDDEN_SHARE = 0.98
"""Of what `nvidia-smi` calls total, CUDA offers a process so much: 139.8 of 140.4 GiB on an H200, 23.6 of 24.0 on an
RTX 4090, 22.0 of 22.5 on an L4."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A graphics card. Rates are those of its data sheet, dense, half precision with float32 sums."""

    name: str
    memory_gib: float
    """What CUDA offers as the total: the figure in PyTorch's message `GPU 0 has a total capacity of`."""
    teraflops: float
    """bfloat16; float16 where the card has no bfloat16."""
    gigabytes_per_second: int
    capability: float = 9.0
    """CUDA compute capability; from 8.0 on there is bfloat16."""
    source: str = ""
    """Where the memory is from; data sheets of NVIDIA for the others."""

    @property
    def memory(self) -> int:
        """Bytes that CUDA offers."""
        return int(self.memory_gib * GIB)

    @property
    def has_bfloat16(self) -> bool:
        """Whether its tensor cores multiply bfloat16."""
        return self.capability >= 8.0


SEEN = "out-of-memory message of PyTorch"
SCALED = "nvidia-smi's total times 0.98"
GPUS: tuple[Gpu, ...] = (
    Gpu("rtx-3060", 11.76, 25.6, 360, 8.6, SCALED),
    Gpu("rtx-4070", 11.76, 58.3, 504, 8.9, SCALED),
    Gpu("rtx-5070", 11.5, 61.7, 672, 12.0, SCALED),
    Gpu("rtx-3080", 9.78, 59.5, 760, 8.6, f"{SEEN}, github.com/zai-org/CogVideo/issues/34"),
    Gpu("t4", 14.56, 65.0, 320, 7.5, f"{SEEN}, github.com/Zheng-Chong/CatVTON/issues/133"),
    Gpu("rtx-4060-ti-16gb", 15.6, 44.1, 288, 8.9, SCALED),
    Gpu("rtx-5060-ti-16gb", 15.5, 47.4, 448, 12.0, SCALED),
    Gpu("rtx-4080", 15.7, 97.5, 717, 8.9, SCALED),
    Gpu("rtx-5080", 15.5, 112.6, 960, 12.0, SCALED),
    Gpu("v100-16gb", 15.75, 125.0, 900, 7.0, f"{SEEN}, github.com/Morizeyao/GPT2-Chinese/issues/215"),
    Gpu("rtx-a4000", 15.7, 76.7, 448, 8.6, SCALED),
    Gpu("a10", 21.99, 125.0, 600, 8.6, f"{SEEN}, github.com/zai-org/CogVLM/issues/236"),
    Gpu("a10g", 21.99, 70.0, 600, 8.6, "as the A10: nvidia-smi's totals are the same"),
    Gpu("l4", 22.03, 121.0, 300, 8.9, f"{SEEN}, github.com/ArcInstitute/evo2/issues/190"),
    Gpu("rtx-3090", 23.6, 71.0, 936, 8.6, SCALED),
    Gpu("rtx-4090", 23.6, 165.2, 1008, 8.9, f"{SEEN}, github.com/ali-vilab/VGen/issues/104: 23.61 to 23.64"),
    Gpu("rtx-a5000", 23.6, 111.1, 768, 8.6, SCALED),
    Gpu("rtx-5090", 31.37, 209.5, 1792, 12.0, f"{SEEN}, github.com/Wan-Video/Wan2.1/issues/465"),
    Gpu("v100-32gb", 31.4, 125.0, 900, 7.0, SCALED),
    Gpu("a100-40gb", 39.3, 312.0, 1555, 8.0, SCALED),
    Gpu("l40s", 44.4, 362.0, 864, 8.9, f"{SEEN} of an L40, github.com/QwenLM/Qwen3-VL/issues/2097"),
    Gpu("rtx-a6000", 47.4, 154.8, 768, 8.6, SCALED),
    Gpu("rtx-6000-ada", 47.4, 364.0, 960, 8.9, SCALED),
    Gpu("a100-80gb", 79.1, 312.0, 2039, 8.0, SCALED),
    Gpu("h100-pcie", 79.1, 756.0, 2000, 9.0, SCALED),
    Gpu("h100-80gb", 79.2, 989.4, 3350, 9.0, f"{SEEN}, as prime-rl's benchmarks have it"),
    Gpu("rtx-pro-6000", 94.9, 503.8, 1792, 12.0, SCALED),
    Gpu("gh200-96gb", 94.5, 989.4, 4000, 9.0, SCALED),
    Gpu("h200", 139.8, 989.4, 4800, 9.0, "torch.cuda.mem_get_info on the card"),
    Gpu("b200", 178.3, 2250.0, 8000, 10.0, SCALED),
)
"""By memory, then by rate, about."""

ALIASES = {
    "a100": "a100-80gb",
    "h100": "h100-80gb",
    "v100": "v100-16gb",
    "gh200": "gh200-96gb",
    "4090": "rtx-4090",
    "3090": "rtx-3090",
    "5090": "rtx-5090",
    "a6000": "rtx-a6000",
}
_CALLED = ("nvidia", "geforce", "tesla", "quadro")
"""Words of the driver's names that are in none of these."""


def find_gpu(name: str) -> Gpu:
    """The GPU of a name, however its words are joined (`RTX 4090`, `rtx4090`); InputError, with the nearest names, for
    one that is not in the table."""
    by_key = {_key(gpu.name): gpu for gpu in GPUS}
    by_key |= {_key(alias): by_key[_key(gpu)] for alias, gpu in ALIASES.items()}
    key = _key(name)
    if key in by_key:
        return by_key[key]
    near = [by_key[each].name for each in get_close_matches(key, by_key, n=3, cutoff=0.5)]
    raise input_error(
        "--gpu: no such GPU in the table",
        got=name[:80] or "nothing",
        allowed=f"{', '.join(gpu.name for gpu in GPUS)}, or {ALL}",
        fix=f"did you mean {', '.join(dict.fromkeys(near))}? Otherwise give its memory: `--memory 24GB`"
        if near
        else "give its memory: `--memory 24GB`",
    )


def _key(name: str) -> str:
    words = "".join(each if each.isalnum() else " " for each in name.lower()).split()
    return "".join(word for word in words if word not in _CALLED)


def local_gpu() -> Gpu | None:
    """The first GPU of this machine that `CUDA_VISIBLE_DEVICES` shows, as its driver describes it; None where there is
    no driver, no GPU, or none that is shown.

    A card that is not in the table has the rates of the nearest one by memory, which only speeds are estimated from.
    """
    import shutil

    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    import subprocess

    asked = [program, "--query-gpu=name,memory.total,compute_cap", "--format=csv,noheader,nounits"]
    shown = first_shown()
    if shown == "":
        return None
    if shown is not None:
        asked += ["-i", shown]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, timeout=NVIDIA_SMI_S, check=True).stdout
        name, total, capability = (each.strip() for each in told.splitlines()[0].split(","))
        memory = float(total) * MIB * HIDDEN_SHARE / GIB
        return described(name, memory, float(capability))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def first_shown() -> str | None:
    """What `CUDA_VISIBLE_DEVICES` names first: a number, or the start of an identifier; None where it is not set, and
    an empty text where it shows no GPU (CUDA shows those before the first -1)."""
    import os

    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    first = None if shown is None else shown.split(",")[0].strip()
    return "" if first == "-1" else first


def described(name: str, memory_gib: float, capability: float) -> Gpu:
    """A GPU that a driver names, with this memory and the rates of its kind or of the nearest one."""
    key = _key(name)
    known = [gpu for gpu in GPUS if key.startswith(_key(gpu.name.removesuffix("-80gb")))]
    like = max(known, key=lambda gpu: len(gpu.name)) if known else nearest(memory_gib)
    return Gpu(name, memory_gib, like.teraflops, like.gigabytes_per_second, capability, "nvidia-smi")


def nearest(memory_gib: float) -> Gpu:
    """The card of the table whose memory is nearest."""
    return min(GPUS, key=lambda gpu: abs(gpu.memory_gib - memory_gib))


def of_memory(memory: int) -> Gpu:
    """A card of which only the memory is known; its speed is that of the nearest one with tensor cores for bfloat16."""
    like = min((gpu for gpu in GPUS if gpu.has_bfloat16), key=lambda gpu: abs(gpu.memory - memory))
    return Gpu(
        f"a GPU with {memory / GIB:.1f} GiB",
        memory / GIB,
        like.teraflops,
        like.gigabytes_per_second,
        like.capability,
        f"given; speed as on {like.name}",
    )
