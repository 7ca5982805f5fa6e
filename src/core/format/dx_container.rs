//! Containers of DirectX shaders: DXIL, or the bytecode before it.
//!
//! Layout: `DXBC`, a hash of 16 bytes, version 1.0, the size, the number of parts and their offsets. A part is a name of four
//! letters, its size and its data. `DXIL` holds LLVM bitcode; `SHDR` and `SHEX` hold bytecode up to shader model 5.1. Source: LLVM,
//! `docs/DirectX/DXContainer.rst` and `BinaryFormat/DXContainer.h`; wine, `dlls/vkd3d`.

use super::container_type::DX_CONTAINER_MAGIC;
use super::{ContainerType, ContainerView, ImageKind, ImageView};
use crate::base::bytes::{Extent, Resource, Table, View};
use crate::base::error::{Cause, Malformed};

/// Offsets of the fields of the header: version, size, number of parts, and the offsets of the parts.
const VERSION: u64 = 20;
const SIZE: u64 = 24;
const COUNT: u64 = 28;
const PARTS: u64 = 32;

/// Version 1.0: two numbers of two bytes.
const VERSION_1_0: u32 = 1;

/// Maximum number of parts. LLVM and DXC know fewer than 20.
const MAX_PARTS: u64 = 64;

/// Names of the parts with code. `ILDB` is DXIL with debug information.
const CODE: [(&[u8; 4], &str); 4] = [(b"DXIL", "dxil"), (b"ILDB", "dxil"), (b"SHEX", "dxbc"), (b"SHDR", "dxbc")];

/// Reads the container at the view's start as one image.
pub fn container(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    let unexpected = |field, at, value: u32, expected| {
        Err(view.malformed(field, at, Cause::Unexpected { value: value.into(), expected }))
    };
    if !view.starts_with(&DX_CONTAINER_MAGIC) {
        return unexpected("DirectX container magic", 0, view.u32("DirectX container magic", 0)?, "DXBC");
    }
    let version = view.u32("DirectX container version", VERSION)?;
    if version != VERSION_1_0 {
        return unexpected("DirectX container version", VERSION, version, "1.0");
    }
    let size = view.u32("DirectX container size", SIZE)?;
    let view = view.prefix(view.field("DirectX container size", SIZE), size.into())?;
    let count = view.u32("DirectX part count", COUNT)?;
    if count == 0 || u64::from(count) > MAX_PARTS {
        return unexpected("DirectX part count", COUNT, count, "1 to 64");
    }
    let form = form(view, Table { offset: PARTS, count: count.into(), entry_size: 4 })?;
    let image = ImageView {
        image_kind: ImageKind::DxContainer,
        strings: vec![("form", form)],
        ..ImageView::new(view, None, None, None)
    };
    Ok(ContainerView::new(ContainerType::DxContainer, None, view, vec![image]))
}

/// Checks all parts, and returns the form of the code.
fn form(view: View<'_>, table: Table) -> Result<&'static str, Malformed> {
    let mut form = None;
    let mut end = table.extent().end();
    for row in view.table(view.field("DirectX part count", COUNT), table)? {
        view.charge("DirectX part", Resource::Work, 1)?;
        let offset = u64::from(row.u32("DirectX part offset", 0)?);
        let field = row.field("DirectX part offset", 0);
        if offset < end {
            return Err(row.malformed("DirectX part offset", 0, Cause::Overlap { offset, end }));
        }
        let part = view.part(field, Extent { offset, size: 8 })?;
        let size = u64::from(part.u32("DirectX part size", 4)?);
        let data = view.from(offset).from(8).prefix(part.field("DirectX part size", 4), size)?;
        end = data.range_in(view).end;
        form = form.or(CODE.iter().find(|(name, _)| part.starts_with(*name)).map(|(_, form)| *form));
    }
    form.ok_or_else(|| view.malformed("DirectX container", 0, Cause::Described("no part with code".to_owned())))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Writes a container as the sources describe it.
    pub fn container_of(parts: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut at = PARTS as u32 + 4 * parts.len() as u32;
        let mut offsets = Vec::new();
        let mut data = Vec::new();
        for (name, bytes) in parts {
            offsets.extend(at.to_le_bytes());
            data.extend_from_slice(*name);
            data.extend((bytes.len() as u32).to_le_bytes());
            data.extend_from_slice(bytes);
            at += 8 + bytes.len() as u32;
        }
        let words = [VERSION_1_0, at, parts.len() as u32].map(u32::to_le_bytes).concat();
        [&b"DXBC"[..], &[7; 16], &words, &offsets, &data].concat()
    }

    const PARTS_OF_DXIL: [(&[u8; 4], &[u8]); 3] = [(b"SFI0", &[0; 8]), (b"ISG1", &[0; 8]), (b"DXIL", b"program")];

    #[test]
    fn containers_with_code_are_one_image() {
        for (name, form) in CODE {
            let bytes = container_of(&[(b"RDEF", b"abc"), (name, b"program")]);
            let followed = [&bytes[..], b"what follows"].concat();
            let container = container(View::new(&followed)).unwrap();
            let image = &container.images()[0];
            assert_eq!((image.view.data(), image.image_kind), (&bytes[..], ImageKind::DxContainer));
            assert_eq!((image.strings.as_slice(), container.view.size()), (&[("form", form)][..], bytes.len() as u64));
        }
    }

    #[test]
    fn truncated_and_hostile_containers_are_errors() {
        let bytes = container_of(&PARTS_OF_DXIL);
        for end in 4..bytes.len() {
            container(View::new(&bytes[..end])).unwrap_err();
        }
        let first = u32::from_le_bytes(bytes[32..36].try_into().unwrap());
        let cases = [
            (20, 2, "DirectX container version"),
            (24, u32::MAX, "DirectX container size"),
            (24, 31, "DirectX part count"),
            (28, 0, "DirectX part count"),
            (28, 65, "DirectX part count"),
            (32, u32::MAX, "DirectX part offset"),
            (32, 0, "DirectX part offset"),
            (36, first, "DirectX part offset"),
            (first as usize + 4, u32::MAX, "DirectX part size"),
        ];
        for (at, value, field) in cases {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert_eq!(container(View::new(&bytes)).unwrap_err().field, field, "{at}");
        }
        let without_code = container_of(&PARTS_OF_DXIL[..2]);
        assert_eq!(container(View::new(&without_code)).unwrap_err().field, "DirectX container");
    }
}
