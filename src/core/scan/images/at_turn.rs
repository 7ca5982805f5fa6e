//! Images of a file that several threads read, where what follows must not be undone: the budget is charged first.

use std::ops::Range;
use std::sync::Arc;

use super::{ImageBytes, ImageRef, Place, Scan, Shared};
use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::base::parallel::Turn;
use crate::scan::Source;
use crate::scan::cache::CacheUse;
use crate::scan::inventory::NestedImage;

/// Bytes of an image that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageForm {
    /// Decompressed.
    Plain,
    /// As they are stored.
    Stored,
}

impl ImageForm {
    /// Reads an image.
    pub fn read<'s>(self, image: &ImageRef<'s>) -> Result<ImageBytes<'s>, Malformed> {
        match self {
            ImageForm::Plain => image.read(),
            ImageForm::Stored => image.stored_bytes(),
        }
    }
}

impl<S: Source> Scan<S> {
    /// Reads images. The budget of the file is charged at the turn of the caller, so the results do not depend on
    /// timing: if the budget has too little left for all the images, they are read again, one after another.
    ///
    /// `first_reads` are the start offsets of the compressed containers whose first image is one of these, and `buffers`
    /// are buffers for decompressed bytes. Buffers that no image has are left in it.
    pub(crate) fn read_at_turn<'scan>(
        &'scan self,
        images: &[NestedImage<'scan>],
        first_reads: &[u64],
        turn: &Turn<'_>,
        buffers: &mut Vec<Vec<u8>>,
        form: ImageForm,
    ) -> Vec<Result<DetachedBytes, Malformed>> {
        let budget = self.view().budget().expect("the view of a scan has a budget");
        let part = budget.part();
        let mut read_with = |view| {
            let shared = Shared { buffers: std::mem::take(buffers), ..Shared::default() };
            let reader = self.reader_with(view, CacheUse::ReadsOnly(first_reads), shared);
            let detached = |image: &NestedImage<'scan>| {
                form.read(&reader.image(image.clone())).map(|bytes| bytes.detached(self.view()))
            };
            let results: Vec<_> = images.iter().map(detached).collect();
            *buffers = reader.into_buffers();
            results
        };
        let mut results = read_with(self.view().charging(&part));
        turn.wait();
        if !budget.charge_fitting_part(&part) {
            results = read_with(self.view());
        }
        self.drop_cached(first_reads);
        results
    }
}

/// Bytes of an image without the reader and its budget.
#[derive(Debug)]
pub enum DetachedBytes {
    /// A range of the source.
    Source(Range<u64>),
    /// A range of a decompressed stream.
    Stream(Arc<Vec<u8>>, Range<usize>),
}

impl DetachedBytes {
    /// The bytes. `source` is all bytes of the source.
    pub fn get<'a>(&'a self, source: View<'a>) -> &'a [u8] {
        match self {
            DetachedBytes::Source(Range { start, end }) => {
                source.data().get(*start as usize..*end as usize).expect("a range of the source")
            }
            DetachedBytes::Stream(bytes, range) => bytes.get(range.clone()).expect("a range of the stream"),
        }
    }

    /// The buffer of the stream, if nothing else has it.
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        match self {
            DetachedBytes::Source(_) => None,
            DetachedBytes::Stream(bytes, _) => Arc::try_unwrap(bytes).ok(),
        }
    }
}

impl ImageBytes<'_> {
    /// Returns the bytes without the reader. `source` is all bytes of the source.
    pub(crate) fn detached(self, source: View<'_>) -> DetachedBytes {
        match self.0 {
            Place::Input(view) => DetachedBytes::Source(view.range_in(source)),
            Place::Stream(bytes, range, _) => DetachedBytes::Stream(bytes, range),
        }
    }
}
