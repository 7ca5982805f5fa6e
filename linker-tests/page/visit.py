"""Visits a page like a user would: visit.py TRIAL CHROMEDRIVER CHROMIUM PAGE DIRECTORY. Fails with an error, and saves
screenshots to the directory."""

import json
import sys
from pathlib import Path

from browser import Browser

LABELS = "return [...document.querySelectorAll('#treemap > button')].map((cell) => cell.getAttribute('aria-label'))"
FOCUSED = "return document.activeElement.getAttribute('aria-label')"
LEVEL = "return document.querySelector('#crumbs [aria-current]').textContent"
COLUMN = """const at = [...document.querySelector(`#${arguments[0]} table`).querySelectorAll('thead th')].findIndex((th) => th.textContent === arguments[1]);
return [...document.querySelector(`#${arguments[0]} table`).querySelectorAll('tbody tr')].map((row) => row.children[at].textContent)"""


def same(seen, expected):
    if seen != expected:
        sys.exit(f"seen:     {seen!r}\nexpected: {expected!r}")


def the_map_opens_by_mouse_and_closes_by_keyboard(browser):
    same(browser.script(LEVEL), "All files")
    first = browser.script(LABELS)[0]
    browser.click("#treemap > button")
    inside = browser.script(LEVEL)
    same(first.split(",")[0], inside)
    browser.type("Backspace")
    same(browser.script(LEVEL), "All files")
    same(browser.script(FOCUSED), first)


def the_map_is_walked_by_keyboard(browser):
    browser.click("#crumbs")
    browser.script("document.querySelector('#treemap > button').focus()")
    labels = browser.script(LABELS)
    seen = set()
    for key in ["Right", "Down"] * len(labels) + ["Left", "Up"] * len(labels):
        browser.type(key)
        seen.add(browser.script(FOCUSED))
    same(len(seen) > 2 and seen <= set(labels), True)
    browser.type("Home")
    same(browser.script(FOCUSED), labels[0])
    browser.type("End")
    same(browser.script(FOCUSED), labels[-1])
    same(browser.script("return document.getElementById('tooltip').hidden"), False)
    same(browser.script("return getComputedStyle(document.activeElement).outlineStyle"), "solid")
    browser.type("Home", "Enter", "Enter")
    kernel = browser.script("return [...document.querySelectorAll('#treemap > .is-kernel')].length")
    same(kernel, 1)
    same("not in kernels: headers" in [label.split(",")[0] for label in browser.script(LABELS)], True)
    browser.script("document.querySelector('#treemap > .is-kernel').focus()")
    browser.type("Enter")
    same(browser.script(FOCUSED), "Filter kernels")
    same(set(browser.script(COLUMN, "kernels", "Kernel")), {"answer_kernel"})


def back_returns_and_the_address_keeps_the_view(browser):
    start = browser.script("return location.href")
    browser.click("#treemap > button")
    inside = browser.script(LEVEL)
    same(inside != "All files", True)
    browser.click("#decompressed")
    browser.click("#kernels thead button")
    address = browser.script("return location.href")
    view = "return [document.querySelector('#crumbs [aria-current]').textContent, document.getElementById('stored').ariaPressed, document.querySelector('#kernels th').ariaSort]"
    same(browser.script(view), [inside, "false", "ascending"])
    for expected in [[inside, "false", "none"], [inside, "true", "none"], ["All files", "true", "none"]]:
        browser.script("history.back()")
        browser.until(f"const seen = (() => {{ {view} }})(); return JSON.stringify(seen) === arguments[0]", json.dumps(expected, separators=(",", ":")))
    same(browser.script("return location.href").rstrip("#"), start)
    # The same address in a new document.
    browser.open("about:blank")
    browser.open(address)
    browser.until("return document.documentElement.dataset.state === 'complete'")
    same(browser.script(view), [inside, "false", "ascending"])


def families_are_rows_that_open(browser):
    rows = "return [...document.querySelectorAll('#kernels tbody tr')].map((row) => row.cells[0].textContent)"
    before = browser.script(rows)
    same(sum(name.startswith("answer_kernel") for name in before), 1)
    browser.click("#kernels .family")
    opened = browser.script(rows)
    same((len(opened) > len(before), opened.count("answer_kernel") > 1), (True, True))
    same(browser.script("return document.querySelector('#kernels .family').ariaExpanded"), "true")
    browser.click("#kernels .family")
    same(browser.script(rows), before)


def tables_sort_and_filter(browser):
    sizes = [int(size.replace(",", "")) for size in browser.script(COLUMN, "images", "Size")]
    heading = "#images thead th:has(button[title='Bytes, decompressed'])"
    for order, is_falling in [("descending", True), ("ascending", False)]:
        browser.click(heading + " button")
        same(browser.script(COLUMN, "images", "Size"), [f"{size:,}" for size in sorted(sizes, reverse=is_falling)])
        same(browser.script("return document.querySelector(arguments[0]).ariaSort", heading), order)
    browser.script("document.querySelector('#kernels input').focus()")
    browser.type("SM_90 answer")
    same(set(browser.script(COLUMN, "kernels", "Arch")), {"sm_90", "sm_90 ptx"})
    browser.script("document.querySelector('#coverage input[type=checkbox]').focus()")
    browser.type(" ")
    same(browser.script(COLUMN, "coverage", "Kernel"), ["only_in_ptx"])
    same("GAP" in browser.script("return document.querySelector('#coverage tbody').textContent"), True)


