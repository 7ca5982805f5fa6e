//! Output files from sinks.

use crate::base::error::Result;
use crate::base::io::Output;
use crate::base::io::sink::{Sink, SinkExtent};

/// Number of bytes copied between two reports of progress: large enough that the system calls cost nothing.
const PROGRESS_STEP: u64 = 64 << 20;

impl Sink<'_> {
    /// Writes everything to `output`.
    pub fn write_to(&self, output: &mut Output) -> Result<()> {
        self.write_with_progress(output, &mut |_| ())
    }

    /// Writes everything to `output`, whose space is not reserved first: reserving costs more than writing a small
    /// file.
    pub fn write_without_reservation(&self, output: &mut Output) -> Result<()> {
        self.write_extents(output, &mut |_| ())
    }

    /// Writes everything to `output`, and calls `moved` with the number of bytes after each part.
    pub fn write_with_progress(&self, output: &mut Output, moved: &mut dyn FnMut(u64)) -> Result<()> {
        // Reserved space is not a hole.
        if !(self.has_holes && self.extents.iter().any(|extent| matches!(extent, SinkExtent::Zeros(_)))) {
            output.reserve(self.size())?;
        }
        self.write_extents(output, moved)
    }

    fn write_extents(&self, output: &mut Output, moved: &mut dyn FnMut(u64)) -> Result<()> {
        for extent in &self.extents {
            match extent {
                SinkExtent::Bytes(bytes) => {
                    output.write(bytes)?;
                    moved(bytes.len() as u64);
                }
                SinkExtent::Slice(bytes) => {
                    for part in bytes.chunks(PROGRESS_STEP as usize) {
                        output.write(part)?;
                        moved(part.len() as u64);
                    }
                }
                SinkExtent::InputRange { input, offset, size } => {
                    for part in (0..*size).step_by(PROGRESS_STEP as usize) {
                        let part_size = PROGRESS_STEP.min(size - part);
                        output.copy(input, offset + part, part_size)?;
                        if input.is_closed() {
                            input.release();
                        }
                        moved(part_size);
                    }
                }
                SinkExtent::Zeros(size) => {
                    output.write_zeros(*size, self.has_holes)?;
                    moved(*size);
                }
            }
        }
        Ok(())
    }
}
