//! `fatbin diff`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::limit::{LimitArgument, parse_size};
use super::locking::side;
use super::{Status, terminal};
use crate::lock::{self, Budget, Most};
use crate::report::{self, Differences};

/// Tell what became of device code from one build to another: by file, arch and kernel
///
/// Each side is a file, a folder, a wheel or another archive, or a lock. Sizes are those of images once decompressed, and
/// of the code of kernels. Files are compared with those of the same path or, if there is only one, the same name; versions
/// in the names of wheels and libraries do not count.
///
/// Exit status: 0 if the device code is the same, 1 if it differs, 2 for trouble. With --max-growth: 0 if no limit is
/// exceeded, 1 if one is.
#[derive(Args)]
pub struct Arguments {
    /// The build that was
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The build that is
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// Print one JSON document (schema fatbin.diff/1)
    #[arg(long)]
    json: bool,

    /// Let debug information, paths and the way of storing not count
    #[arg(long)]
    code_only: bool,

    /// Fail if device code grows by more than so many percent (5%) or bytes (10M), decompressed or as it is stored; with an
    /// arch, if the images for it do, decompressed. May be repeated
    #[arg(long, value_name = "[ARCH=]LIMIT", value_parser = parse_budget)]
    max_growth: Vec<Budget>,

    /// Tell every kernel, and names in full
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    limit: LimitArgument,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let options = arguments.limit.options();
    let (old, old_status) = side(&arguments.old, options)?;
    let (new, new_status) = side(&arguments.new, options)?;
    // That nothing is what nothing was does not mean that anything was compared.
    ensure!(old.images().chain(new.images()).next().is_some(), "no device code to compare on either side");
    let comparison = lock::compare(&old, &new, arguments.code_only);
    let verdicts = lock::judge(&old, &new, &arguments.max_growth)?;
    let names = [&arguments.old, &arguments.new].map(|path| path.to_string_lossy().into_owned());
    let differences = Differences { names: &names, comparison: &comparison, verdicts: &verdicts };
    let screen = terminal::screen();
    let text = if arguments.json {
        report::differences_json(&differences)
    } else {
        report::differences_table(&differences, arguments.all, &screen)
    };
    let mut out = terminal::output(&screen);
    out.write_all(text.as_bytes())?;
    out.flush()?;
    let is_trouble = [old_status, new_status].contains(&Status::Trouble);
    let is_no = match verdicts.as_slice() {
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
    let (arch, most) = match text.rsplit_once('=') {
        Some((arch, most)) => (Some(arch.to_owned()), most),
        None => (None, text),
    };
    ensure!(arch.as_deref() != Some(""), "no arch stands before the =");
    let most = match most.strip_suffix('%') {
        Some(percent) => Most::Percent(parse_percent(percent)?),
        None => Most::Bytes(parse_size(most)?),
    };
    Ok(Budget { arch, most })
}

fn parse_percent(text: &str) -> Result<f64> {
    let is_decimal =
        text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|_| is_decimal).context("no percentage: a number such as 5 or 2.5")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_percentage_or_a_size_for_an_arch_or_for_all() {
        let budget = |arch: Option<&str>, most| Budget { arch: arch.map(str::to_owned), most };
        let cases = [
            ("5%", budget(None, Most::Percent(5.0))),
            ("2.5%", budget(None, Most::Percent(2.5))),
            ("10MB", budget(None, Most::Bytes(10 << 20))),
            ("gfx90a:xnack+=0", budget(Some("gfx90a:xnack+"), Most::Bytes(0))),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_budget(text).unwrap(), expected, "{text}");
        }
        for text in ["", "%", "-5%", "1e3%", "inf%", "NaN%", ".%", "=5%", "5 percent", "gfx90a="] {
            assert!(parse_budget(text).is_err(), "{text}");
        }
    }
}
