//! The sink between a writer of bytes and a file, which records the origin of large slices instead of copying them.
//!
//! `object` writes an ELF file by appending slices to a buffer. Most slices are headers and tables of a few bytes; one
//! is the device image, a slice of a mapped input that may be gigabytes long. The sink distinguishes them by address.
//! For a slice inside the mapping of a known input, it records the input and the offset; all others are copied to a
//! buffer. The payload is not read until [`Sink::write_to`] lets the kernel copy it. The alternative, a placeholder
//! that is filled in afterwards, requires support in the writer and a second pass over its offsets.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use object::write::{GrowableBuffer, WritableBuffer};

use crate::base::error::Result;
use crate::base::io::Input;

/// An append-only buffer that copies small slices and refers to large ones.
pub struct Sink<'data> {
    /// Addresses of the inputs that are not empty, in order: thousands of small slices are compared with them.
    inputs: Vec<(Range<usize>, &'data Input)>,
    slices: Vec<&'data [u8]>,
    /// Number of bytes appended so far.
    size: u64,
    pub(in crate::base::io) extents: Vec<SinkExtent<'data>>,
    /// False if zeros are written instead of left out.
    pub(in crate::base::io) has_holes: bool,
}

/// Minimum size of a slice that is referred to, in bytes. Copying less costs no more than another extent.
const MIN_SLICE: usize = 4 << 10;

/// A part of the contents of a sink.
pub(in crate::base::io) enum SinkExtent<'data> {
    /// Bytes that were copied.
    Bytes(Vec<u8>),
    /// Bytes in memory.
    Slice(&'data [u8]),
    /// Bytes of an input file.
    InputRange { input: &'data Input, offset: u64, size: u64 },
    /// This many zeros. They take no space on disk if the file system has holes.
    Zeros(u64),
}

impl<'data> Sink<'data> {
    /// Creates an empty sink that recognizes slices of `inputs`.
    pub fn new(inputs: impl IntoIterator<Item = &'data Input>) -> Self {
        let addresses = |input: &Input| {
            let bytes = input.view().data().as_ptr_range();
            bytes.start as usize..bytes.end as usize
        };
        let inputs = inputs.into_iter().filter(|input| input.size() > 0);
        let mut inputs: Vec<_> = inputs.map(|input| (addresses(input), input)).collect();
        inputs.sort_by_cached_key(|(addresses, _)| addresses.start);
        Sink { inputs, slices: Vec::new(), size: 0, extents: vec![SinkExtent::Bytes(Vec::new())], has_holes: true }
    }

    /// Also recognizes large parts of `slices`, for payloads that are in memory.
    pub fn with_slices(self, slices: impl IntoIterator<Item = &'data [u8]>) -> Self {
        Sink { slices: slices.into_iter().collect(), ..self }
    }

    /// Writes zeros instead of leaving holes.
    pub fn without_holes(self) -> Self {
        Sink { has_holes: false, ..self }
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        if let Some(extent) = self.known_extent(bytes) {
            self.extents.push(extent);
        } else if let Some(SinkExtent::Bytes(last)) = self.extents.last_mut() {
            last.extend_from_slice(bytes);
        } else {
            self.extents.push(SinkExtent::Bytes(bytes.to_vec()));
        }
    }

    /// Appends zeros.
    pub fn push_zeros(&mut self, size: u64) {
        self.size += size;
        self.extents.push(SinkExtent::Zeros(size));
    }

    /// Extent for bytes that are a part of a known input or slice.
    fn known_extent(&self, bytes: &[u8]) -> Option<SinkExtent<'data>> {
        let start = bytes.as_ptr() as usize;
        let after = self.inputs.partition_point(|(addresses, _)| addresses.start <= start);
        let is_inside = |(addresses, _): &&(Range<usize>, _)| start + bytes.len() <= addresses.end && !bytes.is_empty();
        if let Some((addresses, input)) = self.inputs[..after].last().filter(is_inside) {
            let offset = (start - addresses.start) as u64;
            return Some(SinkExtent::InputRange { input, offset, size: bytes.len() as u64 });
        }
        if bytes.len() < MIN_SLICE {
            return None;
        }
        self.slices.iter().find_map(|&slice| {
            let start = (bytes.as_ptr() as usize).checked_sub(slice.as_ptr() as usize)?;
            slice.get(start..start.checked_add(bytes.len())?).map(SinkExtent::Slice)
        })
    }

    /// Replaces the first bytes, for a header that is known only when everything else is written.
    ///
    /// # Panics
    /// If fewer bytes than that were appended before the first payload.
    pub fn replace_start(&mut self, header: &[u8]) {
        let Some(SinkExtent::Bytes(first)) = self.extents.first_mut() else { unreachable!("a sink starts with bytes") };
        first[..header.len()].copy_from_slice(header);
    }

    /// Size of all appended bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Writes everything to a writer other than `Output`.
    pub fn copy_to(&self, output: &mut impl Write) -> io::Result<()> {
        for extent in &self.extents {
            match extent {
                SinkExtent::Bytes(bytes) => output.write_all(bytes)?,
                SinkExtent::Slice(bytes) => output.write_all(bytes)?,
                SinkExtent::InputRange { input, offset, size } => {
                    output.write_all(&input.view().data()[*offset as usize..][..*size as usize])?;
                }
                SinkExtent::Zeros(size) => {
                    io::copy(&mut io::repeat(0).take(*size), output)?;
                }
            }
        }
        output.flush()
    }
}

impl fmt::Debug for Sink<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents = self.extents.len();
        formatter.debug_struct("Sink").field("size", &self.size).field("extents", &extents).finish_non_exhaustive()
    }
}

