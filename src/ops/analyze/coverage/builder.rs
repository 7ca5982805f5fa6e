//! The table while the sets of the files are added.
//!
//! Kernels with the same name and the same answers are one row. A kernel of modules with different answers has several:
//! HIP, CUDA and OpenMP register each module by itself. A program selects from the images that it embeds, and from files that
//! differ only by the processors in their paths, by its own rules, so these are one module each.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::archs::{Archs, KnownArchs};
use super::rows::{Merge, RowNumber, Rows};
use super::set::{Columns, SetCoverage};
use super::{Coverage, CoveredKernel, InspectedImages, UninspectedImages, is_code};
use crate::analyze::select::{LibraryName, NamedDevice, candidate_sets, program_sets};
use fatbin_core::base::bytes::Budget;
use fatbin_core::base::error::Cause;
use fatbin_core::scan::inventory::{CodeRole, DeviceLinks};

/// A row of a kernel, before all files are added.
struct Entry {
    row: RowNumber,
    archs: Archs,
    sets_with_gaps: Vec<usize>,
}

/// The table while the sets are added.
pub struct Builder<'a> {
    coverage: Coverage<'a>,
    kernels: HashMap<&'a str, Vec<Entry>>,
    /// Kernels of files for different processors, by the number of their library.
    libraries: BTreeMap<usize, HashMap<&'a str, Entry>>,
    /// Number of the library of each file that has others for different processors.
    library_of: Vec<Option<usize>>,
    archs: KnownArchs,
}

/// Stands for the library of files that were surveyed together: their first paths need not be of one library.
const SURVEYED_TOGETHER: &str = "*";

/// Returns the number of the library of each file that has members for different processors.
fn libraries(files: &[InspectedImages<'_>]) -> Vec<Option<usize>> {
    let key = |file: &InspectedImages<'_>| {
        let name = LibraryName::of(&file.file.path, "");
        if name.names_processors() && file.files > 1 { SURVEYED_TOGETHER.to_owned() } else { name.into_key() }
    };
    let mut members: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, file) in files.iter().enumerate() {
        members.entry(key(file)).or_default().push(number);
    }
    let mut libraries = vec![None; files.len()];
    for numbers in members.into_values().filter(|numbers| numbers.len() > 1) {
        for &number in &numbers {
            libraries[number] = numbers.first().copied();
        }
    }
    libraries
}

