//! AOTriton's storage of kernels: a header, and a directory with the code objects of one function in an xz stream.
//!
//! The entries of the directory have sizes that depend on their names, and the code objects follow the last entry. A kernel
//! that could not be compiled has no bytes. Source: ROCm/aotriton, `python/aks2.py` and `v3src/packed_kernel.cc`.

use std::io::{self, Write};

use super::{charge_name, packed};
use crate::base::archive::{Member, MemberContent};
use crate::base::bytes::{Cursor, Extent, Resource, View};
use crate::base::codec::window::{XzFormat, xz_decoder};
use crate::base::error::{Cause, Malformed};

/// First bytes of a file.
const MAGIC: &[u8] = b"AKS2";

/// Offsets in the header: decompressed size, number of kernels, and size of the directory.
const SIZE: u64 = 4;
const COUNT: u64 = 8;
const DIRECTORY: u64 = 12;
/// Size of the header.
const HEADER: u64 = 16;

/// First bytes of an xz stream.
const XZ: &[u8] = b"\xfd7zXZ\0";

/// Returns whether the file begins like a storage.
pub fn is_aks2(view: View<'_>) -> bool {
    view.starts_with(MAGIC) && view.size() >= HEADER
}

/// Adds the code objects of a decompressed storage, or the decompressed form of a storage, which has the same header.
pub fn members<'data>(view: View<'data>, members: &mut Vec<Member<'data>>) -> Result<(), Malformed> {
    let stored = view.from(HEADER);
    if stored.starts_with(XZ) {
        let size = view.u32("AKS2 size", SIZE)?.into();
        members.push(packed(None, Box::new(move |to| unpack(view, size, to))));
        return Ok(());
    }
    let size = view.u32("AKS2 size", SIZE)?.into();
    let stored = stored.prefix(view.field("AKS2 size", SIZE), size)?;
    let directory = view.u32("AKS2 directory size", DIRECTORY)?.into();
    let mut entries = Cursor::new(stored.prefix(view.field("AKS2 directory size", DIRECTORY), directory)?);
    for _ in 0..view.u32("AKS2 kernel count", COUNT)? {
        view.charge("AKS2 entry", Resource::Work, 1)?;
        let (name, code) = entry(&mut entries, stored.from(directory))?;
        if code.size() > 0 {
            charge_name(view, name)?;
            let name = Some(name.to_owned());
            members.push(Member::new(name, MemberContent::Here(code)));
        }
    }
    Ok(())
}

/// Reads an entry of the directory: shared memory, threads, offset, size, size of the name, and the name with a NUL.
fn entry<'data>(entries: &mut Cursor<'data>, code: View<'data>) -> Result<(&'data str, View<'data>), Malformed> {
    entries.take("AKS2 entry", 8)?;
    let place = entries.field("AKS2 image offset");
    let extent = entries.take("AKS2 entry", 8)?;
    let offset = extent.u32("AKS2 image offset", 0)?.into();
    let size = extent.u32("AKS2 image size", 4)?.into();
    let field = entries.field("AKS2 name size");
    let length = entries.take("AKS2 entry", 4)?.u32("AKS2 name size", 0)?;
    let name = entries.take_stated(field, length.into())?;
    Ok((name.c_string("AKS2 name", 0)?, code.part(place, Extent { offset, size })?))
}

