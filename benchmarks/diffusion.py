"""Trains a diffusion model for some minutes on one GPU, and lets a classifier of real images read its samples.

    python benchmarks/diffusion.py --data DIR --what digits --out diffusion_digits.json [--minutes 8] [--pictures DIR]
    python benchmarks/diffusion.py --data DIR --what emoji --out diffusion_emoji.json
    python benchmarks/diffusion.py --data DIR --what emoji --latents --minutes 5 --out diffusion_latents.json

DIR is what `diffusion_data.py` wrote. Digits are trained at 32 pixels, emoji at 64. A convolutional network that is
trained on the real training images and tested on the held-out ones reads 1,000 samples, as many of each class. Of the
emoji it knows the groups alone: the diffusion model is trained on pictures of no group too, which are left out here.
How near samples are to training images is told beside how near held-out images are. With --latents an autoencoder is
trained first, for --autoencoder-minutes, and diffusion works in its latents, of 8 by 8 cells. With `--dry-run`
everything runs with a tiny model on a CPU.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from diffusion_data import OTHER
from plain_progress import PlainProgress
from record import Record
from torch import nn

import trimtab
from trimtab.tasks.diffusion.generator import load_image_generator
from trimtab.tasks.diffusion.pictures import grid_of, nearest, png_of

SIZES = {"digits": (32, "grey"), "emoji": (64, "rgb"), "small_digits": (16, "grey")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--what", default="digits", choices=tuple(SIZES))
    parser.add_argument("--out", required=True)
    parser.add_argument("--run", help="keep the run here")
    parser.add_argument("--pictures", help="write grids of samples and their nearest training images here")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--latents", action="store_true", help="train an autoencoder first")
    parser.add_argument("--autoencoder-minutes", type=float, default=2)
    parser.add_argument("--latent-noise", type=float, default=0.1)
    parser.add_argument("--steps", type=int, help="train for so many steps in place of minutes")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--prediction", default="flow", choices=("flow", "epsilon", "v", "x0"))
    parser.add_argument("--weighting", default="none", choices=("none", "min_snr"))
    parser.add_argument("--guidance", type=float, nargs="+", default=[1.0, 2.0, 3.0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    record = Record(
        args.out,
        question="How many samples of a diffusion model a classifier reads as the class that was asked for",
        minutes=args.minutes,
        recipe=recipe_of(args),
    )
    place = f"latents with noise {args.latent_noise:g}" if args.latents else "pixels"
    name = f"trimtab, {args.what}, {place}, {args.prediction}, {args.weighting}, preset {args.preset}"
    name += f", {length_of(args)[0]}"
    record.arm(name, lambda: train_and_read(args))


def length_of(args):
    """The length of the run and its warmup, evaluations and checkpoints."""
    if args.dry_run:
        return "4 steps", "2 steps", "2 steps", "4 steps"
    if args.steps:
        return (
            f"{args.steps} steps",
            f"{args.steps // 20} steps",
            f"{args.steps // 2} steps",
            f"{args.steps} steps",
        )
    return f"{args.minutes:g} minutes", "0.2 minutes", "1 minutes", "2 minutes"


def recipe_of(args, *, autoencoder=None):
    data = (Path(args.data) / args.what).resolve()
    size, channels = SIZES[args.what]
    tiny = {"dim": 32, "heads": 2, "layers": 1, "feed_forward": 64}
    dry, (length, warmup, evaluate, checkpoint) = args.dry_run, length_of(args)
    return {
        "task": "diffusion",
        "data": {
            "train": [{"images": str(data / "train")}],
            "valid": {"images": str(data / "valid")},
            "images": {"size": size, "channels": channels},
            "workers": 0 if dry else args.workers,
        },
        "model": {
            "kind": "diffusion_transformer",
            "prediction": args.prediction,
            "weighting": args.weighting,
            "times": "logit_normal" if args.prediction == "flow" else "uniform",
            "patch": 4 if autoencoder is None else 1,
            "autoencoder": autoencoder,
            "dropout": 0.1,
            "sampling": {"steps": 2 if dry else 50},
            **(tiny if dry else {"preset": args.preset}),
        },
        "step": {
            "tokens_per_step": 16 if dry else 256,
            "optimizer": {
                "kind": "adamw",
                "learning_rate": 5.0e-4,
                "betas": [0.9, 0.99],
                "weight_decay": 0.03,
            },
            "schedule": {"kind": "cosine", "warmup": warmup},
            "ema": {"decay": 0.9995},
        },
        "length": length,
        "evaluate": {"every": evaluate, "samples": 1 if dry else 8},
        "checkpoint": {"every": checkpoint},
        "seed": args.seed,
    }


def autoencoder_recipe(args):
    """An autoencoder that halves images down to 8 by 8 cells, in the sizes of TAESD."""
    tree = recipe_of(args)
    size = tree["data"]["images"]["size"]
    shape = {"dim": 8, "blocks": 1} if args.dry_run else {"preset": "base"}
    length = "4 steps" if args.dry_run else f"{args.autoencoder_minutes:g} minutes"
    tree["model"] = {
        "kind": "autoencoder",
        "reduction": size // 8,
        "latent_noise": args.latent_noise,
        **shape,
    }
    tree["step"] |= {
        "tokens_per_step": 16 if args.dry_run else 128,
        "optimizer": {"kind": "adamw", "learning_rate": 1.0e-3, "betas": [0.9, 0.99], "weight_decay": 0.0},
        "schedule": {"kind": "cosine", "warmup": "2 steps" if args.dry_run else "0.05 minutes"},
        "ema": {"decay": 0.995},
    }
    often = "2 steps" if args.dry_run else "0.5 minutes"
    return tree | {
        "length": length,
        "evaluate": {"every": often, "samples": 8},
        "checkpoint": {"every": often},
    }


def trained_autoencoder(args, place):
    """The run of an autoencoder, and what is known of it."""
    begun, run = time.perf_counter(), place / "autoencoder"
    result = trimtab.train(autoencoder_recipe(args), out=run, progress=PlainProgress())
    rows = [json.loads(line) for line in (run / "evaluations.jsonl").read_text().splitlines()]
    return str(run), {
        "psnr": [row["psnr"] for row in rows],
        "steps": result.state.step,
        "run_seconds": round(time.perf_counter() - begun, 1),
        "findings": [f"{each.code} {each.message}" for each in result.findings],
    }


def train_and_read(args):
    with tempfile.TemporaryDirectory() as place:
        run = Path(args.run or Path(place) / "run")
        autoencoder, encoded = trained_autoencoder(args, Path(place)) if args.latents else (None, None)
        begun = time.perf_counter()
        result = trimtab.train(recipe_of(args, autoencoder=autoencoder), out=run, progress=PlainProgress())
        trained = time.perf_counter() - begun
        evaluations = [json.loads(line) for line in (run / "evaluations.jsonl").read_text().splitlines()]
        generators = {"best": load_image_generator(run), "last": load_image_generator(f"{run}@last")}
        data = Real(generators["best"], Path(args.data) / args.what, args)
        reader, accuracy = classifier_of(data, dry=args.dry_run)
        found = {
            f"{name}, guidance {scale:g}": read(generator, scale, reader, data, args, name=name)
            for name, generator in generators.items()
            for scale in args.guidance
        }
    return {
        **({} if encoded is None else {"autoencoder": encoded}),
        "classifier_on_held_out_images": accuracy,
        "samples": found,
        "distance_of_held_out_images": quartiles(data.distances(data.valid[0])),
        "steps": result.state.step,
        "images": result.state.target_tokens,
        "run_seconds": round(trained, 1),
        "images_per_second": round(result.state.target_tokens / max(1e-9, result.state.seconds)),
        "parameters": generators["best"].model.num_parameters(),
        "best_step": generators["best"].checkpoint.step,
        "curve": evaluations,
        "findings": [f"{each.code} {each.message}" for each in result.findings],
    }


class Real:
    """The images of the run as pixels, with the numbers of their classes."""

    def __init__(self, generator, folder, args):
        from trimtab.config.corpora import ValidFiles
        from trimtab.tasks.images.labelled import open_pictures
        from trimtab.tasks.images.squares import classes_in, read_square

        self.names = [name for name in generator.labels.names if name != OTHER]
        numbers = {
            number: self.names.index(name)
            for number, name in enumerate(generator.labels.names)
            if name != OTHER
        }
        sets = []
        for part in ("train", "valid"):
            files = ValidFiles.model_validate({"images": str(folder / part)})
            corpus = open_pictures(files, key=part, seed=1)
            kept = range(0, len(corpus), 40 if args.dry_run else 1)
            pixels = np.stack([read_square(corpus, line, generator.recipe.data.images) for line in kept])
            classes = classes_in(corpus, generator.labels, key=part)[list(kept)].tolist()
            judged = [each in numbers for each in classes]
            sets.append((pixels[judged], np.array([numbers[each] for each in classes if each in numbers])))
            if part == "train":
                self.pixels = pixels
        self.train, self.valid = sets

    def distances(self, images):
        pixels = self.pixels
        return nearest(images.reshape(len(images), -1), pixels.reshape(len(pixels), -1))[1]


def read(generator, scale, reader, data, args, *, name):
    count = max(1, (40 if args.dry_run else args.samples) // len(data.names))
    labels = np.repeat(np.arange(len(data.names)), count)
    begun = time.perf_counter()
    images = generator.sample([data.names[label] for label in labels], seed=args.seed, guidance=scale)
    seconds = time.perf_counter() - begun
    right = predicted(reader, images) == labels
    if args.pictures:
        folder = Path(args.pictures)
        folder.mkdir(parents=True, exist_ok=True)
        shown = images[np.arange(len(images)) % count < 12]
        stem = f"{args.what}_{name}_guidance_{scale:g}"
        (folder / f"{stem}.png").write_bytes(png_of(grid_of(shown, columns=min(12, count))))
        few = shown[:: max(1, len(shown) // 24)][:24]
        near = np.stack([each.pixels for each in generator.nearest(few)])
        both = np.concatenate([few, near])
        (folder / f"{stem}_nearest.png").write_bytes(png_of(grid_of(both, columns=len(few))))
    return {
        "images": len(images),
        "read_as_their_class": round(float(right.mean()), 4),
        "by_class": {
            data.names[each]: round(float(right[labels == each].mean()), 3) for each in np.unique(labels)
        },
        "seconds": round(seconds, 2),
        "distance_to_training_images": quartiles(data.distances(images)),
    }


def quartiles(distances):
    """Root mean squares of differences, of 255 levels."""
    return [round(float(each), 2) for each in np.quantile(distances, [0.01, 0.25, 0.5, 0.75])]


def classifier_of(data, *, dry):
    """A small convolutional network, trained on the real images with shifts, turns and scaling; and its accuracy on the
    held-out ones."""
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    (pixels, labels), (held_out, true) = data.train, data.valid
    channels, width = pixels.shape[-1], 8 if dry else 64
    layers, before = [], channels
    for after in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        layers += [nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
        before = after
    head = [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.3), nn.Linear(4 * before, len(data.names))]
    model = nn.Sequential(*layers, *head).to(device)
    images, labels = as_input(pixels).to(device), torch.from_numpy(labels).to(device)
    steps, size = (3, 32) if dry else (2500, 128)
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    for _ in range(steps):
        chosen = torch.randint(len(images), (size,), device=device)
        loss = F.cross_entropy(model(moved(images[chosen])), labels[chosen], label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()
    return model, round(float((predicted(model, held_out) == true).mean()), 4)


def moved(images):
    """Turned by up to 10 degrees, scaled by up to 10%, and shifted by up to 8% of the side."""
    count = len(images)
    draw = (torch.rand(count, 4, device=images.device) * 2 - 1) * torch.tensor(
        [0.17, 0.1, 0.16, 0.16], device=images.device
    )
    angle, scale = draw[:, 0], 1 + draw[:, 1]
    rows = [
        torch.stack([scale * angle.cos(), -scale * angle.sin(), draw[:, 2]], 1),
        torch.stack([scale * angle.sin(), scale * angle.cos(), draw[:, 3]], 1),
    ]
    grid = F.affine_grid(torch.stack(rows, 1), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, padding_mode="border", align_corners=False)


def as_input(pixels):
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 127.5 - 1


@torch.no_grad()
def predicted(model, pixels):
    device = next(model.parameters()).device
    return torch.cat([model(part.to(device)).argmax(1).cpu() for part in as_input(pixels).split(500)]).numpy()


if __name__ == "__main__":
    main()
