//! Data of the page, as one compact document: a name that is in a hundred images is stored once, and a kernel is a row
//! of numbers. The format is private to the scripts of the page; `--json` writes the public format.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::mem;

use serde::{Serialize, Serializer};

use super::inputs::{InputData, Inputs};
use super::packages::{PackageData, PackedPlace, PagePackages};
use super::verdict::VerdictData;
use crate::codes;
use crate::report::overview::needs;
use crate::report::text::printable;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::error::Result;
use fatbin_core::base::io::Access;
use fatbin_core::format::ImageKind;
use fatbin_core::image::{DebugLevel, Kernel, family};
use fatbin_core::scan::inventory::{self, NestedImage};
use fatbin_core::target::gpu_names::gpu_of;
use fatbin_core::target::runs_on::LoadMethod;
use fatbin_core::target::{natural_order, subarch};
use fatbin_ops::analyze::coverage::{Coverage, CoverageCell, InspectedImages};
use fatbin_ops::analyze::size::{self, Owner, Rest, Size};
use fatbin_ops::analyze::survey::{ImageSurvey, KernelNames, PackageSurvey, ShownNames, Survey};
use fatbin_ops::check;

/// A numeric property of kernels.
#[derive(Serialize)]
struct KernelFigure {
    key: &'static str,
    heading: &'static str,
    /// Explanation of the heading.
    title: &'static str,
    /// `bytes` or `count`.
    unit: &'static str,
    #[serde(skip)]
    of: fn(&Kernel) -> Option<u64>,
}

const fn figure([key, heading, unit, title]: [&'static str; 4], of: fn(&Kernel) -> Option<u64>) -> KernelFigure {
    KernelFigure { key, heading, title, unit, of }
}

/// Properties in the order of the columns. Vendors' terms for the same property share a column, so that the table fits
/// a page.
const FIGURES: [KernelFigure; 8] = [
    figure(["code", "Code", "bytes", "Size of the machine code"], |kernel| kernel.code_size),
    figure(["registers", "Registers", "count", "Vector registers per thread or work-item"], |kernel| {
        kernel.registers.or(kernel.vgprs)
    }),
    figure(["scalar", "Scalar", "count", "Scalar registers per wavefront (AMD)"], |kernel| kernel.sgprs),
    figure(["spills", "Spills", "count", "Spilled registers (AMD)"], Kernel::spills),
    figure(["scratch", "Scratch", "bytes", "Private memory per thread: scratch, stack"], |kernel| kernel.scratch),
    figure(["shared", "Shared", "bytes", "Memory per work-group: shared memory, LDS"], |kernel| kernel.shared),
    figure(["parameters", "Params", "bytes", "Size of all parameters"], |kernel| kernel.parameter_size),
    figure(["threads", "Threads", "count", "Maximum number of threads in a work-group"], |kernel| kernel.max_threads),
];

/// Document of the page, without its files.
#[derive(Serialize)]
pub struct PageTables<'a> {
    program: &'static str,
    inputs: Vec<InputData>,
    /// Oldest releases that load all code.
    needs: Option<String>,
    verdict: Option<VerdictData<'a>>,
    figures: &'static [KernelFigure],
    names: DisplayNames,
    /// Families of kernels ([`family`]).
    families: Vec<String>,
    /// Index of the family of each name.
    family_of: Vec<usize>,
    /// Source files.
    sources: Vec<String>,
    archs: Vec<ArchColumn>,
    /// Index of the arch of each number that images have.
    columns: Vec<usize>,
    /// Names of the devices that kernels are judged on.
    devices: Vec<String>,
    /// Names of GPUs that are these devices.
    gpus: Vec<Option<&'static str>>,
    /// Distinct cells of the coverage.
    cells: Vec<CellData>,
    /// Distinct rows of the coverage, as indexes of their cells: most kernels of a library run on the same devices.
    patterns: Vec<Vec<u32>>,
    /// Kernels, with gaps first: indexes of the name and of the pattern.
    coverage: Vec<(u32, usize)>,
    packages: Vec<PackageData>,
    /// Place of each file in a package.
    places: Vec<Option<PackedPlace>>,
}

