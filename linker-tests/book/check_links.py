"""check_links.py SOURCE BOOK: fails unless every document of the source is a page of the book with its heading and a title, and every
link of every page leads to a file, and to an element in it. Prints the number of pages."""

import html.parser
import sys
import urllib.parse
from pathlib import Path


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.texts = [], set(), {"h1": "", "title": ""}
        self.open = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [value for key, value in attributes.items() if key in ("href", "src")]
        self.names |= {value for key, value in attributes.items() if key in ("id", "name")}
        if tag in self.texts and not self.texts[tag]:
            self.open = tag

    def handle_data(self, data):
        if self.open:
            self.texts[self.open] += data

    def handle_endtag(self, tag):
        if tag == self.open:
            self.open = None


def main(source, book):
    pages = {path: Page(path.read_text()) for path in book.rglob("*.html")}
    for path, page in pages.items():
        for link in page.links:
            check(path, link, pages)
    commands = source / "target/book-source/docs/commands"
    documents = {path: path.relative_to(source) for path in [*source.glob("*.md"), *(source / "docs").rglob("*.md")]}
    documents |= {path: Path("docs/commands", path.name) for path in commands.glob("*.md")}
    if Path("docs/commands/scan.md") not in documents.values():
        sys.exit("the book has no pages of commands")
    for document, place in documents.items():
        name = "index.html" if place.name == "README.md" else place.with_suffix(".html").name
        page = pages[book / place.with_name(name)]
        title = document.read_text().splitlines()[0].removeprefix("# ").replace("`", "")
        heading = page.texts["h1"].removesuffix("#")
        if heading != title:
            sys.exit(f"{place}: the heading is {heading!r}, not {title!r}")
        if "fatbin" not in page.texts["title"]:
            sys.exit(f"{place}: no title")
    print(len(pages), "pages")


def check(path, link, pages):
    address = urllib.parse.urlsplit(link)
    if address.scheme == "https":
        return
    target = (path.parent / urllib.parse.unquote(address.path)).resolve() if address.path else path
    if address.scheme or not target.exists():
        sys.exit(f"{path}: {link} leads nowhere")
    if address.fragment and target in pages and urllib.parse.unquote(address.fragment) not in pages[target].names:
        sys.exit(f"{path}: {link} leads to no element")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
