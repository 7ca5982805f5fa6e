//! Addresses of images: for people and for ROCm's tools.
//!
//! People write `torch.whl!torch/lib/libtorch_cuda.so!.nv_fatbin+0x10`. Each `!` enters an archive or a section. The
//! offset counts from the start of the section, so it does not change when data before the section grows. ROCm's
//! debugger, profilers and roc-obj-extract write `file://libfoo.so#offset=4096&size=3456`. This offset counts from the
//! start of the file on disk. Source of the URI: AMDGPU usage document of LLVM, section Loaded Code Object Path Uniform
//! Resource Identifier.

use std::fmt::{self, Write};
use std::path::PathBuf;

use super::{Container, File, Image};
use crate::base::file_path::FilePath;
use crate::base::io::FileUri;

/// Location of a file's bytes in a file on disk that stores them unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskLocation {
    /// Path as the user specified it.
    pub path: PathBuf,
    /// Offset of the scanned file in the file on disk, in bytes: 0 unless it is a member of an archive.
    pub offset: u64,
}

/// Address of an image, for people. It prints as `PATH!SECTION+0xOFFSET`, or `PATH+0xOFFSET` if the section has no
/// name. An image in a compressed container has the address of the container, followed by `!` and the index of the
/// image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address<'a> {
    /// Path of the file.
    pub path: &'a FilePath,
    /// Name of the section.
    pub section: Option<&'a str>,
    /// Offset from the start of the section, or of the file if there is none, in bytes.
    pub offset: u64,
    /// Index among the images of a compressed container.
    pub number: Option<usize>,
}

impl fmt::Display for Address<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.path)?;
        if let Some(section) = self.section {
            write!(formatter, "!{section}")?;
        }
        write!(formatter, "+{:#x}", self.offset)?;
        self.number.map_or(Ok(()), |number| write!(formatter, "!{number}"))
    }
}

impl File {
    /// Addresses of the device images, in the order of [`File::device_images`].
    #[doc(hidden)]
    pub fn addresses(&self) -> impl Iterator<Item = Address<'_>> {
        self.containers.iter().flat_map(|container| {
            let images =
                container.images().enumerate().filter(|(_, image)| image.is_device_image() && !image.is_left_out);
            images.map(|(number, image)| match image.offset {
                Some(offset) => self.address(container, offset),
                None => {
                    Address { number: Some(number), ..self.address(container, container.offset.unwrap_or_default()) }
                }
            })
        })
    }

    /// Address of `offset`, which is in this container.
    #[doc(hidden)]
    pub fn address<'a>(&'a self, container: &'a Container, offset: u64) -> Address<'a> {
        let section = container.section.as_ref();
        let in_section = section.and_then(|section| Some((&*section.name, offset.checked_sub(section.offset)?)));
        let (section, offset) = in_section.map_or((None, offset), |(name, offset)| (Some(name), offset));
        Address { path: &self.path, section, offset, number: None }
    }
}

/// Capacity for a URI with a path of usual length. A text that grows moves several times.
const URI_SIZE: usize = 160;

impl File {
    /// URI of a range of the file, as ROCm's tools write it; `None` if no file on disk stores the bytes unchanged.
    #[doc(hidden)]
    pub fn uri(&self, offset: u64, size: u64) -> Option<String> {
        let DiskLocation { path, offset: start } = self.on_disk.as_ref()?;
        let range = Some((start.checked_add(offset)?, size));
        let mut text = String::with_capacity(URI_SIZE);
        write!(text, "{}", FileUri { path: path.clone(), range }).ok().map(|()| text)
    }

    /// URI of an image, as ROCm's tools write it.
    pub fn image_uri(&self, image: &Image) -> Option<String> {
        self.uri(image.offset?, image.size?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ContainerType;
    use crate::scan::inventory::{Registration, SectionRef};
    use crate::target::OffloadKind;

    fn file(section: Option<SectionRef>, offsets: &[Option<u64>]) -> File {
        let image = |&offset| Image { offset, size: Some(3456), ..Image::default() };
        let mut images: Vec<Image> = offsets.iter().map(image).collect();
        images.insert(0, Image { kind: Some(OffloadKind::Host), ..Image::default() });
        let container_type = ContainerType::Bundle;
        let container = Container {
            container_type,
            version: None,
            section,
            offset: Some(0x1000),
            size: 8,
            codec: None,
            registration: Registration::default(),
            images,
            start: 0,
        };
        let on_disk = Some(DiskLocation { path: "a b/torch.whl".into(), offset: 100 });
        File { containers: vec![container], on_disk, ..File::empty(FilePath::parse("torch.whl!lib/x.so")) }
    }

    #[test]
    fn addresses_state_the_section_and_the_offset_in_it() {
        let section = || Some(SectionRef { name: ".nv_fatbin".to_owned(), offset: 0xff0 });
        let addresses = |file: File| file.addresses().map(|address| address.to_string()).collect::<Vec<_>>();
        assert_eq!(addresses(file(section(), &[Some(0x1000)])), ["torch.whl!lib/x.so!.nv_fatbin+0x10"]);
        assert_eq!(addresses(file(None, &[Some(0x1000)])), ["torch.whl!lib/x.so+0x1000"]);
        let inside = ["torch.whl!lib/x.so!.nv_fatbin+0x10!1", "torch.whl!lib/x.so!.nv_fatbin+0x10!2"];
        assert_eq!(addresses(file(section(), &[None, None])), inside);
    }

    #[test]
    fn uris_refer_to_the_file_on_disk_and_compressed_images_have_none() {
        let mut file = file(None, &[Some(0x1000), None]);
        let uris: Vec<_> = file.device_images().map(|image| file.image_uri(image)).collect();
        assert_eq!(uris, [Some("file://a%20b/torch.whl#offset=4196&size=3456".to_owned()), None]);
        file.on_disk = None;
        assert!(file.device_images().all(|image| file.image_uri(image).is_none()));
    }
}
