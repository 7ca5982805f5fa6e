//! Coverage: the devices that each kernel runs on, and the image that supplies its code.
//!
//! The architectures that a kernel is compiled for do not answer this. A cubin for `sm_80` serves `sm_86`, PTX serves
//! later devices, and the parts of a library are built for different architectures on purpose. So kernels are judged on
//! devices, and in each candidate set alone, by the rules of [`select`](mod@crate::analyze::select). A kernel has a gap on
//! a device if the runtime selects an image of the set there, and only other images of the set have a body of the kernel:
//! its launch fails, traps or computes nothing on that device, although the library has code for it. A set that has nothing for a device makes no gap.

mod archs;
mod builder;
mod devices;
mod families;
mod rows;
mod set;
#[cfg(test)]
mod tests;
mod wavefront;

pub use devices::{DeviceCounts, is_native};
pub use families::FamilyCell;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::analyze::select::NamedDevice;
use crate::analyze::survey::{KernelNames, PackageSurvey, ShownNames, Survey};
use builder::Builder;
use fatbin_core::base::bytes::{Budget, Limits, total};
use fatbin_core::base::error::{Malformed, Result};
use fatbin_core::image::{Kernel, KernelContent, Stub};
use fatbin_core::scan::inventory::{DeviceLinks, File, Image, NestedImage};
use fatbin_core::target::Platform;
use fatbin_core::target::runs_on::LoadMethod;
use rows::{RowNumber, Rows};
use set::{Columns, SetCoverage, Witnesses};

/// Name of a device that compiles SPIR-V, without further properties.
const SPIRV_DEVICE: &str = "spir64";

/// Kernels of files by device.
#[derive(Debug, Default)]
pub struct Coverage<'a> {
    /// Names of the devices: the columns.
    pub devices: Vec<String>,
    /// Names of the devices with their GPUs, such as `H100 sm_90`.
    pub titles: Vec<String>,
    /// The kernels, sorted by descending number of gaps, then by ascending number of served devices, then by name.
    pub kernels: Vec<CoveredKernel<'a>>,
    /// Images that may have kernels but were not inspected, and their number.
    pub not_inspected: BTreeMap<UninspectedImages, usize>,
    /// Demangles the names of the kernels.
    pub names: ShownNames,
    rows: Rows<'a>,
    /// The candidate sets with gaps, each with the index of its file.
    sets_with_gaps: Vec<(usize, SetCoverage<'a>)>,
}

/// One row: a kernel of modules that have the same cells. A kernel has several rows if its modules differ: code for a
/// device in one module does not help another.
#[derive(Debug)]
pub struct CoveredKernel<'a> {
    /// Name that the runtime looks up.
    pub name: &'a str,
    /// Architectures and forms of the images that have it: `sm_90`, `sm_90 ptx`. Kernels share equal sets.
    pub archs: Arc<BTreeSet<String>>,
    /// Row of the cells.
    row: RowNumber,
    /// Indexes of the sets where the kernel has gaps.
    sets_with_gaps: Vec<usize>,
}

/// A kernel on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CoverageCell<'a> {
    /// The kernel runs.
    Runs {
        /// How its code is loaded.
        method: LoadMethod,
        /// Architecture of the image.
        arch: Option<&'a str>,
    },
    /// It is not known whether it runs: the runtime's choice, or the content of the selected image, is not known.
    Unknown,
    /// The set has relocatable code for the device. It must be linked first.
    Unlinked,
    /// The set has no code for the device.
    None,
    /// The set has code for devices of other platforms only, or the kernel is for wavefronts of another size.
    OtherPlatform,
    /// The image that the runtime selects has no body of the kernel, and another image of the set has one.
    Gap(Absence),
}

/// What the selected image has instead of the body of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Absence {
    /// Nothing: a launch fails.
    Absent,
    /// Code that only ends or traps.
    Stub(Stub),
}

/// A device where a set has code, but not for this kernel.
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
    /// What that image has instead.
    pub absence: Absence,
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
    /// Number of files that are alike.
    files: usize,
    inspections: Vec<Option<ImageKernels<'a>>>,
    limits: Limits,
}