/// Names of kernels as they are displayed, each with its symbol if that differs.
struct DisplayNames(KernelNames, ShownNames);

impl Serialize for DisplayNames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|name| match self.1.demangle(name) {
            Some(demangled) => (printable(&demangled), Some(printable(name))),
            None => (printable(name), None),
        }))
    }
}

/// Images of one arch and one format.
#[derive(Serialize)]
struct ArchColumn {
    label: String,
    vendor: &'static str,
    /// The images are machine code, and not compiled later.
    is_native: bool,
}

/// A cell of the coverage.
#[derive(Serialize)]
struct CellData {
    /// `native`, `compatible`, `jit`, `unknown`, `none`, `other` or `gap`.
    look: &'static str,
    text: String,
}

/// The bytes of a file.
#[derive(Default, Serialize)]
pub struct FileData {
    path: String,
    size: u64,
    /// Stored bytes of images and of everything around them.
    code: u64,
    /// Bytes around images: what they are, and their number, as stored and decompressed.
    rests: Vec<(&'static str, u64, u64)>,
    /// Sizes of its images.
    #[serde(skip)]
    pub images: Vec<Size>,
}

#[derive(Serialize)]
pub struct ImageData {
    /// Index among the device images of the file.
    index: usize,
    /// Number of the arch, in the order of their first images.
    arch: usize,
    kind: &'static str,
    form: &'static str,
    container: &'static str,
    offset: Option<u64>,
    /// Decompressed size.
    size: u64,
    /// Stored size; of images that are compressed together, its share.
    stored: u64,
    codec: Option<&'static str>,
    debug: &'static str,
    producer: Option<String>,
    not_inspected: Option<&'static str>,
    problems: Vec<String>,
    kernels: Vec<KernelRow>,
    /// Bytes that belong to no kernel by category, decompressed.
    rests: Vec<(&'static str, u64)>,
}

/// A kernel: index of its name, its properties, its source file and line, 1 if it may need more scratch, and the number
/// of bytes that belong to it alone.
#[derive(Serialize)]
struct KernelRow(u32, [Option<u64>; FIGURES.len()], Option<(usize, u64)>, u8, u64);

/// Tables that files share while the document is written.
#[derive(Default)]
pub struct PageData {
    inputs: Inputs,
    packages: PagePackages,
    surveys: PackageSurvey,
    names: ShownNames,
    families: Distinct<String>,
    /// Index of the family of each name.
    family_of: Vec<usize>,
    sources: Distinct<String>,
    archs: Distinct<ArchKey>,
    columns: Vec<ArchColumn>,
}

impl PageData {
    /// Returns whether no file was added.
    pub fn is_empty(&self) -> bool {
        self.packages.places.is_empty()
    }

    /// Adds a file.
    pub fn add(&mut self, survey: Survey) {
        self.inputs.add(&survey);
        self.packages.add(survey.packed.as_ref());
        self.surveys.add(survey);
    }

