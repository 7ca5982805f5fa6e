//! `fatbin size`.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::inputs::{InputArguments, found_images, warn_of_archives};
use super::limit::LimitArguments;
use super::problems::{ProblemArguments, Problems};
use super::{Status, terminal};
use crate::error::Error;
use crate::inventory::File;
use crate::lock::without_versions;
use crate::ops::{self, FileSizes, SizeOptions};
use crate::report::{self, SizeReport, SizedFile};
use crate::scan::{CacheBudget, Options, Outcome, Scanner};
use crate::size::{Duplicates, ImageCopies, Level, Tree};

/// Report what the bytes of files are for: archs, kernels, containers
///
/// Every byte of a file is in exactly one row, so that the stored bytes add up to its size. Bytes outside of images and kernels have
/// rows in brackets. Images that are compressed together share the stored bytes in proportion to their decompressed sizes, and so do
/// the kernels of an image.
///
/// Of members of archives the size is that of the member; what wheels and zip files store of them is printed as packed.
///
/// Exit status: 0 if there are device images, 1 if there are none, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    /// Properties to group by, outermost first
    #[arg(long, value_name = "LEVEL", value_enum, value_delimiter = ',', default_value = "arch")]
    by: Vec<LevelName>,

    /// Also list what is stored several times: identical images, kernels in several translation units, identical kernels
    #[arg(long, conflicts_with = "csv")]
    duplicates: bool,

    /// Also read this file, directory or package, and print the changes since then
    #[arg(long, value_name = "OLD")]
    baseline: Option<PathBuf>,

    /// Print one JSON document (schema fatbin.size/1) instead of a table
    #[arg(long)]
    json: bool,

    /// Print comma-separated values: a line for each row of the innermost level
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    inputs: InputArguments,
}

/// Value of `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LevelName {
    /// Architecture, and format of the code unless it is ELF
    Arch,
    /// File
    File,
    /// Types of the containers, and section
    Container,
    /// Kernel
    Kernel,
    /// Kernels of one template
    Family,
    /// Translation unit: the outermost container
    Tu,
    /// Codec
    Codec,
    /// Format of the image
    Kind,
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Level {
        match name {
            LevelName::Arch => Level::Arch,
            LevelName::File => Level::File,
            LevelName::Container => Level::Container,
            LevelName::Kernel => Level::Kernel,
            LevelName::Family => Level::Family,
            LevelName::Tu => Level::Tu,
            LevelName::Codec => Level::Codec,
            LevelName::Kind => Level::Kind,
        }
    }
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<Status> {
    let problems = arguments.problems.problems();
    let levels: Vec<Level> = arguments.by.iter().copied().map(Level::from).collect();
    let options = Options { hash: arguments.duplicates, ..Options::default() };
    let mut measuring = Measuring {
        options: MeasureOptions {
            size: SizeOptions { levels: levels.clone(), duplicates: arguments.duplicates },
            is_compared: arguments.baseline.is_some(),
        },
        scanner: arguments.limits.scanner(options).with_cache(CacheBudget::default()),
        problems: &problems,
        status: Status::No,
    };
    let new = measuring.side(arguments.inputs)?;
    let status = measuring.status;
    measuring.options.size.duplicates = false;
    let old = arguments.baseline.map(|path| measuring.side(InputArguments::single(path))).transpose()?;
    let is_trouble = measuring.status == Status::Trouble;
    let report = SizeReport {
        levels,
        files: new.files,
        total: new.tree.size(),
        duplicates: arguments.duplicates.then_some(new.duplicates),
        total_before: old.as_ref().map(|old| old.tree.size()),
        rows: old.map_or_else(|| new.tree.rows(), |old| new.tree.changes(&old.tree)),
    };
    let screen = terminal::screen();
    let text = match (arguments.json, arguments.csv) {
        (true, _) => report::size_json(&report),
        (_, true) => report::size_csv(&report),
        _ => report::size_table(&report, &screen),
    };
    let mut out = terminal::output(&screen);
    out.write(&text)?;
    out.flush()?;
    Ok(if is_trouble { Status::Trouble } else { status })
}

