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
import re
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
            stand_in = {"DEVICE": arguments.stand_in, "DRIVER": arguments.driver, "LOG": str(log)}
            self.environment |= {f"GPU_STAND_IN_{name}": value for name, value in stand_in.items()}
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
    path = Path("/proc/driver/nvidia/version")
    found = re.search(r" (\d+\.[\d.]+) ", path.read_text()) if path.exists() else None
    return found[1] if found else "unknown"


def known_driver(driver, drivers):
    """Returns the newest release in the predictions that is not newer than the driver."""
    return max((name for name in drivers if release(name) <= release(driver)), key=release, default=None)


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


def describe(prediction):
    """Returns a prediction as the line that a trial would print."""
    if "value" in prediction:
        return f"value {prediction['value']}"
    if "errors" in prediction:
        return "error " + (" or ".join(map(str, prediction["errors"])) or "of any kind")
    return next(iter(prediction))


def with_image(line, images, expects):
    """Adds the specification of the image whose number a line states."""
    name = images.get(line.removeprefix("value ")) if expects == "number" else None
    return f"{line} ({name})" if name else line


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
    parser.add_argument("--results", metavar="FILE", type=Path, default=HERE / "results.json", help="output file")
    arguments = parser.parse_args()
    if bool(arguments.stand_in) != bool(arguments.driver):
        parser.error("--stand-in and --driver belong together")
    manifest = json.loads((HERE / "manifest.json").read_text())
    log = arguments.results.resolve().with_suffix(".calls")
    unpack()
    device = Device(arguments, log)
    driver = known_driver(device.driver, manifest["drivers"])
    if device.processor not in manifest["devices"] or not driver:
        raise Trouble(f"no predictions for {device.processor} with CUDA {device.driver}: build with --device and --release")
    trials = [trial for trial in manifest["trials"] if arguments.only in trial["name"]
              and is_for(trial, device.processor, driver) and not (arguments.stand_in and trial.get("is_gpu_only"))]
    if not trials:
        raise Trouble("no trials")
    lines = results(trials, device)
    wrong = log_violations(log, trials, lines) if arguments.stand_in else []
    entries = [entry(trial, device, driver, lines[trial["name"]]) for trial in trials]
    return report(arguments, manifest["images"], device, entries, wrong)


def entry(trial, device, driver, line):
    """Returns the result of a trial, with its prediction and the verdict."""
    prediction = trial["predictions"][device.processor][driver]
    floor = trial.get("floors", {}).get(device.processor)
    return {"trial": trial["name"], "expects": trial["expects"], "prediction": prediction, "floor": floor,
            "result": line, "verdict": judge(prediction, line, floor, driver)}


def report(arguments, images, device, entries, wrong):
    print(f"{device.name}: {device.processor}, CUDA {device.driver}, driver {device.release}")
    for it in entries:
        predicted = with_image(describe(it["prediction"]), images, it["expects"])
        got = with_image(it["result"], images, it["expects"])
        print(f"{it['verdict']:13}{it['trial']:40}{predicted:32}{got.partition(chr(10))[0]}")
    counts = {verdict: sum(it["verdict"] == verdict for it in entries) for verdict in (AGREES, DIFFERS, UNPREDICTED)}
    print(f"{len(entries)} trials: {counts[AGREES]} agree, {counts[DIFFERS]} differ, {counts[UNPREDICTED]} without a prediction")
    for text in wrong:
        print(f"recorded calls: {text}")
    about = {"name": device.name, "processor": device.processor, "cuda": device.driver, "driver": device.release}
    document = {"device": about, "date": date.today().isoformat(), "is_stand_in": bool(arguments.stand_in), "counts": counts,
                "violations": wrong, "trials": entries}
    arguments.results.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if counts[DIFFERS] or wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Trouble, OSError, subprocess.SubprocessError) as error:
        print(f"run: {error}", file=sys.stderr)
        sys.exit(2)
