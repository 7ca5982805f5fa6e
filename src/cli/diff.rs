//! `fatbin diff`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use super::failure::{Context, Result, coded, ensure};
use super::format::FormatArguments;
use super::headings::{JUDGEMENT, OUTPUT};
use super::limit::{LimitArguments, parse_size};
use super::locking::side;
use super::problems::ProblemArguments;
use super::repaired::Form;
use super::session::Session;
use super::{Status, repaired};
use crate::codes::Code;
use crate::report::{self, Detail, Differences};
use fatbin_ops::check::lock::{self, Budget, GrowthLimit};

/// Compare the device code of two builds by file, arch and kernel
///
/// Each side is a file, a directory, a wheel or another archive, or a lock; `-` reads standard input. Sizes are the
/// sizes of decompressed images and of kernel code. Files are matched by path, or by name if the name is unique.
/// Versions in the names of wheels and libraries are ignored, and kernels in namespaces with versions, such as CUB's, are
/// compared across versions. Where the code is the same, the causes of the difference
/// are named: module IDs, paths, debug information, order, compression and others. Many kernels are summed by family,
/// and listed with -v.
///
/// Exit status: 0 if the device code is the same, 1 if it differs, 2 for trouble. With --max-growth: 0 if no limit is
/// exceeded, 1 if one is. With --lost: 0 if nothing is gone, 1 if something is. With --repaired: 0 if nothing is damaged, 1 if something is.
#[derive(Args)]
pub struct Arguments {
    /// The earlier build
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The later build
    #[arg(value_name = "NEW")]
    new: PathBuf,

    #[command(flatten)]
    format: FormatArguments,

    /// Compare a build before and after auditwheel, patchelf, strip and other tools, one line per file
    ///
    /// The device code must be the same, in the same order, registered as before, and mapped by the loader, and the
    /// RECORD of a wheel must be true. Files are matched by their device code, not by name. Exit status: 0 if nothing
    /// is damaged, 1 if something is, 2 if it cannot be decided.
    #[arg(long, conflicts_with_all = ["code_only", "max_growth", "all"], help_heading = JUDGEMENT)]
    repaired: bool,

    /// Fail only for what is gone: files, archs, PTX and kernels of the old build that the new one lacks
    ///
    /// Growth, changed code, compression and time stamps do not count, and neither does code that moved to a new file.
    #[arg(long, conflicts_with_all = ["repaired", "max_growth", "code_only"], help_heading = JUDGEMENT)]
    lost: bool,

    /// Ignore debug information, paths and compression
    #[arg(long, help_heading = JUDGEMENT)]
    code_only: bool,

    /// Fail if device code grows by more than a percentage (5%) or a size (10M), decompressed or stored; with an arch,
    /// if its decompressed images do. May be repeated
    #[arg(long, value_name = "[ARCH=]LIMIT", value_parser = parse_budget, help_heading = JUDGEMENT)]
    max_growth: Vec<Budget>,

    /// List every kernel, with full names
    #[arg(long, help_heading = OUTPUT)]
    all: bool,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let problems = arguments.problems.problems(session);
    session.record_inputs([&arguments.old, &arguments.new].map(|path| path.to_string_lossy().into_owned()));
    if arguments.repaired {
        let form = Form { is_json: arguments.format.is_json(), is_verbose: arguments.problems.is_verbose() };
        return repaired::run(&arguments.old, &arguments.new, form, &arguments.limits, &problems);
    }
    let (old, old_status) = side(&arguments.old, &arguments.limits, &problems)?;
    let (new, new_status) = side(&arguments.new, &arguments.limits, &problems)?;
    // Two builds without device code are not equal builds, but a wrong argument.
    if old.images().chain(new.images()).next().is_none() {
        return Err(coded(Code::NoImages, format!("{}: no device code to compare on either side", session.inputs())));
    }
    for &Budget { limit, .. } in &arguments.max_growth {
        if let GrowthLimit::Bytes(bytes @ 1..=100) = limit {
            problems.warn(anyhow!("--max-growth {bytes}: is {bytes} bytes; write {bytes}% for a percentage"));
        }
    }
    let comparison = lock::compare(&old, &new, arguments.code_only);
    let verdicts = lock::check_budgets(&old, &new, &arguments.max_growth)?;
    let names = [&arguments.old, &arguments.new].map(|path| path.to_string_lossy().into_owned());
    let lost = arguments.lost.then(|| comparison.lost());
    let differences = Differences { names: &names, comparison: &comparison, budgets: &verdicts, lost: lost.as_deref() };
    let screen = session.screen();
    let text = if arguments.format.is_json() {
        report::differences_json(&differences)
    } else if let Some(lost) = &lost {
        report::lost_text(lost, arguments.all || arguments.problems.is_verbose(), &screen)
    } else {
        let detail = Detail { has_kernels: arguments.all || arguments.problems.is_verbose(), has_all: arguments.all };
        report::differences_table(&differences, detail, &screen)
    };
    session.print_report(&text, &screen)?;
    let is_trouble = [old_status, new_status].contains(&Status::Trouble);
    let is_no = match verdicts.as_slice() {
        _ if arguments.lost => lost.is_some_and(|lost| !lost.is_empty()),
        [] => !comparison.files.is_empty(),
        verdicts => verdicts.iter().any(|verdict| verdict.exceeded),
    };
    Ok(match (is_trouble, is_no) {
        (true, _) => Status::Trouble,
        (false, true) => Status::No,
        (false, false) => Status::Yes,
    })
}

fn parse_budget(text: &str) -> Result<Budget> {
    let (arch, limit) = match text.rsplit_once('=') {
        Some((arch, limit)) => (Some(arch.to_owned()), limit),
        None => (None, text),
    };
    ensure!(arch.as_deref() != Some(""), "missing arch before =");
    let limit = match limit.strip_suffix('%') {
        Some(percent) => GrowthLimit::Percent(parse_percent(percent)?),
        None => {
            GrowthLimit::Bytes(parse_size(limit).context("expected a percentage such as 5%, or a size such as 10M")?)
        }
    };
    Ok(Budget { arch, limit })
}

fn parse_percent(text: &str) -> Result<f64> {
    let is_decimal =
        text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let percent = if is_decimal { text.parse().ok() } else { None };
    percent.context("expected a percentage such as 5% or 2.5%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_limits_in_percent_and_bytes() {
        let budget = |arch: Option<&str>, limit| Budget { arch: arch.map(str::to_owned), limit };
        let cases = [
            ("5%", budget(None, GrowthLimit::Percent(5.0))),
            ("2.5%", budget(None, GrowthLimit::Percent(2.5))),
            ("10MB", budget(None, GrowthLimit::Bytes(10 << 20))),
            ("gfx90a:xnack+=0", budget(Some("gfx90a:xnack+"), GrowthLimit::Bytes(0))),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_budget(text).unwrap(), expected, "{text}");
        }
        for text in ["", "%", "-5%", "1e3%", "inf%", "NaN%", ".%", "=5%", "5 percent", "gfx90a="] {
            assert!(parse_budget(text).is_err(), "{text}");
        }
    }
}
