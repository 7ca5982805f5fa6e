#!/usr/bin/env python3
"""Index the device code of wheels with Apache Spark: one row per image, as Parquet.

    spark-submit spark_index.py [--fatbin PROGRAM] [--wheels-per-task N] LIST OUTPUT

LIST has the path of one wheel per line, and PROGRAM is the path of fatbin; both are those on the workers. OUTPUT is a new
directory. A wheel without device code has one row without an image, and so has each error.
"""

import argparse
import json
import shlex

SCHEMA = """
    package string, version string, wheel string, file string, container string, kind string, format string, triple string,
    arch string, codec string, stored_size bigint, size bigint, sha256 string, error string
"""


def images(containers):
    """Yields the images that hold no other container, each with the type of its container."""
    for container in containers:
        for image in container["images"]:
            if image.get("containers"):
                yield from images(image["containers"])
            else:
                yield container["type"], image


def rows(line):
    """Returns the rows of one line of `fatbin scan --ndjson`."""
    record = json.loads(line)
    stem, is_member, file = record["path"].partition(".whl!")
    wheel = stem + ".whl" if is_member else stem
    package, _, rest = wheel.rpartition("/")[2].partition("-")
    place = (package, rest.partition("-")[0], wheel, file or None)
    found = []
    for container, image in images(record["containers"]):
        stored = image.get("size")
        properties = [image.get(name) for name in ("kind", "image", "triple", "arch", "codec")]
        found.append((*place, container, *properties, stored, image.get("full_size", stored), image.get("sha256"), None))
    found += [(*place, *[None] * 9, error["message"]) for error in record["errors"]]
    return found or [(*place, *[None] * 10)]


def main():
    parser = argparse.ArgumentParser(description="Index the device code of wheels as Parquet.")
    parser.add_argument("--fatbin", default="/usr/local/bin/fatbin", metavar="PROGRAM")
    parser.add_argument("--wheels-per-task", default=32, type=int, metavar="N", help="wheels that one run of fatbin scans")
    parser.add_argument("list")
    parser.add_argument("output")
    arguments = parser.parse_args()

    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("fatbin").getOrCreate()
    wheels = spark.read.text(arguments.list).where("value != ''")
    tasks = -(-wheels.count() // arguments.wheels_per_task)
    # Statuses up to 2 are answers. A run that was killed has a higher one, with which Spark repeats the task.
    threads = spark.conf.get("spark.task.cpus", "1")
    scan = f"{shlex.quote(arguments.fatbin)} scan --ndjson --hash --threads {threads} --files-from -; test $? -le 2"
    paths = wheels.repartition(max(tasks, 1)).rdd.map(lambda row: row.value)
    lines = paths.pipe("sh -c " + shlex.quote(scan), checkCode=True)
    spark.createDataFrame(lines.flatMap(rows), SCHEMA).write.parquet(arguments.output)

    # A program that is too old, or is none, ends with such a status, too.
    index = spark.read.parquet(arguments.output)
    lost = wheels.join(index, wheels.value == index.wheel, "left_anti").collect()
    spark.stop()
    if lost:
        raise SystemExit(f"spark_index.py: {len(lost)} wheels have no row, such as {lost[0].value}")


if __name__ == "__main__":
    main()