impl<'a> Builder<'a> {
    pub fn new(files: &[InspectedImages<'a>], columns: &[NamedDevice]) -> Self {
        let rows = Rows::new(columns.iter().map(|device| device.devices.len()).collect());
        Builder {
            coverage: Coverage { rows, ..Coverage::default() },
            kernels: HashMap::new(),
            libraries: BTreeMap::new(),
            library_of: libraries(files),
            archs: KnownArchs::default(),
        }
    }

    /// Counts the images that were not inspected.
    pub fn add_uninspected(&mut self, file: &InspectedImages<'a>) {
        for (image, inspection) in file.images() {
            if let Some(reason) = inspection.not_inspected {
                let arch = image.arch_and_form();
                *self.coverage.not_inspected.entry(UninspectedImages { arch, reason }).or_default() += file.files;
            }
        }
    }

    /// Adds the cells of all kernels of a file.
    pub fn add_sets(&mut self, number: usize, file: &InspectedImages<'a>, columns: Columns<'_>) -> Result<(), Cause> {
        let budget = Budget::new(file.limits, file.file.size);
        let links = DeviceLinks::of(file.file);
        let is_code: Vec<bool> = file.file.nested_images().map(|nested| is_code(&links, &nested)).collect();
        let is_code = |image: usize| is_code.get(image).copied().unwrap_or_default();
        let mut of_program = HashMap::new();
        let mut of_library = HashMap::new();
        let sets = candidate_sets(file.file)
            .into_iter()
            .filter(|set| ![CodeRole::Leftover, CodeRole::LeftBehind].contains(&set.role));
        let sets = sets.map(|set| (set, false)).chain(program_sets(file.file).map(|set| (set, true)));
        for (set, is_of_program) in sets {
            let judged = SetCoverage::new(set, &file.inspections, columns, &mut self.coverage.rows, &budget)?;
            let archs = judged.archs(&is_code, &mut self.archs);
            let next = self.coverage.sets_with_gaps.len();
            let mut has_gaps = false;
            for (name, row) in judged.kernels() {
                let Some(archs) = archs.get(name).filter(|archs| !archs.is_empty()) else { continue };
                let has_gap = self.coverage.rows.gaps(row) > 0;
                has_gaps |= has_gap;
                let sets_with_gaps = if has_gap { vec![next] } else { Vec::new() };
                let entry = Entry { row, archs: Arc::clone(archs), sets_with_gaps };
                match self.library_of.get(number) {
                    _ if is_of_program => self.merge(&mut of_program, name, entry, Merge::Either, &budget)?,
                    Some(Some(_)) => self.merge(&mut of_library, name, entry, Merge::Both, &budget)?,
                    _ => self.add(name, entry, &budget)?,
                }
            }
            if has_gaps {
                self.coverage.sets_with_gaps.push((number, judged));
            }
        }
        for (name, entry) in of_program.into_iter().chain(of_library) {
            match self.library_of.get(number).copied().flatten() {
                None => self.add(name, entry, &budget)?,
                Some(library) => {
                    let mut kernels = self.libraries.remove(&library).unwrap_or_default();
                    let merged = self.merge(&mut kernels, name, entry, Merge::Either, &budget);
                    self.libraries.insert(library, kernels);
                    merged?;
                }
            }
        }
        Ok(())
    }

    /// Adds a row of a kernel, or to the row with the same answers.
    fn add(&mut self, name: &'a str, entry: Entry, budget: &Budget) -> Result<(), Cause> {
        let Builder { kernels, archs, coverage, .. } = self;
        let rows = kernels.entry(name).or_default();
        for known in rows.iter_mut() {
            if let Some(row) = coverage.rows.joined(known.row, entry.row, budget)? {
                known.row = row;
                known.join(entry, archs);
                return Ok(());
            }
        }
        rows.push(entry);
        Ok(())
    }

    fn merge(
        &mut self,
        kernels: &mut HashMap<&'a str, Entry>,
        name: &'a str,
        entry: Entry,
        merge: Merge,
        budget: &Budget,
    ) -> Result<(), Cause> {
        match kernels.get_mut(name) {
            Some(known) => {
                known.row = self.coverage.rows.merge(known.row, entry.row, merge, budget)?;
                known.join(entry, &mut self.archs);
            }
            None => drop(kernels.insert(name, entry)),
        }
        Ok(())
    }

    pub fn finish(mut self, columns: &[NamedDevice], budget: &Budget) -> Result<Coverage<'a>, Cause> {
        for (name, entry) in std::mem::take(&mut self.libraries).into_values().flatten() {
            self.add(name, entry, budget)?;
        }
        let Builder { mut coverage, kernels, .. } = self;
        let of_name = |(name, rows): (&'a str, Vec<Entry>)| {
            let kernel = move |Entry { row, archs, sets_with_gaps }| CoveredKernel { name, archs, row, sets_with_gaps };
            rows.into_iter().map(kernel)
        };
        let mut kernels: Vec<CoveredKernel<'_>> = kernels.into_iter().flat_map(of_name).collect();
        let rows = &coverage.rows;
        kernels.sort_by_cached_key(|kernel| {
            (Reverse(rows.gaps(kernel.row)), rows.served(kernel.row), kernel.name, kernel.row)
        });
        coverage.kernels = kernels;
        coverage.devices = columns.iter().map(|device| device.name.clone()).collect();
        coverage.titles = columns.iter().map(NamedDevice::title).collect();
        Ok(coverage)
    }
}

impl Entry {
    /// Adds the archs and gaps of another entry.
    fn join(&mut self, other: Entry, archs: &mut KnownArchs) {
        for set in other.sets_with_gaps {
            if !self.sets_with_gaps.contains(&set) {
                self.sets_with_gaps.push(set);
            }
        }
        if !Arc::ptr_eq(&self.archs, &other.archs) {
            self.archs = archs.union(&self.archs, &other.archs);
        }
    }
}
