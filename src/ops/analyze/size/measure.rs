//! `size`: the bytes of a file by the levels that a user asks for.

use crate::analyze::size::{
    self, Code, Duplicates, FileLabels, ImageCopies, ImagePlace, KernelCopies, KernelCopy, Level, Part, Tree,
};
use fatbin_core::base::bytes::{Extent, View};
use fatbin_core::base::error::{Error, Result};
use fatbin_core::format::cuda_fatbin::CudaFatbin;
use fatbin_core::image::{Bodies, ByteOptions, ImageBreakdown, KernelBytes, image_breakdown};
use fatbin_core::scan::image_error;
use fatbin_core::scan::inspect::inspect_with;
use fatbin_core::scan::inventory::{Container, DeviceLinks, File, NestedImage};
use fatbin_core::scan::{ImageRef, InputSlice, Scan, ScannedFile, Source};

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
        path: file.path.to_string(),
        size: file.own_size(),
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
            let images = parts.iter().filter_map(|part| part.owner.image());
            let images: Vec<NestedImage<'_>> = images.cloned().collect();
            let options = self.byte_options();
            let read = |_, image: &ImageRef<'_>| contents_of_image(path, image, options);
            scan.map_images(&images, read, &mut |index, read| {
                for part in left.by_ref() {
                    if part.owner.image().is_some() {
                        let Some(image) = images.get(index) else { unreachable!("images are read by their index") };
                        return self.add_image(part, image, read);
                    }
                    self.add_part(part);
                }
            });
        }
        for part in left {
            self.add_part(part);
        }
    }

    fn byte_options(&self) -> ByteOptions {
        let levels = &self.options.levels;
        ByteOptions {
            bodies: if self.options.duplicates { Bodies::Hash } else { Bodies::Skip },
            by_kernel: levels.iter().any(|level| level.needs_kernels()),
            by_category: levels.iter().any(|level| level.needs_categories()),
        }
    }

    fn add_part(&mut self, part: &Part<'_>) {
        self.sizes.tree.add(self.labels.path(&self.options.levels, &part.owner, ImagePlace::default()), part.size);
    }

    /// Adds the bytes of an image by kernel, category and section.
    fn add_image(&mut self, part: &Part<'_>, nested: &NestedImage<'_>, read: ImageContents) {
        let ImageContents { breakdown, image_size, problems } = read;
        self.sizes.problems.extend(problems);
        let ImageBreakdown { kernels, sections, mut owners } = breakdown;
        if owners.is_empty() {
            owners.push(Default::default());
        }
        let sizes: Vec<u64> = owners.iter().map(|(_, size)| *size).collect();
        let mut counted = None;
        for ((owner, _), size) in owners.into_iter().zip(size::split(part, &sizes)) {
            let kernel = owner.kernel.and_then(|number| kernels.get(number));
            let section = owner.section.and_then(|number| sections.get(number)).map(String::as_str);
            let place = ImagePlace { kernel: kernel.map(KernelBytes::shown), section, category: owner.category };
            // Its code is the first of the bytes of a kernel.
            let is_first = owner.kernel != std::mem::replace(&mut counted, owner.kernel);
            let code = match kernel {
                Some(kernel) if is_first => Code { kernels: 1, size: kernel.code_size },
                _ => Code::default(),
            };
            self.sizes.tree.add_code(self.labels.path(&self.options.levels, &part.owner, place), size, code);
        }
        if self.options.duplicates {
            self.add_copies(part, nested, &kernels, image_size);
        }
    }

    /// Adds an image and its kernels to what may be stored several times.
    fn add_copies(&mut self, part: &Part<'_>, nested: &NestedImage<'_>, kernels: &[KernelBytes], image_size: u64) {
        let arch = nested.image.arch_and_form();
        if let Some(hash) = nested.image.sha256 {
            self.sizes.images.add(hash, &arch, &self.labels.file.path, nested.index, part.size);
        }
        let place = size::container_label(&nested.containers);
        let unit = nested.containers.first().and_then(|container| container.offset).unwrap_or_default();
        for (kernel, size) in kernels.iter().zip(size::split_by_kernel(part, kernels, image_size)) {
            let KernelBytes { name, body, .. } = kernel;
            let shown = kernel.shown();
            self.copies.add(&KernelCopy { name, shown, arch: &arch, place: &place, unit, body: *body, size });
        }
    }
}

/// The bytes of an image.
struct ImageContents {
    breakdown: ImageBreakdown,
    /// Size of the decompressed image.
    image_size: u64,
    /// Errors of the image.
    problems: Vec<Error>,
}

fn contents_of_image(path: &str, image: &ImageRef<'_>, options: ByteOptions) -> ImageContents {
    let mut breakdown = ImageBreakdown::default();
    let mut image_size = 0;
    let inspection = inspect_with(image, |kind, view, demangler| {
        let (found, inspection) = image_breakdown(kind, view, options, demangler);
        (breakdown, image_size) = (found, view.size());
        inspection
    });
    let problems = inspection.problems.into_iter();
    let problems = problems.map(|problem| image_error(path, image.index(), image, problem));
    ImageContents { breakdown, image_size, problems: problems.collect() }
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
