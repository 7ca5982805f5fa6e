//! Databases, storages and caches of kernels that other programs write, and their code objects.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, in_path};
use crate::harness::trial::{completion, fresh_directory};

/// Writes `N.kdb` with pages of N bytes, and `a.aks2`. Prints the SHA-256 of each code object.
const WRITER: &str = r"
import bz2, hashlib, lzma, sqlite3, struct, sys
code = [open(name, 'rb').read() for name in sys.argv[1:]]
for size in (512, 1024, 4096, 65536):
    database = sqlite3.connect('%d.kdb' % size)
    database.execute('PRAGMA page_size = %d' % size)
    database.execute('CREATE TABLE other (a TEXT, b BLOB)')
    database.execute('CREATE TABLE IF NOT EXISTS `kern_db` (`id` INTEGER PRIMARY KEY ASC, `kernel_name` TEXT NOT NULL, '
        '`kernel_args` TEXT NOT NULL, `kernel_blob` BLOB NOT NULL, `kernel_hash` TEXT NOT NULL, `uncompressed_size` INT NOT NULL)')
    database.execute('CREATE UNIQUE INDEX i ON kern_db (kernel_name, kernel_args, kernel_hash, uncompressed_size)')
    for number in range(300):
        kernel = code[number % len(code)]
        is_stored = number % 7 == 0
        blob = kernel if is_stored else bz2.compress(kernel)
        name = 'k' * (number % 20) + '.o'
        database.execute('INSERT INTO kern_db VALUES (?, ?, ?, ?, ?, ?)',
            (number * 1000, name, ' -DN=%d' % number, blob, hashlib.md5(kernel).hexdigest(), 0 if is_stored else len(kernel)))
        database.execute('INSERT INTO other VALUES (?, ?)', ('x', kernel))
        if number % 10 == 0:
            database.execute('DELETE FROM other WHERE rowid % 3 = 0')
    database.commit()
    database.close()
directory, offset = b'', 0
for number, kernel in enumerate(code):
    name = b'kernel-%d.hsaco\0' % number
    directory += struct.pack('<5I', 0, 64, offset, len(kernel), len(name)) + name
    offset += len(kernel)
full = directory + b''.join(code)
open('a.aks2', 'wb').write(b'AKS2' + struct.pack('<3I', len(full), len(code), len(directory)) + lzma.compress(full))
print('\n'.join(hashlib.sha256(kernel).hexdigest() for kernel in code))
";

/// Fixtures of AMD's GPUs.
const CODE: [&str; 3] = ["answer-gfx90a.hsaco", "answer-gfx90a-xnack+.hsaco", "answer-gfx90a-debug.hsaco"];

/// Writes an entry of JAX's compilation cache for a code object: the time of the compilation, and an executable of XLA
/// (`GpuExecutableProto`: `asm_text` is field 3, `binary` field 4), compressed by zlib. `plain` is not compressed.
const JAX_WRITER: &str = r"
import struct, sys, zlib
def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)
def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data
code = open(sys.argv[1], 'rb').read()
executable = field(8, b'jit_f') + field(4, code) + field(12, field(1, b'constant'))
entry = struct.pack('>I', 1500) + field(1, executable) + field(2, b'options')
open('plain', 'wb').write(entry)
open('jit_f-0-cache', 'wb').write(zlib.compress(entry))
";

pub fn trials() -> Vec<Trial> {
    let trial = |name: &'static str, test: fn(&Path) -> Result<()>| {
        Trial::ignorable_test(format!("kernel-stores/{name}"), move || {
            completion(fresh_directory("kernel-stores", name).and_then(|directory| test(&directory)))
        })
    };
    vec![trial("python", python), trial("jax", jax), trial("flashinfer", flashinfer)]
}

