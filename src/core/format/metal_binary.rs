//! Machine code for GPUs under macOS and iOS: Mach-O files of 64 bits. Apple does not document the code.
//!
//! Sources: `mach-o/loader.h`; Apple, `file_cmds`, `file/macho.c` for the types of processors; and the 10 files in the archives
//! of mps-flash-attn 0.6.3.

use crate::base::bytes::{Extent, Resource, View};
use crate::base::error::{Cause, Malformed};
use crate::target::metal::gpu_name;

/// First bytes of a Mach-O file of 64 bits.
const MACH_O: [u8; 4] = *b"\xcf\xfa\xed\xfe";

/// First bytes of machine code for Apple's GPUs: a Mach-O file, and its type of processor.
pub const APPLE_GPU: [u8; 8] = *b"\xcf\xfa\xed\xfe\x13\0\0\x01";
/// As above, for AMD's GPUs.
pub const AMD_GPU: [u8; 8] = *b"\xcf\xfa\xed\xfe\x14\0\0\x01";
/// As above, for Intel's GPUs.
pub const INTEL_GPU: [u8; 8] = *b"\xcf\xfa\xed\xfe\x15\0\0\x01";

/// Offsets in the header of a Mach-O file: type and subtype of the processor, number of load commands.
pub const PROCESSOR: u64 = 4;
const SUBTYPE: u64 = 8;
const COMMANDS: u64 = 16;
/// Size of the header.
const MACH_O_HEADER: u64 = 32;
/// Load command of a segment, and the offsets of its place in the file.
const SEGMENT: u32 = 0x19;
const SEGMENT_OFFSET: u64 = 40;
const SEGMENT_SIZE: u64 = 48;

/// Returns the name of the GPU of machine code.
pub fn gpu(view: View<'_>) -> Option<String> {
    processor(view).ok().and_then(|(processor, subtype)| gpu_name(processor, subtype))
}

/// Returns the type and the subtype of the processor.
pub fn processor(view: View<'_>) -> Result<(u32, u32), Malformed> {
    Ok((view.u32("Mach-O processor", PROCESSOR)?, view.u32("Mach-O processor", SUBTYPE)?))
}

/// Checks that the load commands and the segments of machine code lie inside of it.
pub fn check(view: View<'_>) -> Result<(), Malformed> {
    if !view.starts_with(&MACH_O) {
        let value = view.u32("Mach-O magic", 0)?.into();
        return Err(view.malformed("Mach-O magic", 0, Cause::Unexpected { value, expected: "cf fa ed fe" }));
    }
    let count = view.u32("Mach-O load command count", COMMANDS)?;
    let mut rest =
        view.record("Mach-O header", Extent { offset: 0, size: MACH_O_HEADER }).map(|_| view.from(MACH_O_HEADER))?;
    for _ in 0..count {
        view.charge("Mach-O load command", Resource::Work, 1)?;
        let kind = rest.u32("Mach-O load command", 0)?;
        let size = u64::from(rest.u32("Mach-O load command size", 4)?);
        if size < 8 {
            let cause = Cause::Unexpected { value: size, expected: "8 or more" };
            return Err(rest.malformed("Mach-O load command size", 4, cause));
        }
        let command = rest.prefix(rest.field("Mach-O load command size", 4), size)?;
        if kind == SEGMENT {
            let offset = command.u64("Mach-O segment offset", SEGMENT_OFFSET)?;
            let size = command.u64("Mach-O segment size", SEGMENT_SIZE)?;
            view.part(command.field("Mach-O segment offset", SEGMENT_OFFSET), Extent { offset, size })?;
        }
        rest = rest.from(size);
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns machine code for a GPU: a header, and a segment with the code.
    pub fn binary(subtype: u32, code: &[u8]) -> Vec<u8> {
        let mut bytes = APPLE_GPU.to_vec();
        for number in [subtype, 13, 1, 72, 0, 0, SEGMENT, 72] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(b"__TEXT\0\0\0\0\0\0\0\0\0\0");
        for number in [0, 0, 104, code.len() as u64, 0, 0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(code);
        bytes
    }

    #[test]
    fn every_truncated_binary_is_an_error() {
        let binary = binary(0x212, b"machine code");
        for end in 0..binary.len() {
            assert!(check(View::new(&binary[..end])).is_err(), "{end}");
        }
    }

    #[test]
    fn hostile_fields_are_errors_with_their_place() {
        let cases = [
            (16, u32::MAX, "Mach-O load command"),
            (36, 7, "Mach-O load command size"),
            (36, u32::MAX, "Mach-O load command size"),
            (72, u32::MAX, "Mach-O segment offset"),
        ];
        for (at, value, field) in cases {
            let mut bytes = binary(0x212, b"");
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert_eq!(check(View::new(&bytes)).unwrap_err().field, field, "{at}");
        }
    }
}
