//! Data of the page, as one compact document: a name that is in a hundred images is stored once, and a kernel is a row of
//! numbers. Its format is private to the scripts of the page; the public format is that of `--json`.

use std::collections::HashMap;

use serde::Serialize;

use super::verdict::VerdictData;
use crate::check;
use crate::codec::Codec;
use crate::format::ImageKind;
use crate::inspect::{DebugLevel, Inspection, Kernel};
use crate::inventory::{self, Container};
use crate::report::text::printable;
use crate::survey::{AnalyzedFile, KernelMatrix, MatrixCell, MatrixColumn};
use crate::target::subarch;

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

/// Properties in the order of the columns. Vendors' terms for the same property share a column, so that the table fits a
/// page.
const FIGURES: [KernelFigure; 8] = [
    figure(["code", "Code", "bytes", "Size of the machine code"], |kernel| kernel.code_size),
    figure(["registers", "Registers", "count", "Vector registers per thread or work-item"], |kernel| {
        kernel.registers.or(kernel.vgprs)
    }),
    figure(["scalar", "Scalar", "count", "Scalar registers per wavefront (AMD)"], |kernel| kernel.sgprs),
    figure(["spills", "Spills", "count", "Spilled registers (AMD)"], spills),
    figure(["scratch", "Scratch", "bytes", "Private memory per thread: scratch, stack"], |kernel| kernel.scratch),
    figure(["shared", "Shared", "bytes", "Memory per work-group: shared memory, LDS"], |kernel| kernel.shared),
    figure(["parameters", "Params", "bytes", "Size of all parameters"], |kernel| kernel.parameter_size),
    figure(["threads", "Threads", "count", "Maximum number of threads in a work-group"], |kernel| kernel.max_threads),
];

fn spills(kernel: &Kernel) -> Option<u64> {
    match (kernel.vgpr_spills, kernel.sgpr_spills) {
        (None, None) => None,
        (vector, scalar) => Some(vector.unwrap_or(0).saturating_add(scalar.unwrap_or(0))),
    }
}

/// Document of the page.
#[derive(Serialize)]
pub struct PageData {
    program: &'static str,
    verdict: Option<VerdictData>,
    figures: &'static [KernelFigure],
    /// Display names of kernels, each with its symbol if that differs.
    names: Vec<(String, Option<String>)>,
    /// Source files.
    sources: Vec<String>,
    archs: Vec<ArchColumn>,
    /// Kernels, incomplete ones first: index of the name, and a letter for each arch: `y` present, `n` missing, `-` not
    /// expected.
    matrix: Vec<(usize, String)>,
    files: Vec<FileData>,
}

/// Images of one arch and one format.
#[derive(Serialize)]
struct ArchColumn {
    label: String,
    vendor: &'static str,
    /// The images are machine code, and not compiled later.
    is_native: bool,
}

#[derive(Serialize)]
struct FileData {
    path: String,
    size: u64,
    /// Size of the containers as stored.
    stored: u64,
    padding: u64,
    unexplained: u64,
    images: Vec<ImageData>,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct ImageData {
    /// Index among the device images of the file.
    index: usize,
    arch: usize,
    kind: &'static str,
    form: &'static str,
    container: &'static str,
    offset: Option<u64>,
    /// Decompressed size.
    size: Option<u64>,
    stored: Option<u64>,
    codec: Option<&'static str>,
    debug: &'static str,
    producer: Option<String>,
    not_inspected: Option<&'static str>,
    problems: Vec<String>,
    kernels: Vec<KernelRow>,
}

/// A kernel: index of its name, its properties, its source file and line, and 1 if it may need more scratch.
#[derive(Serialize)]
struct KernelRow(usize, [Option<u64>; FIGURES.len()], Option<(usize, u64)>, u8);

/// Indices of unique texts.
#[derive(Default)]
struct Interner<'a> {
    numbers: HashMap<&'a str, usize>,
}

impl<'a> Interner<'a> {
    /// Returns the index of a text, and whether it is new.
    fn number(&mut self, text: &'a str) -> (usize, bool) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(text).or_insert(next);
        (number, number == next)
    }
}

/// Tables that images share while the document is built.
struct DataBuilder<'a> {
    names: Vec<(String, Option<String>)>,
    known_names: Interner<'a>,
    sources: Vec<String>,
    known_sources: Interner<'a>,
    archs: HashMap<MatrixColumn, usize>,
}

