//! LTO-IR and OptiX IR, which have one layout. LTO-IR is NVIDIA's intermediate representation for link-time optimization, the output of `nvcc -dlto -ltoir` and of
//! NVRTC.
//!
//! Layout: magic `ED 43 4E 7F`, versions, a list of properties, and a body that no public tool reads. All integers are
//! little-endian. Source: NVIDIA publishes nothing. Derived from the output of nvcc 13.5 and of NVRTC 12.8 and 13.5 for
//! twelve architectures. [`super::cuda_fatbin`] describes entries of fat binaries that hold such files.

use crate::base::bytes::{Cursor, View};
use crate::target::nvptx::{Arch, Suffix};

/// First bytes of a file.
pub const MAGIC: [u8; 4] = [0xed, 0x43, 0x4e, 0x7f];

/// +4: major and minor version, one byte each. A fat binary repeats them.
pub const VERSION_OFFSET: u64 = 4;

/// +12: offset of the properties, pairs of a number and a value of 16 bits each.
const PROPERTIES_OFFSET: u64 = 12;

/// Size of a property in bytes.
const PROPERTY_SIZE: u64 = 4;

/// +14: what the code is for, see [`NvvmForm`].
const FORM_OFFSET: u64 = 14;

/// Use of the code. Source: the output of nvcc 13.5.37 (`-ltoir`, `-optix-ir`) and of nvJitLink 13.5.37 (`-lto -ltoir`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NvvmForm {
    /// Linked by nvJitLink.
    Linked,
    /// Input of a device linker.
    ToLink,
    /// OptiX IR, which the OptiX library compiles.
    Optix,
    /// Unknown, or the file is truncated.
    Unknown,
}

/// Returns the form of a file that begins with [`MAGIC`].
pub fn form(view: View<'_>) -> NvvmForm {
    match view.u16("LTO-IR form", FORM_OFFSET) {
        Ok(0) => NvvmForm::Linked,
        Ok(1) => NvvmForm::ToLink,
        Ok(2) => NvvmForm::Optix,
        _ => NvvmForm::Unknown,
    }
}

/// Returns the version of a file that begins with [`MAGIC`]: 1.61 is CUDA 12.4, and 1.67 is CUDA 13.5.
pub fn version(view: View<'_>) -> Option<(u16, u16)> {
    let [major, minor] = view.u16("LTO-IR version", VERSION_OFFSET).ok()?.to_le_bytes();
    Some((major.into(), minor.into()))
}

/// +16: offset of a word that depends on the code alone. fatbinary copies the word into the entry of a scrambled file.
const WORD_OFFSET: u64 = 16;

/// Property: the number of the architecture times ten, 900 for `sm_90`.
const ARCH: u16 = 1;

/// Property: 1 for architecture-specific code, absent otherwise. No property marks the suffix `f`: the files for
/// `sm_100` and `sm_100f` are equal.
const SPECIFIC: u16 = 0x20;

/// Property that ends the list.
const END: u16 = 99;

/// Maximum number of properties that are read; files have three or four.
const MAX_PROPERTIES: u64 = 64;

/// Properties that a file states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LtoIr {
    /// Architecture of the code.
    pub arch: Option<Arch>,
    /// Word that fatbinary copies, see [`super::cuda_fatbin::EntryHeader::reserved`].
    pub word: Option<u32>,
}

impl LtoIr {
    /// Reads the properties of a file that begins with [`MAGIC`]. A damaged list has no architecture.
    pub fn read(view: View<'_>) -> Self {
        let word = view.u32("LTO-IR word offset", WORD_OFFSET).ok();
        let word = word.and_then(|offset| view.u32("LTO-IR word", offset.into()).ok());
        LtoIr { arch: arch(view), word }
    }
}

fn arch(view: View<'_>) -> Option<Arch> {
    let start = u64::from(view.u16("LTO-IR properties offset", PROPERTIES_OFFSET).ok()?);
    let mut properties = Cursor::new(view.from(start));
    let mut number = None;
    let mut suffix = None;
    for _ in 0..MAX_PROPERTIES {
        let property = properties.take("LTO-IR property", PROPERTY_SIZE).ok()?;
        match (property.u16("LTO-IR property", 0).ok()?, property.u16("LTO-IR property", 2).ok()?) {
            (END, _) => return Some(Arch { number: number?, suffix }),
            (ARCH, value) if value % 10 == 0 => number = Some(u32::from(value) / 10).filter(|&number| number != 0),
            (SPECIFIC, 1) => suffix = Some(Suffix::Specific),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First bytes of the output of nvcc 13.5 for `sm_90`, and of NVRTC 12.8 for `sm_100a`.
    const PLAIN: &[u8] =
        b"\xedCN\x7f\x01C\x02\x83\x03\x02\x07\0\x18\0\x01\0\x28\0\0\0\x2c\0\0\0\x01\0\x84\x03\x02\0\x02\0\
        c\0\0\0\0\0\0\0\x09\x87s\x07S\x88\xd7\x5b";
    const SPECIFIC: &[u8] = b"\xedCN\x7f\x01@\x02Y\x03\x02\x14\0\x18\0\x01\0,\0\0\x000\0\0\0\x01\0\xe8\x03\x02\0\x02\0\
        \x20\0\x01\0c\0\0\0\0\0\0\x005\x01Uq^p\xb2\xcb";

    fn read(bytes: &[u8]) -> (Option<String>, Option<u32>) {
        let LtoIr { arch, word } = LtoIr::read(View::new(bytes));
        (arch.map(|arch| arch.to_string()), word)
    }

    #[test]
    fn reads_architecture_and_word() {
        assert_eq!(read(PLAIN), (Some("sm_90".to_owned()), Some(0x0773_8709)));
        assert_eq!(read(SPECIFIC), (Some("sm_100a".to_owned()), Some(0x7155_0135)));
    }

    #[test]
    fn reads_version_and_form() {
        assert_eq!(version(View::new(PLAIN)), Some((1, 67)));
        let forms = [NvvmForm::Linked, NvvmForm::ToLink, NvvmForm::Optix, NvvmForm::Unknown];
        for (value, expected) in (0..).zip(forms) {
            let mut bytes = PLAIN.to_vec();
            bytes[14] = value;
            assert_eq!(form(View::new(&bytes)), expected);
        }
        assert_eq!(form(View::new(&PLAIN[..15])), NvvmForm::Unknown);
    }

    #[test]
    fn a_damaged_list_has_no_architecture() {
        // Offset of the list, number of the first property, its value, number of the last property.
        for (at, value) in [(12, 0xffff_u16), (12, 0x2c), (24, 7), (26, 901), (26, 0), (32, 98)] {
            let mut bytes = PLAIN.to_vec();
            bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
            assert_eq!(read(&bytes).0, None, "{value} at {at}");
        }
        for end in 4..36 {
            assert_eq!(read(&PLAIN[..end]).0, None, "{end}");
        }
        assert_eq!(read(&PLAIN[..47]), (Some("sm_90".to_owned()), Some(0x0773_8709)));
        assert_eq!(read(&PLAIN[..43]), (Some("sm_90".to_owned()), None));
    }
}