/// The kernels of an inspected image: themselves, or the numbers of their names.
#[derive(Debug, Clone, Copy)]
struct ImageKernels<'a> {
    kernels: &'a [Kernel],
    numbers: &'a [u32],
    /// Those without a body, in order.
    stubs: &'a [(u32, Stub)],
    names: Option<&'a KernelNames>,
    not_inspected: Option<&'static str>,
}

impl<'a> ImageKernels<'a> {
    /// Returns the name of each kernel, and what it does without a body.
    fn names(self) -> impl Iterator<Item = (&'a str, Option<Stub>)> {
        let own = self.kernels.iter().map(|kernel| (&*kernel.name, kernel.stub));
        own.chain(self.numbers.iter().filter_map(move |number| Some((self.names?.get(*number), self.stub(*number)))))
    }

    fn stub(self, number: u32) -> Option<Stub> {
        let place = self.stubs.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.stubs.get(place).map(|(_, stub)| *stub)
    }
}

impl<'a> From<&'a Survey> for InspectedImages<'a> {
    fn from(survey: &'a Survey) -> Self {
        InspectedImages::new(survey, None, 1)
    }
}

impl<'a> InspectedImages<'a> {
    /// Returns the files of a package.
    pub fn of_package(package: &'a PackageSurvey) -> Vec<Self> {
        package.files().map(|(survey, files)| InspectedImages::new(survey, Some(&package.names), files)).collect()
    }

    fn new(survey: &'a Survey, names: Option<&'a KernelNames>, files: usize) -> Self {
        let inspections = survey.image_surveys.iter().map(|inside| {
            let inspection = inside.inspection.as_ref()?;
            let not_inspected = inspection.not_inspected;
            Some(ImageKernels {
                kernels: &inspection.kernels,
                numbers: &inside.names,
                stubs: &inside.stubs,
                names,
                not_inspected,
            })
        });
        InspectedImages { file: &survey.file, files, inspections: inspections.collect(), limits: survey.limits }
    }

    /// Returns the inspected images that are code of the file, or stubs in the place of code.
    fn images(&self) -> impl Iterator<Item = (&'a Image, ImageKernels<'a>)> {
        let links = DeviceLinks::of(self.file);
        let images = self.file.nested_images().zip(&self.inspections);
        let images = images.filter(move |(nested, _)| is_code(&links, nested));
        images.filter_map(|(nested, inspection)| Some((nested.image, (*inspection)?)))
    }
}

/// Returns whether an image is code of its file, or stubs in the place of code.
fn is_code(links: &DeviceLinks<'_>, nested: &NestedImage<'_>) -> bool {
    links.is_code_of_file(nested) || nested.image.content == KernelContent::Stubs
}

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
    /// Judges the kernels of files on `devices`. If `devices` is empty, the devices are the ones that the files have
    /// code for. The table has a cell for each kernel and device; a table that is too large for the size of the files
    /// is an error.
    pub fn new(files: &[InspectedImages<'a>], devices: &[NamedDevice]) -> Result<Self> {
        let own_devices = devices_of(files);
        let columns = if devices.is_empty() { &own_devices[..] } else { devices };
        let mut builder = Builder::new(files, columns);
        for (number, file) in files.iter().enumerate() {
            builder.add_uninspected(file);
            let added = builder.add_sets(number, file, Columns { devices: columns, own_devices: &own_devices });
            let malformed = |cause| Malformed::new("kernels by device", 0, cause);
            added.map_err(|cause| malformed(cause).in_file(file.file.path.printed()))?;
        }
        // The rows of libraries are merged at the end: they are as many as those of their files.
        let size = total(files.iter().map(|file| file.file.size));
        let budget = Budget::new(files.first().map(|file| file.limits).unwrap_or_default(), size);
        let first = files.first().map_or(Path::new(""), |file| file.file.path.printed());
        let malformed = |cause| Malformed::new("kernels by device", 0, cause).in_file(first);
        builder.finish(columns, &budget).map_err(malformed)
    }

    /// Returns the cells of a kernel: one for each device.
    pub fn cells(&self, kernel: &CoveredKernel<'a>) -> impl ExactSizeIterator<Item = CoverageCell<'a>> + Clone {
        self.rows.cells(kernel.row)
    }

    /// Returns the number of the row of a kernel: kernels with the same number have the same cells.
    pub fn row_number(&self, kernel: &CoveredKernel<'a>) -> RowNumber {
        kernel.row
    }

    /// Returns the gaps, in the order of the files and candidate sets.
    pub fn gaps(&self) -> impl Iterator<Item = Gap<'a>> {
        self.sets_with_gaps.iter().flat_map(move |place| {
            let (_, set) = place;
            let kernels = set.kernels().filter(|(_, row)| self.rows.gaps(*row) > 0);
            kernels.flat_map(move |(kernel, row)| {
                let columns = self.rows.cells(row).enumerate().filter(|(_, cell)| cell.is_gap());
                columns.filter_map(move |(column, _)| self.gap_in(place, kernel, column))
            })
        })
    }

    /// Returns the first gap of a kernel on the device of a column.
    pub fn gap(&self, kernel: &CoveredKernel<'a>, column: usize) -> Option<Gap<'a>> {
        let places = kernel.sets_with_gaps.iter().filter_map(|index| self.sets_with_gaps.get(*index));
        let is_gap = |set: &SetCoverage<'a>| {
            set.row(kernel.name).and_then(|row| self.rows.cell(row, column)).is_some_and(CoverageCell::is_gap)
        };
        let mut gaps = places.filter(|(_, set)| is_gap(set));
        gaps.find_map(|place| self.gap_in(place, kernel.name, column))
    }

    fn gap_in(&self, place: &(usize, SetCoverage<'a>), kernel: &'a str, column: usize) -> Option<Gap<'a>> {
        let (file, set) = place;
        let Witnesses { selected, absence, holder } = set.witnesses(kernel, column)?;
        Some(Gap { file: *file, kernel, device: self.devices.get(column)?.clone(), selected, absence, holder })
    }

    /// Number of devices where a kernel has a gap.
    pub fn gaps_of(&self, kernel: &CoveredKernel<'a>) -> usize {
        self.rows.gaps(kernel.row)
    }

    /// Returns the number of kernels that have a gap.
    pub fn kernels_with_gaps(&self) -> usize {
        self.kernels.iter().filter(|kernel| self.gaps_of(kernel) > 0).count()
    }
}

