"""The navigation of the book: the pages of each directory in the order of the table in its README.md, with the texts of the links
there. Other files of the repository that a page links to are part of the book, too. MkDocs calls the functions."""

import os.path
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[3]

CHAPTERS = {"Tasks": "docs/tasks", "Guide": "docs/guide", "Commands": "docs/commands", "Formats": "docs/formats",
            "Error codes": "docs/errors"}
REFERENCE = [{"Features": "docs/features.md"}, {"Benchmarks": "BENCHMARKS.md"}, {"Changes": "CHANGELOG.md"},
             {"Security": "SECURITY.md"}]
PROJECT = [{"Contributing": "CONTRIBUTING.md"}, {"Architecture": "ARCHITECTURE.md"},
           {"Adding something new": "docs/adding.md"}, {"Dependencies": "docs/dependencies.md"},
           {"Sample images": "fixtures/README.md"}]

LINK = re.compile(r"\[([^]\n]+)\]\(([\w./-]+)\)")
ROW = re.compile(r"^\| \[([^]]+)\]\(([\w-]+\.md)\)", re.MULTILINE)


def on_config(config):
    source = Path(config.docs_dir)
    chapters = [{title: pages_of(source, directory)} for title, directory in CHAPTERS.items()]
    config.nav = [{"Overview": "README.md"}, *chapters, *REFERENCE, {"Project": PROJECT}]
    return config


def pages_of(source, directory):
    rows = ROW.findall((source / directory / "README.md").read_text())
    return [{"Overview": f"{directory}/README.md"}, *({text.strip("`"): f"{directory}/{name}"} for text, name in rows)]


def on_files(files, config):
    """Adds the files of the repository that pages link to, such as sources of examples."""
    for page in list(files.documentation_pages()):
        for target in links(Path(page.abs_src_path).read_text(), page.src_uri):
            source = ROOT / target
            if source.is_file() and source.suffix != ".md" and files.get_file_from_path(target) is None:
                files.append(File.generated(config, target, abs_src_path=str(source)))
    return files


def links(markdown, page):
    """The targets of the links of a page that are paths, from the root of the repository."""
    return [os.path.normpath(os.path.join(os.path.dirname(page), link[2])) for link in LINK.finditer(markdown)]


def on_page_markdown(markdown, page, config, files):
    """Reduces links to directories, and to documents without a place in the book, to their texts."""
    def replaced(link):
        target = os.path.normpath(os.path.join(os.path.dirname(page.file.src_uri), link[2]))
        is_in_book = files.get_file_from_path(target) is not None or not (ROOT / target).exists()
        return link[0] if is_in_book else link[1]

    return LINK.sub(replaced, markdown)
