//! Coverage: the devices on which each kernel runs, and the image that it runs from.
//!
//! The architectures that a kernel is compiled for do not answer this. A cubin for `sm_80` serves `sm_86`, PTX serves later
//! devices, and the parts of a library are built for different architectures on purpose. So kernels are judged on devices,
//! and in each candidate set alone, by the rules of [`select`](crate::analyze::select). A kernel has a gap on a device if the runtime
//! selects an image of the set there, and only other images of the set have the kernel: its launch fails on that device,
//! although the library has code for it. A set that has nothing for a device makes no gap.

mod families;
mod set;
#[cfg(test)]
mod tests;

pub use families::{FamilyCell, KernelFamily};

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use crate::analyze::select::{CandidateSet, NamedDevice, candidate_sets, program_sets};
use crate::analyze::survey::{AnalyzedFile, InspectedFile};
use crate::image::Inspection;
use crate::scan::inventory::{CodeRole, DeviceLinks, File, Image};
use crate::target::Platform;
use crate::target::runs_on::LoadMethod;
use set::SetCoverage;

/// Name of a device that compiles SPIR-V, without further properties.
const SPIRV_DEVICE: &str = "spir64";

/// Kernels of files by device.
#[derive(Debug, Default)]
pub struct Coverage<'a> {
    /// Names of the devices: the columns.
    pub devices: Vec<String>,
    /// The kernels: those with the most gaps first, then those that run on the fewest devices, then by name.
    pub kernels: Vec<CoveredKernel<'a>>,
    /// The gaps, in the order of the files and candidate sets.
    pub gaps: Vec<Gap<'a>>,
    /// Images that may have kernels but were not inspected, and their number.
    pub not_inspected: BTreeMap<UninspectedImages, usize>,
}

/// One row: a kernel.
#[derive(Debug)]
pub struct CoveredKernel<'a> {
    /// Name by which the runtime looks it up.
    pub name: &'a str,
    /// Demangled name, where it differs.
    pub demangled: Option<&'a str>,
    /// Architectures and forms of the images that have it: `sm_90`, `sm_90 ptx`.
    pub archs: BTreeSet<String>,
    /// One cell for each device.
    pub cells: Vec<CoverageCell<'a>>,
}

/// A kernel on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CoverageCell<'a> {
    /// The kernel runs.
    Runs {
        /// Method by which its code is loaded.
        method: LoadMethod,
        /// Architecture of the image.
        arch: Option<&'a str>,
    },
    /// It is not known whether it runs: the runtime's choice, or the content of the selected image, is not known.
    Unknown,
    /// The set has relocatable code for the device, which must be linked first.
    Unlinked,
    /// The set has no code for the device.
    None,
    /// The set has code for devices of other platforms only.
    OtherPlatform,
    /// The image that the runtime selects lacks the kernel, and another image of the set has it.
    Gap,
}

/// Numbers of kernels on a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounts {
    /// They run as machine code for this processor.
    pub native: usize,
    /// They run as machine code for an earlier or a generic processor.
    pub compatible: usize,
    /// The driver compiles or links them when they are loaded.
    pub compiled: usize,
    /// It is not known whether they run.
    pub unknown: usize,
    /// They are relocatable code of an object, which must be linked first.
    pub unlinked: usize,
    /// Their sets have no code for the device.
    pub none: usize,
    /// The selected image lacks them.
    pub gaps: usize,
}

/// A kernel that a set lacks on a device for which it has code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap<'a> {
    /// Index of the file.
    pub file: usize,
    /// Name of the kernel.
    pub kernel: &'a str,
    /// Name of the device.
    pub device: String,
    /// Number of the image that the runtime selects on the device, among the device images of the file.
    pub selected: usize,
    /// Number of an image that has the kernel.
    pub holder: usize,
}

/// Images that were not inspected, for one reason.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UninspectedImages {
    /// Their architecture and form.
    pub arch: String,
    /// Reason why they were not inspected.
    pub reason: &'static str,
}

/// A file and the inspections of its device images, by their numbers.
#[derive(Debug, Clone)]
pub struct InspectedImages<'a> {
    file: &'a File,
    inspections: Vec<Option<&'a Inspection>>,
}

