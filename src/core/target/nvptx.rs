//! NVIDIA architectures, and their encoding in a cubin's ELF header and in PTX.
//!
//! NVIDIA's PTX ISA document describes the directives. The contents of cubins are not documented; the rules were
//! derived from more than ten thousand real cubins and from the output of ptxas 13.5 for every architecture that it
//! supports.

mod architectures;
mod releases;

use std::fmt;

use super::triple;

pub use architectures::ARCHITECTURES;
pub use architectures::{Capability, CapabilityMismatch, NUMBERS};
pub use releases::{CudaRelease, FIRST_DATED, NEWEST, OLDEST, architectures_of, first_release};

/// An architecture: `sm_90a` is number 90 with a suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arch {
    /// Compute capability times ten.
    pub number: u32,
    /// Suffix, if any.
    pub suffix: Option<Suffix>,
}

/// Suffix of an architecture. It lets code use more features than the number alone does, but fewer devices can run the
/// code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suffix {
    /// `a`, architecture-specific: runs on exactly this architecture.
    Specific,
    /// `f`, family-specific: runs on later members of the same family too.
    Family,
}

impl Arch {
    /// Parses the name of an architecture; `None` for anything else.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.strip_prefix("sm_")?;
        let (number, suffix) = match name.as_bytes().last()? {
            b'a' => (&name[..name.len() - 1], Some(Suffix::Specific)),
            b'f' => (&name[..name.len() - 1], Some(Suffix::Family)),
            _ => (name, None),
        };
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Arch { number: number.parse().ok()?, suffix })
    }
}

impl Suffix {
    /// Returns the letter after the number, nothing for no suffix.
    pub fn letter(suffix: Option<Suffix>) -> &'static str {
        match suffix {
            Some(Suffix::Specific) => "a",
            Some(Suffix::Family) => "f",
            None => "",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, Suffix::letter(self.suffix))
    }
}

/// Fields of a cubin's ELF header and sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cubin<'data> {
    /// `EI_ABIVERSION`: up to CUDA 12, 7 for most and 8 for `sm_100` and later; in CUDA 13, 8 for all.
    pub abi_version: u8,
    /// Field `e_flags` of the header.
    pub e_flags: u32,
    /// Section `.nv.compat`: attributes of the code that a device must match.
    pub compat: Option<&'data [u8]>,
    /// Architecture in the command line of the tool that wrote the cubin, which CUDA 12.8 and later store in a note.
    pub command_arch: Option<Arch>,
}

/// First architecture with a suffix. From this number on, 0x800 in `e_flags` stands for `a`. ptxas of CUDA 8 and 9 sets
/// the same bit in cubins for sm_60 and sm_61, which have no suffix.
pub(crate) const FIRST_SPECIFIC: u32 = 90;

impl<'data> Cubin<'data> {
    /// Returns the architecture; `None` for an unknown ABI version.
    ///
    /// Only the command line records the suffix `f`: cubins for `sm_100` and for `sm_100f` are equal otherwise. In
    /// cubins of ABI version 8 from CUDA 12, the same holds for `a`.
    pub fn arch(&self) -> Option<Arch> {
        let (number, specific) = match self.abi_version {
            ..=7 => {
                let number = self.e_flags & 0xff;
                (number, number >= FIRST_SPECIFIC && self.e_flags & 0x800 != 0)
            }
            8 => (self.e_flags >> 8 & 0xff, self.compat.is_some_and(is_specific)),
            _ => return None,
        };
        let command = self.command_arch.filter(|arch| arch.number == number);
        let suffix = specific.then_some(Suffix::Specific).or(command.and_then(|arch| arch.suffix));
        Some(Arch { number, suffix })
    }

    /// Returns whether the code is also stored as Mercury, in sections `.nv.merc.*`, to be finished by the driver.
    pub fn has_mercury(&self) -> bool {
        self.abi_version == 8 && self.e_flags & 2 != 0
    }

    /// Returns the attributes that a container around the cubin repeats, so that the driver can choose without opening
    /// it.
    pub fn attributes(&self) -> Option<&'data [u8]> {
        if self.abi_version == 8 && self.e_flags & 3 != 0 { self.compat } else { None }
    }
}

