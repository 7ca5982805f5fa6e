//! Databases and storages of kernels that Python's sqlite3 and lzma write, and their code objects.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::step::Step;
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

pub fn trials() -> Vec<Trial> {
    vec![Trial::ignorable_test("kernel-stores/python", || {
        completion(fresh_directory("kernel-stores", "python").and_then(|directory| python(&directory)))
    })]
}

/// Every row and entry is a file, with the bytes that were written.
fn python(directory: &Path) -> Result<()> {
    let fixtures = CODE.map(|name| format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR")));
    let written = Step::new(directory, "python3").args(["-c", WRITER]).args(&fixtures).run()?;
    let expected: BTreeSet<&str> = written.stdout.lines().collect();
    for (file, count) in [("512.kdb", 300), ("1024.kdb", 300), ("4096.kdb", 300), ("65536.kdb", 300), ("a.aks2", 3)] {
        let fatbin = || Step::new(directory, env!("CARGO_BIN_EXE_fatbin"));
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