impl WritableBuffer for Sink<'_> {
    fn reserve(&mut self, _size: u64) -> Result<(), ()> {
        // Most of the size is payload, which is not copied here.
        Ok(())
    }

    fn write_bytes(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }
}

/// For writers that query their position and never change it.
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
    use std::path::Path;

    use super::*;
    use crate::base::io::{FileSet, Output, OutputKind};

    fn create(path: &Path) -> Output {
        Output::create(FileSet::new().output(path, OutputKind::Code).unwrap()).unwrap()
    }

    #[test]
    fn writes_payloads_and_bytes_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in");
        std::fs::write(&path, "0123456789").unwrap();
        let inputs = [Input::open(&path, crate::base::io::MAPPED).unwrap()];
        let map = inputs[0].view().data();
        let mut sink = Sink::new(&inputs);
        sink.push(b"header|");
        sink.push(&map[2..5]);
        sink.push(b"|");
        sink.push(&map[..1]);
        sink.replace_start(b"HEAD");
        assert_eq!(sink.extents.len(), 4);

        let out = directory.path().join("out");
        let mut output = create(&out);
        sink.write_to(&mut output).unwrap();
        output.commit([]).unwrap();
        assert_eq!(std::fs::read_to_string(out).unwrap(), "HEADer|234|0");
    }

    #[cfg(unix)]
    #[test]
    fn zeros_are_holes_also_at_the_end() {
        use std::os::unix::fs::MetadataExt;

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let size = 64 << 20;
        let mut sink = Sink::new([]);
        for zeros in [size, size] {
            sink.push(b"text");
            sink.push_zeros(zeros);
        }
        let mut output = create(&path);
        sink.write_to(&mut output).unwrap();
        output.commit([]).unwrap();
        let metadata = path.metadata().unwrap();
        assert_eq!(metadata.len(), sink.size());
        assert!(metadata.blocks() * 512 < size, "{} blocks", metadata.blocks());
        let mut written = Vec::new();
        sink.copy_to(&mut written).unwrap();
        assert!(written == std::fs::read(path).unwrap());
    }

    #[test]
    fn refers_to_large_parts_of_known_slices_and_copies_others() {
        let known = vec![1; 3 * MIN_SLICE];
        let other = vec![2; 2 * MIN_SLICE];
        let mut sink = Sink::new([]).with_slices([&known[..]]);
        for bytes in [&other[..], &known[7..2 * MIN_SLICE], &known[..MIN_SLICE - 1], &known[..], &other[1..]] {
            sink.push(bytes);
        }
        let is_slice: Vec<_> = sink.extents.iter().map(|extent| matches!(extent, SinkExtent::Slice(_))).collect();
        assert_eq!(is_slice, [false, true, false, true, false]);
        let expected = [&other, &known[7..2 * MIN_SLICE], &known[..MIN_SLICE - 1], &known, &other[1..]].concat();
        let mut written = Vec::new();
        sink.copy_to(&mut written).unwrap();
        assert!(written == expected && sink.size() == expected.len() as u64);

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let mut output = create(&path);
        let mut progress = 0;
        sink.write_with_progress(&mut output, &mut |bytes| progress += bytes).unwrap();
        output.commit([]).unwrap();
        assert!(std::fs::read(path).unwrap() == expected && progress == sink.size());
    }

    #[test]
    fn many_closed_inputs_are_written_in_any_order_and_their_changes_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = |number: usize| directory.path().join(number.to_string());
        let contents = |number: usize| format!("<{number}>").repeat(number * 500).into_bytes();
        let open = |number: usize| {
            std::fs::write(path(number), contents(number)).unwrap();
            Input::open(path(number), crate::base::io::MAPPED).unwrap().closed()
        };
        // The first file is empty.
        let inputs: Vec<Input> = (0..20).map(open).collect();
        let mut sink = Sink::new(&inputs);
        let mut expected = Vec::new();
        for number in (0..20).rev() {
            sink.push(inputs[number].view().data());
            sink.push(b"|");
            expected.extend([contents(number), b"|".to_vec()].concat());
        }
        let references = sink.extents.iter().filter(|it| matches!(it, SinkExtent::InputRange { .. })).count();
        assert_eq!(references, 19);
        let written = directory.path().join("out");
        let mut output = create(&written);
        sink.write_to(&mut output).unwrap();
        output.commit(&inputs).unwrap();
        assert!(std::fs::read(written).unwrap() == expected);

        // Windows does not truncate a mapped file.
        if cfg!(windows) {
            return;
        }
        std::fs::write(path(7), "other").unwrap();
        let error = inputs.iter().find_map(|input| input.check_unchanged().err()).unwrap();
        assert!(matches!(error, crate::base::error::Error::Changed { .. }), "{error}");
    }

    /// Windows does not truncate a mapped file.
    #[cfg(not(windows))]
    #[test]
    fn a_file_that_shrank_after_it_was_mapped_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in");
        std::fs::write(&path, vec![7; 100_000]).unwrap();
        let inputs = [Input::open(&path, crate::base::io::MAPPED).unwrap()];
        let mut sink = Sink::new(&inputs);
        sink.push(inputs[0].view().data());
        std::fs::File::options().write(true).open(&path).unwrap().set_len(60_000).unwrap();
        let mut output = create(&directory.path().join("out"));
        let error = sink.write_to(&mut output).unwrap_err().to_string();
        assert!(error.ends_with("truncated while it was being read: 40000 bytes missing"), "{error}");
    }
}
