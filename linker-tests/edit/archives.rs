//! Static libraries and wheels with changed members, read by archivers, linkers, unzip, Python and pip.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::{fatbin, trial};
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Missing, Tool, in_path};
use crate::real_files::path_of;

/// Formats of archives that llvm-ar writes.
const FORMATS: [&str; 4] = ["gnu", "bsd", "darwin", "coff"];

pub fn trials() -> Vec<Trial> {
    let formats =
        FORMATS.map(|format| trial(format!("archives/{format}"), move |directory| of_llvm_ar(directory, format)));
    let others = [
        trial("archives/binutils".to_owned(), of_binutils),
        trial("archives/thin".to_owned(), thin_is_an_error),
        trial("archives/wheel".to_owned(), installs),
        trial("archives/qiskit-aer".to_owned(), keeps_a_real_wheel),
    ];
    formats.into_iter().chain(others).collect()
}

/// Writes objects around an image with debug information, whose removal makes the member smaller. Returns the members.
fn members(directory: &Path) -> Result<[&'static str; 4]> {
    let sources = [
        ("main.c", "int one(void); int two(void); int main(void) { return one() + two() - 3; }"),
        ("one.c", "int one(void) { return 1; }"),
        ("a_name_of_more_than_sixteen_characters.c", "int two(void) { return 2; }"),
    ];
    for (name, source) in sources {
        std::fs::write(directory.join(name), source)?;
        Step::new(directory, Tool::Cc.path()?).args(["-c", name]).run()?;
    }
    std::fs::copy(fixture("answer-sm_90-debug.cubin")?, directory.join("kernel.cubin"))?;
    std::fs::copy(fixture("answer-gfx90a-debug.hsaco")?, directory.join("kernel.hsaco"))?;
    Ok(["kernel.cubin", "one.o", "kernel.hsaco", "a_name_of_more_than_sixteen_characters.o"])
}

/// Strips the library `lib.a`, and returns the path of the result. The objects are the same in it.
fn stripped(directory: &Path, ar: &Path) -> Result<PathBuf> {
    let done = fatbin(directory).args(["strip", "--device-debug", "-o", "stripped.a", "lib.a"]).run()?;
    ensure!(done.stdout.matches("1 image stripped").count() == 2, "{}", done.error("expected two images"));
    let size = |name: &str| -> Result<u64> { Ok(directory.join(name).metadata()?.len()) };
    ensure!(size("stripped.a")? < size("lib.a")?, "{}", done.error("the library is not smaller"));
    let list = |library: &str| Ok::<_, anyhow::Error>(Step::new(directory, ar).args(["t", library]).run()?.stdout);
    ensure!(list("stripped.a")? == list("lib.a")?, "other members");
    for object in ["one.o", "a_name_of_more_than_sixteen_characters.o"] {
        let print =
            |library: &str| Ok::<_, anyhow::Error>(Step::new(directory, ar).args(["p", library, object]).run()?.stdout);
        ensure!(print("stripped.a")? == print("lib.a")?, "{object} has other bytes");
    }
    Ok(directory.join("stripped.a"))
}

/// The symbol table is that which `ar s` writes for the new members, and linkers find the symbols.
fn of_binutils(directory: &Path) -> Result<()> {
    let ar = in_path("ar").ok_or_else(|| Missing::new("ar", "binutils"))?;
    Step::new(directory, &ar).args(["rcsD", "lib.a"]).args(members(directory)?).run()?;
    let library = stripped(directory, &ar)?;
    let before = std::fs::read(&library)?;
    Step::new(directory, &ar).args(["sD", "stripped.a"]).run()?;
    ensure!(std::fs::read(&library)? == before, "ar s writes another archive");
    for linker in [Linker::Bfd, Linker::Lld] {
        link_and_run(directory, linker)?;
    }
    Ok(())
}

fn link_and_run(directory: &Path, linker: Linker) -> Result<()> {
    let cc = Step::new(directory, Tool::Cc.path()?).args(linker.cc_flags()?);
    cc.args(["main.o", "stripped.a", "-o", "program"]).run()?;
    Step::new(directory, directory.join("program")).run().map(drop)
}