impl<'a> From<&'a InspectedFile<'a>> for InspectedImages<'a> {
    fn from(inspected: &'a InspectedFile<'a>) -> Self {
        let mut inspections = vec![None; inspected.file.device_images().count()];
        for image in &inspected.images {
            if let Some(inspection) = inspections.get_mut(image.number) {
                *inspection = Some(&image.inspection);
            }
        }
        InspectedImages { file: inspected.file, inspections }
    }
}

impl<'a> From<&'a AnalyzedFile> for InspectedImages<'a> {
    fn from(analyzed: &'a AnalyzedFile) -> Self {
        let inspections = analyzed.analyses.iter().map(|analysis| analysis.inspection.as_ref()).collect();
        InspectedImages { file: &analyzed.file, inspections }
    }
}

impl<'a> InspectedImages<'a> {
    /// Returns the inspected images that are code of the file.
    fn images(&self) -> impl Iterator<Item = (&'a Image, &'a Inspection)> {
        let links = DeviceLinks::of(self.file);
        let images = self.file.nested_images().zip(&self.inspections);
        let images = images.filter(move |(nested, _)| links.is_code_of_file(nested));
        images.filter_map(|(nested, inspection)| Some((nested.image, (*inspection)?)))
    }

    /// Returns the candidate sets of the file. A program may select each image that it embeds on its own, so each is a set.
    fn sets(&self) -> Vec<CandidateSet<'a>> {
        let sets = candidate_sets(self.file).into_iter().filter(|set| set.role != CodeRole::Leftover);
        sets.chain(program_sets(self.file)).collect()
    }
}

/// Returns the devices that the inspected images are for.
fn devices_of(files: &[InspectedImages<'_>]) -> Vec<NamedDevice> {
    let images = || files.iter().flat_map(|file| file.images().map(|(image, _)| image));
    let mut devices = NamedDevice::of_images(images());
    let compiles_spirv = |image: &Image| Platform::of(image.triple.as_deref(), None) == Some(Platform::SpirV);
    if images().any(|image| image.arch.is_none() && compiles_spirv(image)) {
        devices.extend(NamedDevice::parse(SPIRV_DEVICE).ok());
    }
    devices
}

impl<'a> Coverage<'a> {
    /// Judges the kernels of files on `devices`, or, without any, on those that the files have code for.
    pub fn new(files: &[InspectedImages<'a>], devices: &[NamedDevice]) -> Self {
        let own_devices = devices_of(files);
        let columns = if devices.is_empty() { own_devices.clone() } else { devices.to_vec() };
        let mut builder = Builder { coverage: Coverage::default(), rows: HashMap::new() };
        for (number, file) in files.iter().enumerate() {
            builder.add_archs(file);
            for set in file.sets() {
                let judged = SetCoverage::new(&set, &file.inspections, &columns, &own_devices);
                builder.add_set(number, &judged, &columns);
            }
        }
        builder.finish(columns)
    }

    /// Returns the number of kernels on each device, by cell.
    pub fn counts(&self) -> Vec<DeviceCounts> {
        let mut counts = vec![DeviceCounts::default(); self.devices.len()];
        for kernel in &self.kernels {
            for (count, cell) in counts.iter_mut().zip(&kernel.cells) {
                match cell {
                    CoverageCell::Runs { method: LoadMethod::Exact, .. } => count.native += 1,
                    CoverageCell::Runs { method, .. } if method.is_at_load_time() => count.compiled += 1,
                    CoverageCell::Runs { .. } => count.compatible += 1,
                    CoverageCell::Unknown => count.unknown += 1,
                    CoverageCell::Unlinked => count.unlinked += 1,
                    CoverageCell::None => count.none += 1,
                    CoverageCell::OtherPlatform => {}
                    CoverageCell::Gap => count.gaps += 1,
                }
            }
        }
        counts
    }

    /// Returns the number of kernels that have a gap.
    pub fn kernels_with_gaps(&self) -> usize {
        self.kernels.iter().filter(|kernel| kernel.gaps() > 0).count()
    }
}

impl CoveredKernel<'_> {
    /// Returns the number of devices on which the kernel has a gap.
    pub fn gaps(&self) -> usize {
        self.cells.iter().filter(|cell| **cell == CoverageCell::Gap).count()
    }

    /// Returns the number of devices on which the kernel runs.
    fn served(&self) -> usize {
        self.cells.iter().filter(|cell| matches!(cell, CoverageCell::Runs { .. })).count()
    }
}

impl<'a> CoverageCell<'a> {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            CoverageCell::Runs { method, .. } => method.name(),
            CoverageCell::Unknown => "unknown",
            CoverageCell::Unlinked => "unlinked",
            CoverageCell::None => "none",
            CoverageCell::OtherPlatform => "other-platform",
            CoverageCell::Gap => "gap",
        }
    }

    /// Sort key: the better cell first.
    fn rank(self) -> (u8, Option<LoadMethod>) {
        match self {
            CoverageCell::Runs { method, .. } => (0, Some(method)),
            CoverageCell::Unknown => (1, None),
            CoverageCell::Unlinked => (2, None),
            CoverageCell::None => (3, None),
            CoverageCell::OtherPlatform => (4, None),
            CoverageCell::Gap => (5, None),
        }
    }

    /// Returns the cell of a device whose name denotes several: the kernel must run on each.
    fn on_both(self, other: CoverageCell<'a>) -> CoverageCell<'a> {
        if other.rank() > self.rank() { other } else { self }
    }

    /// Returns the cell of a kernel that is in two sets: a gap in one is not mended by the other, which the program does not
    /// launch the kernel from.
    fn in_both(self, other: CoverageCell<'a>) -> CoverageCell<'a> {
        match (self, other) {
            (CoverageCell::Gap, _) | (_, CoverageCell::Gap) => CoverageCell::Gap,
            _ if other.rank() < self.rank() => other,
            _ => self,
        }
    }
}

/// Formats the cell as short text: the architecture of the image if that is another one, or the language that is compiled.
impl fmt::Display for CoverageCell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CoverageCell::Runs { method: LoadMethod::Exact, .. } => "native",
            CoverageCell::Runs { method, arch } => method.compiled_from().or(*arch).unwrap_or("compatible"),
            CoverageCell::Unknown => "?",
            CoverageCell::Unlinked => "link",
            CoverageCell::None => "-",
            CoverageCell::OtherPlatform => "",
            CoverageCell::Gap => "GAP",
        })
    }
}

