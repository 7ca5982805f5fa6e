//! The sink between a writer of bytes and a file: it remembers where borrowed bytes came from.
//!
//! `object` writes an ELF file by appending slices to a buffer. Most of those slices are headers and tables of a few
//! bytes; one is the device image, a slice of a mapped input that may be gigabytes long. The sink tells them apart by
//! address: a slice that lies inside the mapping of a known input is noted as *so many bytes from there*, all others
//! are kept. Nothing of the payload is looked at until [`Sink::write_to`] lets the kernel move it. The alternative, a
//! placeholder that is filled in afterwards, needs the writer's cooperation and a second pass over its offsets.

use std::io::{self, Seek, SeekFrom, Write};

use object::write::{GrowableBuffer, WritableBuffer};

use crate::error::Result;
use crate::io::Input;
#[cfg(feature = "files")]
use crate::io::Output;

/// An append-only buffer that holds small bytes and points at large ones.
pub struct Sink<'data> {
    inputs: Vec<&'data Input>,
    /// Bytes so far.
    size: u64,
    extents: Vec<SinkExtent<'data>>,
}

#[cfg(feature = "files")]
/// How much is moved between two reports: enough that asking the kernel for it costs nothing.
const PROGRESS_STEP: u64 = 64 << 20;

enum SinkExtent<'data> {
    Bytes(Vec<u8>),
    Copied { input: &'data Input, offset: u64, size: u64 },
}

impl<'data> Sink<'data> {
    /// An empty sink that recognises slices of `inputs`.
    pub fn new(inputs: impl IntoIterator<Item = &'data Input>) -> Self {
        Sink { inputs: inputs.into_iter().collect(), size: 0, extents: vec![SinkExtent::Bytes(Vec::new())] }
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        let source = self.inputs.iter().find_map(|&input| Some((input, input.offset_of(bytes)?)));
        match (source, self.extents.last_mut()) {
            (Some((input, offset)), _) => {
                self.extents.push(SinkExtent::Copied { input, offset, size: bytes.len() as u64 });
            }
            (None, Some(SinkExtent::Bytes(last))) => last.extend_from_slice(bytes),
            (None, _) => self.extents.push(SinkExtent::Bytes(bytes.to_vec())),
        }
    }

    /// Replaces the first bytes, for a header that is known only when all else is written.
    ///
    /// # Panics
    /// If fewer bytes than that were appended before the first payload.
    pub fn replace_start(&mut self, header: &[u8]) {
        let Some(SinkExtent::Bytes(first)) = self.extents.first_mut() else { unreachable!("a sink starts with bytes") };
        first[..header.len()].copy_from_slice(header);
    }

    /// Everything that was appended, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Moves everything to `output`, in order.
    #[cfg(feature = "files")]
    pub fn write_to(&self, output: &mut Output) -> Result<()> {
        self.write_with_progress(output, &mut |_| ())
    }

    /// Copies everything to a writer that is not a file of this crate, in order.
    pub fn copy_to(&self, output: &mut impl Write) -> io::Result<()> {
        for extent in &self.extents {
            match extent {
                SinkExtent::Bytes(bytes) => output.write_all(bytes)?,
                SinkExtent::Copied { input, offset, size } => {
                    output.write_all(&input.view().data()[*offset as usize..][..*size as usize])?;
                }
            }
        }
        output.flush()
    }

    /// The same, and says how many bytes more have been moved, time and again.
    #[cfg(feature = "files")]
    pub fn write_with_progress(&self, output: &mut Output, moved: &mut dyn FnMut(u64)) -> Result<()> {
        output.reserve(self.size())?;
        for extent in &self.extents {
            match extent {
                SinkExtent::Bytes(bytes) => {
                    output.write(bytes)?;
                    moved(bytes.len() as u64);
                }
                SinkExtent::Copied { input, offset, size } => {
                    for part in (0..*size).step_by(PROGRESS_STEP as usize) {
                        let part_size = PROGRESS_STEP.min(size - part);
                        output.copy(input, offset + part, part_size)?;
                        moved(part_size);
                    }
                }
            }
        }
        Ok(())
    }
}

impl WritableBuffer for Sink<'_> {
    fn reserve(&mut self, _size: u64) -> Result<(), ()> {
        // The size is mostly payload, which takes no room here.
        Ok(())
    }

    fn write_bytes(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }
}

/// For writers that ask where they are, and go nowhere else.
impl Seek for Sink<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Current(0) | SeekFrom::End(0) => Ok(self.size),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl GrowableBuffer for Sink<'_> {
    fn as_writable(&mut self) -> &mut dyn WritableBuffer {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_and_bytes_come_out_in_the_order_they_went_in() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in");
        std::fs::write(&path, "0123456789").unwrap();
        let inputs = [Input::open(&path, crate::io::MAPPED).unwrap()];
        let map = inputs[0].view().data();
        let mut sink = Sink::new(&inputs);
        sink.push(b"header|");
        sink.push(&map[2..5]);
        sink.push(b"|");
        sink.push(&map[..1]);
        sink.replace_start(b"HEAD");
        assert_eq!(sink.extents.len(), 4);

        let out = directory.path().join("out");
        let mut output = Output::create(&out).unwrap();
        sink.write_to(&mut output).unwrap();
        output.commit().unwrap();
        assert_eq!(std::fs::read_to_string(out).unwrap(), "HEADer|234|0");
    }

    #[test]
    fn a_file_that_shrank_after_it_was_mapped_is_an_error_and_not_a_short_output() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in");
        std::fs::write(&path, vec![7; 100_000]).unwrap();
        let inputs = [Input::open(&path, crate::io::MAPPED).unwrap()];
        let mut sink = Sink::new(&inputs);
        sink.push(inputs[0].view().data());
        std::fs::File::options().write(true).open(&path).unwrap().set_len(60_000).unwrap();
        let mut output = Output::create(&directory.path().join("out")).unwrap();
        let error = sink.write_to(&mut output).unwrap_err().to_string();
        assert!(error.ends_with("truncated while it was being copied: 40000 bytes missing"), "{error}");
    }
}
