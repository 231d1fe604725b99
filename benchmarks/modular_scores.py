"""What `modular.py` measured: chrF and off-target rate of its translations, and the result with its intervals."""

import json
import lzma
import math
import statistics

OTHERS = ("de", "ja", "zh", "pt")
DIRECTIONS = [pair for other in OTHERS for pair in (("en", other), (other, "en"))]
ARMS = {"tagged": "multilingual.yaml", "modular": "multilingual_modular.yaml"}
STUDENT_T = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}
"""Of a 95% interval, by the number of seeds."""


def scores(outputs, data):
    """chrF and off-target rate of each direction; no rate where py3langid is not installed."""
    from trimtab.errors import InputError
    from trimtab.metrics.chrf import chrf
    from trimtab.metrics.off_target import off_target

    found = {}
    for name, lines in outputs.items():
        one, other = name.split("-")
        references = texts(dev_file(data, one, other, other), len(lines))
        found[name] = {"lines": len(lines), "chrf": round(chrf(lines, references).value, 3)}
        try:
            rate = off_target(lines, references)
            found[name] |= {"off_target": round(rate.value, 3), "judged": rate.signature}
        except InputError:
            found[name]["off_target"] = None
    return found


def dev_file(data, one, other, language):
    return data / f"en-{other if one == 'en' else one}" / "prose" / f"dev.{language}.xz"


def texts(path, limit=None):
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1][:limit]


def place_of(arm, seed, out):
    return out.with_name(f"{out.stem}_{arm}_{seed}.json.xz")


def kept_translations(each, out):
    return json.loads(lzma.decompress(place_of(each["arm"], each["seed"], out).read_bytes()))


def write(runs, out):
    new = out.with_suffix(".new")
    new.write_text(json.dumps(result(runs), indent=1) + "\n", encoding="utf-8")
    new.rename(out)


def result(runs):
    """Everything measured so far, with the means over directions and the difference over seeds."""
    found = {arm: {} for arm in ARMS}
    scored = [each for each in runs if "scores" in each]
    for each in scored:
        rates = [score["off_target"] for score in each["scores"].values()]
        known = [rate for rate in rates if rate is not None and not math.isnan(rate)]
        found[each["arm"]][each["seed"]] = {
            "chrf": round(statistics.mean(score["chrf"] for score in each["scores"].values()), 3),
            "off_target": round(statistics.mean(known), 3) if known else None,
            "step_ms": each["step_ms"],
            "steps": each["steps"],
        }
    paired = [seed for seed in found["modular"] if seed in found["tagged"]]
    difference = {}
    for key in ("chrf", "off_target"):
        pairs = [(found["modular"][seed][key], found["tagged"][seed][key]) for seed in paired]
        gains = [one - other for one, other in pairs if one is not None and other is not None]
        difference[key] = {"mean": round(statistics.mean(gains), 3) if gains else None, "seeds": len(gains)}
        if len(gains) > 1:
            half = STUDENT_T.get(len(gains), 2.0) * statistics.stdev(gains) / math.sqrt(len(gains))
            mean = statistics.mean(gains)
            difference[key] |= {"lowest": round(mean - half, 3), "highest": round(mean + half, 3)}
    by_direction = {}
    for name in (f"{one}-{other}" for one, other in DIRECTIONS):
        values = {
            arm: [each["scores"][name]["chrf"] for each in scored if each["arm"] == arm] for arm in ARMS
        }
        by_direction[name] = {arm: round(statistics.mean(each), 3) for arm, each in values.items() if each}
    means = {"by_seed": found, "chrf_by_direction": by_direction, "modular minus tagged": difference}
    return {**about(), "runs": runs, "means": means}


def about():
    import torch
    from record import command, commit

    return {
        "question": "modular against tagged, equal minutes and about equal steps: chrF and off-target rate",
        "card": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "torch": torch.__version__,
        "commit": commit(),
        "command": command(),
    }
