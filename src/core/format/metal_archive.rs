//! Archives of compiled Metal pipelines: a Metal library and machine code for GPUs, as slices of a universal file.
//!
//! Layout: a magic, the number of slices, and a record of 20 bytes for each: type of the processor, its subtype, offset, size, and
//! the logarithm of the alignment. All numbers are big-endian. A slice for a GPU is a Mach-O file of 64 bits. Apple does not
//! document the format. Sources: Apple, `file_cmds`, `file/macho.c` (magic, types and subtypes); JuliaGPU/Metal.jl; and the 10
//! archives of mps-flash-attn 0.6.3.

use super::container_type::METAL_ARCHIVE_MAGIC;
use super::{ContainerType, ContainerView, ImageKind, ImageView, metal_binary};
use crate::base::bytes::{Cursor, Extent, Resource, Table, View};
use crate::base::error::{Cause, Malformed};

/// Largest number of slices. There is one for each family of GPUs.
const MAX_SLICES: u32 = 256;

/// Reads the archive at the start of a view that may extend beyond it. Slices follow each other.
pub fn container(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    let mut cursor = Cursor::new(view);
    let magic = cursor.take("Metal archive magic", METAL_ARCHIVE_MAGIC.len() as u64)?;
    if !magic.starts_with(&METAL_ARCHIVE_MAGIC) {
        return Err(unexpected(magic, "Metal archive magic", magic.u32("Metal archive magic", 0)?, "cb fe ba be"));
    }
    let field = cursor.rest();
    let count = big_endian(&mut cursor, "Metal archive slice count")?;
    if !(1..=MAX_SLICES).contains(&count) {
        return Err(unexpected(field, "Metal archive slice count", count, "1 to 256"));
    }
    let mut images = Vec::new();
    let records = view.from(cursor.at());
    let mut end = Table { offset: cursor.at(), count: count.into(), entry_size: RECORD }.extent().end();
    for _ in 0..count {
        view.charge("Metal archive slice", Resource::Work, 1)?;
        images.push(slice(view, &mut cursor, &mut end)?);
    }
    if images.iter().all(|image| image.image_kind == ImageKind::Unknown) {
        let value = big_endian(&mut Cursor::new(records), "Metal archive slice type")?;
        return Err(unexpected(records, "Metal archive slice type", value, "a GPU or AIR"));
    }
    let view = view.prefix("Metal archive", end)?;
    Ok(ContainerView::new(ContainerType::MetalArchive, None, view, images))
}

/// Size of the record of a slice.
const RECORD: u64 = 20;

/// Reads the record of a slice, which follows the slice that ends at `end`.
fn slice<'data>(view: View<'data>, cursor: &mut Cursor<'data>, end: &mut u64) -> Result<ImageView<'data>, Malformed> {
    let record = cursor.rest();
    let stated = (big_endian(cursor, "Metal archive slice type")?, big_endian(cursor, "Metal archive slice subtype")?);
    let place = cursor.field("Metal archive slice offset");
    let offset = u64::from(big_endian(cursor, "Metal archive slice offset")?);
    let size = u64::from(big_endian(cursor, "Metal archive slice size")?);
    big_endian(cursor, "Metal archive slice alignment")?;
    let slice = view.part(place, Extent { offset, size })?;
    if offset < *end {
        let cause = Cause::Overlap { offset, end: *end };
        return Err(record.malformed("Metal archive slice offset", 8, cause));
    }
    *end = slice.range_in(view).end;
    let image = ImageView::new(slice, None, None, None);
    if image.image_kind == ImageKind::MetalBinary && stated != metal_binary::processor(slice)? {
        let cause = Cause::Described("not the processor of the slice".to_owned());
        return Err(slice.malformed("Mach-O processor", metal_binary::PROCESSOR, cause));
    }
    Ok(image)
}

fn big_endian(cursor: &mut Cursor<'_>, name: &'static str) -> Result<u32, Malformed> {
    Ok(cursor.take(name, 4)?.u32(name, 0)?.swap_bytes())
}

fn unexpected(view: View<'_>, field: &'static str, value: u32, expected: &'static str) -> Malformed {
    view.malformed(field, 0, Cause::Unexpected { value: value.into(), expected })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::format::metal_binary::check;
    use crate::format::metal_binary::tests::binary;
    use crate::format::metal_library::tests::library;

    /// Returns an archive of slices with their types and subtypes.
    pub fn archive(slices: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let mut bytes = METAL_ARCHIVE_MAGIC.to_vec();
        bytes.extend_from_slice(&(slices.len() as u32).to_be_bytes());
        let mut at = 8 + RECORD as usize * slices.len();
        for &(kind, subtype, slice) in slices {
            for number in [kind, subtype, at as u32, slice.len() as u32, 0] {
                bytes.extend_from_slice(&number.to_be_bytes());
            }
            at += slice.len();
        }
        let code: Vec<u8> = slices.iter().flat_map(|(_, _, slice)| slice.iter().copied()).collect();
        [bytes, code].concat()
    }

    fn sample() -> Vec<u8> {
        let air = library(&[("add", 2, b"BC\xc0\xde")]);
        archive(&[(0x0100_0017, 12, &air), (0x0100_0013, 0x212, &binary(0x212, b"machine code"))])
    }

    #[test]
    fn slices_are_a_library_and_machine_code_for_a_gpu() {
        let bytes = sample();
        let followed = [&bytes[..], b"what follows"].concat();
        let container = container(View::new(&followed)).unwrap();
        assert_eq!(container.view.data(), bytes);
        let images = container.images().iter().map(|image| (image.image_kind, image.arch.as_deref()));
        let expected = [(ImageKind::MetalLibrary, Some("macos")), (ImageKind::MetalBinary, Some("applegpu_g13s"))];
        assert!(images.eq(expected));
        assert_eq!(check(container.images()[1].view), Ok(()));
    }

    #[test]
    fn every_truncated_archive_is_an_error() {
        let bytes = sample();
        for end in 0..bytes.len() {
            assert!(container(View::new(&bytes[..end])).is_err(), "{end}");
        }
    }

    #[test]
    fn hostile_fields_are_errors_with_their_place() {
        let bytes = sample();
        let second = 8 + RECORD as usize;
        let cases: [(usize, u32, &str); 8] = [
            (0, 0xcafe_babe, "Metal archive magic"),
            (4, 0, "Metal archive slice count"),
            (4, u32::MAX, "Metal archive slice count"),
            (4, 257, "Metal archive slice count"),
            (second, 0x0100_0014, "Mach-O processor"),
            (second + 4, 0x213, "Mach-O processor"),
            (second + 8, 8, "Metal archive slice offset"),
            (second + 12, u32::MAX, "Metal archive slice offset"),
        ];
        for (at, value, field) in cases {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
            assert_eq!(container(View::new(&bytes)).unwrap_err().field, field, "{at} {value:#x}");
        }
        let others = archive(&[(0x0100_000c, 0, b"code for a host")]);
        assert_eq!(container(View::new(&others)).unwrap_err().field, "Metal archive slice type");
    }
}