/// The code object in an entry of JAX's cache is found, extracted and judged.
fn jax(directory: &Path) -> Result<()> {
    in_path("zstd").ok_or_else(|| Missing::new("zstd", "zstd"))?;
    for (name, arch) in [("answer-sm_90.cubin", "sm_90"), ("answer-gfx90a.hsaco", "gfx90a")] {
        let code = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
        Step::new(directory, "python3").args(["-c", JAX_WRITER, &code]).run()?;
        Step::new(directory, "zstd").args(["-q", "-f", "plain", "-o", "jit_g-1-cache"]).run()?;
        fs::write(directory.join("policy"), format!("[archs]\nonly = [\"{arch}\"]\n"))?;
        for file in ["plain", "jit_f-0-cache", "jit_g-1-cache"] {
            let fatbin = || Step::new(directory, fatbin_program());
            fatbin().args(["verify", file]).run()?;
            fatbin().args(["check", "--policy", "policy", file]).run()?;
            fatbin().args(["extract", "--to", "extracted", file]).run()?;
            Step::new(directory, "cmp").args(["extracted", &code]).run()?;
            fs::remove_file(directory.join("extracted"))?;
        }
    }
    Ok(())
}

/// The hashes that sha256sum writes are the files' hashes. A change, a missing file and another file are found.
fn flashinfer(directory: &Path) -> Result<()> {
    let folder = directory.join("cubins");
    fs::create_dir(&folder)?;
    let cubin = fs::read(format!("{}/fixtures/answer-sm_90.cubin", env!("CARGO_MANIFEST_DIR")))?;
    for name in ["a.cubin", "b.cubin"] {
        fs::write(folder.join(name), &cubin)?;
    }
    fs::write(directory.join("policy"), "package.promised-kernels = true\n")?;
    Step::new(&folder, "sh").args(["-c", "sha256sum *.cubin > checksums.txt"]).run()?;
    let checked = |status: &str| {
        let command = format!("\"$0\" check --policy policy cubins; test $? = {status}");
        Step::new(directory, "sh").args(["-c", &command, fatbin_program()]).run()
    };
    checked("0")?;
    let mut changed = cubin.clone();
    *changed.last_mut().expect("a fixture") ^= 1;
    fs::write(folder.join("a.cubin"), changed)?;
    fs::rename(folder.join("b.cubin"), folder.join("c.cubin"))?;
    let check = checked("1")?;
    for line in [
        "cubins/checksums.txt: promised-kernels: a.cubin has another SHA-256",
        "cubins/checksums.txt: promised-kernels: b.cubin is missing, or has no device code",
        "cubins/c.cubin: promised-kernels: no index of the directory lists this file",
    ] {
        ensure!(check.stdout.contains(line), check.error(format!("no line {line:?}")));
    }
    Ok(())
}

/// Every row and entry is a file, with the bytes that were written.
fn python(directory: &Path) -> Result<()> {
    let fixtures = CODE.map(|name| format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR")));
    let written = Step::new(directory, "python3").args(["-c", WRITER]).args(&fixtures).run()?;
    let expected: BTreeSet<&str> = written.stdout.lines().collect();
    for (file, count) in [("512.kdb", 300), ("1024.kdb", 300), ("4096.kdb", 300), ("65536.kdb", 300), ("a.aks2", 3)] {
        let fatbin = || Step::new(directory, fatbin_program());
        fatbin().args(["verify", file]).run()?;
        let out = format!("{file}.out");
        fatbin().args(["extract", "--name", "{member}.{number}", "-o", &out, file]).run()?;
        let sums = Step::new(directory, "sh").args(["-c", &format!("cd {out} && sha256sum *")]).run()?;
        let found: Vec<&str> = sums.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
        ensure!(found.len() == count, sums.error(format!("{file}: {} code objects, expected {count}", found.len())));
        ensure!(found.iter().copied().collect::<BTreeSet<_>>() == expected, sums.error(format!("{file}: other bytes")));
        fs::remove_dir_all(directory.join(&out))?;
    }
    Ok(())
}
