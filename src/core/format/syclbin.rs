//! SYCLBIN files of version 1: modules of SPIR-V and images of SYCL for devices, with properties.
//!
//! Layout: a header, headers of abstract modules, of SPIR-V modules and of device images, each of 32 bytes, property sets padded to
//! eight bytes, and the code. A property set is text: the name in brackets and lines `KEY=TYPE|VALUE`. A value of type 2 is base64
//! with the lowest six bits first; eight bytes with the number of bits precede the value. Version 2 is an offload binary. Source:
//! intel/llvm, `llvm/lib/Object/SYCLBIN.cpp`, `PropertySetIO.h` and `sycl/doc/design/PropertySets.md`.

use super::container_type::SYCLBIN_MAGIC;
use super::{ContainerType, ContainerView, ImageView};
use crate::base::bytes::{Extent, Resource, Table, View, record_memory, total};
use crate::base::error::{Cause, Malformed};
use crate::target::OffloadKind;

/// Fields of the header.
mod header {
    pub const VERSION: u64 = 4;
    /// Numbers of abstract modules, of SPIR-V modules and of device images.
    pub const COUNTS: [u64; 3] = [8, 12, 16];
    pub const METADATA_SIZE: u64 = 24;
    pub const CODE_SIZE: u64 = 32;
    pub const END: u64 = 56;
}

/// Size of the header of a module or image. It has four fields: offset and size of its property sets, and of its code.
const RECORD: u64 = 32;

/// Alignment of the code.
const ALIGNMENT: u64 = 8;

/// Size of the number of bits that precedes a value.
const BITS: usize = 8;

/// Reads the file at the view's start as a container.
pub fn container(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    if !view.starts_with(&SYCLBIN_MAGIC) {
        let value = view.u32("SYCLBIN magic", 0)?.into();
        return Err(view.malformed("SYCLBIN magic", 0, Cause::Unexpected { value, expected: "IBYS" }));
    }
    let version = view.u32("SYCLBIN version", header::VERSION)?;
    if version != 1 {
        let cause = Cause::UnsupportedVersion { value: version.into(), supported: "1" };
        return Err(view.malformed("SYCLBIN version", header::VERSION, cause));
    }
    let [modules, spirv, native] = header::COUNTS.map(|at| view.u32("SYCLBIN count", at).map(u64::from));
    let field = view.field("SYCLBIN count", header::COUNTS[0]);
    let abstract_modules = Table { offset: header::END, count: modules?, entry_size: RECORD }.extent();
    view.part(field, abstract_modules)?;
    let count = total([spirv?, native?]);
    let table = Table { offset: abstract_modules.end(), count, entry_size: RECORD };
    let records = view.table(view.field("SYCLBIN count", header::COUNTS[1]), table)?;
    let metadata_size = view.u64("SYCLBIN metadata size", header::METADATA_SIZE)?;
    let metadata = Extent { offset: table.extent().end(), size: metadata_size };
    let metadata = view.part(view.field("SYCLBIN metadata size", header::METADATA_SIZE), metadata)?;
    let code_size = view.u64("SYCLBIN code size", header::CODE_SIZE)?;
    let code = Extent { offset: metadata.range_in(view).end.next_multiple_of(ALIGNMENT), size: code_size };
    let code = view.part(view.field("SYCLBIN code size", header::CODE_SIZE), code)?;
    let mut images = Vec::new();
    for record in records {
        images.push(image(record, metadata, code)?);
    }
    super::reject_overlaps("SYCLBIN image", view, &images)?;
    let view = view.prefix("SYCLBIN code size", code.range_in(view).end)?;
    Ok(ContainerView::new(ContainerType::SyclBin, Some(version), view, images))
}

fn image<'data>(record: View<'_>, metadata: View<'data>, code: View<'data>) -> Result<ImageView<'data>, Malformed> {
    let extent = |at| -> Result<Extent, Malformed> {
        let record = record.from(at);
        Ok(Extent { offset: record.u64("SYCLBIN offset", 0)?, size: record.u64("SYCLBIN offset", 8)? })
    };
    let properties = metadata.string(record.field("SYCLBIN metadata offset", 0), extent(0)?)?;
    let code = code.part(record.field("SYCLBIN image offset", 16), extent(16)?)?;
    let [triple, arch] = ["target", "arch"].map(|key| text_property(properties, key));
    // Images may share property sets.
    let texts = [&triple, &arch].map(|text| text.as_ref().map_or(0, String::len));
    record.charge("SYCLBIN image", Resource::Memory, record_memory(size_of::<ImageView<'_>>(), texts))?;
    Ok(ImageView::new(code, Some(OffloadKind::Sycl), triple.as_deref(), arch.as_deref()))
}

/// Returns the text of a property; `None` if there is none, or other bytes.
fn text_property(properties: &str, key: &str) -> Option<String> {
    let value = properties.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix("=2|"))?;
    let bytes = decoded(value)?;
    let text = bytes.get(BITS..)?.split(|&byte| byte == 0).next()?;
    std::str::from_utf8(text).ok().map(str::to_owned)
}