/// Returns whether `.nv.compat` marks the code as architecture-specific: attribute 9 is 1 in the output of ptxas for
/// `sm_90a`, `sm_100a` and so on, and 0 in its output for all others. An attribute has four bytes: form, number and a
/// value; in form 4 the value is the size of what follows.
pub(crate) fn is_specific(compat: &[u8]) -> bool {
    let mut rest = compat;
    while let Some((&[form, number, low, high], behind)) = rest.split_first_chunk() {
        if number == 9 {
            return low == 1;
        }
        let size = if form == 4 { usize::from(u16::from_le_bytes([low, high])) } else { 0 };
        rest = behind.get(size..).unwrap_or_default();
    }
    false
}

/// Directives at the start of a PTX text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ptx<'text> {
    /// Operands of `.version`: major and minor number of the PTX ISA.
    pub version: (u16, u16),
    /// First operand of `.target`, an architecture.
    pub target: &'text str,
    /// Operand of `.address_size`, in bits.
    pub address_size: Option<u32>,
}

impl<'text> Ptx<'text> {
    /// Reads the directives. A text begins with them in this order (PTX ISA, PTX Module Directives), with only comments
    /// around them. `None` if `text` is not PTX: many files contain lines of PTX somewhere.
    pub fn read(text: &'text [u8]) -> Option<Self> {
        // Enough for a generated header preceded by a licence, and little enough to inspect in any file.
        let text = &text[..text.len().min(16 << 10)];
        let (major, rest) = directive(text, ".version")?;
        // GCC writes stubs without any space between directives.
        let (minor, rest) = word(rest.strip_prefix(b".")?);
        let version = (major.parse().ok()?, std::str::from_utf8(minor).ok()?.parse().ok()?);
        let (target, mut rest) = directive(rest, ".target").filter(|(target, _)| target.starts_with("sm_"))?;
        while let Some(more) = without_comments(rest).strip_prefix(b",") {
            rest = word(without_comments(more)).1;
        }
        let address_size = directive(rest, ".address_size").and_then(|(bits, _)| bits.parse().ok());
        Some(Ptx { version, target, address_size })
    }

    /// Returns the triple. Without a directive, the size of addresses is 64 bits: the PTX ISA document says 32, but
    /// ptxas 11.8 to 13.5 compile 64-bit code.
    pub fn triple(self) -> &'static str {
        if self.address_size == Some(32) { triple::NVPTX } else { triple::NVPTX64 }
    }
}

/// Splits off a directive at the start of the text: its first operand, and the text that follows it.
fn directive<'text>(text: &'text [u8], name: &str) -> Option<(&'text str, &'text [u8])> {
    let operands = without_comments(text).strip_prefix(name.as_bytes())?;
    let (first, rest) = word(without_comments(operands));
    Some((std::str::from_utf8(first).ok().filter(|first| !first.is_empty())?, rest))
}

/// Splits a text before the first space, comma, comment, or dot.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let ends = |&byte: &u8| byte.is_ascii_whitespace() || b",/.".contains(&byte);
    text.split_at(text.iter().position(ends).unwrap_or(text.len()))
}

