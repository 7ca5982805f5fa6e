//! The objects that all cells of a host share: the judges, the host programs, the program that opens a library. The first trial
//! that needs them compiles them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use super::host::{HOSTS, Host, LinkOutput};
use super::rows::{Layout, ROWS, Row};
use crate::harness::directives::fixture;
use crate::harness::tools::Linker;
use crate::harness::trial::fresh_directory;

pub struct Kit {
    directory: PathBuf,
    has_libc: bool,
}

static KITS: [Mutex<Option<Arc<Kit>>>; HOST_COUNT] = [const { Mutex::new(None) }; HOST_COUNT];

/// At least the number of hosts with Linux.
const HOST_COUNT: usize = fatbin::Host::ALL.len();

impl Kit {
    pub fn of(host: &Host) -> Result<Arc<Kit>> {
        let index = HOSTS.iter().position(|other| other.name == host.name).context("a host of the table")?;
        // A trial that failed while it held the lock left the value unchanged.
        let mut kit = KITS[index].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kit) = &*kit {
            return Ok(Arc::clone(kit));
        }
        let made = Arc::new(Kit::make(host)?);
        *kit = Some(Arc::clone(&made));
        Ok(made)
    }

    fn make(host: &Host) -> Result<Kit> {
        let directory = fresh_directory("matrix/kit", host.name)?;
        let mut kit = Kit { directory, has_libc: true };
        let directory = &kit.directory.clone();
        let compile = |source: &Path, flags: &[String], object: &Path| -> Result<()> {
            host.compiler(directory)?.args(flags).arg(source).arg("-o").arg(object).run()?;
            Ok(())
        };
        for (judge, flag) in
            [("old", "-DOLD_ENTRIES"), ("new", "-DNEW_ENTRIES"), ("sycl-main", "-DSYCL_OFFLOAD_BINARIES")]
        {
            let object = kit.judge_object(judge);
            compile(&fixture("judge.c")?, &[flag.to_owned()], &object)?;
            if host.has_libc() {
                let name = format!("libjudge-{judge}.so");
                let step =
                    host.link(Linker::Bfd, directory, LinkOutput::Library)?.args(["-soname", &name, "-o", &name]);
                host.end_of_link(step.arg(object), LinkOutput::Library)?.run()?;
            }
        }
        compile(&source("program.c"), &[], &kit.object("program"))?;
        compile(&source("main.c"), &[], &kit.object("main"))?;
        for row in ROWS.iter().filter(|row| row.section.is_some()) {
            let object = kit.program_with_entries(row);
            if !object.exists() {
                compile(&source("program.c"), &entry_flags(row, ""), &object)?;
            }
        }
        if !host.has_libc() {
            compile(&source("freestanding.c"), &[], &kit.start(LinkOutput::NoPie))?;
            compile(&source("freestanding.c"), &["-DRELOCATES_ITSELF".to_owned()], &kit.start(LinkOutput::Pie))?;
            kit.has_libc = false;
            return Ok(kit);
        }
        compile(&source("loader.c"), &[], &kit.object("loader"))?;
        let step =
            host.link(Linker::Bfd, directory, LinkOutput::Pie)?.arg("-o").arg(kit.loader()).arg(kit.object("loader"));
        host.end_of_link(step, LinkOutput::Pie)?.run()?;
        Ok(kit)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn judge_object(&self, judge: &str) -> PathBuf {
        self.directory.join(format!("judge-{judge}.o"))
    }

    pub fn judge_library(&self, judge: &str) -> PathBuf {
        self.directory.join(format!("libjudge-{judge}.so"))
    }

    /// Returns the objects that every program needs, except the objects under test: its `main`, and the startup code.
    pub fn main(&self, output: LinkOutput) -> Vec<PathBuf> {
        let main = self.object("main");
        if self.has_libc { vec![main] } else { vec![main, self.start(output)] }
    }

    /// Returns the replacement of a C library.
    fn start(&self, output: LinkOutput) -> PathBuf {
        self.object(if output == LinkOutput::Pie { "freestanding-pie" } else { "freestanding" })
    }

    /// Returns the program that opens `./libcell.so`.
    pub fn loader(&self) -> PathBuf {
        self.directory.join("loader")
    }

    /// Returns the host program without entries.
    pub fn program(&self) -> PathBuf {
        self.object("program")
    }

    pub fn program_with_entries(&self, row: &Row) -> PathBuf {
        let layout = if row.layout == Layout::Old { "old" } else { "new" };
        self.directory.join(format!("program-{}-{layout}-{}.o", row.kind, row.section.unwrap_or("none")))
    }

    fn object(&self, name: &str) -> PathBuf {
        self.directory.join(name).with_extension("o")
    }
}

fn source(name: &str) -> PathBuf {
    super::directory().join(name)
}

/// Returns the flags of a host program with the entries of a row. `suffix` follows the section's name.
pub fn entry_flags(row: &Row, suffix: &str) -> Vec<String> {
    let mut flags = vec!["-DENTRIES".to_owned(), format!("-DKIND={}", row.kind_number())];
    flags.extend(row.section.map(|section| format!("-DSECTION={section}{suffix}")));
    if row.layout == Layout::Old {
        flags.push("-DOLD_ENTRIES".to_owned());
    }
    flags
}
