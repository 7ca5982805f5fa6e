"""A small program with the flags of a release, in Rust and C, which shows that they replace paths of this machine."""

import shutil
from pathlib import Path

from forms.builds import environment, run
from forms.table import NATIVE, PROGRAMS, ROOT, Failure
from forms.wheel import without_paths

FILES = {
    "Cargo.toml": """[package]
name = "sample"
edition = "2024"
[dependencies]
strsim = "*"
[build-dependencies]
cc = { version = "*", features = ["parallel"] }
[workspace]
""",
    "build.rs": 'fn main() { cc::Build::new().file("src/code.c").compile("code") }\n',
    "src/code.c": "int code(void) { return 7; }\n",
    "src/main.rs": """unsafe extern "C" {
    fn code() -> i32;
}
fn main() {
    println!("{} {}", unsafe { code() }, strsim::hamming("a", "b").is_ok());
}
""",
}

# Parts of the names of sources in the debug information: the program's own, in Rust and C, and a crate's.
SOURCES = [b"src/main.rs", b"src/code.c", b"/fatbin/", b"/cargo/registry/"]


def check(directory, target_directory):
    """Builds the program in a directory of this checkout, and requires that names of its sources have no path of this machine."""
    (directory / "src").mkdir()
    # Flags of the linker name files in it.
    (directory / "packaging").symlink_to(ROOT / "packaging")
    for name, text in FILES.items():
        (directory / name).write_text(text)
    shutil.copy(ROOT / "bindings/c/Cargo.lock", directory / "Cargo.lock")
    program = PROGRAMS[NATIVE]
    # Without the flags of a quick build, which drop what contains the paths.
    variables = environment(program, "dist")
    run("cargo", "build", "--quiet", "--offline", "--target", program.target, "--target-dir", target_directory,
        "--manifest-path", directory / "Cargo.toml", env=variables, cwd=ROOT)
    path = Path(target_directory) / program.target / "debug/sample"
    data = path.read_bytes()
    if missing := [source.decode() for source in SOURCES if source not in data]:
        raise Failure(f"{path.name}: no {', '.join(missing)}")
    without_paths(path.name, {path.name: data})