impl PageData {
    pub fn new(files: &[&AnalyzedFile], verdict: Option<&check::Verdict>) -> Self {
        let images = files.iter().flat_map(|file| file.images());
        let matrix =
            KernelMatrix::from_images(images.filter_map(|(image, inside)| Some((image, inside.inspection.as_ref()?))));
        let (columns, numbers) = columns(files, &matrix);
        let mut builder = DataBuilder {
            names: Vec::new(),
            known_names: Interner::default(),
            sources: Vec::new(),
            known_sources: Interner::default(),
            archs: numbers,
        };
        let files = files.iter().map(|file| builder.file(file)).collect();
        let rows = matrix.rows.iter().map(|row| {
            let cells = row.cells.iter().map(|cell| match cell {
                MatrixCell::Present => 'y',
                MatrixCell::Missing => 'n',
                MatrixCell::NotApplicable => '-',
            });
            (builder.known_names.numbers[row.name.as_str()], cells.collect())
        });
        PageData {
            program: concat!("fatbin ", env!("CARGO_PKG_VERSION")),
            verdict: verdict.map(VerdictData::new),
            figures: &FIGURES,
            matrix: rows.collect(),
            names: builder.names,
            sources: builder.sources,
            archs: columns,
            files,
        }
    }
}

/// Returns the columns of the matrix, followed by the archs of images that are not searched for kernels.
fn columns(files: &[&AnalyzedFile], matrix: &KernelMatrix) -> (Vec<ArchColumn>, HashMap<MatrixColumn, usize>) {
    let mut numbers: HashMap<MatrixColumn, usize> = matrix.archs.iter().cloned().zip(0..).collect();
    let mut columns: Vec<Option<ArchColumn>> = matrix.archs.iter().map(|_| None).collect();
    for (image, _) in files.iter().flat_map(|file| file.images()).filter(|(_, inside)| inside.inspection.is_some()) {
        let arch = MatrixColumn::of(image);
        let column = ArchColumn {
            label: printable(&arch.label),
            vendor: vendor(image),
            is_native: matches!(image.image_kind, ImageKind::Elf),
        };
        let next = numbers.len();
        match *numbers.entry(arch).or_insert(next) {
            number if number < columns.len() => columns[number] = Some(column),
            _ => columns.push(Some(column)),
        }
    }
    (columns.into_iter().flatten().collect(), numbers)
}

/// Returns the vendor that determines the color of an image.
fn vendor(image: &inventory::Image) -> &'static str {
    let triple = image.triple.as_deref().unwrap_or_default();
    let begins = |word| triple.starts_with(word);
    match image.image_kind {
        ImageKind::Ptx | ImageKind::Nvvm | ImageKind::TileIr => "nvidia",
        _ if begins("nvptx") => "nvidia",
        _ if subarch::is_amdgpu(triple) => "amd",
        ImageKind::SpirV => "spirv",
        _ if begins("spir") => "spirv",
        _ => "other",
    }
}

impl<'a> DataBuilder<'a> {
    fn file(&mut self, surveyed: &'a AnalyzedFile) -> FileData {
        let file = &surveyed.file;
        let images = file.nested_images().zip(&surveyed.analyses).filter_map(|(nested, inside)| {
            Some(self.image(nested.index, nested.image, inside.inspection.as_ref()?, nested.container()))
        });
        FileData {
            path: printable(&file.path),
            size: file.size,
            stored: file.containers.iter().map(|container| container.size).fold(0, u64::saturating_add),
            images: images.collect(),
            padding: file.sections.iter().map(|section| section.padding).fold(0, u64::saturating_add),
            unexplained: file.sections.iter().map(|section| section.unexplained).fold(0, u64::saturating_add),
            problems: file
                .errors
                .iter()
                .map(|error| printable(&error.to_string()))
                .chain(file.failure.as_deref().map(printable))
                .chain(file.not_opened.map(|reason| format!("not opened: {reason}")))
                .collect(),
        }
    }

    fn image(
        &mut self,
        index: usize,
        image: &'a inventory::Image,
        inspection: &'a Inspection,
        container: &Container,
    ) -> ImageData {
        ImageData {
            index,
            arch: self.archs[&MatrixColumn::of(image)],
            kind: image.kind.map_or("", |kind| kind.name()),
            form: image.image_kind.name(),
            container: container.container_type.name(),
            offset: image.offset,
            size: image.decompressed_size(),
            stored: image.size,
            codec: image.codec.or(container.codec).map(Codec::name),
            debug: match inspection.debug.level {
                DebugLevel::None => "",
                level => level.name(),
            },
            producer: image.producer.as_deref().map(printable),
            not_inspected: inspection.not_inspected,
            problems: inspection.problems.iter().map(|problem| printable(&problem.to_string())).collect(),
            kernels: inspection.kernels.iter().map(|kernel| self.kernel(kernel)).collect(),
        }
    }

    fn kernel(&mut self, kernel: &'a Kernel) -> KernelRow {
        let (name, is_new) = self.known_names.number(&kernel.name);
        if is_new {
            let shown = kernel.demangled.as_ref().map(|shown| (printable(shown), Some(printable(&kernel.name))));
            self.names.push(shown.unwrap_or_else(|| (printable(&kernel.name), None)));
        }
        let source = kernel.source.as_ref().map(|source| {
            let (number, is_new) = self.known_sources.number(&source.file);
            if is_new {
                self.sources.push(printable(&source.file));
            }
            (number, source.line)
        });
        let numbers = FIGURES.each_ref().map(|figure| (figure.of)(kernel));
        KernelRow(name, numbers, source, kernel.scratch_is_minimum.into())
    }
}
