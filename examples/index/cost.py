#!/usr/bin/env python3
"""Work out the time and the cost of a scan of many wheels from the throughput on some of them.

    cost.py --wheels 100000 --gigabytes 5000 [--price 0.04] [--cores 64] [--read 1.0] [--fatbin PROGRAM] WHEEL...

The sample should be like the wheels that are to be scanned: wheels without device code cost less per byte than those with it. The
measure is processor time of one thread, with the sample in the page cache. Reading and downloading are a separate line.
"""

import argparse
import datetime
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import zipfile

# Wheels with a few small files, from which the cost per wheel is measured.
SMALL_WHEELS = 500


def processor_seconds(program, paths, runs):
    """Returns the median of the processor time of runs of fatbin on files, in seconds."""
    command = [program, "scan", "--ndjson", "--hash", "--threads", "1", "--files-from", "-"]
    times = []
    for _ in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, input="".join(f"{path}\n" for path in paths), text=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not 0 <= done.returncode <= 1:
            raise SystemExit(f"cost.py: {program}: exit status {done.returncode}")
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    # The first run fills the page cache.
    return statistics.median(times[1:])


def seconds_per_wheel(program, runs):
    """Returns the processor time for a wheel whose size does not matter."""
    with tempfile.TemporaryDirectory() as directory:
        small = pathlib.Path(directory) / "small-1.0-py3-none-any.whl"
        with zipfile.ZipFile(small, "w", zipfile.ZIP_DEFLATED) as wheel:
            for name in ("small/__init__.py", "small-1.0.dist-info/METADATA", "small-1.0.dist-info/RECORD"):
                wheel.writestr(name, "text\n" * 100)
        start = processor_seconds(program, [], runs)
        return max(processor_seconds(program, [small] * SMALL_WHEELS, runs) - start, 0.0) / SMALL_WHEELS


def machine():
    models = [line.partition(":")[2].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return f"{len(models)} x {models[0]}" if models else os.uname().machine


def main():
    parser = argparse.ArgumentParser(description="Work out the time and the cost of a scan of many wheels.")
    parser.add_argument("--wheels", type=int, required=True, help="number of the wheels that are to be scanned")
    parser.add_argument("--gigabytes", type=float, required=True, help="their size in 10^9 bytes")
    parser.add_argument("--price", type=float, default=0.04, help="price of a core for an hour")
    parser.add_argument("--cores", type=int, default=64)
    parser.add_argument("--read", type=float, default=1.0, metavar="GB/S", help="what all machines together can read")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--fatbin", default="fatbin", metavar="PROGRAM")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("sample", nargs="+", metavar="WHEEL")
    arguments = parser.parse_args()

    gigabytes = sum(os.path.getsize(path) for path in arguments.sample) / 1e9
    per_wheel = seconds_per_wheel(arguments.fatbin, arguments.runs)
    sample_seconds = processor_seconds(arguments.fatbin, arguments.sample, arguments.runs)
    per_gigabyte = max(sample_seconds - len(arguments.sample) * per_wheel, 0.0) / gigabytes
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    core_hours = (arguments.wheels * per_wheel + arguments.gigabytes * per_gigabyte) / 3600
    result = {
        "machine": machine(),
        "date": datetime.date.today().isoformat(),
        "sample_wheels": len(arguments.sample),
        "sample_gigabytes": gigabytes,
        "seconds_per_gigabyte": per_gigabyte,
        "seconds_per_wheel": per_wheel,
        "memory_mib": memory,
        "core_hours": core_hours,
        "cost": core_hours * arguments.price,
        "hours": core_hours / arguments.cores,
        "reading_hours": arguments.gigabytes / arguments.read / 3600,
    }
    if arguments.json:
        print(json.dumps(result))
        return
    print(f"sample         {len(arguments.sample)} wheels, {gigabytes:.3f} GB; {result['machine']}; {result['date']}")
    print(f"per GB         {per_gigabyte:.2f} core-seconds")
    print(f"per wheel      {per_wheel * 1000:.2f} core-milliseconds")
    print(f"memory         {memory:.0f} MiB per process")
    print(f"all            {arguments.wheels:,} wheels, {arguments.gigabytes:,.0f} GB")
    print(f"scan           {core_hours:,.1f} core-hours, {result['cost']:,.2f} at {arguments.price} per core-hour")
    print(f"{arguments.cores:5} cores    {result['hours'] * 60:,.1f} minutes")
    print(f"reading        {result['reading_hours'] * 60:,.1f} minutes at {arguments.read} GB/s")


main()
