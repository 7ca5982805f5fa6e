//! `size`: the bytes of a file by the levels that a user asks for.

use crate::analyze::size;
use crate::analyze::size::{
    Code, Duplicates, FileLabels, ImageCopies, ImagePlace, KernelCopies, KernelCopy, Level, Part, Tree,
};
use crate::base::bytes::{Extent, View};
use crate::base::error::{Error, Result};
use crate::format::cuda_fatbin::CudaFatbin;
use crate::image::{Bodies, KernelBytes, kernel_bytes, section_bytes};
use crate::scan::image_error;
use crate::scan::inspect::inspect_with;
use crate::scan::inventory::{Container, DeviceLinks, File, NestedImage};
use crate::scan::{ImageRef, InputSlice, Scan, ScannedFile, Source};

/// Requested figures.
#[derive(Debug, Clone)]
pub struct SizeOptions {
    /// Levels to group by, outermost first.
    pub levels: Vec<Level>,
    /// Finds bytes that are stored several times. Images must have been hashed.
    pub duplicates: bool,
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
    /// Its images by their hashes.
    pub images: ImageCopies,
    /// Kernels that are stored several times. Images are found together with the images of other files.
    pub duplicates: Duplicates,
    /// Errors of images that could not be read.
    pub problems: Vec<Error>,
}

/// Sizes of several files together.
#[derive(Debug, Default)]
pub struct TotalSizes {
    tree: Tree,
    images: ImageCopies,
    duplicates: Duplicates,
}

impl TotalSizes {
    /// Adds a file. Its problems are the caller's.
    pub fn add(&mut self, sizes: FileSizes) {
        self.tree.merge(sizes.tree);
        self.images.merge(sizes.images);
        self.duplicates.kernels.extend(sizes.duplicates.kernels);
        self.duplicates.bodies.extend(sizes.duplicates.bodies);
    }

    /// Returns the bytes by the requested levels, and what is stored several times.
    pub fn finish(self) -> (Tree, Duplicates) {
        let mut duplicates = Duplicates { images: self.images.duplicates(), ..self.duplicates };
        duplicates.sort();
        (self.tree, duplicates)
    }
}

/// Groups the bytes of a file. `label` is the label of the file.
pub fn size(scanned: &ScannedFile, label: String, options: &SizeOptions) -> Result<FileSizes> {
    let file = scanned.file();
    let mut sizes = FileSizes {
        path: file.path.clone(),
        size: file.size,
        packed_size: scanned.packed_size(),
        tree: Tree::default(),
        images: ImageCopies::default(),
        duplicates: Duplicates::default(),
        problems: Vec::new(),
    };
    let needs_images = options.duplicates || options.levels.iter().any(|level| level.needs_images());
    let needs_sources = options.levels.contains(&Level::Tu);
    let mut grouping = Grouping {
        labels: FileLabels { path: label, file, links: DeviceLinks::of(file), sources: Vec::new() },
        options,
        sizes: &mut sizes,
        copies: KernelCopies::default(),
    };
    if needs_images || needs_sources {
        let scan = scanned.open()?;
        if needs_sources {
            grouping.labels.sources = source_names(file, scan.source().view());
        }
        grouping.add_parts(needs_images.then_some(&scan));
        scan.source().input().check_unchanged()?;
    } else {
        grouping.add_parts(None);
    }
    let (kernels, bodies) = grouping.copies.duplicates(&file.path);
    sizes.duplicates = Duplicates { kernels, bodies, ..Duplicates::default() };
    Ok(sizes)
}

/// The bytes of a file as they are grouped.
struct Grouping<'a> {
    labels: FileLabels<'a>,
    options: &'a SizeOptions,
    sizes: &'a mut FileSizes,
    copies: KernelCopies,
}

