"""Do `channels_last` and `cudnn.benchmark` make a convolutional network faster on a GPU?

    python benchmarks/conv_layout.py --out conv_layout.json [--images 128] [--side 64]
    python benchmarks/conv_layout.py --network detector --out conv_layout_detector.json --images 16 --side 320

The network is the autoencoder of `model: {kind: autoencoder, preset: base}`, or the D-FINE of `model: {kind:
detector, preset: tiny}` with live batch norms; a step is forward, backward and a fused AdamW over images of one size.
Arms run in turn, three times each, so that a card that slows down does so for all. `PREDICTIONS` were written before
the first runs. With `--dry-run` it is small and on a CPU.
"""

import argparse
import contextlib
import statistics
import time

import torch
from record import Record

from trimtab.config.detector_model import DetectorModel
from trimtab.model.vision.autoencoder import Autoencoder, AutoencoderShape, init_autoencoder
from trimtab.tasks.detection.model import Detector

PREDICTIONS = {
    "autoencoder": "channels_last is 1.2 times as fast in bfloat16 (PyTorch's tutorial: 1.22 for ResNet-50 under AMP), "
    "and no slower in float32; cudnn.benchmark is within 5% of what cuDNN chooses by itself",
    "detector": "channels_last makes no difference of more than 5%: a step of so small a network waits for "
    "its launches",
}
ARMS = [
    (precision, layout, searched)
    for precision in ("bf16", "fp32")
    for layout in ("contiguous", "channels_last")
    for searched in (False, True)
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--network", default="autoencoder", choices=("autoencoder", "detector"))
    parser.add_argument("--images", type=int, default=128)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    if args.dry_run:
        args.images, args.side, args.steps = 4, 64 if args.network == "detector" else 16, 2
    record = Record(
        args.out,
        question="Milliseconds of a step of a convolutional network, by memory layout and search of kernels",
        network=args.network,
        images=args.images,
        side=args.side,
        prediction=PREDICTIONS[args.network],
    )
    found = {arm: [] for arm in ARMS}
    for _ in range(3):
        for arm in ARMS:
            found[arm].append(milliseconds(args, *arm))
    for arm, times in found.items():
        name = f"{arm[0]}, {arm[1]}, benchmark {'on' if arm[2] else 'off'}"
        record.arm(name, lambda times=times: {"ms": round(statistics.median(times), 3), "each": times})


def milliseconds(args, precision, layout, searched):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = searched
    torch.backends.cuda.matmul.fp32_precision = torch.backends.cudnn.conv.fp32_precision = "tf32"
    layout = torch.channels_last if layout == "channels_last" else torch.contiguous_format
    model, loss_of = (autoencoder if args.network == "autoencoder" else detector)(args)
    model = model.to(device, memory_format=layout)
    images = torch.rand(args.images, 3, args.side, args.side, device=device).to(memory_format=layout)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    half = torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()

    def step():
        with half:
            loss = loss_of(model, images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    for _ in range(5):
        step()
    wait(device)
    begun = time.perf_counter()
    for _ in range(args.steps):
        step()
    wait(device)
    return round(1000 * (time.perf_counter() - begun) / args.steps, 3)


def autoencoder(args):
    """The model, and its loss of some images."""
    model = Autoencoder(AutoencoderShape(3, 4, 8 if args.dry_run else 64, (1, 3, 3, 3)))
    init_autoencoder(model, generator=torch.Generator().manual_seed(1))
    return model, lambda model, images: (model.decode(model.encode(images)) - images).float().square().mean()


def detector(args):
    """The same of a detector, whose loss has no matching: what comes out is squared."""
    size = {"dim": 16, "heads": 2, "decoder_layers": 2, "feed_forward": 16, "backbone_width": 16}
    config = DetectorModel(kind="detector", queries=50, **(size if args.dry_run else {"preset": "tiny"}))

    def loss(model, images):
        found = model.predicted(images, None)
        return found.logits.square().mean() + found.boxes.square().mean()

    return Detector(config, num_labels=1, seed=1).train(), loss


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
