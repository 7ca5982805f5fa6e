//! `fatbin diff --repaired`: a build before and after other tools have changed its host files.

use std::path::{Path, PathBuf};

use super::Status;
use super::failure::{Result, coded};
use super::inputs::InputArguments;
use super::limit::LimitArguments;
use super::locking::below;
use super::problems::Problems;
use crate::codes::Code;
use crate::report::{self, CheckedRecord, Repair};
use fatbin_core::base::archive::zip::reader::RecordUse;
use fatbin_core::base::bytes::Budget;
use fatbin_core::base::io::{Access, Input};
use fatbin_core::scan::{CacheBudget, Options, Scanner, expand_paths};
use fatbin_ops::edit::archive::zip::check_record;
use fatbin_ops::edit::repaired::{BuiltFile, compare};

/// How the comparison is printed.
#[derive(Clone, Copy)]
pub struct Form {
    pub is_json: bool,
    pub is_verbose: bool,
}

pub fn run(old: &Path, new: &Path, form: Form, limits: &LimitArguments, problems: &Problems) -> Result<Status> {
    let options = Options::default().with_hash(true);
    let scanner =
        limits.scanner(problems.session(), options).with_cache(CacheBudget::default()).with_kept_files(|_| true);
    let before = built_files(old, &scanner, problems)?;
    // Wheels are compared with their records below, for a separate list.
    let after = built_files(new, &scanner.with_record_use(RecordUse::Nothing), problems)?;
    if !before.iter().chain(&after).any(BuiltFile::has_images) {
        return Err(coded(
            Code::NoImages,
            format!("{}: no device code to compare on either side", problems.session().inputs()),
        ));
    }
    let (records, status) = records(new, limits, problems);
    let names = [old, new].map(|path| path.to_string_lossy().into_owned());
    let repair = Repair { names: &names, files: &compare(&before, &after), records: &records };
    let screen = problems.session().screen();
    let text = if form.is_json {
        report::repair_json(&repair)
    } else {
        report::repair_text(&repair, form.is_verbose, &screen)
    };
    problems.session().print_report(&text, &screen)?;
    Ok(if status == Status::Trouble || repair.is_undecided() {
        Status::Trouble
    } else if repair.is_intact() {
        Status::Yes
    } else {
        Status::No
    })
}

/// Scans all files at a path. Their paths are relative to it.
fn built_files(path: &Path, scanner: &Scanner, problems: &Problems) -> Result<Vec<BuiltFile>> {
    let mut files = Vec::new();
    let work = |_, outcome| BuiltFile::of(outcome);
    InputArguments::single(path.to_owned()).scan_and(scanner, problems, &work, &mut |file| files.push(file))?;
    for file in &mut files {
        file.path = below(&file.path, path);
    }
    Ok(files)
}

/// Compares the wheels at a path with their records.
fn records(path: &Path, limits: &LimitArguments, problems: &Problems) -> (Vec<CheckedRecord>, Status) {
    let (mut records, mut status) = (Vec::new(), Status::Yes);
    let wheels = expand_paths(&[PathBuf::from(path)]).0.into_iter().map(|input| input.path);
    for wheel in wheels.filter(|path| path.extension().is_some_and(|it| it.eq_ignore_ascii_case("whl"))) {
        match checked_record(&wheel, limits, problems.session().access()) {
            Ok(record) => records.push(record),
            Err(error) => status = problems.report(error),
        }
    }
    (records, status)
}

fn checked_record(wheel: &Path, limits: &LimitArguments, access: Access) -> Result<CheckedRecord> {
    let input = Input::open_any(wheel, access)?;
    let budget = Budget::new(limits.limits(), input.size());
    let input = input.with_budget(budget);
    let path = wheel.to_string_lossy().into_owned();
    let checked = check_record(input.view(), &path).map_err(|error| error.in_file(wheel))?;
    Ok(match checked {
        Some(check) => CheckedRecord {
            path,
            members: check.members,
            problems: check.problems.iter().map(ToString::to_string).collect(),
        },
        None => CheckedRecord { path, members: 0, problems: vec!["no RECORD".to_owned()] },
    })
}