impl Grouping<'_> {
    /// Adds all bytes of the file. The bytes of images are added by kernel if there is a scan to read them.
    fn add_parts(&mut self, scan: Option<&Scan<InputSlice>>) {
        let parts = size::parts(self.labels.file);
        let mut left = parts.iter();
        if let Some(scan) = scan {
            let path = &self.labels.file.path;
            let bodies = self.bodies();
            let images = parts.iter().filter_map(|part| part.owner.image());
            let images: Vec<NestedImage<'_>> = images.cloned().collect();
            let by_section = self.options.levels.contains(&Level::Section);
            let read = |_, image: &ImageRef<'_>| contents_of_image(path, image, bodies, by_section);
            scan.map_images(&images, read, &mut |index, kernels| {
                for part in left.by_ref() {
                    if part.owner.image().is_some() {
                        let Some(image) = images.get(index) else { unreachable!("images are read by their index") };
                        return self.add_image(part, image, kernels);
                    }
                    self.add_part(part);
                }
            });
        }
        for part in left {
            self.add_part(part);
        }
    }

    fn bodies(&self) -> Bodies {
        if self.options.duplicates { Bodies::Hash } else { Bodies::Skip }
    }

    fn add_part(&mut self, part: &Part<'_>) {
        self.sizes.tree.add(self.labels.path(&self.options.levels, &part.owner, ImagePlace::default()), part.size);
    }

    /// Adds the bytes of an image by kernel.
    fn add_image(&mut self, part: &Part<'_>, nested: &NestedImage<'_>, read: ImageContents) {
        let ImageContents { kernels, sections, image_size, problems } = read;
        self.sizes.problems.extend(problems);
        if let Some(sections) = &sections {
            for (section, size) in size::split_by_section(part, sections, image_size) {
                let place = ImagePlace { section, kernel: None };
                self.sizes.tree.add(self.labels.path(&self.options.levels, &part.owner, place), size);
            }
        }
        let arch = nested.image.arch_and_form();
        if let Some(hash) = nested.image.sha256
            && self.options.duplicates
        {
            self.sizes.images.add(hash, &arch, &self.labels.file.path, nested.index, part.size);
        }
        let place = size::container_label(&nested.containers);
        let unit = nested.containers.first().and_then(|container| container.offset).unwrap_or_default();
        for share in size::split(part, &kernels, image_size) {
            let name = share.kernel.map(|kernel| kernel.demangled.as_ref().unwrap_or(&kernel.name).as_str());
            let code = share.kernel.map(|kernel| Code { kernels: 1, size: kernel.code_size }).unwrap_or_default();
            if sections.is_none() {
                let place = ImagePlace { kernel: name, section: None };
                self.sizes.tree.add_code(self.labels.path(&self.options.levels, &part.owner, place), share.size, code);
            }
            if let (Some(kernel), Some(shown), true) = (share.kernel, name, self.options.duplicates) {
                let name = &kernel.name;
                let body = kernel.body;
                let size = share.size;
                self.copies.add(&KernelCopy { name, shown, arch: &arch, place: &place, unit, body, size });
            }
        }
    }
}

/// Kernels and sections of an image.
struct ImageContents {
    kernels: Vec<KernelBytes>,
    /// Names and sizes; `None` if the bytes are not grouped by section.
    sections: Option<Vec<(String, u64)>>,
    /// Size of the decompressed image.
    image_size: u64,
    /// Errors of the image.
    problems: Vec<Error>,
}

fn contents_of_image(path: &str, image: &ImageRef<'_>, bodies: Bodies, by_section: bool) -> ImageContents {
    let mut kernels = Vec::new();
    let mut image_size = 0;
    let mut sections = by_section.then(Vec::new);
    let inspection = inspect_with(image, |kind, view, demangler| {
        sections = by_section.then(|| section_bytes(kind, view));
        let (found, inspection) = kernel_bytes(kind, view, bodies, demangler);
        (kernels, image_size) = (found, view.size());
        inspection
    });
    let problems = inspection.problems.into_iter();
    let problems = problems.map(|problem| image_error(path, image.index(), image, problem));
    ImageContents { kernels, sections, image_size, problems: problems.collect() }
}

/// Returns the names of source files that CUDA fat binaries state, by the offset of the outermost container.
fn source_names(file: &File, view: View<'_>) -> Vec<(u64, String)> {
    let name = |container: &Container| {
        let offset = container.offset?;
        let fatbin = CudaFatbin::read(view.part("container", Extent { offset, size: container.size }).ok()?).ok()?;
        let identifier = fatbin.entries.iter().find_map(|entry| entry.identifier)?;
        Some((offset, String::from_utf8_lossy(identifier.data()).into_owned()))
    };
    file.containers.iter().filter_map(name).collect()
}
