//! One cell of a trial: a link by one linker in one form, a run, and the comparison of the judge's output.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::host::{Host, LinkOutput, ProgramForm};
use super::kit::Kit;
use super::once;
use super::rows::Row;
use crate::harness::step::{Done, Step};
use crate::harness::tools::Linker;

/// Inputs that the cells of one trial share.
pub struct Cells<'a> {
    pub row: &'a Row,
    pub host: &'a Host,
    pub kit: &'a Kit,
    /// Directory of the trial.
    pub directory: &'a Path,
    pub expected: &'a str,
}

impl Cells<'_> {
    /// Links `wrapper` with a host program, which has entries or none, and judges the run.
    pub fn check(&self, linker: Linker, form: ProgramForm, wrapper: &Path, program: &Path) -> Result<()> {
        let object = std::fs::read(wrapper)?;
        let names = [linker.name(), form.name(), self.host.name, self.row.judge(), self.expected].map(str::as_bytes);
        let inputs = [&names[..], &[&object, program.as_os_str().as_encoded_bytes()]].concat();
        once(&inputs, || self.judge(linker, form, wrapper, program))
    }

    fn judge(&self, linker: Linker, form: ProgramForm, wrapper: &Path, program: &Path) -> Result<()> {
        let directory = self.directory.join(format!("{}-{}", linker.name(), form.name()));
        std::fs::create_dir(&directory)?;
        let done = self.build_and_run(&directory, linker, form, &[program.to_owned(), wrapper.to_owned()])?;
        let mut expected = self.expected.to_owned();
        if form == ProgramForm::Dlopen {
            expected.push_str("closed\n");
        }
        if done.stdout != expected {
            return Err(done.error(difference(&expected, &done.stdout)));
        }
        Ok(())
    }

    fn build_and_run(&self, directory: &Path, linker: Linker, form: ProgramForm, carried: &[PathBuf]) -> Result<Done> {
        let link = |output, name: &str, inputs: &[PathBuf], flags: &[&str]| -> Result<PathBuf> {
            let step = self.host.link(linker, directory, output)?.args(flags).args(["-o", name]).args(inputs);
            self.host.end_of_link(step, output)?.run()?;
            Ok(directory.join(name))
        };
        let whole = |output, carried: &[PathBuf]| {
            let judge = self.kit.judge_object(self.row.judge());
            link(output, "program", &[self.kit.main(output), vec![judge], carried.to_owned()].concat(), &[])
        };
        let program = match form {
            ProgramForm::Pie => whole(LinkOutput::Pie, carried)?,
            ProgramForm::NoPie => whole(LinkOutput::NoPie, carried)?,
            ProgramForm::Static => whole(LinkOutput::Static, carried)?,
            ProgramForm::Relocatable => {
                Step::new(directory, self.host.linker(linker)?).args(["-r", "-o", "merged.o"]).args(carried).run()?;
                whole(LinkOutput::Pie, &[directory.join("merged.o")])?
            }
            ProgramForm::Shared | ProgramForm::Dlopen => {
                let judge = self.kit.judge_library(self.row.judge());
                // Directories of its libraries and of the judge.
                let path = format!("$ORIGIN:{}", self.kit.directory().display());
                let flags = ["-rpath", path.as_str(), "-soname", "libcell.so"];
                let library =
                    link(LinkOutput::Library, "libcell.so", &[carried, std::slice::from_ref(&judge)].concat(), &flags)?;
                match form {
                    ProgramForm::Dlopen => self.kit.loader(),
                    _ => link(
                        LinkOutput::Pie,
                        "program",
                        &[self.kit.main(LinkOutput::Pie), vec![library, judge]].concat(),
                        &flags[..2],
                    )?,
                }
            }
        };
        self.host.run(directory, &program)?.run()
    }
}

/// Returns the first line that differs between two logs.
pub fn difference(expected: &str, found: &str) -> String {
    let (mut expected, mut found) = (expected.lines(), found.lines());
    let mut number = 1;
    loop {
        match (expected.next(), found.next()) {
            (Some(left), Some(right)) if left == right => number += 1,
            (left, right) => {
                let text = |line: Option<&str>| line.unwrap_or("the end").to_owned();
                return format!("line {number} of the log\nexpected: {}\nfound:    {}", text(left), text(right));
            }
        }
    }
}