    /// Returns the tables, and what is known about all files together.
    pub fn finish(self, verdict: Option<&check::Verdict>, access: Access) -> Result<PageTables<'_>> {
        let mut surveys = self.surveys.finish();
        let needs = needs(surveys.files().map(|(survey, _)| survey));
        let coverage = Coverage::new(&InspectedImages::of_package(&surveys), &[])?;
        let CoverageData { cells, patterns, kernels } = CoverageData::new(&coverage, &surveys.names);
        let gpus = coverage.devices.iter().map(|device| gpu_of(device)).collect();
        let devices = coverage.devices;
        let (archs, columns) = sorted(self.archs, self.columns);
        let (packages, places) = self.packages.finish(access)?;
        Ok(PageTables {
            program: concat!("fatbin ", env!("CARGO_PKG_VERSION")),
            inputs: self.inputs.read(),
            needs: if needs.is_empty() { None } else { Some(needs.join("; ")) },
            verdict: verdict.map(VerdictData::new),
            figures: &FIGURES,
            cells,
            patterns,
            coverage: kernels,
            gpus,
            devices,
            names: DisplayNames(mem::take(&mut surveys.names), self.names),
            families: self.families.into_values(),
            family_of: self.family_of,
            sources: self.sources.into_values().iter().map(|path| printable(path)).collect(),
            archs,
            columns,
            packages,
            places,
        })
    }
}

/// The coverage, as numbers.
struct CoverageData {
    cells: Vec<CellData>,
    patterns: Vec<Vec<u32>>,
    kernels: Vec<(u32, usize)>,
}

impl CoverageData {
    fn new(coverage: &Coverage<'_>, names: &KernelNames) -> Self {
        let mut cells = Distinct::default();
        let mut patterns = Vec::new();
        let mut numbers = HashMap::new();
        let mut kernels = Vec::new();
        for kernel in &coverage.kernels {
            let number = *numbers.entry(coverage.row_number(kernel)).or_insert_with(|| {
                patterns.push(coverage.cells(kernel).map(|cell| cells.number(&cell).0 as u32).collect());
                patterns.len() - 1
            });
            kernels.extend(names.find(kernel.name).map(|name| (name, number)));
        }
        CoverageData { cells: cells.into_values().into_iter().map(CellData::new).collect(), patterns, kernels }
    }
}

impl CellData {
    fn new(cell: CoverageCell<'_>) -> Self {
        let look = match cell {
            CoverageCell::Runs { method: LoadMethod::Exact, .. } => "native",
            CoverageCell::Runs { method, .. } if method.is_at_load_time() => "jit",
            CoverageCell::Runs { .. } => "compatible",
            CoverageCell::Unknown => "unknown",
            CoverageCell::Unlinked | CoverageCell::None => "none",
            CoverageCell::OtherPlatform => "other",
            CoverageCell::Gap(_) => "gap",
        };
        CellData { look, text: printable(&cell.to_string()) }
    }
}

/// Distinct values and their indexes.
struct Distinct<T>(HashMap<T, usize>);

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Distinct(HashMap::new())
    }
}

impl<T: Eq + Hash> Distinct<T> {
    /// Index of a value, and whether it is new.
    fn number<Q: ToOwned<Owned = T> + Eq + Hash + ?Sized>(&mut self, value: &Q) -> (usize, bool)
    where
        T: Borrow<Q>,
    {
        match self.0.get(value) {
            Some(number) => (*number, false),
            None => {
                let next = self.0.len();
                self.0.insert(value.to_owned(), next);
                (next, true)
            }
        }
    }

    /// Returns the values by their indexes.
    fn into_values(self) -> Vec<T> {
        let mut values: Vec<(T, usize)> = self.0.into_iter().collect();
        values.sort_unstable_by_key(|(_, number)| *number);
        values.into_iter().map(|(value, _)| value).collect()
    }
}

/// Triple, arch and form of images: one color of the map.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ArchKey(Option<String>, Option<String>, ImageKind);

/// Sorts columns by triple and name. Also returns the index of each in the order of `columns`.
fn sorted(keys: Distinct<ArchKey>, columns: Vec<ArchColumn>) -> (Vec<ArchColumn>, Vec<usize>) {
    let mut sorted: Vec<(ArchKey, ArchColumn, usize)> = keys
        .into_values()
        .into_iter()
        .zip(columns)
        .zip(0..)
        .map(|((key, column), number)| (key, column, number))
        .collect();
    sorted.sort_by_cached_key(|(key, column, _)| (key.0.clone(), natural_order(&column.label)));
    let mut indexes = vec![0; sorted.len()];
    for (index, (_, _, number)) in sorted.iter().enumerate() {
        indexes[*number] = index;
    }
    (sorted.into_iter().map(|(_, column, _)| column).collect(), indexes)
}

/// Returns the errors of a file.
pub fn problems(file: &inventory::File) -> Vec<String> {
    let errors = file.errors.iter().map(|error| printable(&codes::message(error)));
    let failure = codes::failure(file).as_deref().map(printable);
    errors.chain(failure).chain(file.not_opened.map(|reason| format!("not opened: {reason}"))).collect()
}

