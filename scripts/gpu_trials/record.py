"""The result of runs on a GPU, in the guide: the totals, and the trials that do not agree with their prediction."""

import json
from collections import Counter

BEGIN, END = "<!-- gpu:begin -->\n", "<!-- gpu:end -->\n"


def write_record(page, paths):
    """Replaces the text between the markers of the page with the results of runs on one GPU."""
    runs = [json.loads(path.read_text()) for path in paths]
    for path, run in zip(paths, runs, strict=True):
        if run["is_stand_in"]:
            raise ValueError(f"{path}: results of the stand-in are no results of a GPU")
        if run["device"] != runs[0]["device"]:
            raise ValueError(f"{path}: results of another device than {paths[0]}")
    head, rest = page.read_text().split(BEGIN)
    _, tail = rest.split(END)
    page.write_text(head + BEGIN + "\n".join(lines(runs)) + "\n" + END + tail)


def lines(runs):
    device, trials = runs[0]["device"], [trial for run in runs for trial in run["trials"]]
    total, counts = len(trials), Counter(trial["verdict"] for trial in trials)
    yield f"{device['name']} ({device['processor']}), driver {device['driver']} with CUDA {device['cuda']}, on {runs[0]['date']}: of {total}"
    yield f"trials, {counts['agrees']} agree with the prediction, {counts['DIFFERS']} differ, {counts['unpredicted']} had none."
    others = [trial for trial in trials if trial["verdict"] != "agrees"]
    if others:
        yield ""
        yield "| trial | prediction | result | verdict |"
        yield "|---|---|---|---|"
    for trial in others:
        yield f"| {trial['trial']} | {trial['expected']} | {trial['got']} | {trial['verdict']} |"
