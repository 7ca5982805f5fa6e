#!/usr/bin/env python3
"""Runs the trials of this directory on the GPU of this machine, or on a stand-in for it, and compares with the predictions.

    ./run                                        on the first GPU
    ./run --stand-in sm_90 --driver 12.8         without a GPU: documents against documents
    ./run --only select/                         trials whose names contain this

Needs Python 3 and the driver, nothing else. Writes results.json; a run against the stand-in also writes the recorded calls. The
exit status is 0 if all results are as predicted, 1 if one is not, 2 for trouble, 77 without a GPU.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
NO_DEVICE = 77
# Time limit of a program, in seconds.
LIMIT = 150
TIMED_OUT = 124

# Line of a program whose region ran on the host.
ON_HOST = "value 0"

AGREES, DIFFERS, UNPREDICTED = "agrees", "DIFFERS", "unpredicted"


class Trouble(Exception):
    """A failure that is not a result."""


class Device:
    """The device of this run: its processor, and the version of CUDA of its driver."""

    def __init__(self, arguments, log):
        # Compiled PTX is not read from a cache of an earlier run.
        self.environment = {**os.environ, "CUDA_CACHE_DISABLE": "1", "OMP_TARGET_OFFLOAD": "DEFAULT"}
        directories = [HERE / "stand-in"] if arguments.stand_in else []
        directories += [HERE / "lib/openmp", HERE / "lib", *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        self.environment["LD_LIBRARY_PATH"] = os.pathsep.join(map(str, directories))
        if arguments.stand_in:
            log.unlink(missing_ok=True)
            self.environment.update(
                GPU_STAND_IN_DEVICE=arguments.stand_in,
                GPU_STAND_IN_DRIVER=arguments.driver,
                GPU_STAND_IN_LOG=str(log),
            )
        done = self.run(["bin/loader"])
        words = done.stdout.strip().split(" ", 3)
        if done.returncode == NO_DEVICE:
            print(f"no GPU: {done.stdout.strip().removeprefix('none ')}")
            sys.exit(NO_DEVICE)
        if done.returncode != 0 or words[0] != "device":
            raise Trouble(f"bin/loader: {done.stdout}{done.stderr}")
        self.processor, self.driver, self.name = words[1:]
        self.release = kernel_driver() if not arguments.stand_in else "stand-in"

    def run(self, command, text=None):
        """Runs a program of this directory."""
        program = [str(HERE / command[0]), *command[1:]]
        options = {"cwd": HERE, "env": self.environment, "input": text, "capture_output": True, "text": True, "check": False}
        try:
            return subprocess.run(program, timeout=LIMIT, **options)
        except subprocess.TimeoutExpired as error:
            # What was printed so far are results.
            printed = (error.stdout or b"").decode()
            return subprocess.CompletedProcess(program, TIMED_OUT, printed, f"stopped after {LIMIT} seconds")


def kernel_driver():
    """Returns the release of the driver, such as 580.159.04."""
    try:
        words = Path("/proc/driver/nvidia/version").read_text().split("\n")[0].split()
        return next(word for word in words if word[0].isdigit() and "." in word)
    except (OSError, StopIteration):
        return "unknown"


def known_driver(driver, drivers):
    """Returns the newest release in the predictions that is not newer than the driver."""
    older = [name for name in drivers if release(name) <= release(driver)]
    return older[-1] if older else None


def is_for(trial, processor, driver):
    """Returns whether the trial is for a device, and for a driver: older ones lack functions that it calls."""
    is_known = driver in trial["predictions"].get(processor, {})
    return is_known and release(driver) >= release(trial.get("oldest", "0.0"))


def release(text):
    return tuple(int(part) for part in text.split("."))


def unpack():
    """Unpacks the large files."""
    for packed in (HERE / "lib/openmp.tar.xz", HERE / "real.tar.xz"):
        if packed.exists():
            with tarfile.open(packed) as archive:
                archive.extractall(packed.parent)
            packed.unlink()


def results(trials, device):
    """Returns the line that each trial prints. The loader runs many trials in one process; one that dies is started again."""
    lines = {}
    waiting = [trial for trial in trials if "load" in trial]
    while waiting:
        text = "".join(f"{trial['load'][0]} {trial['load'][1]}\n" for trial in waiting)
        done = device.run(["bin/loader", "batch"], text)
        printed = done.stdout.splitlines()[1:]
        for trial, line in zip(waiting, printed, strict=False):
            lines[trial["name"]] = line
        if len(printed) < len(waiting):
            lines[waiting[len(printed)]["name"]] = f"died {done.returncode} {done.stderr.strip()}"
        waiting = waiting[len(printed) + 1 :]
    for trial in trials:
        if "program" in trial:
            done = device.run(trial["program"])
            printed = done.stdout.strip().splitlines()
            is_result = done.returncode == 0 and len(printed) == 1
            lines[trial["name"]] = printed[0] if is_result else f"died {done.returncode} {done.stdout}{done.stderr}".strip()
    return lines


def judge(prediction, line, floor, driver):
    """Returns the verdict on a result, from the image that `select` predicts and the oldest driver that `requires` states."""
    word, value = (line.split(" ", 2) + [""])[:2]
    if "aborts" in prediction:
        return AGREES if line.startswith(f"died -{int(signal.SIGABRT)} ") else DIFFERS
    if word == "died" and prediction.get("errors") == []:
        # Some libraries end the program where the driver refuses their code.
        return AGREES
    if word not in ("value", "error"):
        return DIFFERS
    if "unknown" in prediction:
        return UNPREDICTED
    if floor not in (None, "unknown") and (word == "value") != (floor != "none" and release(driver) >= release(floor)):
        return DIFFERS
    if "value" in prediction:
        is_equal = word == "value" and int(value) == prediction["value"]
    else:
        is_equal = word == "error" and (not prediction["errors"] or int(value) in prediction["errors"])
    return AGREES if is_equal else DIFFERS


def describe(prediction, images, expects):
    if "unknown" in prediction:
        return "unknown"
    if "aborts" in prediction:
        return "aborted"
    if "value" in prediction:
        return value_name(images, prediction["value"], expects)
    return "error " + " or ".join(str(code) for code in prediction["errors"] or ["of any kind"])


def describe_line(line, images, expects):
    words = line.split(" ")
    if words[0] == "value":
        return value_name(images, words[1], expects)
    return "aborted" if words[:2] == ["died", str(-signal.SIGABRT)] else line


def value_name(images, number, expects):
    """Returns what a printed number means, in the words of the table."""
    if expects == "kernels":
        return f"{number} kernels"
    if expects != "number":
        return "runs"
    name = images.get(str(number), f"unknown number {number}")
    form = {"c": "cubin", "p": "PTX"}.get(name[0])
    return f"{form} {name[1:]}" if form else name


def table(rows):
    header = ("TRIAL", "PREDICTION", "RESULT", "VERDICT")
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(3)]
    return ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in [header, *rows]]


def log_violations(log, trials, lines):
    """Returns what is wrong with the recorded calls: violations, and results without a loaded image or without their launches."""
    calls = log.read_text().splitlines()
    wrong = [call for call in calls if call.startswith("violation ")]
    launches = sum(call.startswith("cuLaunchKernel ->") for call in calls)
    loads = sum("Load" in call.split(" ")[0] and "-> image" in call for call in calls)
    successful = [trial for trial in trials if lines[trial["name"]].startswith("value ") and lines[trial["name"]] != ON_HOST]
    expected = sum(trial.get("launches", 1) for trial in successful)
    if loads != len(successful) or launches != expected:
        wrong.append(f"{len(successful)} results, but {loads} loaded images, and {launches} launches instead of {expected}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stand-in", metavar="DEVICE", help="run against the stand-in for libcuda, as this device")
    parser.add_argument("--driver", metavar="RELEASE", help="release of CUDA of the driver that the stand-in is")
    parser.add_argument("--only", metavar="TEXT", default="", help="only trials whose names contain this")
    parser.add_argument("--results", metavar="FILE", type=Path, help="output file, by default results.json in this directory")
    arguments = parser.parse_args()
    if bool(arguments.stand_in) != bool(arguments.driver):
        parser.error("--stand-in and --driver belong together")
    manifest = json.loads((HERE / "manifest.json").read_text())
    arguments.results = (arguments.results or HERE / "results.json").resolve()
    log = arguments.results.with_suffix(".calls")
    unpack()
    device = Device(arguments, log)
    driver = known_driver(device.driver, manifest["drivers"])
    trials = [trial for trial in manifest["trials"] if arguments.only in trial["name"]]
    if device.processor not in manifest["devices"] or not driver:
        raise Trouble(f"no predictions for {device.processor} with CUDA {device.driver}: build with --device and --release")
    trials = [trial for trial in trials if is_for(trial, device.processor, driver)]
    if arguments.stand_in:
        trials = [trial for trial in trials if not trial.get("is_gpu_only")]
    if not trials:
        raise Trouble("no trials")
    lines = results(trials, device)
    return report(arguments, manifest, device, driver, trials, lines, log)


def report(arguments, manifest, device, driver, trials, lines, log):
    rows, entries = [], []
    for trial in trials:
        prediction, line = trial["predictions"][device.processor][driver], lines[trial["name"]]
        floor = trial.get("floors", {}).get(device.processor)
        expects = trial["expects"]
        verdict = judge(prediction, line, floor, driver)
        expected, got = describe(prediction, manifest["images"], expects), describe_line(line, manifest["images"], expects)
        rows.append((trial["name"], expected, got, verdict))
        entry = {"prediction": prediction, "floor": floor, "result": line, "expected": expected, "got": got, "verdict": verdict}
        entries.append({"trial": trial["name"], **entry})
    lines_of_table = table(rows)
    print(f"{device.name}: {device.processor}, CUDA {device.driver}, driver {device.release}")
    print("\n".join(lines_of_table))
    wrong = log_violations(log, trials, lines) if arguments.stand_in else []
    counts = {verdict: sum(row[3] == verdict for row in rows) for verdict in (AGREES, DIFFERS, UNPREDICTED)}
    print(f"{len(rows)} trials: {counts[AGREES]} agree, {counts[DIFFERS]} differ, {counts[UNPREDICTED]} without a prediction")
    for text in wrong:
        print(f"recorded calls: {text}")
    document = {
        "device": {"name": device.name, "processor": device.processor, "cuda": device.driver, "driver": device.release},
        "date": date.today().isoformat(),
        "is_stand_in": bool(arguments.stand_in),
        "counts": counts,
        "violations": wrong,
        "trials": entries,
    }
    arguments.results.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if counts[DIFFERS] or wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Trouble, OSError, subprocess.SubprocessError) as error:
        print(f"run: {error}", file=sys.stderr)
        sys.exit(2)
