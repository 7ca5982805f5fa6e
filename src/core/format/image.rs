//! A device image as its container describes it, and its bytes.

use std::borrow::Cow;
use std::ops::Range;

use super::{DeviceImage, ImageKind, spirv};
use crate::base::bytes::{Extent, View};
use crate::base::codec::{self, Codec};
use crate::base::error::{Cause, Malformed};
use crate::target::{OffloadKind, subarch};

/// A device image with the properties that its container states. The image's own header supplies those that the
/// container omits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageView<'data> {
    /// Offload kind; absent if the container does not state it, or states an unknown one.
    pub kind: Option<OffloadKind>,
    /// Kind of the image.
    pub image_kind: ImageKind,
    /// Target triple.
    pub triple: Option<String>,
    /// Processor with features or suffix: `gfx90a:xnack+`, `sm_90a`.
    pub arch: Option<String>,
    /// Bundle entry ID, as in the file.
    pub id: Option<&'data str>,
    /// Further properties that the container states, as keys and values; `triple` and `arch` are among them.
    pub strings: Vec<(&'data str, &'data str)>,
    /// Fields with unknown values.
    pub unknown: Vec<UnknownValue>,
    /// Stored bytes of the image.
    pub view: View<'data>,
    /// Codec of the stored bytes; absent if the format has no compression of images.
    pub codec: Option<Codec>,
    /// Decompressed size; absent if the image is not compressed.
    pub full_size: Option<u64>,
    /// Version of the code that the container states, as major and minor number. For PTX it is the ISA, for a cubin 1
    /// and the ABI.
    pub code_version: Option<(u16, u16)>,
    /// True if a CUDA fat binary states that a cubin has Mercury code.
    pub is_mercury: bool,
    /// Position in the decompressed bytes, where several images are compressed as one.
    pub part: Option<GroupPart>,
    /// False if nothing states the end of the image. It was then derived from the contents.
    pub has_stated_end: bool,
    /// Name of the symbol of an image without a container, if the file states it outside the symbol table.
    pub symbol: Option<&'data str>,
}

/// A part of decompressed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupPart {
    /// Offset of the image in the decompressed bytes.
    pub offset: u64,
    /// Size of all decompressed bytes.
    pub whole: u64,
}

/// A field of a container with a value that is not in its specification, kept for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownValue {
    /// Name of the field.
    pub field: &'static str,
    /// Value of the field.
    pub value: u64,
}

impl UnknownValue {
    /// Field that states the format of an image. Nothing is known about an image with an unknown value of it.
    pub const KIND: &str = "kind";
}

impl<'data> ImageView<'data> {
    /// Creates an image with the properties that the container states, completed from the image's header, and from the
    /// subarchitecture in the triple. Empty strings count as absent.
    pub(super) fn new(view: View<'data>, kind: Option<OffloadKind>, triple: Option<&str>, arch: Option<&str>) -> Self {
        let own = DeviceImage::identify(view);
        let is_spirv = own.image_kind == ImageKind::SpirV;
        let implied = || if is_spirv { spirv::triple(view).map(str::to_owned) } else { None };
        let stated = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        let triple = stated(triple).or(own.triple.map(Cow::into_owned)).or_else(implied);
        let arch = subarch::image_arch(triple.as_deref().unwrap_or_default(), arch, own.arch.as_deref());
        let arch = arch.map(str::to_owned);
        ImageView {
            kind,
            image_kind: own.image_kind,
            triple,
            arch,
            id: None,
            strings: Vec::new(),
            unknown: Vec::new(),
            view,
            codec: None,
            full_size: None,
            code_version: None,
            is_mercury: false,
            part: None,
            has_stated_end: true,
            symbol: None,
        }
    }

    /// Records that the image is stored as a zstd frame.
    pub(super) fn set_frame(&mut self, image_kind: ImageKind, full_size: u64) {
        self.image_kind = image_kind;
        self.codec = Some(Codec::Zstd);
        self.full_size = Some(full_size);
    }

    /// Returns the bytes of the image, decompressed if it is stored compressed. An ELF file ends where its own headers
    /// end, and PTX before the NUL that terminates it in memory; bytes that follow belong to the container.
    pub fn bytes(&self) -> Result<Cow<'data, [u8]>, Malformed> {
        if !codec::is_compressed(self.codec) {
            return Ok(Cow::Borrowed(self.view.data()));
        }
        let mut full = Vec::new();
        self.decompress_into(&mut full)?;
        let own = self.own_range(&full)?;
        full.truncate(own.end);
        full.drain(..own.start);
        Ok(Cow::Owned(full))
    }

    /// Decompresses the stored bytes, including other images that are compressed together with this one.
    pub(super) fn decompress_into(&self, full: &mut Vec<u8>) -> Result<(), Malformed> {
        let whole = self.part.map_or(self.full_size.unwrap_or_default(), |part| part.whole);
        codec::decompress_into(full, self.codec.unwrap_or(Codec::None), self.view, whole)
    }

    /// Slices the image out of the decompressed bytes.
    pub(super) fn own_bytes<'a>(&self, full: &'a [u8]) -> Result<&'a [u8], Malformed> {
        self.own_range(full).map(|range| full.get(range).expect("a range of these bytes"))
    }

    fn own_range(&self, full: &[u8]) -> Result<Range<usize>, Malformed> {
        let offset = self.part.map_or(0, |part| part.offset);
        image_range(self.image_kind, self.view.derived(full), offset, self.full_size.unwrap_or_default())
            .map_err(|error| self.view.malformed(error.field, 0, error.cause))
    }
}

/// Returns the range of an image in a decompressed stream. The container states `offset` and `size`. An ELF file ends
/// where its headers state, and PTX before the NULs that end it in memory.
pub fn image_range(kind: ImageKind, stream: View<'_>, offset: u64, size: u64) -> Result<Range<usize>, Malformed> {
    let own = stream.part("image in a group", Extent { offset, size })?;
    let own_size = match kind {
        ImageKind::Ptx => without_nul(own.data()),
        // The headers of a truncated file state more bytes than it has.
        _ => DeviceImage::identify(own).own_size.unwrap_or(size).min(size),
    };
    let range = own.prefix("image in a group", own_size)?.range_in(stream);
    Ok(range.start as usize..range.end as usize)
}

/// Rejects images that overlap. If they could share bytes, containers in containers would multiply at each level.
pub fn reject_overlaps(field: &'static str, view: View<'_>, images: &[ImageView<'_>]) -> Result<(), Malformed> {
    let ranges = images.iter().map(|image| image.view.range_in(view));
    let mut ranges: Vec<Range<u64>> = ranges.filter(|range| !range.is_empty()).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut end = 0;
    for range in ranges {
        if range.start < end {
            return Err(view.malformed(field, range.start, Cause::Overlap { offset: range.start, end }));
        }
        end = range.end;
    }
    Ok(())
}

/// Returns the number of bytes before the NULs at the end.
pub fn without_nul(text: &[u8]) -> u64 {
    let mut text = text;
    while let [before @ .., 0] = text {
        text = before;
    }
    text.len() as u64
}