/// llvm-ar lists the same members and symbols. A linker for ELF reads the formats of GNU.
fn of_llvm_ar(directory: &Path, format: &str) -> Result<()> {
    let ar = Tool::Ar.path()?;
    let members = members(directory)?;
    Step::new(directory, &ar).args(["rcsD", &format!("--format={format}"), "lib.a"]).args(members).run()?;
    let library = stripped(directory, &ar)?;
    let symbols = |library: &str| -> Result<Vec<String>> {
        let nm = crate::harness::tools::llvm_tool("llvm-nm", "22", "llvm-22")?;
        let done = Step::new(directory, nm).args(["--print-armap", library]).run()?;
        let map = done.stdout.lines().skip_while(|line| !line.contains("Archive map")).skip(1);
        Ok(map.take_while(|line| !line.is_empty()).map(str::to_owned).collect())
    };
    let expected = symbols("lib.a")?;
    ensure!(expected.len() >= 2, "the library has no symbol table: {expected:?}");
    ensure!(symbols("stripped.a")? == expected, "other symbols");
    if format == "gnu" {
        let before = std::fs::read(&library)?;
        Step::new(directory, &ar).args(["sD", "stripped.a"]).run()?;
        ensure!(std::fs::read(&library)? == before, "llvm-ar s writes another archive");
        link_and_run(directory, Linker::Lld)?;
    }
    Ok(())
}

/// The members of a thin archive are separate files, and are not changed unless requested.
fn thin_is_an_error(directory: &Path) -> Result<()> {
    let ar = in_path("ar").ok_or_else(|| Missing::new("ar", "binutils"))?;
    Step::new(directory, &ar).args(["rcsD", "--thin", "lib.a"]).args(members(directory)?).run()?;
    let before = std::fs::read(directory.join("kernel.cubin"))?;
    let run = fatbin(directory).args(["strip", "--device-debug", "-o", "stripped.a", "lib.a"]).run();
    let error = run.err().context("a thin archive was changed")?.to_string();
    ensure!(error.contains("only lists its members; change these files"), "{error}");
    ensure!(std::fs::read(directory.join("kernel.cubin"))? == before, "the member was changed");
    Ok(())
}

/// Writes a wheel with members of all kinds: stored, deflated, executable, in a directory, with an extra field, and with a
/// comment.
const MAKE_WHEEL: &str = r#"
import base64, hashlib, sys, zipfile
members = [("pkg/__init__.py", b"value = 42\n", 0o644, zipfile.ZIP_DEFLATED),
           ("pkg/kernel.cubin", open(sys.argv[1], "rb").read(), 0o755, zipfile.ZIP_DEFLATED),
           ("pkg/stored.hsaco", open(sys.argv[2], "rb").read(), 0o600, zipfile.ZIP_STORED),
           ("pkg-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n", 0o644, zipfile.ZIP_STORED),
           ("pkg-1.0.dist-info/WHEEL", b"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            0o644, zipfile.ZIP_DEFLATED)]
digest = lambda b: base64.urlsafe_b64encode(hashlib.sha256(b).digest()).rstrip(b"=").decode()
record = "".join(f"{n},sha256={digest(b)},{len(b)}\n" for n, b, _, _ in members) + "pkg-1.0.dist-info/RECORD,,\n"
with zipfile.ZipFile("pkg-1.0-py3-none-any.whl", "w") as archive:
    archive.comment = b"a comment"
    for number, (name, data, mode, method) in enumerate(members + [("pkg-1.0.dist-info/RECORD", record.encode(), 0o644, 8)]):
        info = zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 2 * number))
        info.external_attr, info.compress_type = mode << 16, method
        info.extra, info.comment = b"\xfe\xca\x02\x00ab", b"of a member"
        with archive.open(info, "w", force_zip64=number == 1) as member: member.write(data)
"#;

/// Compares two wheels: metadata of all members, bytes of unchanged ones, and the record with the members.
const COMPARE_WHEELS: &str = r#"
import base64, csv, hashlib, io, sys, zipfile
old, new = (zipfile.ZipFile(path) for path in sys.argv[1:3])
assert new.testzip() is None and old.comment == new.comment
described = lambda a: [(i.filename, i.date_time, i.external_attr, i.compress_type, i.comment, i.create_system) for i in a.infolist()]
assert described(old) == described(new), (described(old), described(new))
extra = lambda i: i.extra.replace(b"\x01\x00", b"")[-6:]
assert [extra(i) for i in old.infolist()] == [extra(i) for i in new.infolist()]
digest = lambda b: "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(b).digest()).rstrip(b"=").decode()
rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(new.read("pkg-1.0.dist-info/RECORD").decode()))}
for info in new.infolist():
    data = new.read(info.filename)
    changed = info.filename in ("pkg/kernel.cubin", "pkg/stored.hsaco")
    assert (data != old.read(info.filename)) == (changed or info.filename.endswith("RECORD")), info.filename
    if not info.filename.endswith("RECORD"):
        assert rows[info.filename] == [digest(data), str(len(data))], info.filename
