//! The note in a cubin that names the NVIDIA tool that wrote it.
//!
//! ptxas and nvlink of CUDA 12.8 and later write a note of type 2000 in the section `.note.nv.tkinfo`: six words, then
//! strings. Words 2 to 5 are offsets into the strings: the name, version, build and command line of the tool. The
//! command line is normalized: it has `-arch ` and the architecture with its suffix for every spelling of the option. A
//! file linked by nvlink has nvlink's note before the notes of its inputs. Source: derived from the output of ptxas
//! 12.8 and 13.5 and of nvlink 13.5; ptxas 12.8 writes the note for `sm_100` and later only.

use super::nvptx::Arch;
use crate::base::bytes::View;

/// Type of the note.
pub const NOTE_TYPE: u32 = 2000;

const NAME: u64 = 8;
const VERSION: u64 = 12;
const COMMAND: u64 = 20;
const STRINGS: u64 = 24;

/// The description of a note.
#[derive(Debug, Clone, Copy)]
pub struct CudaToolNote<'data>(pub View<'data>);

impl<'data> CudaToolNote<'data> {
    /// Name of the tool.
    pub fn name(self) -> Option<&'data str> {
        self.text(NAME)
    }

    /// Release of the tool.
    pub fn version(self) -> Option<&'data str> {
        self.text(VERSION)
    }

    /// Release of CUDA of the tool: 13.5 of `Cuda compilation tools, release 13.5, V13.5.37`.
    pub fn cuda_release(self) -> Option<(u16, u16)> {
        let (_, release) = self.version()?.split_once("release ")?;
        let (major, minor) = release.split(',').next()?.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// Architecture in the command line.
    pub fn arch(self) -> Option<Arch> {
        let mut words = self.text(COMMAND)?.split_ascii_whitespace();
        words.find(|word| *word == "-arch")?;
        Arch::parse(words.next()?)
    }

    fn text(self, field: u64) -> Option<&'data str> {
        let offset = u64::from(self.0.u32("tool", field).ok()?).checked_add(STRINGS)?;
        self.0.c_string(self.0.field("tool", field), offset).ok().filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a note in the form of ptxas 13.5, with this command line.
    fn note(command: &str) -> Vec<u8> {
        let strings = ["", "ptxas", "Cuda compilation tools, release 13.5, V13.5.37", "Build 1", command];
        let words = [2_u32, 0, 1, 7, 54, 62];
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        words.chain(strings.iter().flat_map(|text| [text.as_bytes(), b"\0"].concat())).collect()
    }

    #[test]
    fn reads_the_architecture_of_the_command_line() {
        let cases = [
            ("-arch sm_100a ", Some("sm_100a")),
            ("-v  -maxrregcount 32 -O 3 -arch sm_90a ", Some("sm_90a")),
            ("-arch sm_120f -c  ", Some("sm_120f")),
            ("-o -march sm_90 ", None),
            ("-arch", None),
            ("-arch compute_90 ", None),
            ("", None),
        ];
        for (command, arch) in cases {
            let bytes = note(command);
            let note = CudaToolNote(View::new(&bytes));
            assert_eq!(note.arch(), arch.map(|arch| Arch::parse(arch).unwrap()), "{command}");
            assert_eq!((note.name(), note.cuda_release()), (Some("ptxas"), Some((13, 5))));
        }
    }

    #[test]
    fn damaged_notes_state_nothing() {
        let good = note("-arch sm_90 ");
        for end in 0..good.len() {
            assert_eq!(CudaToolNote(View::new(&good[..end])).arch(), None, "{end}");
        }
        let mut bytes = good;
        bytes[20..24].fill(0xff);
        assert_eq!(CudaToolNote(View::new(&bytes)).arch(), None);
    }
}
