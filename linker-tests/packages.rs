//! Packages of every form, written by the forms' own programs: every command answers as for the folder with the files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Error, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, in_path};
use crate::harness::trial::{completion, fresh_directory};

/// A form: its name, the programs that write it with their Debian packages, and the lines of a shell that write the file
/// `p` from the folder `root`.
struct Form {
    name: &'static str,
    programs: &'static [(&'static str, &'static str)],
    script: &'static str,
}

const fn form(name: &'static str, programs: &'static [(&'static str, &'static str)], script: &'static str) -> Form {
    Form { name, programs, script }
}

const XZ: (&str, &str) = ("xz", "xz-utils");
const BZIP2: (&str, &str) = ("bzip2", "bzip2");
const ZSTD: (&str, &str) = ("zstd", "zstd");
const CPIO: (&str, &str) = ("cpio", "cpio");
const DPKG: (&str, &str) = ("dpkg-deb", "dpkg");
const RPM: (&str, &str) = ("rpmbuild", "rpm");
const SQUASHFS: (&str, &str) = ("mksquashfs", "squashfs-tools");
const PYTHON: (&str, &str) = ("python3", "python3");

const FORMS: &[Form] = &[
    form("tar.gz", &[], "tar -C root -czf p ."),
    form("tar.xz", &[XZ], "tar -C root -cf - . | xz -9e > p"),
    form(
        "tar.xz-parts",
        &[XZ],
        "tar -C root -cf t . && split -b 4096 t part. && for part in part.*; do xz -c $part; done > p",
    ),
    form("tar.bz2", &[BZIP2], "tar -C root -cf - . | bzip2 > p"),
    form(
        "tar.bz2-parts",
        &[BZIP2],
        "tar -C root -cf t . && split -b 4096 t part. && for part in part.*; do bzip2 -c $part; done > p",
    ),
    form("tar.zst", &[ZSTD], "tar -C root -cf - . | zstd -q > p"),
    form("tar.lzma", &[XZ], "tar -C root -cf - . | xz --format=lzma > p"),
    form("tar.lz", &[("lzip", "lzip")], "tar -C root -cf - . | lzip > p"),
    form("tar.lz4", &[("lz4", "lz4")], "tar -C root -cf - . | lz4 -q > p"),
    form(
        "python-xz",
        &[PYTHON],
        "python3 -c 'import tarfile; t = tarfile.open(\"p\", \"w:xz\"); t.add(\"root\", \".\"); t.close()'",
    ),
    form(
        "python-bz2",
        &[PYTHON],
        "python3 -c 'import tarfile; t = tarfile.open(\"p\", \"w:bz2\"); t.add(\"root\", \".\"); t.close()'",
    ),
    form("cpio-newc", &[CPIO], "cd root && find . | cpio --quiet -o -H newc > ../p"),
    form("cpio-crc", &[CPIO], "cd root && find . | cpio --quiet -o -H crc > ../p"),
    form("cpio-odc", &[CPIO], "cd root && find . | cpio --quiet -o -H odc > ../p"),
    form("cpio.xz", &[CPIO, XZ], "cd root && find . | cpio --quiet -o -H newc | xz > ../p"),
    form("deb-xz", &[DPKG], "DEB=xz; . ./deb"),
    form("deb-zstd", &[DPKG], "DEB=zstd; . ./deb"),
    form("deb-gzip", &[DPKG], "DEB=gzip; . ./deb"),
    form("rpm-xz", &[RPM], "PAYLOAD=w6.xzdio; . ./rpm"),
    form("rpm-lzma", &[RPM], "PAYLOAD=w6.lzdio; . ./rpm"),
    form("rpm-zstd", &[RPM], "PAYLOAD=w3.zstdio; . ./rpm"),
    form("rpm-bzip2", &[RPM], "PAYLOAD=w9.bzdio; . ./rpm"),
    form("rpm-gzip", &[RPM], "PAYLOAD=w9.gzdio; . ./rpm"),
    form("rpm-plain", &[RPM], "PAYLOAD=w.ufdio; . ./rpm"),
    form("squashfs-gzip", &[SQUASHFS], "FORM=gzip; . ./squashfs"),
    form("squashfs-xz", &[SQUASHFS], "FORM=xz; . ./squashfs"),
    form("squashfs-zstd", &[SQUASHFS], "FORM=zstd; . ./squashfs"),
    form("squashfs-lz4", &[SQUASHFS], "FORM=lz4; . ./squashfs"),
    form("squashfs-lzma", &[SQUASHFS], "FORM=lzma; . ./squashfs"),
    form("squashfs-blocks", &[SQUASHFS], "FORM='gzip -b 4096 -no-fragments'; . ./squashfs"),
    form("appimage", &[SQUASHFS], "FORM=zstd; . ./squashfs; cat /bin/true p > q && mv q p"),
    form("zip-bzip2", &[PYTHON], "cd root && python3 - ../p 12 < ../zip.py"),
    form("zip-lzma", &[PYTHON], "cd root && python3 - ../p 14 < ../zip.py"),
    form("zip-deflate", &[PYTHON], "cd root && python3 - ../p 8 < ../zip.py"),
    form(
        "conda",
        &[ZSTD, PYTHON],
        "mkdir c && tar -C root -cf - . | zstd -q > c/pkg-p-1-0.tar.zst && cd c && python3 - ../p 0 < ../zip.py",
    ),
    form(
        "docker-save",
        &[],
        "mkdir -p s/1 && tar -C root -cf s/1/layer.tar . && echo '[{\"Layers\":[\"1/layer.tar\"]}]' > s/manifest.json && \
         tar -C s -cf p .",
    ),
    form(
        "oci-layout",
        &[ZSTD],
        "mkdir -p p/blobs/sha256 && echo '{\"imageLayoutVersion\":\"1.0.0\"}' > p/oci-layout && cd root && \
         tar -czf ../p/blobs/sha256/1 ./usr/lib/a.cubin && tar -cf - ./usr/lib/b.hsaco | zstd -q > ../p/blobs/sha256/2",
    ),
    form(
        "nested",
        &[DPKG, XZ, BZIP2, PYTHON],
        "DEB=xz; . ./deb; mkdir c && mv p c/inner.deb && cd c && python3 - ../inner.zip 8 < ../zip.py && cd .. && \
         tar -cf - inner.zip | bzip2 > p",
    ),
];