"#;

/// Compares two wheels: stored bytes of all members but those on the command line and the record, the metadata of all, and the
/// record with the bytes of all.
const COMPARE_REAL_WHEELS: &str = r#"
import base64, csv, hashlib, io, sys, zipfile
old, new = (zipfile.ZipFile(path) for path in sys.argv[1:3])
def raw(archive, info):
    archive.fp.seek(info.header_offset)
    header = archive.fp.read(30)
    archive.fp.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    return archive.fp.read(info.compress_size)
record = next(name for name in new.namelist() if name.endswith(".dist-info/RECORD"))
rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(new.read(record).decode()))}
assert len(old.infolist()) == len(new.infolist()) and len(rows) > len(sys.argv)
for one, other in zip(old.infolist(), new.infolist()):
    described = lambda i: (i.filename, i.date_time, i.external_attr, i.compress_type, i.comment, i.extra, i.create_system)
    assert described(one) == described(other)
    if one.filename not in sys.argv[3:] + [record]:
        assert raw(old, one) == raw(new, other), one.filename
    hash = base64.urlsafe_b64encode(hashlib.sha256(new.read(other)).digest()).rstrip(b"=").decode()
    if rows.get(other.filename, [""])[0]:
        assert rows[other.filename] == ["sha256=" + hash, str(other.file_size)], other.filename
"#;

/// In a wheel of 20 MB, one library is changed, and the other members are copied as they are stored.
fn keeps_a_real_wheel(directory: &Path) -> Result<()> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let unzip = in_path("unzip").ok_or_else(|| Missing::new("unzip", "unzip"))?;
    let wheel = path_of("qiskit-aer")?;
    let done = fatbin(directory).args(["strip", "--device-debug", "-o", "new.whl"]).arg(&wheel).run()?;
    let changed = done.stdout.lines().filter_map(|line| line.split_once('!')?.1.split_once(": ").map(|(name, _)| name));
    let changed: Vec<&str> = changed.collect();
    ensure!(changed.len() == 1, "{}", done.error("expected one library with device code"));
    Step::new(directory, unzip).args(["-tqq", "new.whl"]).run()?;
    let compare = Step::new(directory, &python).args(["-c", COMPARE_REAL_WHEELS]).arg(&wheel).arg("new.whl");
    compare.args(changed).run().map(drop)
}

/// A stripped wheel is intact for unzip and Python, its record is right, and pip installs it.
fn installs(directory: &Path) -> Result<()> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let unzip = in_path("unzip").ok_or_else(|| Missing::new("unzip", "unzip"))?;
    let wheel = "pkg-1.0-py3-none-any.whl";
    let images = [fixture("answer-sm_90-debug.cubin")?, fixture("answer-gfx90a-debug.hsaco")?];
    Step::new(directory, &python).args(["-c", MAKE_WHEEL]).args(images).run()?;
    std::fs::copy(directory.join(wheel), directory.join("old.whl"))?;
    let done = fatbin(directory).args(["strip", "--device-debug", "--in-place", wheel]).run()?;
    ensure!(done.stdout.matches("1 image stripped").count() == 2, "{}", done.error("expected two images"));
    Step::new(directory, unzip).args(["-tqq", wheel]).run()?;
    Step::new(directory, &python).args(["-c", COMPARE_WHEELS, "old.whl", wheel]).run()?;
    let pip = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", "installed", wheel];
    Step::new(directory, &python).args(pip).run()?;
    let import = ["-c", "import pkg; assert pkg.value == 42"];
    Step::new(directory, &python).env("PYTHONPATH", directory.join("installed")).args(import).run()?;
    let installed = fatbin(directory).args(["verify", "installed"]).run()?;
    ensure!(directory.join("installed/pkg/kernel.cubin").is_file(), "{}", installed.error("not installed"));
    Ok(())
}
