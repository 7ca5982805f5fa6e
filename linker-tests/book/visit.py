"""visit.py CHROMEDRIVER CHROMIUM BOOK DIRECTORY: visits pages of the book on a phone and a desktop, light and dark, and saves
screenshots to the directory. Fails where a page is wider than the screen, or reports an error, or requests anything but its files."""

import sys
from pathlib import Path

from browser import Browser

PAGES = ["index.html", "docs/tasks/no-kernel-image.html", "docs/guide/drop-ins.html", "docs/commands/scan.html",
         "docs/formats/cuda-fat-binary.html", "docs/features.html"]
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}

WIDTHS = "return [document.scrollingElement.scrollWidth, innerWidth]"
BRIGHTNESS = "return getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)"
MENU = "return document.querySelector('.menu').open"


def visit(browser, page, is_phone, is_dark):
    browser.open(page.as_uri())
    width, screen = browser.script(WIDTHS)
    if width > screen:
        sys.exit(f"{page}: {width} pixels wide on a screen of {screen}")
    if (max(browser.script(BRIGHTNESS)) < 128) != is_dark:
        sys.exit(f"{page}: the background does not follow the color scheme")
    if browser.script(MENU) == is_phone:
        sys.exit(f"{page}: the menu is open on a phone, or closed elsewhere")
    # The search needs a server.
    errors = [error for error in browser.console() if "/search/" not in error]
    if errors:
        sys.exit(f"{page}: {errors}")
    foreign = [url for url in browser.requests() if not url.startswith("file://")]
    if foreign:
        sys.exit(f"{page}: requests {foreign}")


def main(driver, chromium, book, directory):
    for name, size in SIZES.items():
        for is_dark in (False, True):
            with Browser(driver, chromium, size=size, dark=is_dark) as browser:
                for page in PAGES:
                    visit(browser, book / page, name == "phone", is_dark)
                    shot = f"{Path(page).stem}-{name}-{'dark' if is_dark else 'light'}.png"
                    browser.screenshot(directory / shot)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]).resolve(), Path(sys.argv[4]))
