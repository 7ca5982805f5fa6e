//! Which kernel is there for which architecture, over all images of all files.
//!
//! A library is built for six architectures and one of its kernels for four: the launch fails on the others, and nobody
//! sees it before. So the kernels that are missing somewhere come first. A kernel is missing for an architecture if it is
//! there for another of the same triple: nobody expects HIP kernels among CUDA's. PTX is a column of its own, as it serves
//! later architectures too but has to be compiled there.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::InspectedFile;
use crate::format::ImageKind;
use crate::inspect::Inspection;
use crate::inventory::Image;
use crate::target::order;

/// Kernels by architectures.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KernelMatrix {
    /// The columns: what they are called, sorted, and their triples.
    pub archs: Vec<MatrixColumn>,
    /// Those that are missing for the most first, then by name.
    pub rows: Vec<MatrixRow>,
    /// Images that may hold kernels which are not known here, and how many.
    pub not_inspected: BTreeMap<UninspectedImages, usize>,
}

/// A kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct MatrixRow {
    pub name: String,
    pub demangled: Option<String>,
    /// For each column whether it is there.
    pub cells: Vec<MatrixCell>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatrixColumn {
    pub label: String,
    triple: Option<String>,
}

/// Whether a kernel is there for an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixCell {
    Present,
    Missing,
    /// It is there for nothing with this triple.
    NotApplicable,
}

/// A kind of image that was not looked into.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UninspectedImages {
    pub arch: String,
    pub reason: &'static str,
}

/// What a column is called: the arch, of an image that is no machine code with what it is, and if need be the triple.
fn label(image: &Image) -> String {
    let arch = image.arch.as_deref().or(image.triple.as_deref());
    match (arch, image.image_kind) {
        (Some(arch), ImageKind::Elf) => arch.to_owned(),
        (Some(arch), kind) => format!("{arch} {}", kind.name()),
        (None, kind) => kind.name().to_owned(),
    }
}

impl MatrixColumn {
    /// The column that an image belongs to.
    pub fn of(image: &Image) -> Self {
        MatrixColumn { label: label(image), triple: image.triple.clone() }
    }
}

impl KernelMatrix {
    pub fn from_files(files: &[InspectedFile<'_>]) -> Self {
        let images = files.iter().flat_map(|file| &file.images);
        KernelMatrix::from_images(images.map(|inspected| (inspected.image, &inspected.inspection)))
    }

    /// The matrix of all images with what is in them.
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
                let (demangled, there) = kernels.entry(&kernel.name).or_default();
                *demangled = kernel.demangled.as_ref();
                if !there.contains(&arch) {
                    there.insert(arch.clone());
                }
            }
            archs.insert(arch);
        }
        let mut archs: Vec<MatrixColumn> = archs.into_iter().collect();
        archs.sort_by_cached_key(|arch| (arch.triple.clone(), order(&arch.label)));
        let row = |(name, (demangled, there)): (&str, (Option<&String>, BTreeSet<MatrixColumn>))| {
            let triples: HashSet<&Option<String>> = there.iter().map(|arch| &arch.triple).collect();
            let cell = |arch| match there.contains(arch) {
                true => MatrixCell::Present,
                false if triples.contains(&arch.triple) => MatrixCell::Missing,
                false => MatrixCell::NotApplicable,
            };
            MatrixRow { name: name.to_owned(), demangled: demangled.cloned(), cells: archs.iter().map(cell).collect() }
        };
        let mut rows: Vec<MatrixRow> = kernels.into_iter().map(row).collect();
        rows.sort_by(|a, b| (b.missing(), &a.name).cmp(&(a.missing(), &b.name)));
        KernelMatrix { archs, rows, not_inspected }
    }

    /// The columns in which a kernel's cell is such a one.
    pub fn archs_with<'a>(&'a self, row: &'a MatrixRow, wanted: MatrixCell) -> impl Iterator<Item = &'a str> {
        let columns = self.archs.iter().zip(&row.cells);
        columns.filter(move |(_, cell)| **cell == wanted).map(|(arch, _)| arch.label.as_str())
    }
}

impl MatrixRow {
    /// For how many columns it is missing.
    pub fn missing(&self) -> usize {
        self.cells.iter().filter(|cell| **cell == MatrixCell::Missing).count()
    }
}