/// Sizes of all files of one side.
#[derive(Default)]
struct Side {
    tree: Tree,
    duplicates: Duplicates,
    files: Vec<SizedFile>,
}

struct Measuring<'a> {
    options: MeasureOptions,
    scanner: Scanner,
    problems: &'a Problems,
    status: Status,
}

struct MeasureOptions {
    size: SizeOptions,
    /// Labels of files must be equal on both sides.
    is_compared: bool,
}

/// Result of measuring a file.
struct Measured {
    sizes: Result<FileSizes, Option<Error>>,
    status: Status,
    /// The inventory of a file whose device code is in kpack archives.
    split: Option<File>,
}

impl Measuring<'_> {
    /// Measures the files of one side.
    fn side(&mut self, inputs: InputArguments) -> Result<Side> {
        let inputs = inputs.with_listed()?;
        let (names, options) = (inputs.names(), &self.options);
        let (mut side, mut split, mut status) = (Side::default(), Vec::new(), self.status);
        let mut images = ImageCopies::default();
        let measure = |index: usize, outcome: Outcome| options.measure(names.get(index), outcome);
        inputs.scan_and(&self.scanner, self.problems, &measure, &mut |measured| {
            status = status.and(measured.status);
            split.extend(measured.split);
            match measured.sizes {
                Ok(sizes) => {
                    for problem in sizes.problems {
                        status = status.and(self.problems.report(problem));
                    }
                    side.tree.merge(sizes.tree);
                    images.merge(sizes.images);
                    side.duplicates.kernels.extend(sizes.duplicates.kernels);
                    side.duplicates.bodies.extend(sizes.duplicates.bodies);
                    let FileSizes { path, size, packed_size, .. } = sizes;
                    side.files.push(SizedFile { path, size, packed_size });
                }
                Err(error) => status = error.map_or(status, |error| status.and(self.problems.report(error))),
            }
        })?;
        side.duplicates.images = images.duplicates();
        side.duplicates.sort();
        self.status = status;
        warn_of_archives(split.iter(), self.problems);
        Ok(side)
    }
}

impl MeasureOptions {
    /// Measures a file of the input `name`.
    fn measure(&self, name: Option<&String>, outcome: Outcome) -> Measured {
        let scanned = match outcome {
            Outcome::Scanned(scanned) => scanned,
            other => return Measured { sizes: Err(other.into_file().1), status: Status::No, split: None },
        };
        let file = scanned.file();
        let label = match name.filter(|_| self.is_compared) {
            Some(name) => common_label(&file.path, name),
            None => file.path.clone(),
        };
        let split = if file.kpack.is_empty() { None } else { Some(file.clone()) };
        Measured { sizes: ops::size(&scanned, label, &self.size).map_err(Some), status: found_images(file), split }
    }
}

/// Returns the label of a file that its counterpart in another build has, too: the path below the input `name`, without versions.
fn common_label(path: &str, name: &str) -> String {
    let below = path.strip_prefix(name).map(|rest| rest.trim_start_matches(['/', '!']));
    let file_name = || name.rsplit('/').next().unwrap_or(name);
    without_versions(below.filter(|rest| !rest.is_empty()).unwrap_or_else(file_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_two_builds_are_equal() {
        let cases = [
            ("old/a-1.0-py3-none-any.whl!lib/x.so.1", "old/a-1.0-py3-none-any.whl", "lib/x.so.*"),
            ("old/lib/x.so", "old", "lib/x.so"),
            ("old/x.so.1.2", "old/x.so.1.2", "x.so.*"),
        ];
        for (path, name, expected) in cases {
            assert_eq!(common_label(path, name), expected, "{path}");
        }
    }
}
