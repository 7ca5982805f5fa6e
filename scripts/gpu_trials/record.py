"""The table of a run on a GPU, in the guide."""

import json

BEGIN, END = "<!-- gpu:begin -->\n", "<!-- gpu:end -->\n"


def write_record(page, path):
    """Replaces the text between the markers of the page with the results of a run."""
    results = json.loads(path.read_text())
    if results["is_stand_in"]:
        raise ValueError(f"{path}: results of the stand-in are no results of a GPU")
    head, rest = page.read_text().split(BEGIN)
    _, tail = rest.split(END)
    page.write_text(head + BEGIN + "\n".join(lines(results)) + "\n" + END + tail)


def lines(results):
    device, counts = results["device"], results["counts"]
    total = sum(counts.values())
    yield f"{device['name']} ({device['processor']}), driver {device['driver']} with CUDA {device['cuda']}: of {total} trials,"
    yield f"{counts['agrees']} agree with the prediction, {counts['DIFFERS']} differ, {counts['unpredicted']} had none."
    yield ""
    yield "| trial | prediction | result | verdict |"
    yield "|---|---|---|---|"
    for trial in results["trials"]:
        yield f"| {trial['trial']} | {trial['expected']} | {trial['got']} | {trial['verdict']} |"