/// Rows while the sets are added.
struct Builder<'a> {
    coverage: Coverage<'a>,
    rows: HashMap<&'a str, CoveredKernel<'a>>,
}

impl<'a> Builder<'a> {
    /// Adds the kernels of all images and the architectures that have them.
    fn add_archs(&mut self, file: &InspectedImages<'a>) {
        for (image, inspection) in file.images() {
            let arch = image.arch_and_form();
            if let Some(reason) = inspection.not_inspected {
                *self.coverage.not_inspected.entry(UninspectedImages { arch, reason }).or_default() += 1;
                continue;
            }
            for kernel in &inspection.kernels {
                let demangled = kernel.demangled.as_deref();
                let row = self.rows.entry(&kernel.name).or_insert_with(|| CoveredKernel {
                    name: &kernel.name,
                    demangled,
                    archs: BTreeSet::new(),
                    cells: Vec::new(),
                });
                if !row.archs.contains(&arch) {
                    row.archs.insert(arch.clone());
                }
            }
        }
    }

    fn add_set(&mut self, file: usize, judged: &SetCoverage<'a>, columns: &[NamedDevice]) {
        for (name, cells) in judged.kernels() {
            let Some(row) = self.rows.get_mut(name) else { continue };
            if row.cells.is_empty() {
                row.cells = vec![CoverageCell::OtherPlatform; columns.len()];
            }
            for (own, cell) in row.cells.iter_mut().zip(cells) {
                *own = own.in_both(*cell);
            }
            let gaps = cells.iter().zip(columns).enumerate().filter(|(_, (cell, _))| **cell == CoverageCell::Gap);
            for (column, (_, device)) in gaps {
                let Some((selected, holder)) = judged.witnesses(name, column) else { continue };
                self.coverage.gaps.push(Gap { file, kernel: name, device: device.name.clone(), selected, holder });
            }
        }
    }

    fn finish(self, columns: Vec<NamedDevice>) -> Coverage<'a> {
        let Builder { mut coverage, rows } = self;
        coverage.kernels = rows.into_values().collect();
        coverage.kernels.sort_by_cached_key(|row| (Reverse(row.gaps()), row.served(), row.name));
        coverage.devices = columns.into_iter().map(|device| device.name).collect();
        coverage
    }
}