impl FileData {
    /// Sums the bytes of a file.
    pub fn new(file: &inventory::File) -> Self {
        let mut data = FileData { path: printable(&file.path), size: file.size, ..FileData::default() };
        let mut rests = BTreeMap::<Rest, Size>::new();
        for part in size::parts(file) {
            let rest = match &part.owner {
                Owner::Rest(rest) => Some(*rest),
                Owner::Container(_) => Some(Rest::ContainerHeaders),
                Owner::Image(_) => None,
            };
            if rest != Some(Rest::NotDeviceCode) {
                data.code = data.code.saturating_add(part.size.stored);
            }
            match rest {
                Some(rest) => rests.entry(rest).or_default().add(part.size),
                None => data.images.push(part.size),
            }
        }
        data.rests = rests.into_iter().map(|(rest, size)| (rest.text(), size.stored, size.decompressed)).collect();
        data
    }
}

/// The vendor determines the color of an image.
fn vendor(image: &inventory::Image) -> &'static str {
    let triple = image.triple.as_deref().unwrap_or_default();
    let begins = |word| triple.starts_with(word);
    match image.image_kind {
        ImageKind::Ptx | ImageKind::Nvvm | ImageKind::OptixIr | ImageKind::TileIr => "nvidia",
        _ if begins("nvptx") => "nvidia",
        _ if subarch::is_amdgpu(triple) => "amd",
        ImageKind::SpirV => "spirv",
        ImageKind::MetalLibrary | ImageKind::MetalBinary => "apple",
        _ if begins("spir") => "spirv",
        _ => "other",
    }
}

impl PageData {
    /// Returns the row of an image, and takes its kernels; `None` if it was not inspected.
    pub fn image(&mut self, nested: &NestedImage<'_>, size: Size, inside: &mut ImageSurvey) -> Option<ImageData> {
        let inspection = inside.inspection.as_ref()?;
        let image = nested.image;
        let container = nested.container();
        let rests = inspection.outside_kernels.iter();
        let data = ImageData {
            index: nested.index,
            arch: self.arch(image),
            kind: image.kind.map_or("", |kind| kind.name()),
            form: image.image_kind.name(),
            container: container.container_type.name(),
            offset: image.offset,
            size: size.decompressed,
            stored: size.stored,
            codec: image.codec.or(container.codec).map(Codec::name),
            debug: match inspection.debug.level {
                DebugLevel::None => "",
                level => level.name(),
            },
            producer: image.producer.as_deref().map(printable),
            not_inspected: inspection.not_inspected,
            problems: inspection.problems.iter().map(|problem| printable(&codes::message(problem))).collect(),
            kernels: inspection.kernels.iter().map(|kernel| self.kernel(kernel)).collect(),
            rests: rests.map(|(category, size)| (category.name(image.image_kind), *size)).collect(),
        };
        self.surveys.take_kernels(inside);
        Some(data)
    }

    fn arch(&mut self, image: &inventory::Image) -> usize {
        let key = ArchKey(image.triple.clone(), image.arch.clone(), image.image_kind);
        let (number, is_new) = self.archs.number(&key);
        if is_new {
            self.columns.push(ArchColumn {
                label: printable(&image.arch_and_form()),
                vendor: vendor(image),
                is_native: matches!(image.image_kind, ImageKind::Elf),
            });
        }
        number
    }

    fn kernel(&mut self, kernel: &Kernel) -> KernelRow {
        let name = self.surveys.names.add(&kernel.name);
        if name as usize == self.family_of.len() {
            let family = printable(&family(&self.names.shown(&kernel.name)));
            self.family_of.push(self.families.number(&family).0);
        }
        let source = kernel.source.as_ref().map(|source| (self.sources.number(&source.file).0, source.line));
        let numbers = FIGURES.each_ref().map(|figure| (figure.of)(kernel));
        let own_size = kernel.own_size.or(kernel.code_size).unwrap_or_default();
        KernelRow(name, numbers, source, kernel.scratch_is_minimum.into(), own_size)
    }
}
