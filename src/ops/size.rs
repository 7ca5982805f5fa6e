//! `size`: the bytes of a file by the levels that a user asks for.

use super::image_bytes::{image_error, inspect_with};
use crate::bytes::View;
use crate::error::{Error, Result};
use crate::format::cuda_fatbin::CudaFatbin;
use crate::inspect::{KernelBytes, kernel_bytes};
use crate::inventory::{Container, File};
use crate::scan::{ImageRef, ScannedFile, Source};
use crate::size::{self, FileLabels, Level, Owner, Part, Tree};

/// Levels to group by.
#[derive(Debug, Clone)]
pub struct SizeOptions {
    /// The levels, outermost first.
    pub levels: Vec<Level>,
}

/// Sizes of a file.
#[derive(Debug)]
pub struct FileSizes {
    /// Path of the file.
    pub path: String,
    /// Its size.
    pub size: u64,
    /// Number of bytes that it takes in its package.
    pub packed_size: Option<u64>,
    /// Its bytes by the requested levels.
    pub tree: Tree,
    /// Errors of images that could not be read.
    pub problems: Vec<Error>,
}

/// Groups the bytes of a file. `label` is the label of the file.
pub fn size(scanned: &ScannedFile, label: String, options: &SizeOptions) -> Result<FileSizes> {
    let file = scanned.file();
    let mut sizes = FileSizes {
        path: file.path.clone(),
        size: file.size,
        packed_size: scanned.packed_size(),
        tree: Tree::default(),
        problems: Vec::new(),
    };
    let needs_kernels = options.levels.iter().any(|level| level.needs_kernels());
    let needs_sources = options.levels.contains(&Level::Tu);
    let mut labels = FileLabels { path: label, file, sources: Vec::new() };
    let parts = size::parts(file);
    if !needs_kernels && !needs_sources {
        for part in parts {
            sizes.tree.add(labels.path(&options.levels, &part.owner, None), part.size);
        }
        return Ok(sizes);
    }
    let scan = scanned.open()?;
    if needs_sources {
        labels.sources = source_names(file, scan.source().view());
    }
    let reader = scan.reader();
    for part in parts {
        match &part.owner {
            Owner::Image(nested) if needs_kernels => {
                let image = reader.image(nested.clone());
                sizes.problems.extend(add_kernels(&mut sizes.tree, &labels, &options.levels, &part, &image));
            }
            owner => sizes.tree.add(labels.path(&options.levels, owner, None), part.size),
        }
    }
    scan.source().input().check_unchanged()?;
    Ok(sizes)
}

/// Adds the bytes of an image by kernel. Returns the errors in the image.
fn add_kernels(
    tree: &mut Tree,
    labels: &FileLabels<'_>,
    levels: &[Level],
    part: &Part<'_>,
    image: &ImageRef<'_>,
) -> Vec<Error> {
    let (kernels, image_size, problems) = kernels_of_image(&labels.file.path, image);
    for share in size::split(part, &kernels, image_size) {
        let name = share.kernel.map(|kernel| kernel.demangled.as_ref().unwrap_or(&kernel.name).as_str());
        tree.add(labels.path(levels, &part.owner, name), share.size);
    }
    problems
}

/// Returns the bytes of each kernel of an image, the size of the decompressed image, and its errors.
fn kernels_of_image(path: &str, image: &ImageRef<'_>) -> (Vec<KernelBytes>, u64, Vec<Error>) {
    let (mut kernels, mut size) = (Vec::new(), 0);
    let inspection = inspect_with(image, |kind, view| {
        let (found, inspection) = kernel_bytes(kind, view);
        (kernels, size) = (found, view.size());
        inspection
    });
    let problems = inspection.problems.into_iter();
    let problems = problems.map(|problem| image_error(path, image.index(), image.image(), problem));
    (kernels, size, problems.collect())
}

/// Returns the names of source files that CUDA fat binaries state, by the offset of the outermost container.
fn source_names(file: &File, view: View<'_>) -> Vec<(u64, String)> {
    let name = |container: &Container| {
        let offset = container.offset?;
        let fatbin = CudaFatbin::read(view.part("container", 0, offset, container.size).ok()?).ok()?;
        let identifier = fatbin.entries.iter().find_map(|entry| entry.identifier)?;
        Some((offset, String::from_utf8_lossy(identifier.data()).into_owned()))
    };
    file.containers.iter().filter_map(name).collect()
}