/// Scripts that several forms use.
const SCRIPTS: [(&str, &str); 4] = [
    ("squashfs", "mksquashfs root p -comp $FORM -noappend -quiet -no-progress >&2\n"),
    (
        "deb",
        "mkdir -p d/DEBIAN && cp -r root/usr d/\n\
         printf 'Package: k\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@b.example>\\nDescription: k\\n' > d/DEBIAN/control\n\
         dpkg-deb -Z$DEB --root-owner-group --build d p.deb >&2 && mv p.deb p\n",
    ),
    (
        "rpm",
        "printf 'Name: k\\nVersion: 1\\nRelease: 1\\nSummary: k\\nLicense: MIT\\n%%description\\nk\\n%%install\\n\
         cp -r %s/root/usr %%{buildroot}/\\n%%files\\n/usr/lib/a.cubin\\n/usr/lib/b.hsaco\\n' \"$PWD\" > k.spec\n\
         rpmbuild -bb --quiet --define \"_topdir $PWD/r\" --define \"_binary_payload $PAYLOAD\" \
         --define '__os_install_post %{nil}' --define 'debug_package %{nil}' k.spec >&2\n\
         mv r/RPMS/*/*.rpm p\n",
    ),
    (
        "zip.py",
        "import os, sys, zipfile\n\
         with zipfile.ZipFile(sys.argv[1], 'w', int(sys.argv[2])) as packed:\n    \
         [packed.write(os.path.join(at, name)) for at, _, names in os.walk('.') for name in names]\n",
    ),
];

/// A command, and a test of its answer for the package `p`.
struct Cell {
    command: &'static str,
    test: fn(&Path) -> Result<()>,
}

