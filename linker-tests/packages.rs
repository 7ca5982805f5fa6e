//! Packages of every form, written by the forms' own programs: every command answers as for the folder with the files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::step::Step;
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

pub fn trials() -> Vec<Trial> {
    let trial = |form: &'static Form| {
        Trial::ignorable_test(format!("packages/{}", form.name), move || {
            completion(fresh_directory("packages", form.name).and_then(|directory| test(form, &directory)))
        })
    };
    FORMS.iter().map(trial).collect()
}

fn test(form: &Form, directory: &Path) -> Result<()> {
    for (program, package) in form.programs {
        in_path(program).ok_or_else(|| Missing::new(program, package))?;
    }
    let library = directory.join("root/usr/lib");
    fs::create_dir_all(&library)?;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    fs::copy(fixtures.join("answer-sm_90.cubin"), library.join("a.cubin"))?;
    fs::copy(fixtures.join("answer-gfx90a.hsaco"), library.join("b.hsaco"))?;
    fs::write(directory.join("policy"), "[archs]\nforbid = [\"sm_90\"]\n")?;
    for (name, script) in SCRIPTS {
        fs::write(directory.join(name), script)?;
    }
    Step::new(directory, "sh").args(["-e", "-c", form.script]).run()?;
    for command in ["scan --hash", "inspect", "size"] {
        let root = answers(&json(directory, command, "root")?);
        let package = answers(&json(directory, command, "p")?);
        // The runtime of an AppImage adds its own bytes to the sizes.
        let is_equal = root == package || command == "size" && root.is_subset(&package);
        ensure!(!root.is_empty() && is_equal, "{command}: {package:?}, expected {root:?}");
    }
    extracted(directory, "p")?;
    let check = Step::new(directory, "sh");
    let check =
        check.args(["-c", "\"$0\" check --policy policy p || test $? = 1", env!("CARGO_BIN_EXE_fatbin")]).run()?;
    ensure!(
        check.stdout.contains("a.cubin: image 0 (sm_90): violated: ") || check.stdout.contains("sm_90 is forbidden"),
        "{}",
        check.stdout
    );
    ensure!(locked(directory, "p")? == locked(directory, "root")?, "the locks differ");
    Ok(())
}

fn json(directory: &Path, command: &str, input: &str) -> Result<Value> {
    let step = Step::new(directory, env!("CARGO_BIN_EXE_fatbin")).args(command.split(' ')).arg("--json").arg(input);
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
fn extracted(directory: &Path, input: &str) -> Result<()> {
    Step::new(directory, env!("CARGO_BIN_EXE_fatbin")).args(["extract", "-o", "out", input]).run()?;
    let contents = |below: &str| -> Result<BTreeSet<Vec<u8>>> {
        let files = fs::read_dir(directory.join(below))?;
        files.map(|file| Ok(fs::read(file?.path())?)).collect()
    };
    ensure!(contents("out")? == contents("root/usr/lib")?, "the extracted images differ");
    Ok(())
}

/// Returns the lines of a lock about images and kernels.
fn locked(directory: &Path, input: &str) -> Result<Vec<String>> {
    Step::new(directory, env!("CARGO_BIN_EXE_fatbin")).args(["lock", "-o", "lock", input]).run()?;
    let lock = fs::read_to_string(directory.join("lock"))?;
    fs::remove_file(directory.join("lock"))?;
    Ok(lock.lines().filter(|line| line.starts_with("unit ") || line.starts_with("  ")).map(str::to_owned).collect())
}
