//! `verify`: decompresses and inspects every device image, to find damaged ones.

use std::path::PathBuf;

use fatbin_core::base::bytes::View;
use fatbin_core::base::code::{Code, Coded, ErrorClass};
use fatbin_core::base::codec::{Codec, is_compressed};
use fatbin_core::base::error::{Error, Malformed, Result};
use fatbin_core::base::signature::code_signature;
use fatbin_core::format::kpack::KpackArchive;
use fatbin_core::format::{self, ContainerType, ImageKind};
use fatbin_core::image;
use fatbin_core::scan::image_error;
use fatbin_core::scan::inspect::ImageErrors;
use fatbin_core::scan::inventory::{Container, File, Image, OwnHeader, is_narrower};
use fatbin_core::scan::{ImageRef, ScannedFile, Source};

/// A defect of a device image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The file or the image cannot be read.
    #[error(transparent)]
    Input(#[from] Error),
    /// The image is not what its container states, or cannot be read at all.
    #[error("{}: image {number}: {why}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// Index of the image in the file.
        number: usize,
        /// The defect.
        why: String,
    },
}

impl Coded for VerifyError {
    fn class(&self) -> ErrorClass {
        match self {
            VerifyError::Input(error) => error.class(),
            VerifyError::Image { .. } => Code::DefectiveImage.into(),
        }
    }
}

/// Returns the defects of the device images in a file. Defects of containers, stored
/// hashes among them, are errors of the scan.
pub fn verify(scanned: &ScannedFile) -> Result<Vec<VerifyError>> {
    let mut defects = Vec::new();
    if scanned.file().device_images().next().is_none() && !scanned.file().lacks_its_code() {
        return Ok(defects);
    }
    let scan = scanned.open()?;
    let path = &scanned.file().path;
    let archive_defects = archive_defects(scanned.file(), scan.source().view());
    let signature_defects = signature_defects(scan.source().view());
    for defect in scanned.file().load_defects().chain(archive_defects).chain(signature_defects) {
        defects.push(defect.in_file(path.printed()).into());
    }
    let images: Vec<_> = scanned.file().nested_images().collect();
    let errors = ImageErrors::new(scanned.file());
    let verify = |_, image: &ImageRef<'_>| image_defects(path, image, &errors);
    scan.map_images(&images, verify, &mut |_, found| defects.extend(found));
    scan.source().input().check_unchanged()?;
    Ok(defects)
}

fn image_defects(path: &str, image: &ImageRef<'_>, errors: &ImageErrors<'_>) -> Vec<VerifyError> {
    let defect = |why| VerifyError::Image { path: path.into(), number: image.index(), why };
    let mut defects: Vec<VerifyError> = image.contradictions().map(contradiction).map(defect).collect();
    if image.is_scrambled() {
        return defects;
    }
    if image.codec == Some(Codec::Opaque) {
        defects.push(defect("compressed with an unknown codec".to_owned()));
        return defects;
    }
    let bytes = match image.read() {
        Ok(bytes) => bytes,
        Err(problem) => {
            defects.push(image_error(path, image.index(), image, problem).into());
            return defects;
        }
    };
    defects.extend(decompressed_contradiction(image, bytes.view()).map(defect));
    let problems = problems(image, bytes.view());
    defects.extend(errors.of(image.index(), image, problems).map(VerifyError::from));
    defects
}

fn contradiction((stated, own): (&str, &str)) -> String {
    format!("the container states {stated}, the image's own header {own}")
}

/// Returns how an image contradicts its container that only its decompressed bytes show, or, in an archive for AMD's
/// processors, that it is code for another machine.
fn decompressed_contradiction(image: &ImageRef<'_>, bytes: View<'_>) -> Option<String> {
    let Image { codec, image_kind, triple, arch, own_arch, .. } = &**image;
    if !matches!(image_kind, ImageKind::Elf | ImageKind::Ptx) || own_arch.is_some() {
        return None;
    }
    let is_entry = image.containers().last().is_some_and(|it| it.container_type == ContainerType::CudaFatbin);
    if is_compressed(*codec) {
        let own = OwnHeader::read(triple.as_deref(), arch.as_deref(), bytes);
        for (stated, own) in [(triple, own.triple), (arch, own.arch)] {
            if let (Some(stated), Some(own)) = (stated, own)
                && !(is_entry && *image_kind == ImageKind::Elf && is_narrower(stated, &own))
            {
                return Some(contradiction((stated, &own)));
            }
        }
    }
    if image.containers().last().is_none_or(|it| it.container_type != ContainerType::Kpack) {
        return None;
    }
    let own = format::DeviceImage::identify(bytes).triple?;
    let stated = triple.as_deref().filter(|stated| *stated != own)?;
    Some(contradiction((stated, &own)))
}

fn archive_defects(file: &File, view: View<'_>) -> Vec<Malformed> {
    let archives = file.containers.iter().filter(|container| container.container_type == ContainerType::Kpack);
    let read = |container: &Container| KpackArchive::read(view.from(container.offset?)).ok();
    archives.filter_map(read).flat_map(|archive| archive.defects()).collect()
}

/// Returns the pages of Mach-O files that their signatures do not fit.
fn signature_defects(view: View<'_>) -> Vec<Malformed> {
    let signatures = code_signature::signatures(view);
    signatures.iter().filter_map(|signature| signature.defect().unwrap_or_else(Some)).collect()
}

/// Returns the problems in the bytes of an image, and the defects that make its runtime refuse it.
fn problems(image: &Image, view: View<'_>) -> Vec<Malformed> {
    match format::check_elf(view) {
        Err(truncated) if image.image_kind == ImageKind::Elf => vec![truncated],
        _ => {
            let inspection = image::inspect_mangled(image.image_kind, view);
            let defects = inspection.load_defects(image.kind).to_vec();
            let mut problems: Vec<Malformed> = inspection.problems.into_iter().chain(defects).collect();
            if problems.is_empty() {
                problems.extend(format::check_image(image.image_kind, view).err());
            }
            problems
        }
    }
}