/// The commands that read packages, and one of those that change files. The names of the trials are a table.
const CELLS: [Cell; 11] = [
    Cell { command: "scan", test: |directory| equal_answers(directory, "scan --hash") },
    Cell { command: "inspect", test: |directory| equal_answers(directory, "inspect") },
    Cell { command: "size", test: |directory| equal_answers(directory, "size") },
    Cell { command: "verify", test: |directory| equal_lines(directory, "verify") },
    Cell { command: "select", test: selections },
    Cell { command: "requires", test: |directory| equal_lines(directory, "requires") },
    Cell { command: "metadata", test: metadata },
    Cell { command: "extract", test: extracted },
    Cell { command: "check", test: checked },
    Cell { command: "lock", test: equal_locks },
    Cell { command: "strip", test: changed_or_refused },
];

/// One device at a time: for several, `select` names the package.
fn selections(directory: &Path) -> Result<()> {
    equal_lines(directory, "select --device sm_90")?;
    equal_lines(directory, "select --device gfx90a")
}

pub fn trials() -> Vec<Trial> {
    let trials = |form: &'static Form| {
        let package = Arc::new(OnceLock::new());
        CELLS.iter().map(move |cell| {
            let package = Arc::clone(&package);
            Trial::ignorable_test(format!("packages/{}/{}", form.name, cell.command), move || {
                completion(written(form, &package).and_then(|directory| (cell.test)(&directory)))
            })
        })
    };
    FORMS.iter().flat_map(trials).collect()
}

/// Writes the package once for all commands, and returns its directory.
fn written(form: &Form, package: &OnceLock<std::result::Result<PathBuf, String>>) -> Result<PathBuf> {
    for (program, package) in form.programs {
        in_path(program).ok_or_else(|| Missing::new(program, package))?;
    }
    let write = || fresh_directory("packages", form.name).and_then(|at| write(form, &at).map(|()| at));
    package.get_or_init(|| write().map_err(|error| format!("{error:#}"))).clone().map_err(Error::msg)
}

fn write(form: &Form, directory: &Path) -> Result<()> {
    let library = directory.join("root/usr/lib");
    fs::create_dir_all(&library)?;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    fs::copy(fixtures.join("answer-sm_90.cubin"), library.join("a.cubin"))?;
    fs::copy(fixtures.join("answer-gfx90a.hsaco"), library.join("b.hsaco"))?;
    fs::write(directory.join("policy"), "[archs]\nforbid = [\"sm_90\"]\n")?;
    for (name, script) in SCRIPTS {
        fs::write(directory.join(name), script)?;
    }
    Step::new(directory, "sh").args(["-e", "-c", form.script]).run().map(drop)
}

/// The JSON of a command has the same images, kernels and rows as for the folder.
fn equal_answers(directory: &Path, command: &str) -> Result<()> {
    let root = answers(&json(directory, command, "root")?);
    let package = answers(&json(directory, command, "p")?);
    // The runtime of an AppImage adds its own bytes to the sizes.
    let is_equal = root == package || command == "size" && root.is_subset(&package);
    ensure!(!root.is_empty() && is_equal, "{command}: {package:?}, expected {root:?}");
    Ok(())
}

/// A command prints the same lines and has the same exit status as for the folder.
fn equal_lines(directory: &Path, command: &str) -> Result<()> {
    let root = lines(&with_status(directory, command, "root")?.stdout);
    let package = lines(&with_status(directory, command, "p")?.stdout);
    ensure!(root.len() > 2 && root == package, "{command}: {package:?}, expected {root:?}");
    Ok(())
}

/// Runs a command, and adds its exit status to its output.
fn with_status(directory: &Path, command: &str, input: &str) -> Result<Done> {
    let line = format!("\"$0\" {command} {input} 2>&1; echo status $?");
    Step::new(directory, "sh").args(["-c", &line, fatbin_program()]).run()
}