impl Absence {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Absence::Absent => "absent",
            Absence::Stub(stub) => stub.name(),
        }
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
            CoverageCell::Gap(_) => "gap",
        }
    }

    /// Returns whether the kernel has a gap.
    pub fn is_gap(self) -> bool {
        matches!(self, CoverageCell::Gap(_))
    }

    /// Sort key: the better cell first.
    fn rank(self) -> (u8, Option<LoadMethod>) {
        match self {
            CoverageCell::Runs { method, .. } => (0, Some(method)),
            CoverageCell::Unknown => (1, None),
            CoverageCell::Unlinked => (2, None),
            CoverageCell::None => (3, None),
            CoverageCell::OtherPlatform => (4, None),
            CoverageCell::Gap(_) => (5, None),
        }
    }

    /// Returns the cell of a device whose name leaves two settings open, or of a kernel in two sets that a program uses:
    /// the kernel must run in both.
    fn on_both(self, other: CoverageCell<'a>) -> CoverageCell<'a> {
        if other.rank() > self.rank() { other } else { self }
    }

    /// Returns the cell of a kernel in two sets that a program may use instead of each other. If one set has a gap, the
    /// other does not close it: the program does not launch the kernel from the other set.
    fn in_either(self, other: CoverageCell<'a>) -> CoverageCell<'a> {
        match (self, other) {
            (gap @ CoverageCell::Gap(_), _) | (_, gap @ CoverageCell::Gap(_)) => gap,
            _ if other.rank() < self.rank() => other,
            _ => self,
        }
    }
}

/// Formats the cell as short text: the architecture of the image if that is another one, or the language that is
/// compiled.
impl fmt::Display for CoverageCell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CoverageCell::Runs { method: LoadMethod::Exact, .. } => "native",
            CoverageCell::Runs { method, arch } => method.compiled_from().or(*arch).unwrap_or("compatible"),
            CoverageCell::Unknown => "?",
            CoverageCell::Unlinked => "link",
            CoverageCell::None => "-",
            CoverageCell::OtherPlatform => "",
            CoverageCell::Gap(Absence::Absent) => "GAP",
            CoverageCell::Gap(Absence::Stub(Stub::Exit)) => "EMPTY",
            CoverageCell::Gap(Absence::Stub(Stub::Trap)) => "TRAP",
        })
    }
}
