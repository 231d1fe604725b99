"""Why a replay's verdict is this one, and what to do: sentences for people."""

from typing import assert_never

from trimtab.replaying.evidence import Evidence, fault, is_above, is_worse
from trimtab.replaying.left_out import LeftOut


def explanation(
    evidence: Evidence, *, device: str, older_is_untrained: bool, left: LeftOut | None = None
) -> str:
    """The reason of the verdict. `older_is_untrained` says that the older weights are those of no step at all; `left`
    that the run has left the step out since."""
    reason = _reason(evidence, device=device, older_is_untrained=older_is_untrained, left=left)
    return reason if left is None else f"{_left_out(left)} {reason[0].upper()}{reason[1:]}"


def _reason(evidence: Evidence, *, device: str, older_is_untrained: bool, left: LeftOut | None) -> str:
    verdict = fault(evidence)
    match verdict:
        case "data":
            return _data(evidence)
        case "state":
            return _state(evidence, gone_back=left is not None)
        case "data_and_state":
            return _both(evidence, older_is_untrained=older_is_untrained)
        case "not_reproduced" if evidence.recorded is None:
            return _refused_only_then(device)
        case "not_reproduced":
            return _not_reproduced(evidence, device=device)
        case "no_spike":
            return _no_spike(evidence)
        case _:
            assert_never(verdict)


def _left_out(left: LeftOut) -> str:
    """That the run did not take the step, and what was done instead."""
    first, last = left.stretch
    back = "it went back" if left.went_back_from is None else f"it went back from step {left.went_back_from}"
    never = "" if left.was_taken else ", before it came to this one,"
    so = "as the branch that was left took it" if left.was_taken else "as the branch that was left would have"
    begun = (
        "from a checkpoint of that branch, which was set aside"
        if left.from_its_checkpoint
        else "from where the branches part or before"
    )
    return (
        f"the run left this step out: {back}{never} and takes none of steps {first} to {last} since then (S907 in "
        f"findings.jsonl). It was taken now {so}, {begun}; the guard judged the steps on the way again."
    )


def _data(evidence: Evidence) -> str:
    now, older = evidence.now, evidence.older
    too = "" if older.step == now.step else f", and it stands out with the weights of step {older.step} too"
    return (
        "with the weights that met it this window stands out, while other windows are well"
        f"{too}. Correct or remove the lines below."
    )


def _state(evidence: Evidence, *, gone_back: bool) -> str:
    older = evidence.older
    # The older weights may be damaged themselves: then what the run wrote down before is the only measure.
    fell = is_worse(evidence.now.others, older.others) and not is_above(older.others, evidence.history)
    when = f"after step {older.step}" if fell else f"by step {older.step} already"
    more = (
        " This window stands out by older weights too: look at its lines as well."
        if evidence.stood_out
        else ""
    )
    then = (
        "The run has gone back already; if it must again, continue"
        if gone_back
        else "Go back to a checkpoint before that,"
    )
    return (
        "other windows are just as bad with the weights that met this one, which were damaged "
        f"{when}. {then} with a lower learning rate or a longer warmup.{more}"
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


def _refused_only_then(device: str) -> str:
    return (
        f"that branch refused the step, as quarantine.jsonl tells; taken again, on {device}, it is like others, and "
        "the weights are well. So neither text nor settings alone did it, but something that does not come again: a "
        "fault of the hardware, another machine or version, or kernels that add up in another order."
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
