//! Matrix of kernels and architectures over all images of all files.
//!
//! If a library is built for six architectures but one of its kernels only for four, launches of that kernel fail on the
//! other two, which is easily missed. Kernels that are missing somewhere are therefore listed first. A kernel is missing
//! for an architecture if another architecture with the same triple has it; HIP kernels are not expected among those of
//! CUDA. PTX has a column of its own, because it also serves later architectures but must be compiled there.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::InspectedFile;
use crate::format::ImageKind;
use crate::inspect::Inspection;
use crate::inventory::Image;
use crate::target::natural_order;

/// Kernels by architecture.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KernelMatrix {
    /// The columns, sorted by triple and label.
    pub archs: Vec<MatrixColumn>,
    /// The kernels, those that are missing for most architectures first, then by name.
    pub rows: Vec<MatrixRow>,
    /// Images that may have kernels but were not inspected, and their number.
    pub not_inspected: BTreeMap<UninspectedImages, usize>,
}

/// One row: a kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct MatrixRow {
    /// Name by which the runtime looks it up.
    pub name: String,
    /// Demangled name, where it differs.
    pub demangled: Option<String>,
    /// One cell per column.
    pub cells: Vec<MatrixCell>,
}

/// One column: an architecture and a format of code.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatrixColumn {
    /// Heading: `gfx90a`, `sm_90 ptx`.
    pub label: String,
    triple: Option<String>,
}

/// Presence of a kernel in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixCell {
    /// An image of the column has the kernel.
    Present,
    /// Another column of the same triple has the kernel.
    Missing,
    /// No column of the same triple has the kernel.
    NotApplicable,
}

/// Images that were not inspected, for one reason.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UninspectedImages {
    /// Label of their column.
    pub arch: String,
    /// Reason why they were not inspected.
    pub reason: &'static str,
}

/// Returns the label of a column: the architecture (or, if unknown, the triple), followed by the format unless it is ELF.
fn label(image: &Image) -> String {
    let arch = image.arch.as_deref().or(image.triple.as_deref());
    match (arch, image.image_kind) {
        (Some(arch), ImageKind::Elf) => arch.to_owned(),
        (Some(arch), kind) => format!("{arch} {}", kind.name()),
        (None, kind) => kind.name().to_owned(),
    }
}

impl MatrixColumn {
    /// Returns the column of an image.
    pub fn of(image: &Image) -> Self {
        MatrixColumn { label: label(image), triple: image.triple.clone() }
    }
}

impl KernelMatrix {
    /// Creates the matrix of all images of these files.
    pub fn from_files(files: &[InspectedFile<'_>]) -> Self {
        let images = files.iter().flat_map(|file| &file.images);
        KernelMatrix::from_images(images.map(|inspected| (inspected.image, &inspected.inspection)))
    }

    /// Creates the matrix of these images.
    pub fn from_images<'a>(images: impl Iterator<Item = (&'a Image, &'a Inspection)>) -> Self {
        let mut kernels: HashMap<&str, (Option<&String>, BTreeSet<MatrixColumn>)> = HashMap::new();
        let mut archs = BTreeSet::new();
        let mut not_inspected = BTreeMap::new();
        for (image, inspection) in images {
            let arch = MatrixColumn::of(image);
            if let Some(reason) = inspection.not_inspected {
                *not_inspected.entry(UninspectedImages { arch: arch.label, reason }).or_default() += 1;
                continue;
            }
            for kernel in &inspection.kernels {
                let (demangled, columns) = kernels.entry(&kernel.name).or_default();
                *demangled = kernel.demangled.as_ref();
                if !columns.contains(&arch) {
                    columns.insert(arch.clone());
                }
            }
            archs.insert(arch);
        }
        let mut archs: Vec<MatrixColumn> = archs.into_iter().collect();
        archs.sort_by_cached_key(|arch| (arch.triple.clone(), natural_order(&arch.label)));
        let row = |(name, (demangled, columns)): (&str, (Option<&String>, BTreeSet<MatrixColumn>))| {
            let triples: HashSet<&Option<String>> = columns.iter().map(|arch| &arch.triple).collect();
            let cell = |arch: &MatrixColumn| {
                if columns.contains(arch) {
                    MatrixCell::Present
                } else if triples.contains(&arch.triple) {
                    MatrixCell::Missing
                } else {
                    MatrixCell::NotApplicable
                }
            };
            MatrixRow { name: name.to_owned(), demangled: demangled.cloned(), cells: archs.iter().map(cell).collect() }
        };
        let mut rows: Vec<MatrixRow> = kernels.into_iter().map(row).collect();
        rows.sort_by(|a, b| (b.missing(), &a.name).cmp(&(a.missing(), &b.name)));
        KernelMatrix { archs, rows, not_inspected }
    }

    /// Returns the labels of the columns in which the kernel has this cell.
    pub fn archs_with<'a>(&'a self, row: &'a MatrixRow, wanted: MatrixCell) -> impl Iterator<Item = &'a str> {
        let columns = self.archs.iter().zip(&row.cells);
        columns.filter(move |(_, cell)| **cell == wanted).map(|(arch, _)| arch.label.as_str())
    }
}

impl MatrixRow {
    /// Returns the number of columns for which the kernel is missing.
    pub fn missing(&self) -> usize {
        self.cells.iter().filter(|cell| **cell == MatrixCell::Missing).count()
    }
}