/// Skips leading spaces and comments.
fn without_comments(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let end: &[u8] = match text {
            [b'/', b'/', ..] => b"\n",
            [b'/', b'*', ..] => b"*/",
            _ => return text,
        };
        let behind = &text[2..];
        let at = behind.windows(end.len()).position(|window| window == end);
        text = at.map_or(&[], |at| &behind[at + end.len()..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["sm_50", "sm_90a", "sm_100f", "sm_121"] {
            assert_eq!(Arch::parse(name).unwrap().to_string(), name);
        }
        for name in ["", "sm_", "sm_a", "sm_9b", "sm_+9", "sm_90aa", "compute_90", "gfx90a", "sm_99999999999"] {
            assert_eq!(Arch::parse(name), None, "{name}");
        }
    }

    #[test]
    fn decodes_the_architecture_of_real_cubins() {
        let read = [
            (7, 0x50_0550, "sm_80"),
            (7, 0x5a_055a, "sm_90"),
            (7, 0x5a_0d5a, "sm_90a"),
            // The bit of the suffix, where no suffix exists.
            (7, 0x3d_0d3d, "sm_61"),
            (8, 0x600_4b04, "sm_75"),
            (8, 0x600_6402, "sm_100"),
            (8, 0x600_7802, "sm_120"),
        ];
        for (abi_version, e_flags, arch) in read {
            let cubin = Cubin { abi_version, e_flags, compat: None, command_arch: None };
            assert_eq!(cubin.arch().unwrap().to_string(), arch);
            assert_eq!(cubin.has_mercury(), abi_version == 8 && arch.len() == 6, "{arch}");
        }
        assert_eq!(Cubin { abi_version: 9, e_flags: 0, compat: None, command_arch: None }.arch(), None);
    }

    #[test]
    fn reads_the_suffix_of_newer_cubins_from_the_compat_section() {
        // Written by ptxas 12.8 and 13.5; the last two are a rearranged and a truncated section.
        let read: [(&[u8], &str); 5] = [
            (
                b"\x02\x09\0\0\x02\x0c\0\0\x02\x02\x01\0\x03\x0d\x01\x01\x02\x03\0\0\x04\x0b\x08\0\0\0\0\0\0\0\0\0",
                "sm_90",
            ),
            (
                b"\x02\x09\x01\0\x02\x0c\0\0\x02\x02\x01\0\x03\x0d\x01\x01\x02\x03\0\0\x04\x0b\x08\0\0\0\0\0\0\0\0\0",
                "sm_90a",
            ),
            (b"\x02\x02\x01\0\x02\x05\x05\0\x02\x03\0\0\x02\x06\x01\0", "sm_90"),
            (b"\x04\x0b\x08\0\x02\x09\0\0\0\0\0\0\x02\x09\x01\0", "sm_90a"),
            (b"\x04\x0b\xff\xff\x02\x09\x01\0", "sm_90"),
        ];
        for (compat, arch) in read {
            let cubin = Cubin { abi_version: 8, e_flags: 0x600_5a04, compat: Some(compat), command_arch: None };
            assert_eq!(cubin.arch().unwrap().to_string(), arch, "{compat:x?}");
        }
    }

    #[test]
    fn the_command_line_states_the_suffix_that_the_header_cannot() {
        let cases = [("sm_100f", "sm_100f"), ("sm_100a", "sm_100a"), ("sm_100", "sm_100"), ("sm_90a", "sm_100")];
        for (command, arch) in cases {
            let cubin = Cubin { abi_version: 8, e_flags: 0x600_6402, compat: None, command_arch: Arch::parse(command) };
            assert_eq!(cubin.arch().unwrap().to_string(), arch, "{command}");
        }
    }

    #[test]
    fn reads_the_architecture_after_comments_and_version() {
        let target = |text: &'static [u8]| Ptx::read(text).map(|ptx| ptx.target);
        let text = b"//\n// Generated\n//\n\n.version 8.0\n.target sm_90a, debug\n.address_size 64\n";
        assert_eq!(Ptx::read(text), Some(Ptx { version: (8, 0), target: "sm_90a", address_size: Some(64) }));
        assert_eq!(target(b".target sm_80\n"), None, "no .version before it");
        assert_eq!(target(b"int main(void) { return 0; }\n"), None);
        assert_eq!(target(b".version eight\n.target sm_80\n"), None);
        assert_eq!(target(b".version 8.0\r\n.target sm_80\r\n"), Some("sm_80"));
        assert_eq!(Ptx::read(b".version 8.10 // new\n.target sm_80\n").unwrap().version, (8, 10));
        assert_eq!(Ptx::read(b"/* a\n * licence */ .version 8.0 .target sm_80").unwrap().address_size, None);
    }

    #[test]
    fn a_file_that_contains_ptx_is_not_ptx() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n";
        for before in ["neither ", "\x7fELF\n", "\n; __CLANG_OFFLOAD_BUNDLE____START__ cuda-nvptx64\n", "/* "] {
            assert_eq!(Ptx::read(format!("{before}{text}").as_bytes()), None, "{before}");
        }
        assert_eq!(Ptx::read(b".version 8.0\nint a;\n.target sm_80\n"), None);
    }

    #[test]
    fn machine_code_runs_on_later_minor_versions_and_ptx_on_later_devices() {
        let cases = [
            ("sm_80", false, "sm_80", true),
            ("sm_80", false, "sm_86", true),
            ("sm_86", false, "sm_80", false),
            ("sm_80", false, "sm_90", false),
            ("sm_80", false, "sm_87", false),
            ("sm_80", true, "sm_90", true),
            ("sm_90", true, "sm_80", false),
            ("sm_90a", false, "sm_90", true),
            ("sm_90a", true, "sm_100", false),
            ("sm_100f", false, "sm_103", true),
            ("sm_103f", false, "sm_100", false),
            ("sm_100f", false, "sm_120", false),
            ("sm_100", false, "sm_103", true),
            ("sm_120", false, "sm_121", true),
        ];
        for (image, is_ptx, device, runs) in cases {
            let [image, device] = [image, device].map(|name| Arch::parse(name).unwrap());
            assert_eq!(image.runs_on(device, is_ptx), runs, "{image} (PTX: {is_ptx}) on {device}");
        }
    }
}