/// Writes the header and the decompressed bytes, whose number the header states.
fn unpack(view: View<'_>, size: u64, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(view.data().get(..HEADER as usize).unwrap_or_default())?;
    let written = io::copy(&mut xz_decoder(view.from(HEADER).data(), view, XzFormat::OneXz)?, to)?;
    if written == size {
        return Ok(());
    }
    Err(io::Error::other(Cause::Described(format!("{written} bytes decompressed, {size} stated"))))
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Read;

    use liblzma::bufread::XzEncoder;

    use super::*;
    use crate::format::kernel_store::members;

    /// Writes a storage in its stored and its decompressed form.
    pub fn storage(kernels: &[(&str, &[u8])]) -> [Vec<u8>; 2] {
        let mut directory = Vec::new();
        let mut code = Vec::new();
        for (name, bytes) in kernels {
            for number in [64, 256, code.len(), bytes.len(), name.len() + 1] {
                directory.extend_from_slice(&(number as u32).to_le_bytes());
            }
            directory.extend_from_slice(format!("{name}\0").as_bytes());
            code.extend_from_slice(bytes);
        }
        let mut header = MAGIC.to_vec();
        for number in [directory.len() + code.len(), kernels.len(), directory.len()] {
            header.extend_from_slice(&(number as u32).to_le_bytes());
        }
        let full = [directory, code].concat();
        let mut stored = Vec::new();
        XzEncoder::new(&full[..], 6).read_to_end(&mut stored).unwrap();
        [[&header[..], &stored].concat(), [&header[..], &full].concat()]
    }

    const KERNELS: [(&str, &[u8]); 3] =
        [("one.hsaco", b"\x7fELF one"), ("failed.hsaco", b""), ("two.hsaco", b"\x7fELF two")];

    #[test]
    fn kernels_are_members_of_the_decompressed_form() {
        let [stored, full] = storage(&KERNELS);
        let found = members(View::new(&stored)).unwrap();
        assert_eq!(found.defect, None);
        let [Member { name: None, content: MemberContent::Packed(_), .. }] = &found.members[..] else {
            panic!("{found:?}")
        };
        let mut unpacked = Vec::new();
        let MemberContent::Packed(unpack) = found.members.into_iter().next().unwrap().content else { panic!() };
        unpack(&mut unpacked).unwrap();
        assert_eq!(unpacked, full);
        let found = members(View::new(&full)).unwrap();
        assert_eq!(found.defect, None);
        let seen = found.members.iter().map(|member| match &member.content {
            MemberContent::Here(view) => (member.name.as_deref().unwrap(), view.data()),
            other => panic!("{other:?}"),
        });
        assert!(seen.eq(KERNELS.into_iter().filter(|(_, bytes)| !bytes.is_empty())));
    }

    #[test]
    fn every_truncated_storage_is_an_error() {
        let [stored, full] = storage(&KERNELS);
        for end in HEADER as usize..full.len() {
            assert!(members(View::new(&full[..end])).unwrap().defect.is_some(), "{end}");
        }
        for end in HEADER as usize + XZ.len()..stored.len() {
            let cut = &stored[..end];
            let MemberContent::Packed(unpack) = members(View::new(cut)).unwrap().members.remove(0).content else {
                panic!()
            };
            assert!(unpack(&mut io::sink()).is_err(), "{end}");
        }
    }

    #[test]
    fn hostile_fields_are_errors_with_their_place() {
        let [stored, full] = storage(&KERNELS);
        let cases = [
            (4, u32::MAX, "AKS2 size"),
            (8, u32::MAX, "AKS2 entry"),
            (12, u32::MAX, "AKS2 directory size"),
            (12, 8, "AKS2 entry"),
            (16 + 8, u32::MAX, "AKS2 image offset"),
            (16 + 12, u32::MAX, "AKS2 image offset"),
            (16 + 16, u32::MAX, "AKS2 name size"),
            (16 + 16, 9, "AKS2 name"),
        ];
        for (at, value, field) in cases {
            let mut bytes = full.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert_eq!(members(View::new(&bytes)).unwrap().defect.unwrap().field, field, "{at} {value}");
        }
        let mut bytes = stored;
        bytes[4] ^= 1;
        let MemberContent::Packed(unpack) = members(View::new(&bytes)).unwrap().members.remove(0).content else {
            panic!()
        };
        assert!(unpack(&mut io::sink()).unwrap_err().to_string().contains("stated"));
    }
}
