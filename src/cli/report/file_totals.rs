//! What the overview prints about all files together.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::Nothing;
use fatbin_core::base::bytes::total;
use fatbin_core::scan::inventory::FileFormat;
use fatbin_ops::analyze::size::{ArchTotals, Owner, parts};
use fatbin_ops::analyze::survey::Survey;

/// Sums over files. A package may have so many that none is kept.
#[derive(Debug, Default)]
pub struct FileTotals {
    /// Number of files that could be read, and that could not.
    pub readable: usize,
    pub unreadable: usize,
    pub with_code: usize,
    /// Format of the first readable file.
    pub format: Option<FileFormat>,
    pub archs: ArchTotals,
    pub nothing: Nothing,
    /// Number of bytes of the files that no archive states a packed size for.
    pub loose: u64,
    /// Bytes of device code and of host code, by the package around the files; `None` for files in none.
    pub code: BTreeMap<Option<Arc<Path>>, (u64, u64)>,
    /// The first problem, and the number of all.
    pub problem: Option<String>,
    pub problems: usize,
}

impl FileTotals {
    /// Adds a file.
    pub fn add(&mut self, survey: &Survey) {
        let Survey { file, packed, .. } = survey;
        if packed.as_ref().is_none_or(|it| it.packed.is_none()) {
            self.loose = total([self.loose, file.size]);
        }
        if file.failure.is_some() {
            self.unreadable += 1;
            return;
        }
        self.format = if self.readable == 0 { file.format } else { self.format };
        self.readable += 1;
        self.with_code += usize::from(file.has_device_code());
        self.archs.add(file);
        self.nothing.add(file);
        let (device, host) = self.code.entry(packed.as_ref().map(|it| Arc::clone(&it.package))).or_default();
        for part in parts(file) {
            let sum = if matches!(part.owner, Owner::Rest(_)) { &mut *host } else { &mut *device };
            *sum = total([*sum, part.size.stored]);
        }
        let inspections = survey.image_surveys.iter().filter_map(|analysis| analysis.inspection.as_ref());
        let found = inspections.flat_map(|inspection| &inspection.problems);
        let found = found.map(|problem| format!("{}: {problem}", file.path));
        let host = file.load_defects().filter(|_| file.has_device_code() || file.lacks_its_code());
        let host = host.map(|defect| format!("{}: {defect}", file.path));
        for problem in file.reported_errors().map(|error| error.to_string()).chain(host).chain(found) {
            self.problems += 1;
            self.problem.get_or_insert(problem);
        }
    }
}
