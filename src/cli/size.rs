//! `fatbin size`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use super::Status;
use super::failure::{Context, Result, bail, ensure};
use super::format::{Format, FormatArguments, among};
use super::headings::{JUDGEMENT, OUTPUT};
use super::inputs::{InputArguments, KpackArchives, found_images};
use super::problems::Problems;
use super::scan_arguments::ScanArguments;
use super::session::Session;
use super::value_enum::{LEVELS, one_of};
use crate::report::{self, SizeReport, SizedFile, SizedFiles};
use fatbin_core::base::codec::Codec;
use fatbin_core::base::error::Error;
use fatbin_core::base::spelling::Suggestions;
use fatbin_core::scan::{CacheBudget, Options, Outcome, ScannedFile, Scanner};
use fatbin_ops::analyze::size::measure::{FileSizes, SizeOptions, TotalSizes};
use fatbin_ops::analyze::size::{Duplicates, Level, PackageSizes, Packages, PackedFile, Tree};
use fatbin_ops::check::lock::common_label;
use fatbin_ops::edit::ArchName;
use fatbin_ops::edit::what_if::{CodecLevels, Effect, WhatIf};

/// Report what bytes are for: archs, kernels, host code
///
/// Every byte of a file is in exactly one row, so that the stored bytes add up to its size. Bytes outside of images and
/// kernels have rows in brackets. Images that are compressed together share the stored bytes in proportion to their
/// decompressed sizes, and so do the kernels and categories of an image.
///
/// For a wheel or zip file, a table of its contents comes first: device code, host code, other members and the archive.
/// PACKED are the bytes in the file; parts of a member that is compressed as a whole share its bytes. The second table
/// is about the unpacked members.
///
/// Exit status: 0 if there are device images, 1 if there are none, 2 for trouble.
#[derive(Args)]
#[command(mut_arg("format", |option| option.value_parser(among(&[Format::Table, Format::Json, Format::Csv]))))]
pub struct Arguments {
    /// Properties to group by, outermost first
    #[arg(help_heading = OUTPUT, long, value_name = "LEVEL", value_parser = one_of(LEVELS), value_delimiter = ',', default_value = "arch")]
    by: Vec<Level>,

    /// Also list what is stored several times: identical images, kernels in several translation units, identical
    /// kernels
    #[arg(help_heading = OUTPUT, long, conflicts_with = "csv")]
    duplicates: bool,

    /// Also print the size with this change, and the time that decompressing the images of an arch takes; may be
    /// repeated
    ///
    /// size, balance and speed compress everything as these modes of nvcc and fatbinary, with --compress-all; none
    /// stores it uncompressed; zstd-N and lz4-N are codecs with their level; drop:ARCH,... leaves out images by their
    /// arch, as prune --drop. Bundles are compressed with zstd, by size with level 19, by balance and speed with 3.
    #[arg(help_heading = OUTPUT, long, value_name = "CHANGE", value_parser = parse_change, conflicts_with = "csv")]
    what_if: Vec<NamedChange>,

    /// Compute --what-if from containers with about this share of the bytes
    #[arg(help_heading = OUTPUT, long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    sample: u32,

    /// Also read this file, directory or package, and print the changes since then
    #[arg(long, value_name = "PATH", help_heading = JUDGEMENT)]
    baseline: Option<PathBuf>,

    #[command(flatten)]
    format: FormatArguments,

    /// Short form of --format csv
    #[arg(long, conflicts_with_all = ["json", "format"], help_heading = OUTPUT)]
    csv: bool,

    #[command(flatten)]
    scan: ScanArguments,
}

/// Value of `--what-if`.
#[derive(Debug, Clone)]
struct NamedChange {
    name: String,
    change: WhatIf,
}

