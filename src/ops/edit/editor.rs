//! Changes to the device images of files in memory.

use super::replace::{ImageSelector, NewImage, Replace};
use super::transcode::{ContainerForm, Transcoding};
use super::{ApplyOptions, ArchName, EditError, FileEdit, ImageFate, KeepPtx, Prune, apply_in_memory};
use crate::analyze::select::NamedDevice;
use crate::embed::ProducerError;
use fatbin_core::base::bytes::Limits;
use fatbin_core::base::io::{Access, Input};

/// Changes the device images of a file, like the commands `prune`, `transcode` and `replace`, and returns its new bytes.
/// The file is a host file, a container, a static library or a wheel. All other bytes stay as they are, and the result
/// is scanned and compared with the file before it is returned.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// use fatbin::{ContainerForm, Editor, Input, embed::CudaFatbinBuilder};
///
/// let mut builder = CudaFatbinBuilder::new();
/// builder.image(Input::from_bytes("answer", std::fs::read("fixtures/answer-sm_90.cubin")?));
/// let plain = builder.build()?;
/// let smaller = Editor::new().transcode(Input::from_bytes("fat", plain.clone()), &[ContainerForm::Zstd])?;
/// assert!(smaller.len() < plain.len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Editor {
    /// Cuts free bytes out of linked files, if nothing depends on the offsets of the bytes after them.
    pub shrink: bool,
    /// Changes signed files, and removes their signatures.
    pub break_signatures: bool,
    /// Level of compression in [`transcode`](Self::transcode); by default the level of the tools that write such
    /// containers, and stronger ones only if the result would not fit.
    pub level: Option<i32>,
    /// Compresses with the strongest levels in [`transcode`](Self::transcode), and takes the smallest result. `level`
    /// precedes.
    pub best: bool,
}

impl Editor {
    /// Begins with the defaults of the commands.
    pub fn new() -> Self {
        Editor::default()
    }

    /// Drops the images that no runtime selects on these devices, such as `H100`, `sm_90` or `gfx90a:xnack+`.
    pub fn prune(&self, file: Input, devices: &[&str]) -> Result<Vec<u8>, ProducerError> {
        let devices = devices.iter().map(|name| NamedDevice::parse(name)).collect::<Result<Vec<_>, _>>();
        let devices = devices.map_err(ProducerError::refused)?;
        self.keep(file, &Prune::ForDevices(devices, KeepPtx::Newest))
    }

    /// Drops the images for these processors, such as `gfx90a`, or `compute_80` for PTX alone.
    pub fn drop_archs(&self, file: Input, archs: &[&str]) -> Result<Vec<u8>, ProducerError> {
        self.keep(file, &Prune::Drop(archs.iter().map(|arch| ArchName::new(arch)).collect()))
    }

    /// Gives containers other forms, at most one for each type. Other containers stay as they are.
    pub fn transcode(&self, file: Input, forms: &[ContainerForm]) -> Result<Vec<u8>, ProducerError> {
        let transcoding = Transcoding::of_forms(forms).map_err(ProducerError::refused)?;
        let transcoding = transcoding.at(self.level, self.best).map_err(ProducerError::refused)?;
        Ok(self.apply(file, &transcoding)?.0)
    }

    /// Replaces images, by their index among the device images of the file, with images for the same targets.
    pub fn replace(&self, file: Input, images: &[(usize, Input)]) -> Result<Vec<u8>, ProducerError> {
        let new = images.iter().map(|(index, image)| NewImage::read(ImageSelector::Index(*index), image));
        let images = new.collect::<Result<Vec<_>, _>>()?;
        let transcoding = Transcoding::of_forms(&[]).map_err(ProducerError::refused)?;
        let replace = Replace { images, allow_other_target: false, transcoding };
        let (bytes, _) = self.apply(file, &replace)?;
        replace.check_found()?;
        Ok(bytes)
    }

    fn keep(&self, file: Input, prune: &Prune) -> Result<Vec<u8>, ProducerError> {
        let path = file.path().to_owned();
        let (bytes, fates) = self.apply(file, prune)?;
        if fates.iter().all(|fate| *fate == ImageFate::Dropped) {
            return Err(ProducerError::refused(format!("{}: nothing would be left", path.display())));
        }
        Ok(bytes)
    }

