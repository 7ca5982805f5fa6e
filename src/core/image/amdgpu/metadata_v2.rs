//! Metadata note of code objects of version 2: a YAML document with a list of kernels.
//!
//! Source: LLVM 16, User Guide for AMDGPU Backend, section Code Object V2 Metadata. The note has no offsets of
//! parameters; each follows the previous one at its alignment.

use crate::base::bytes::{Resource, View, text_work};
use crate::base::error::{Cause, Malformed};
use crate::image::kernel::{Kernel, Parameter};
use crate::image::yaml::{Event, events, three_numbers};

/// Name of the note in errors.
const METADATA: &str = "NT_AMD_HSA_METADATA";

/// Prefix of the kinds of parameters that the compiler adds.
const HIDDEN_PREFIX: &str = "Hidden";

/// A parameter that is being read.
#[derive(Debug, Default)]
struct Argument {
    name: Option<String>,
    size: u64,
    align: u64,
    is_hidden: bool,
}

#[derive(Debug, Default)]
struct Reader {
    kernels: Vec<Kernel>,
    argument: Option<Argument>,
    /// End of the previous parameter of the current kernel, in bytes.
    end: u64,
}

/// Reads the note.
pub fn read(note: View<'_>) -> Result<Vec<Kernel>, Malformed> {
    note.charge(METADATA, Resource::Work, text_work(note.data().len()).saturating_mul(4))?;
    let text = note.data().split(|&byte| byte == 0).next().unwrap_or_default();
    let text = std::str::from_utf8(text).map_err(|_| note.malformed(METADATA, 0, Cause::Unreadable))?;
    // Values become numbers and names. There are fewer of them than bytes.
    note.charge(METADATA, Resource::Memory, note.size())?;
    let mut reader = Reader::default();
    for event in events(text) {
        reader.event(&event);
    }
    reader.end_argument();
    Ok(reader.kernels)
}

impl Reader {
    fn event(&mut self, event: &Event<'_>) {
        let path = event.path.as_slice();
        match path {
            ["Kernels"] if event.begins_item => {
                self.end_argument();
                self.end = 0;
                self.kernels.push(Kernel::default());
            }
            ["Kernels", "Args"] if event.begins_item => {
                self.end_argument();
                self.argument = Some(Argument::default());
            }
            _ => {}
        }
        let Some(kernel) = self.kernels.last_mut() else { return };
        match (path, event.key) {
            (["Kernels"], "Name") => event.value.clone_into(&mut kernel.name),
            (["Kernels", "Attrs"], "ReqdWorkGroupSize") => kernel.required_threads = three_numbers(event.value),
            (["Kernels", "CodeProps"], key) => property(kernel, key, event.value),
            (["Kernels", "Args"], key) => {
                if let Some(argument) = &mut self.argument {
                    argument.set(key, event.value);
                }
            }
            _ => {}
        }
    }

    /// Adds the parameter that was read.
    fn end_argument(&mut self) {
        let (Some(argument), Some(kernel)) = (self.argument.take(), self.kernels.last_mut()) else { return };
        let Argument { name, size, align, is_hidden } = argument;
        // Sizes are numbers in a text.
        let Some(offset) = self.end.checked_next_multiple_of(align.max(1)) else { return };
        let Some(end) = offset.checked_add(size) else { return };
        self.end = end;
        if !is_hidden {
            kernel.parameters.push(Parameter { name, offset, size });
        }
    }
}

impl Argument {
    fn set(&mut self, key: &str, value: &str) {
        let number = || value.parse().unwrap_or_default();
        match key {
            "Name" => self.name = Some(value.to_owned()),
            "Size" => self.size = number(),
            "Align" => self.align = number(),
            "ValueKind" => self.is_hidden = value.starts_with(HIDDEN_PREFIX),
            _ => {}
        }
    }
}

/// Sets a property of the code. LLVM omits properties that are zero.
fn property(kernel: &mut Kernel, key: &str, value: &str) {
    let number = value.parse().ok();
    match key {
        "KernargSegmentSize" => kernel.parameter_size = number,
        "GroupSegmentFixedSize" => kernel.shared = number,
        "PrivateSegmentFixedSize" => kernel.scratch = number,
        "WavefrontSize" => kernel.wave_size = number,
        "NumSGPRs" => kernel.sgprs = number,
        "NumVGPRs" => kernel.vgprs = number,
        "NumSpilledSGPRs" => kernel.sgpr_spills = number,
        "NumSpilledVGPRs" => kernel.vgpr_spills = number,
        "MaxFlatWorkGroupSize" => kernel.max_threads = number,
        "IsDynamicCallStack" => kernel.scratch_is_minimum = value == "true",
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the output of clang 14.
    const NOTE: &str = "---\nVersion:         [ 1, 0 ]\nPrintf:\n  - '1:1:4:%d\\n'\nKernels:\n  - Name:            scale\n    \
        SymbolName:      'scale@kd'\n    Attrs:\n      ReqdWorkGroupSize: [ 64, 2, 1 ]\n    Args:\n      - Name:            p\n        \
        Size:            8\n        Align:           8\n        ValueKind:       GlobalBuffer\n      - Name:            n\n        \
        Size:            4\n        Align:           4\n        ValueKind:       ByValue\n      - Name:            d\n        \
        Size:            8\n        Align:           8\n        ValueKind:       ByValue\n      - Size:            8\n        \
        Align:           8\n        ValueKind:       HiddenGlobalOffsetX\n    CodeProps:\n      KernargSegmentSize: 32\n      \
        GroupSegmentFixedSize: 256\n      PrivateSegmentFixedSize: 16\n      KernargSegmentAlign: 8\n      WavefrontSize:   64\n      \
        NumSGPRs:        7\n      NumVGPRs:        3\n      MaxFlatWorkGroupSize: 128\n      IsDynamicCallStack: true\n      \
        IsXNACKEnabled:  true\n  - Name:            other\n    SymbolName:      'other@kd'\n    CodeProps:\n      \
        KernargSegmentSize: 0\n...\n";

    fn kernels(note: &[u8]) -> Result<Vec<Kernel>, Malformed> {
        read(View::new(note))
    }

    #[test]
    fn reads_kernels_with_their_parameters() {
        let found = kernels(NOTE.as_bytes()).unwrap();
        let parameter = |name: &str, offset, size| Parameter { name: Some(name.to_owned()), offset, size };
        let scale = Kernel {
            name: "scale".to_owned(),
            parameter_size: Some(32),
            shared: Some(256),
            scratch: Some(16),
            scratch_is_minimum: true,
            wave_size: Some(64),
            sgprs: Some(7),
            vgprs: Some(3),
            max_threads: Some(128),
            required_threads: Some([64, 2, 1]),
            parameters: vec![parameter("p", 0, 8), parameter("n", 8, 4), parameter("d", 16, 8)],
            ..Kernel::default()
        };
        let other = Kernel { name: "other".to_owned(), parameter_size: Some(0), ..Kernel::default() };
        assert_eq!(found, [scale, other]);
    }

    #[test]
    fn truncated_and_damaged_notes_never_panic() {
        for end in 0..NOTE.len() {
            let _ = kernels(&NOTE.as_bytes()[..end]);
            let mut broken = NOTE.as_bytes().to_vec();
            broken[end] ^= 0x81;
            let _ = kernels(&broken);
        }
        let huge = NOTE.replace("Size:            8", "Size:            18446744073709551615");
        assert_eq!(kernels(huge.as_bytes()).unwrap().len(), 2);
        assert!(kernels(b"Kernels:\n  - Name: \xff\n").is_err());
    }
}
