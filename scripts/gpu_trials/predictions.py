"""Predictions of fatbin for each device and driver that the directory may meet."""

import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from .images import HOST, number_of

# Devices, and the first release of CUDA whose driver supports them. Source: LLVM, NVPTXTargetParser.def.
DEVICES = {
    "sm_75": "10.0", "sm_80": "11.0", "sm_86": "11.1", "sm_87": "11.4", "sm_89": "11.8", "sm_90": "11.8", "sm_100": "12.8", "sm_103": "12.9",
    "sm_107": "13.4", "sm_110": "13.0", "sm_120": "12.8", "sm_121": "12.9",
}  # fmt: skip

DRIVERS = "11.8 12.0 12.1 12.2 12.3 12.4 12.5 12.6 12.7 12.8 12.9 13.0 13.1 13.2 13.3 13.4 13.5".split()

# Error codes of the driver.
INSUFFICIENT_DRIVER = 35
NO_BINARY_FOR_GPU = 209
UNSUPPORTED_PTX_VERSION = 222

# Answers of `select` where the device runs something.
SERVED = ("native", "compatible", "jit-ptx", "jit-link")

# What programs print that verify their own result, for any image.
SUCCEEDS = defaultdict(lambda: 1)


def release(text):
    """Returns a release as numbers, which can be compared."""
    return tuple(int(part) for part in text.split("."))


class Predictor:
    def __init__(self, fatbin, devices, drivers):
        self.fatbin = fatbin
        self.devices = devices
        self.drivers = drivers

    def of_files(self, files):
        """Returns the predictions for files, each with what its trials print: a dictionary from both to device to driver."""
        values = {(path, expects): self.values(path, expects) for path, expects in files}
        predictions = {file: {device: {} for device in self.devices} for file in files}
        for device in self.devices:
            for driver in self.drivers:
                if release(driver) < release(DEVICES[device]):
                    continue
                report = self.report(["select", "--device", device, "--driver", driver, *(path for path, _ in files)])
                for answers, file in zip(report["files"], files, strict=True):
                    predictions[file][device][driver] = prediction(answers, values[file])
        return predictions

    def values(self, path, expects):
        """Returns what is printed for each image, by its index."""
        if expects == "number":
            return self.numbers(path)
        return SUCCEEDS if expects == "success" else None

    def floors(self, files):
        """Returns the oldest releases that load some image: a dictionary from path to device."""
        report = self.report(["requires", "--device", ",".join(self.devices), *files])
        result = {}
        for file, path in zip(report["files"], files, strict=True):
            result[path] = {entry["device"]: floor(entry["needs"]) for entry in file["devices"]}
        return result

    def report(self, arguments):
        done = subprocess.run([self.fatbin, *arguments, "--json"], capture_output=True, check=False)
        # 1 and 2 are answers too: a file has no image for the device, or the answer for one is not known.
        report = json.loads(done.stdout) if done.stdout else None
        if not report or any(file["errors"] for file in report["files"]):
            raise RuntimeError(f"fatbin {arguments[0]}: {done.stderr.decode()}{done.stdout.decode()}")
        return report

    def numbers(self, path):
        """Returns the numbers that the kernels store, by the index of their image."""
        with tempfile.TemporaryDirectory() as directory:
            command = [self.fatbin, "extract", "-o", directory, "--name", "{number}", path]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            return {int(image.name): number_of(image.read_bytes()) for image in Path(directory).iterdir()}


def prediction(file, values):
    """Returns the expected number, or the expected error codes with the reasons; no codes means any. Without
    values there is no prediction."""
    if values is None:
        return {"unknown": "not decided"}
    choices = [choice for choice in file["choices"] if choice["runtime"]["name"] in ("CUDA", "libomptarget")]
    answers = [answer for choice in choices for answer in choice["answers"]]
    # Programs of several objects and real libraries have several containers: those that hold input of the device linker
    # serve no device by themselves.
    if served := [answer for answer in answers if answer["answer"] in SERVED]:
        return {"value": values[served[0]["chosen"]]}
    if others := [answer["answer"] for answer in answers if answer["answer"] != "nothing"]:
        return {"unknown": others[0]}
    images = [image for answer in answers for image in answer["images"]]
    if choices and choices[0]["runtime"]["name"] == "libomptarget":
        # It accepts an image by its header. If the driver refuses the image, the program is aborted; without an image
        # the host runs the region.
        is_accepted = any("load it" in image["reason"] for image in images)
        return {"aborts": True} if is_accepted else {"value": HOST}
    reasons = [image["reason"] for image in images if "does not load it" in image["reason"]]
    # Libraries have separate error codes; the driver has another one for what it cannot link.
    is_registered = not any("no wrapper registers" in image["reason"] for image in images)
    if values is SUCCEEDS or not is_registered:
        return {"errors": []}
    if not reasons:
        return {"errors": [NO_BINARY_FOR_GPU]}
    is_ptx = all("PTX ISA" in reason for reason in reasons)
    return {"errors": [UNSUPPORTED_PTX_VERSION] if is_ptx else []}


def floor(needs):
    """Returns the release, "unknown", or "none" where no image runs."""
    for need in needs:
        if need["product"] == "cuda":
            some = need.get("some") or need["preferred"]
            if not some["known"]:
                return "unknown"
            return some["at_least"]["release"] if some.get("at_least") else "0.0"
    return "none"


def with_runtime(predictions, runtime):
    """Returns the predictions for a program that needs a release of libcudart. Source: CUDA Compatibility: each release works with
    all drivers from the first one of its major version on."""
    if not runtime:
        return predictions
    error = {"errors": [INSUFFICIENT_DRIVER]}
    return {
        device: {driver: error if release(driver) < release(f"{runtime}.0") else prediction for driver, prediction in of_device.items()}
        for device, of_device in predictions.items()
    }