def findings_come_first(browser):
    same(browser.script("return document.querySelector('main > section:not([hidden]) h2').textContent"), "Findings")
    # An undecided file does not hide the violation of another.
    verdicts = "return [...document.querySelectorAll('.verdict > .badge')].map((badge) => badge.lastChild.textContent)"
    same(browser.script(verdicts), ["Violated", "Undecided"])
    outcomes = browser.script(COLUMN, "findings", "Outcome")
    order = ["✕Violated", "?Undecided", "!Warned"]
    same(set(outcomes), set(order))
    same(outcomes, sorted(outcomes, key=order.index))
    browser.script("document.querySelector('#findings summary').focus()")
    browser.type("Enter")
    same("✓Passed" in browser.script("return document.querySelector('#findings details').textContent"), True)


def a_long_table_is_walked_to_its_end(browser):
    kernels = "return [...document.querySelectorAll('#kernels tbody tr:not(.spacer)')].map((row) => [row.ariaRowIndex, row.cells[0].textContent])"
    same(browser.script("return document.querySelector('#kernels .foot').textContent"), "3,008 kernels in 3,003 rows")
    browser.click("#kernels thead button")
    first = browser.script(kernels)
    same((len(first), first[0]), (60, ["2", "</script><b>x"]))
    browser.script("document.querySelector('#kernels .frame').focus()")
    browser.type("End")
    # Scrolling takes several frames, the last row is in the table before it is in view. A busy machine may lay out the table only
    # after the key.
    browser.until("""const last = document.querySelector('#kernels tbody').lastChild;
        const frame = document.querySelector('#kernels .frame').getBoundingClientRect();
        return last.ariaRowIndex === '3004' && Math.abs(last.getBoundingClientRect().bottom - frame.bottom) < 3""", key="End")
    same(browser.script(kernels)[-1], ["3004", "k999"])


def hostile_names_stay_text(browser):
    same(browser.script("return document.querySelectorAll('img, b, script:not([type])').length"), 1)
    kernels = browser.script(COLUMN, "kernels", "Kernel")
    same([name for name in kernels if not name.startswith("answer_kernel")], ["<img onerror>", "</script><b>x", "only_in_ptx"])
    same(browser.script("return document.querySelectorAll('[style*=url], [onerror]').length"), 0)


def everything_is_reached_by_tab(browser):
    names = []
    for _ in range(60):
        browser.type("Tab")
        name, outline, width = browser.script("""const at = document.activeElement;
            return [at === document.body ? null : at.getAttribute('aria-label') || at.textContent,
                getComputedStyle(at).outlineStyle, at.getBoundingClientRect().width]""")
        if name is None:
            break
        same((name, outline, width > 0), (name, "solid", True))
        names.append(name)
    wanted = {"Skip to the contents", "Dark", "Filter kernels", "Kernels by device", "Registers"}
    same(wanted - set(names), set())


def switches_to_dark_and_fits(browser, directory, size):
    colours = []
    for name in ["light", "dark"]:
        colours.append(browser.script("return getComputedStyle(document.body).backgroundColor"))
        browser.screenshot(directory / f"{size[0]}-{name}.png")
        browser.click("#theme")
    same((len(set(colours)), browser.script("return document.getElementById('theme').ariaPressed")), (2, "false"))
    width = browser.script("return document.documentElement.scrollWidth")
    same(width, size[0])
    if size[0] < 700:
        # On a phone nothing scrolls inside the page.
        scrolls = """return [...document.querySelectorAll('main *')].filter((at) => ['auto', 'scroll'].includes(getComputedStyle(at).overflowY)
            && at.scrollHeight > at.clientHeight).length"""
        same(browser.script(scrolls), 0)


VISITS = {
    "map": [the_map_opens_by_mouse_and_closes_by_keyboard, the_map_is_walked_by_keyboard],
    "tables": [hostile_names_stay_text, families_are_rows_that_open, tables_sort_and_filter],
    "address": [back_returns_and_the_address_keeps_the_view],
    "findings": [findings_come_first],
    "long": [a_long_table_is_walked_to_its_end],
    "keyboard": [everything_is_reached_by_tab],
}


def main():
    trial, driver, chromium, page, directory = sys.argv[1:]
    address = Path(page).resolve().as_uri()
    sizes = [(1920, 1080), (1280, 900), (820, 1180), (390, 844)] if trial == "looks" else [(1280, 900)]
    for size in sizes:
        with Browser(driver, chromium, size) as browser:
            browser.open(address)
            browser.until("return document.documentElement.dataset.state === 'complete'")
            if trial == "looks":
                switches_to_dark_and_fits(browser, Path(directory), size)
            for visit in VISITS.get(trial, []):
                visit(browser)
            browser.screenshot(Path(directory) / f"{size[0]}-end.png")
            same(browser.console(), [])
            same(set(browser.requests()) - {"about:blank"}, {address})


main()