/// Decodes base64 with the lowest bits first; `None` for other text.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    let mut count = 0_u32;
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter.checked_sub(b'A')?,
            b'a'..=b'z' => letter.checked_sub(b'a')?.checked_add(26)?,
            b'0'..=b'9' => letter.checked_sub(b'0')?.checked_add(52)?,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits |= u32::from(value).checked_shl(count)?;
        count = count.checked_add(6)?;
        if count >= 8 {
            bytes.push(bits as u8);
            bits >>= 8;
            count = count.checked_sub(8)?;
        }
    }
    Some(bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::format::ImageKind;

    fn encoded(bytes: &[u8]) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1)).collect();
        let sextet = |bits: &[u8]| bits.iter().rev().fold(0, |value, bit| value << 1 | usize::from(*bit));
        bits.chunks(6).map(|bits| char::from(LETTERS[sextet(bits)])).collect()
    }

    fn property(key: &str, value: &str) -> String {
        let bits = (value.len() as u64 * 8).to_le_bytes();
        format!("{key}=2|{}\n", encoded(&[&bits, value.as_bytes()].concat()))
    }

    /// Writes a file with one abstract module, as the sources describe it. Images with an arch are for a device.
    pub fn file(images: &[(&str, &str, &[u8])]) -> Vec<u8> {
        let (mut metadata, mut code, mut records) =
            (b"[SYCLBIN/global metadata]\nstate=1|0\n".to_vec(), vec![], vec![]);
        let global = metadata.len() as u64;
        for (triple, arch, bytes) in images {
            let own = if arch.is_empty() { "type=1|0\n".to_owned() } else { property("arch", arch) };
            let own = format!("[SYCLBIN/image]\n{own}{}", property("target", triple));
            for number in [metadata.len(), own.len(), code.len(), bytes.len()] {
                records.extend((number as u64).to_le_bytes());
            }
            metadata.extend(own.as_bytes());
            code.extend_from_slice(bytes);
        }
        let spirv = images.iter().filter(|image| image.1.is_empty()).count() as u32;
        let native = images.len() as u32 - spirv;
        let mut file = b"IBYS\x01\0\0\0".to_vec();
        file.extend([1, spirv, native, 0].map(u32::to_le_bytes).concat());
        file.extend([metadata.len() as u64, code.len() as u64, 0, global].map(u64::to_le_bytes).concat());
        file.extend([0_u64, global].map(u64::to_le_bytes).concat());
        file.extend([spirv, 0, native, 0].map(u32::to_le_bytes).concat());
        metadata
            .resize((file.len() + records.len() + metadata.len()).next_multiple_of(8) - file.len() - records.len(), 0);
        [file, records, metadata, code].concat()
    }

    const IMAGES: [(&str, &str, &[u8]); 3] = [
        ("spir64-unknown-unknown", "", b"\x03\x02\x23\x07 and the words of a module"),
        ("spir64_gen-unknown-unknown", "intel_gpu_pvc", b"odd"),
        ("spir64_gen-unknown-unknown", "intel_gpu_dg2_g10", b"image"),
    ];

    #[test]
    fn reads_modules_and_images_with_their_targets() {
        let bytes = file(&IMAGES);
        let followed = [&bytes[..], b"what follows"].concat();
        let container = container(View::new(&followed)).unwrap();
        assert_eq!((container.version, container.view.size()), (Some(1), bytes.len() as u64));
        let seen: Vec<_> = container
            .images()
            .iter()
            .map(|it| (it.triple.as_deref().unwrap(), it.arch.as_deref().unwrap_or_default(), it.view.data()))
            .collect();
        assert_eq!(seen, IMAGES);
        assert_eq!(container.images()[0].image_kind, ImageKind::SpirV);
        // An example of intel/llvm's property sets: 96 bits, three numbers.
        let example = decoded("gBAAAAAAAAQAAAAAIAAAAAAABAAAAA").unwrap();
        assert_eq!(example[..8], 96_u64.to_le_bytes());
        assert_eq!(decoded("a=b"), None);
    }

    #[test]
    fn every_truncated_file_is_an_error() {
        let bytes = file(&IMAGES);
        for end in 4..bytes.len() {
            container(View::new(&bytes[..end])).unwrap_err();
        }
    }

    #[test]
    fn hostile_fields_are_errors_with_their_place() {
        let bytes = file(&IMAGES);
        let records = 56 + 32;
        let cases: [(usize, u64, &str); 10] = [
            (0, 0, "SYCLBIN magic"),
            (4, 2, "SYCLBIN version"),
            (8, u64::MAX, "SYCLBIN count"),
            (12, u64::MAX, "SYCLBIN count"),
            (24, u64::MAX, "SYCLBIN metadata size"),
            (32, u64::MAX, "SYCLBIN code size"),
            (records, u64::MAX, "SYCLBIN metadata offset"),
            (records + 16, u64::MAX, "SYCLBIN image offset"),
            (records + 24, 1 << 40, "SYCLBIN image offset"),
            (records + 32 + 16, 0, "SYCLBIN image"),
        ];
        for (at, value, field) in cases {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            assert_eq!(container(View::new(&bytes)).unwrap_err().field, field, "{at}");
        }
    }
}
