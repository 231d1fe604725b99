"""Why a replay's verdict is this one, and what to do: sentences for people."""

from typing import assert_never

from trimtab.replaying.evidence import Evidence, fault, is_worse


def explanation(evidence: Evidence, *, device: str, older_is_untrained: bool) -> str:
    """The reason of the verdict. `older_is_untrained` says that the older weights are those of no step at all."""
    verdict = fault(evidence)
    match verdict:
        case "data":
            return _data(evidence)
        case "state":
            return _state(evidence)
        case "data_and_state":
            return _both(evidence, older_is_untrained=older_is_untrained)
        case "not_reproduced":
            return _not_reproduced(evidence, device=device)
        case "no_spike":
            return _no_spike(evidence)
        case _:
            assert_never(verdict)


def _data(evidence: Evidence) -> str:
    now, older = evidence.now, evidence.older
    too = "" if older.step == now.step else f", and it stands out with the weights of step {older.step} too"
    return (
        "with the weights that met it this window stands out, while other windows are well"
        f"{too}. Correct or remove the lines below."
    )


def _state(evidence: Evidence) -> str:
    older = evidence.older
    fell = is_worse(evidence.now.others, older.others)
    when = f"after step {older.step}" if fell else f"by step {older.step} already"
    more = (
        " This window stands out by older weights too: look at its lines as well."
        if evidence.stood_out
        else ""
    )
    return (
        "other windows are just as bad with the weights that met this one, which were spoilt "
        f"{when}. Go back to a checkpoint before that, with a lower learning rate or a longer warmup.{more}"
    )


def _both(evidence: Evidence, *, older_is_untrained: bool) -> str:
    older = evidence.older.step
    if older_is_untrained:
        return (
            "only this window is bad. Whether older weights would have met it better cannot be told: there are only "
            f"those of step {older}, to which every text is hard. Read the lines below."
        )
    return (
        "only this window is bad, and only with the weights that met it; with those of step "
        f"{older} it is like others. Leaving it out is enough; if it happens again and again, lower the learning rate."
    )


def _no_spike(evidence: Evidence) -> str:
    if not evidence.refused:
        return "the window is like others with the weights that met it."
    return (
        "the run refused the step by what the steps before it had; but by the weights that met it other windows have "
        "about the same loss and norm, so that nothing of this window is to blame."
    )


def _not_reproduced(evidence: Evidence, *, device: str) -> str:
    then, again = evidence.recorded, evidence.now.window
    assert then is not None, "what was not written down cannot differ"
    return (
        f"the run wrote down loss {then.loss:.6g} and gradient norm {then.grad_norm:.6g}; the replay, on {device}, "
        f"gives {again.loss:.6g} and {again.grad_norm:.6g}. With the same hardware and software a CPU gives the same "
        "bits, and "
        "a GPU does with step.deterministic: true; so another machine, another version, kernels that add up in another "
        "order, or a fault of the hardware made the difference."
    )
