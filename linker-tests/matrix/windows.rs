//! The rows of the matrix for Windows: objects linked and run, and compared with the objects of LLVM's tools.
//!
//! | host | runtime | linkers | run by |
//! |---|---|---|---|
//! | x86-64, MSVC | `windows.c` in place of Microsoft's | lld-link | Wine |
//! | AArch64, MSVC | the same | lld-link | `pe-loader.c` in an emulator |
//! | x86-64, GNU | MinGW-w64 | GNU ld, lld | Wine |

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use object::{Object, ObjectSection};

use super::cell::difference;
use super::host::{HOSTS, Host, LinkOutput, read};
use super::images::Images;
use super::kit::entry_flags;
use super::rows::{ROWS, Reference, Row};
use super::{Results, once, wrap};
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool};
use crate::harness::trial::{completion, fresh_directory};
use crate::harness::wine::{import_library, wine};

struct WindowsHost {
    /// Name of the column.
    name: &'static str,
    triple: &'static str,
    links: &'static [Link],
}

/// A linker with a C runtime.
#[derive(Clone, Copy, PartialEq)]
enum Link {
    /// lld-link with `windows.c`.
    Msvc,
    /// The compiler of MinGW-w64 with GNU ld.
    Bfd,
    /// The compiler of MinGW-w64 with lld.
    Lld,
}

const WINDOWS: [WindowsHost; 3] = [
    WindowsHost { name: "x86_64-windows-msvc", triple: "x86_64-pc-windows-msvc", links: &[Link::Msvc] },
    WindowsHost { name: "aarch64-windows-msvc", triple: "aarch64-pc-windows-msvc", links: &[Link::Msvc] },
    WindowsHost { name: "x86_64-windows-gnu", triple: "x86_64-w64-windows-gnu", links: &[Link::Bfd, Link::Lld] },
];

/// Source of the entries.
#[derive(Clone, Copy, PartialEq)]
enum Entries {
    /// The host program.
    Program,
    /// Options of `fatbin wrap`.
    Options,
}

pub fn trials() -> Vec<Trial> {
    let rows = ROWS.iter().filter(|row| row.has_windows_objects());
    let trial = |row: &'static Row| {
        Trial::ignorable_test(format!("matrix/{}/windows", row.name()), move || completion(all_hosts(row)))
    };
    rows.map(trial).collect()
}

impl Link {
    fn name(self) -> &'static str {
        match self {
            Link::Msvc => "lld-link",
            Link::Bfd => "bfd",
            Link::Lld => "lld",
        }
    }
}

fn host_object(entries: Entries) -> &'static str {
    match entries {
        Entries::Program => "host-program.o",
        Entries::Options => "host-options.o",
    }
}

/// Inputs that the cells of a trial share.
struct WindowsCells<'a> {
    row: &'a Row,
    host: &'a WindowsHost,
    directory: &'a Path,
    expected: &'a str,
}

fn all_hosts(row: &Row) -> Result<()> {
    let mut results = Results::default();
    let name = format!("matrix/{}/windows", row.name());
    let directory = fresh_directory(&name, "")?;
    for host in &WINDOWS {
        add_cells(row, host, &fresh_directory(&name, host.name)?, &mut results)?;
    }
    results.finish(&directory)
}

fn add_cells(row: &Row, host: &WindowsHost, directory: &Path, results: &mut Results) -> Result<()> {
    let images = Images::write(directory)?;
    let expected = read(&super::directory().join("expected").join(row.log))?.replace("{host}", host.triple);
    let cells = WindowsCells { row, host, directory, expected: &expected };
    wrap(row, host.triple, &images, &row.entry_options(), &directory.join("options.o"))?;
    wrap(row, host.triple, &images, &[], &directory.join("program.o"))?;
    for &link in host.links {
        let mut add = |name: &str, wrapper, entries| {
            let outcome = cells.check(link, &format!("{}-{name}", link.name()), wrapper, entries, &images);
            results.add(&format!("{} {} {name}", host.name, link.name()), outcome.into());
        };
        add("options", "options.o", Entries::Options);
        if row.section.is_some() {
            add("program", "program.o", Entries::Program);
        }
        if row.reference == Some(Reference::LlvmOffloadWrapper) {
            add("reference", "reference.o", Entries::Program);
        }
    }
    Ok(())
}

