//! The frame of AArch64, RISC-V and LoongArch. Their calls leave the return address in a register, and their ABIs let a
//! function save registers anywhere; here they are directly below the caller's frame:
//!
//! | from the stack pointer | |
//! |---|---|
//! | 0 | stack arguments |
//! | `size` - 24 | the second local's register, if it is in use |
//! | `size` - 16 | the first local's |
//! | `size` - 8 | return address |
//! | `size` | the caller's frame; the canonical frame address |
//!
//! Where functions also save the frame pointer, it is below the return address, and then points to its saved value.

use crate::host::assembler::{Assembler, Frame, UnwindRule};

/// Operations that a machine adds to [`Assembler`] to use this frame.
pub trait StackFrame: Assembler {
    /// The registers that every function saves, the return address first, then the registers of the two locals.
    /// Instructions and DWARF use the same numbers.
    const SAVED: &'static [u8];
    /// Number of registers that every function saves: 1, or 2 with the frame pointer.
    const ALWAYS_SAVED: usize = 1;

    /// Stack pointer += `by`.
    fn move_stack_pointer(&mut self, by: i32);
    /// The 64 bits at stack pointer + `at` = a register.
    fn save(&mut self, register: u8, at: i32);
    /// A register = the 64 bits at stack pointer + `at`.
    fn restore(&mut self, register: u8, at: i32);
    /// Frame pointer = stack pointer + `at`, on systems that require a frame pointer.
    fn set_frame_pointer(&mut self, _at: i32) {}

    /// Sets up the frame, with unwind rules for each change.
    fn make_frame(&mut self, frame: Frame) {
        let size = Self::size(frame);
        self.move_stack_pointer(-size);
        self.buffer().unwind(UnwindRule::FrameAt(size));
        for (register, at) in Self::saved(frame) {
            self.save(register, size + at);
            self.buffer().unwind(UnwindRule::Saved { register: register.into(), at });
        }
        self.set_frame_pointer(size - 16);
    }

    /// Removes the frame.
    fn remove_frame(&mut self, frame: Frame) {
        let size = Self::size(frame);
        for (register, at) in Self::saved(frame) {
            self.restore(register, size + at);
        }
        self.move_stack_pointer(size);
        self.buffer().unwind(UnwindRule::FrameAt(0));
        // From here on a signal may overwrite the saved values.
        for (register, _) in Self::saved(frame) {
            self.buffer().unwind(UnwindRule::Restored { register: register.into() });
        }
    }

    /// Returns the size of the frame. All three ABIs require a multiple of 16.
    fn size(frame: Frame) -> i32 {
        (8 * (Self::ALWAYS_SAVED + frame.locals + frame.stack_arguments)).next_multiple_of(16) as i32
    }

    /// Returns each saved register and its distance from the canonical frame address.
    fn saved(frame: Frame) -> impl Iterator<Item = (u8, i32)> {
        let registers = &Self::SAVED[..Self::ALWAYS_SAVED + frame.locals];
        registers.iter().zip(1..).map(|(&register, place)| (register, -8 * place))
    }
}