/// Returns the lines about the files of the folder, without the paths of packages, and the last line.
fn lines(text: &str) -> BTreeSet<String> {
    let without_path = |line: &str| line.rsplit_once("usr/lib/").map_or(line, |(_, name)| name).to_owned();
    let of_file = |line: &&str| line.contains("usr/lib/") || line.starts_with(' ') || line.starts_with("status ");
    text.lines().filter(of_file).map(without_path).collect()
}

/// The metadata are the same, before the list of files.
fn metadata(directory: &Path) -> Result<()> {
    let root = with_status(directory, "metadata --format json", "root")?;
    let package = with_status(directory, "metadata --format json", "p")?;
    let [before, found] = [&root, &package].map(|done| done.stdout.split_once("\"files\"").map(|(before, _)| before));
    ensure!(before.is_some() && before == found, package.error("other metadata"));
    Ok(())
}

fn checked(directory: &Path) -> Result<()> {
    let check = with_status(directory, "check --policy policy", "p")?;
    let line =
        ["a.cubin: image 0 (sm_90): violated: ", "sm_90 is forbidden"].iter().any(|it| check.stdout.contains(it));
    ensure!(line && check.stdout.ends_with("status 1\n"), check.error("sm_90 is not forbidden"));
    Ok(())
}

fn equal_locks(directory: &Path) -> Result<()> {
    ensure!(locked(directory, "p")? == locked(directory, "root")?, "the locks differ");
    Ok(())
}

/// A package is rewritten with the same images, or refused with the reason. Nothing is written then.
fn changed_or_refused(directory: &Path) -> Result<()> {
    let strip = with_status(directory, "strip --device-debug -o stripped", "p")?;
    if strip.stdout.ends_with("status 0\n") {
        let root = answers(&json(directory, "scan", "root")?);
        ensure!(root == answers(&json(directory, "scan", "stripped")?), strip.error("other images"));
        return Ok(());
    }
    let reasons =
        ["can be changed; extract it, and change the files", "p: is a directory", "p: zip directory entry at "];
    let is_refused = reasons.iter().any(|reason| strip.stdout.contains(reason));
    ensure!(is_refused && strip.stdout.ends_with("status 2\n"), strip.error("no reason"));
    ensure!(!directory.join("stripped").exists(), "a file was written");
    Ok(())
}

fn json(directory: &Path, command: &str, input: &str) -> Result<Value> {
    let step = Step::new(directory, fatbin_program()).args(command.split(' ')).arg("--json").arg(input);
    serde_json::from_str(&step.run()?.stdout).context("JSON")
}

/// Returns every field of the images, kernels and rows in a report, without paths and places of files.
fn answers(value: &Value) -> BTreeSet<String> {
    fn collect(value: &Value, answers: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for name in ["sha256", "arch", "triple", "name", "code_size", "registers", "stored", "decompressed"] {
                    answers
                        .extend(fields.get(name).filter(|it| !it.is_object()).map(|field| format!("{name} {field}")));
                }
                fields.values().for_each(|field| collect(field, answers));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, answers)),
            _ => {}
        }
    }
    let mut answers = BTreeSet::new();
    collect(value, &mut answers);
    answers
}

/// The extracted images have the bytes of the files.
fn extracted(directory: &Path) -> Result<()> {
    Step::new(directory, fatbin_program()).args(["extract", "-o", "out", "p"]).run()?;
    let contents = |below: &str| -> Result<BTreeSet<Vec<u8>>> {
        let files = fs::read_dir(directory.join(below))?;
        files.map(|file| Ok(fs::read(file?.path())?)).collect()
    };
    ensure!(contents("out")? == contents("root/usr/lib")?, "the extracted images differ");
    Ok(())
}

/// Returns the lines of a lock about images and kernels.
fn locked(directory: &Path, input: &str) -> Result<Vec<String>> {
    Step::new(directory, fatbin_program()).args(["lock", "-o", "lock", input]).run()?;
    let lock = fs::read_to_string(directory.join("lock"))?;
    fs::remove_file(directory.join("lock"))?;
    Ok(lock.lines().filter(|line| line.starts_with("unit ") || line.starts_with("  ")).map(str::to_owned).collect())
}
