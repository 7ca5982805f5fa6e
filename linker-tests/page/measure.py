"""Measures a page in Chromium: measure.py CHROMEDRIVER CHROMIUM PAGE. Prints its size, the time until the browser has drawn
the summary and the map, the time until all tables are drawn, and the median and longest time of a key in the filter of the
kernels, layout included."""

import statistics
import sys
from pathlib import Path

from browser import Browser

KEY = """const input = document.querySelector('#kernels input[type=search]');
const before = performance.now();
input.value = arguments[0];
input.dispatchEvent(new Event('input'));
document.body.offsetHeight;
return performance.now() - before;"""
TEXT = "at::native sm_90"


def main():
    driver, chromium, page = sys.argv[1:]
    with Browser(driver, chromium, (1280, 900)) as browser:
        browser.open(Path(page).resolve().as_uri())
        browser.until("return document.documentElement.dataset.state === 'complete'")
        complete = browser.script("return performance.now()")
        overview = browser.script("return performance.getEntriesByName('overview')[0].startTime")
        keys = [browser.script(KEY, TEXT[:end]) for end in range(1, len(TEXT) + 1)]
        print(f"{Path(page).stat().st_size:,} bytes, overview after {overview:.0f} ms, tables within {complete:.0f} ms, "
              f"key: median {statistics.median(keys):.0f} ms, longest {max(keys):.0f} ms")


main()