    /// Returns the new bytes, and what became of the images.
    fn apply(&self, file: Input, rule: &dyn FileEdit) -> Result<(Vec<u8>, Vec<ImageFate>), ProducerError> {
        let path = file.path().to_owned();
        let options = ApplyOptions {
            limits: Limits::default(),
            access: Access::read(),
            holes: false,
            shrinks: self.shrink,
            breaks_signatures: self.break_signatures,
            in_place: false,
        };
        let mut fates = Vec::new();
        let bytes = apply_in_memory(file, rule, options, &mut |edited| fates.extend(&edited.edited.fates))?;
        Ok((bytes.ok_or(ProducerError::NoImages { path })?, fates))
    }
}

#[doc(hidden)]
impl From<EditError> for ProducerError {
    fn from(error: EditError) -> Self {
        match error {
            EditError::File(error) => ProducerError::File(error),
            EditError::InFile { path, cause } => match *cause {
                EditError::NoRoom { offset, needed, room } => ProducerError::NoRoom { path, offset, needed, room },
                cause => ProducerError::refused(cause.in_file(&path)),
            },
            error => ProducerError::refused(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::OffloadBinaryBuilder;
    use fatbin_core::scan::Scan;
    use fatbin_core::target::OffloadKind;

    const CUBIN: &[u8] = include_bytes!("../../../fixtures/answer-sm_90.cubin");
    const DEBUG: &[u8] = include_bytes!("../../../fixtures/answer-sm_90-debug.cubin");
    const HSACO: &[u8] = include_bytes!("../../../fixtures/answer-gfx90a.hsaco");

    fn packed() -> Input {
        let mut builder = OffloadBinaryBuilder::new();
        builder.image(OffloadKind::Hip, Input::from_bytes("hip", HSACO));
        builder.image(OffloadKind::Cuda, Input::from_bytes("cuda", CUBIN));
        Input::from_bytes("packed", builder.build().unwrap())
    }

    fn images(bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let input = Input::from_bytes("output", bytes);
        Scan::new(&input).unwrap().images().map(|image| image.bytes().unwrap().to_vec()).collect()
    }

    #[test]
    fn prune_keeps_what_the_devices_run() {
        assert_eq!(images(Editor::new().prune(packed(), &["H100"]).unwrap()), [CUBIN]);
        assert_eq!(images(Editor::new().drop_archs(packed(), &["sm_90"]).unwrap()), [HSACO]);
        assert!(matches!(Editor::new().prune(packed(), &["sm_999x"]), Err(ProducerError::Refused(_))));
        assert!(matches!(Editor::new().drop_archs(packed(), &["sm_90", "gfx90a"]), Err(ProducerError::Refused(_))));
        let text = Input::from_bytes("text", *b"text");
        assert!(matches!(Editor::new().prune(text, &["H100"]), Err(ProducerError::NoImages { .. })));
    }

    #[test]
    fn replace_and_transcode_change_nothing_else() {
        let replaced = Editor::new().replace(packed(), &[(1, Input::from_bytes("new", DEBUG))]).unwrap();
        assert_eq!(images(replaced), [HSACO, DEBUG]);
        let smaller = Editor::new().transcode(packed(), &[ContainerForm::V3, ContainerForm::Zstd]).unwrap();
        assert!(smaller.len() < packed().size() as usize);
        assert_eq!(images(smaller.clone()), [HSACO, CUBIN]);
        let smaller = smaller.len();
        for (place, image) in [(2, DEBUG), (0, DEBUG), (1, b"")] {
            let replaced = Editor::new().replace(packed(), &[(place, Input::from_bytes("new", image))]);
            assert!(matches!(replaced, Err(ProducerError::Refused(_))), "{place}");
        }
        let best =
            Editor { best: true, ..Editor::new() }.transcode(packed(), &[ContainerForm::V3, ContainerForm::Zstd]);
        assert!(best.unwrap().len() < smaller);
        for (level, form) in [(23, ContainerForm::Zstd), (10, ContainerForm::Zlib), (1, ContainerForm::None)] {
            let refused = Editor { level: Some(level), ..Editor::new() }.transcode(packed(), &[form]);
            assert!(matches!(refused, Err(ProducerError::Refused(_))), "{level}");
        }
        let twice = Editor::new().transcode(packed(), &[ContainerForm::V2, ContainerForm::V3]);
        assert!(matches!(twice, Err(ProducerError::Refused(_))));
    }
}