impl WindowsCells<'_> {
    /// Compiles everything but the wrapper objects.
    fn compile(&self) -> Result<()> {
        let source = |name: &str| super::directory().join(name);
        let judge: &[&str] = match self.row.judge() {
            "old" => &["-DOLD_ENTRIES"],
            "sycl-main" => &["-DSYCL_OFFLOAD_BINARIES"],
            _ => &[],
        };
        self.compile_one(&fixture("judge.c")?, judge, "judge.o")?;
        self.compile_one(&source("main.c"), &[], "main.o")?;
        self.compile_one(&source("program.c"), &[], "host-options.o")?;
        if self.row.section.is_some() {
            let flags = entry_flags(self.row, "$OE");
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            self.compile_one(&source("program.c"), &flags, "host-program.o")?;
        }
        if self.host.links.contains(&Link::Msvc) {
            self.compile_one(&source("windows.c"), &[], "runtime.o")?;
        }
        Ok(())
    }

    fn compile_one(&self, source: &Path, flags: &[&str], object: &str) -> Result<()> {
        let step = Step::new(self.directory, Tool::Clang.path()?).arg(format!("--target={}", self.host.triple));
        let step = step.args(["-ffreestanding", "-O1", "-Wall", "-Wextra", "-Werror", "-c"]).args(flags);
        step.arg(source).args(["-o", object]).run()?;
        Ok(())
    }

    /// Compiles the module of LLVM's tool. HIP's takes a finished bundle, which is copied from fatbin's object.
    fn compile_reference(&self, images: &Images) -> Result<()> {
        let mut inputs: Vec<PathBuf> = images.of(self.row.kind).into_iter().map(Path::to_owned).collect();
        if self.row.kind == "hip" {
            let object = std::fs::read(self.directory.join("program.o"))?;
            let object = object::File::parse(&*object)?;
            let section = object.section_by_name(".hip_fatbin").context("a section with the bundle")?;
            inputs = vec![self.directory.join("bundle")];
            std::fs::write(&inputs[0], section.data()?)?;
        }
        let step = Step::new(self.directory, Tool::OffloadWrapper.path()?);
        let step = step.arg(format!("--kind={}", self.row.kind)).arg(format!("--triple={}", self.host.triple));
        step.args(["-o", "reference.bc"]).args(inputs).run()?;
        let step = Step::new(self.directory, Tool::Clang.path()?).arg(format!("--target={}", self.host.triple));
        step.args(["-O2", "-Wno-override-module", "-c", "reference.bc", "-o", "reference.o"]).run()?;
        Ok(())
    }

    /// Links a wrapper object with a host program, and compares the output of the run. The reference object is LLVM's
    /// for the images of the kind.
    fn check(&self, link: Link, name: &str, wrapper: &str, entries: Entries, images: &Images) -> Result<()> {
        let row = self.row;
        let is_reference = wrapper == "reference.o";
        let object = if is_reference { row.kind.into() } else { std::fs::read(self.directory.join(wrapper))? };
        let flags = entry_flags(row, "$OE").concat();
        let names = [self.host.name, link.name(), host_object(entries), row.judge(), &flags, self.expected];
        once(&[&names.map(str::as_bytes)[..], &[&object]].concat(), || {
            if !self.directory.join("judge.o").exists() {
                self.compile()?;
            }
            if is_reference {
                self.compile_reference(images)?;
            }
            self.judge(link, name, wrapper, entries)
        })
    }

    fn judge(&self, link: Link, name: &str, wrapper: &str, entries: Entries) -> Result<()> {
        let program = format!("{name}.exe");
        let objects = ["main.o", host_object(entries), "judge.o", wrapper];
        match link {
            Link::Msvc => self.link_without_library(&program, &objects)?,
            Link::Bfd => self.link_with_mingw(&program, &objects, &[])?,
            Link::Lld => self.link_with_mingw(&program, &objects, &Linker::Lld.cc_flags()?)?,
        }
        let log = self.run(&program)?.replace('\r', "");
        ensure!(log == self.expected, "{program}: {}", difference(self.expected, &log));
        Ok(())
    }

    fn link_without_library(&self, program: &str, objects: &[&str]) -> Result<()> {
        let step =
            Step::new(self.directory, Tool::LldLink.path()?).args(["/entry:mainCRTStartup", "/subsystem:console"]);
        let step = step.args(["/opt:ref", "/opt:icf"]).arg(format!("/out:{program}")).args(objects).arg("runtime.o");
        let step = if self.is_aarch64() { step } else { step.arg(import_library(self.directory)?) };
        step.run()?;
        Ok(())
    }

    fn link_with_mingw(&self, program: &str, objects: &[&str], flags: &[String]) -> Result<()> {
        let step = Step::new(self.directory, Tool::MingwCc.path()?).args(flags).args(objects);
        step.args(["-o", program]).run()?;
        Ok(())
    }

    fn is_aarch64(&self) -> bool {
        self.host.name.starts_with("aarch64")
    }

    /// Runs a program and returns its output.
    fn run(&self, program: &str) -> Result<String> {
        if !self.is_aarch64() {
            let run = wine(self.directory, &self.directory.join(program), &[])?;
            ensure!(run.status.success(), "{program}: {run:?}");
            return Ok(String::from_utf8(run.stdout)?);
        }
        let linux = HOSTS.iter().find(|host| host.name == "aarch64").context("Linux on AArch64")?;
        let loader = self.loader(linux)?;
        Ok(linux.run(self.directory, &loader)?.arg(program).run()?.stdout)
    }

    /// Returns the program that runs a program for Windows under Linux.
    fn loader(&self, linux: &Host) -> Result<PathBuf> {
        let loader = self.directory.join("pe-loader");
        if !loader.exists() {
            let source = super::directory().join("pe-loader.c");
            linux.compiler(self.directory)?.arg(source).args(["-o", "pe-loader.o"]).run()?;
            let step = linux.link(Linker::Lld, self.directory, LinkOutput::Static)?.arg("-o").arg(&loader);
            linux.end_of_link(step.arg("pe-loader.o"), LinkOutput::Static)?.run()?;
        }
        Ok(loader)
    }
}