fn parse_change(text: &str) -> Result<NamedChange> {
    let level = |text: &str, codec: Codec| -> Result<i32> {
        let level = text.parse().ok().context("expected a number as level")?;
        Ok(codec.check_level(level).map_err(|error| anyhow!(error))?)
    };
    let entries =
        |codec: Codec, level: i32, streams| WhatIf::Compressed(Some(CodecLevels { entries: (codec, level), streams }));
    let change = match text {
        "size" => WhatIf::Compressed(Some(CodecLevels::SIZE)),
        "balance" => WhatIf::Compressed(Some(CodecLevels::BALANCE)),
        "speed" => WhatIf::Compressed(Some(CodecLevels::SPEED)),
        "none" => WhatIf::Compressed(None),
        _ => match (text.strip_prefix("zstd-"), text.strip_prefix("lz4-"), text.strip_prefix("drop:")) {
            (Some(text), ..) => {
                let level = level(text, Codec::Zstd)?;
                entries(Codec::Zstd, level, Some(level))
            }
            (_, Some(text), _) => entries(Codec::Lz4, level(text, Codec::Lz4)?, None),
            (.., Some(archs)) if !archs.is_empty() => WhatIf::Dropped(archs.split(',').map(ArchName::new).collect()),
            _ => {
                let suggestions = Suggestions::new(text, ["size", "balance", "speed", "none"]);
                bail!("expected size, balance, speed, none, zstd-N, lz4-N or drop:ARCH,...{suggestions}")
            }
        },
    };
    Ok(NamedChange { name: text.to_owned(), change })
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let problems = arguments.scan.problems.problems(session);
    let format = if arguments.csv { Format::Csv } else { arguments.format.format() };
    if format == Format::Csv {
        ensure!(!arguments.duplicates, "--duplicates cannot be used with --format csv");
        ensure!(arguments.what_if.is_empty(), "--what-if cannot be used with --format csv");
    }
    let levels = arguments.by;
    let options = Options::default().with_hash(arguments.duplicates);
    let mut measuring = Measuring {
        options: MeasureOptions {
            size: SizeOptions { levels: levels.clone(), duplicates: arguments.duplicates },
            is_compared: arguments.baseline.is_some(),
            lists_files: format == Format::Json,
            changes: arguments.what_if,
            sample: arguments.sample,
        },
        scanner: arguments.scan.limits.scanner(session, options).with_cache(CacheBudget::default()),
        problems: &problems,
        status: Status::No,
    };
    let new = measuring.side(arguments.scan.inputs)?;
    let status = measuring.status;
    measuring.options.size.duplicates = false;
    let changes = std::mem::take(&mut measuring.options.changes);
    let old = arguments.baseline.map(|path| measuring.side(InputArguments::single(path))).transpose()?;
    let is_trouble = measuring.status == Status::Trouble;
    let report = SizeReport {
        levels,
        files: new.files,
        packages: new.packages,
        total: new.tree.size(),
        effects: effects(changes, new.effects),
        sample: arguments.sample,
        duplicates: arguments.duplicates.then_some(new.duplicates),
        total_before: old.as_ref().map(|old| old.tree.size()),
        rows: old.map_or_else(|| new.tree.rows(), |old| new.tree.changes(&old.tree)),
    };
    print(&report, format, session)?;
    Ok(if is_trouble { Status::Trouble } else { status })
}

fn print(report: &SizeReport, format: Format, session: &Session) -> Result<()> {
    let screen = session.screen();
    let text = match format {
        Format::Json => report::size_json(report),
        Format::Csv => report::size_csv(report),
        _ => report::size_table(report, &screen),
    };
    Ok(session.print_report(&text, &screen)?)
}

/// Sizes of all files of one side.
#[derive(Default)]
struct Side {
    tree: Tree,
    duplicates: Duplicates,
    /// Effects of no change, and of each change.
    effects: Vec<Effect>,
    files: SizedFiles,
    packages: Vec<PackageSizes>,
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
    /// The report has the size of each file.
    lists_files: bool,
    changes: Vec<NamedChange>,
    /// Percentage of the bytes that are rebuilt for the changes.
    sample: u32,
}

/// Pairs the effects with their names in reports.
fn effects(changes: Vec<NamedChange>, effects: Vec<Effect>) -> Vec<(String, Effect)> {
    let unchanged = (!changes.is_empty()).then(|| "unchanged".to_owned());
    unchanged.into_iter().chain(changes.into_iter().map(|change| change.name)).zip(effects).collect()
}

