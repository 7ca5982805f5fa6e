"""Runs the program on one bomb."""

from trials import seeds
from trials.bombs import BOMBS
from trials.limits import run, violations
from trials.tally import Failure, Tally, command_line, keep


def run_bomb(setting, name, directory):
    words, make = BOMBS[name]
    path = directory / name
    path.write_bytes(make(setting.fixtures))
    if "FILE" not in words:
        words = [*words, "FILE"]
    places = {"FILE": path, "IMAGE": setting.fixtures / seeds.HSACO}
    outcome = run([setting.program, *(places.get(word, word) for word in words)])
    tally = Tally(inputs=1, runs=1)
    reasons = violations(outcome)
    if outcome.status == 2 and not outcome.errors:
        reasons.append("exit status 2 without an error")
    if reasons:
        kept = keep(setting, "bombs", name, path.read_bytes())
        command = command_line(outcome.command).replace(str(path), str(kept))
        tally.failures.append(Failure(name, command, reasons))
    return tally
