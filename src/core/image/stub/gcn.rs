//! Machine code of AMD. Source: AMD's ISA guides, format SOPP; the output of clang 14 to 22.

use super::{Step, Stub};
use crate::base::bytes::View;

/// Numbers of the operations of format SOPP, which GFX11 has renumbered.
struct Operations {
    end: u32,
    trap: u32,
    /// Waits and hints.
    no_effect: &'static [u32],
}

/// `s_nop`, `s_waitcnt`, `s_inst_prefetch`.
const BEFORE_GFX11: Operations = Operations { end: 1, trap: 18, no_effect: &[0, 12, 32] };

/// `s_nop`, `s_delay_alu`, `s_waitcnt`.
const SINCE_GFX11: Operations = Operations { end: 48, trap: 16, no_effect: &[0, 7, 9] };

/// Format SOPP: bits 23 to 31.
const SOPP: u32 = 0x17f;

/// `s_waitcnt_vscnt null, 0` of GFX10, in format SOPK.
const WAIT_FOR_STORES: u32 = 0xbbfd_0000;

/// `s_setreg_imm32_b32` of GFX11 and later in format SOPK, before a literal word: clang 22 sets a mode of GFX12.5 first.
const SET_MODE: u32 = 0xb980_0000;

/// Returns what code for a processor does, if it has no body.
pub fn stub(code: View<'_>, processor: &str) -> Option<Stub> {
    let is_earlier = ["gfx6", "gfx7", "gfx8", "gfx9", "gfx10"].iter().any(|start| processor.starts_with(start));
    let operations = if is_earlier { &BEFORE_GFX11 } else { &SINCE_GFX11 };
    let (words, _) = code.data().as_chunks::<4>();
    let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
    let steps = std::iter::from_fn(|| {
        let word = words.next()?;
        if !is_earlier && word & 0xffff_0000 == SET_MODE {
            words.next()?;
            return Some(Step::NoEffect);
        }
        Some(operations.step(word))
    });
    Step::end(steps)
}

impl Operations {
    fn step(&self, word: u32) -> Step {
        let operation = word >> 16 & 0x7f;
        match word >> 23 {
            SOPP if operation == self.end => Step::Ends(Stub::Exit),
            SOPP if operation == self.trap => Step::Ends(Stub::Trap),
            SOPP if self.no_effect.contains(&operation) => Step::NoEffect,
            _ if word == WAIT_FOR_STORES => Step::NoEffect,
            _ => Step::Body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(processor: &str, words: &[u32]) -> Option<Stub> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        stub(View::new(&bytes), processor)
    }

    /// Code of clang 14 to 22.
    #[test]
    fn bodies_that_only_end_or_trap() {
        assert_eq!(of("gfx90a", &[0xbf81_0000]), Some(Stub::Exit));
        assert_eq!(of("gfx1030", &[0xbf8c_0000, 0xbbfd_0000, 0xbf92_0002]), Some(Stub::Trap));
        assert_eq!(of("gfx1100", &[0xbf90_0002, 0xbfb0_0000]), Some(Stub::Trap));
        assert_eq!(of("gfx1250", &[0xb980_0641, 1, 0xbfb0_0000]), Some(Stub::Exit));
    }

    #[test]
    fn other_bodies() {
        // A store, a message, the end of another generation, no end.
        assert_eq!(of("gfx90a", &[0xdc70_8000, 0x0000_0001, 0xbf81_0000]), None);
        assert_eq!(of("gfx1030", &[0xbf90_0003, 0xbf81_0000]), None);
        assert_eq!(of("gfx1100", &[0xbf81_0000]), None);
        assert_eq!(of("gfx942", &[0xbf80_0000]), None);
    }
}