/// Result of measuring a file.
struct Measured {
    sizes: Result<FileSizes, Option<Error>>,
    /// The file, if changes must be tried.
    scanned: Option<ScannedFile>,
    status: Status,
    /// The place of the file in its package.
    packed: Option<PackedFile>,
    archives: KpackArchives,
}

impl Measuring<'_> {
    /// Measures the files of one side.
    fn side(&mut self, inputs: InputArguments) -> Result<Side> {
        let inputs = inputs.with_listed()?;
        let (names, options) = (inputs.names(), &self.options);
        let (mut side, mut archives, mut status) = (Side::default(), KpackArchives::default(), self.status);
        let mut packages = Packages::default();
        let mut total = TotalSizes::default();
        let measure = |index: usize, outcome: Outcome| options.measure(names.get(index), outcome);
        inputs.scan_and(&self.scanner, self.problems, &measure, &mut |measured| {
            status = status.and(measured.status);
            if let Some(scanned) = &measured.scanned {
                status = status.and(self.try_changes(scanned, &mut side.effects));
            }
            archives.merge(measured.archives);
            measured.packed.iter().for_each(|file| packages.add(file));
            match measured.sizes {
                Ok(mut sizes) => {
                    for problem in std::mem::take(&mut sizes.problems) {
                        status = status.and(self.problems.report(problem));
                    }
                    let &FileSizes { size, packed_size, .. } = &sizes;
                    let file = SizedFile { path: std::mem::take(&mut sizes.path), size, packed_size };
                    side.files.add(file, options.lists_files);
                    total.add(sizes);
                }
                Err(error) => status = error.map_or(status, |error| status.and(self.problems.report(error))),
            }
        })?;
        for change in self.options.unmatched(&side.effects) {
            status = status.and(self.problems.report(anyhow!("--what-if {change}: no image is for such an arch")));
        }
        (side.tree, side.duplicates) = total.finish();
        side.packages = packages.finish(self.problems.session().access())?;
        self.status = status;
        archives.warn(self.problems);
        Ok(side)
    }

    /// Adds the effects of all changes on a file. The status covers only this attempt: trouble, or none.
    fn try_changes(&self, scanned: &ScannedFile, effects: &mut Vec<Effect>) -> Status {
        let changes: Vec<WhatIf> = self.options.changes.iter().map(|named| named.change.clone()).collect();
        match fatbin_ops::edit::what_if::what_if(scanned, &changes, self.options.sample) {
            Ok(of_file) => {
                effects.resize(of_file.len(), Effect::default());
                for (all, one) in effects.iter_mut().zip(of_file) {
                    all.add(one);
                }
                Status::No
            }
            Err(error) => self.problems.report(error.in_file(scanned.file().path.printed())),
        }
    }
}

impl MeasureOptions {
    /// Names of changes that drop no image.
    fn unmatched<'a>(&'a self, effects: &'a [Effect]) -> impl Iterator<Item = &'a str> {
        let unchanged = if self.sample == 100 { effects.first().map(|effect| effect.images) } else { None };
        let effects = self.changes.iter().zip(effects.iter().skip(1));
        let effects = effects.filter(|(named, _)| matches!(named.change, WhatIf::Dropped(_)));
        effects.filter(move |(_, effect)| Some(effect.images) == unchanged).map(|(named, _)| named.name.as_str())
    }

    /// Measures a file of the input `name`.
    fn measure(&self, name: Option<&String>, outcome: Outcome) -> Measured {
        let archives = KpackArchives::of(&outcome);
        let Outcome::Scanned(scanned) = outcome else {
            let sizes = Err(outcome.into_file().1);
            return Measured { sizes, scanned: None, status: Status::No, packed: None, archives };
        };
        let file = scanned.file();
        let label = match name {
            Some(name) if self.is_compared => common_label(&file.path, name),
            _ => file.path.to_string(),
        };
        let (sizes, status) =
            (fatbin_ops::analyze::size::measure::size(&scanned, label, &self.size).map_err(Some), found_images(file));
        let packed = PackedFile::new(&scanned);
        Measured { sizes, packed, scanned: (!self.changes.is_empty()).then_some(scanned), status, archives }
    }
}
