//! The images of a scanned file, read one after another.
//!
//! A scan records where the bytes of every image are stored, so reading an image does not read its container again.
//! Images that are compressed together are decompressed once: a reader keeps the streams around the last image that it
//! has read. The next image of the same stream is a part of these bytes.

#[cfg(feature = "full")]
pub mod at_turn;
pub mod hash;
#[cfg(feature = "full")]
mod kernels;
pub mod map;
pub mod stream_memory;
#[cfg(feature = "files")]
mod write_file;

use std::cell::RefCell;
use std::ops::{Deref, Range};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use super::Options;
use super::cache::{CacheBudget, CacheUse, Charged, DecompressedCache};
use super::search::find;
use super::source::{Source, Unreleased};
use crate::base::bytes::{Budget, Extent, Limits, View};
use crate::base::codec::{self, Codec};
use crate::base::error::{Error, Malformed, Result};
use crate::format;
use crate::scan::inventory::{Container, File, Image, NestedImage};

/// A file and its inventory.
///
/// ```
/// # use fatbin_core::base::io::{Access, Input};
/// # use fatbin_core::scan::Scan;
/// # fn main() -> fatbin_core::base::error::Result<()> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-gfx90a.hsaco");
/// let input = Input::open(path, Access::read())?;
/// let scan = Scan::new(&input)?;
/// for image in scan.images() {
///     println!("{} {:?} {} bytes", image.index(), image.arch, image.bytes()?.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Scan<S> {
    source: S,
    file: Arc<File>,
    cache: Arc<DecompressedCache>,
    /// Budget for a source that has none.
    budget: Budget,
    /// Bytes that all readers have read.
    unreleased: Unreleased,
}

impl<S: Source> Scan<S> {
    /// Scans `source` with default options and a cache of the default size.
    pub fn new(source: S) -> Result<Self> {
        Scan::with_options(source, Options::default(), Some(&CacheBudget::default()))
    }

    /// Scans `source`. Containers that the scan decompresses are kept for reading their images, up to `budget`. Without
    /// a budget, nothing is kept.
    pub fn with_options(source: S, options: Options, budget: Option<&CacheBudget>) -> Result<Self> {
        let cache = DecompressedCache::new(budget.cloned().unwrap_or(CacheBudget::new(0)));
        let own_budget = budget_of(&source);
        let view = source.view().or_budget(&own_budget);
        let file = find::find(&source, view, options, budget.map(|_| &cache))?;
        let file = Arc::new(file);
        let cache = Arc::new(cache);
        let scan = Scan { source, file, cache, budget: own_budget, unreleased: Unreleased::default() };
        let scan = if options.hash { scan.with_hashes() } else { scan };
        #[cfg(feature = "full")]
        let scan = if options.kernels { scan.with_contents() } else { scan };
        Ok(scan)
    }

    /// Creates a scan from the results of [`Self::into_parts`].
    pub(in crate::scan) fn from_parts(source: S, file: Arc<File>, cache: Arc<DecompressedCache>) -> Self {
        let budget = budget_of(&source);
        Scan { source, file, cache, budget, unreleased: Unreleased::default() }
    }

    /// All bytes of the source, with a budget.
    pub(crate) fn view(&self) -> View<'_> {
        self.source.view().or_budget(&self.budget)
    }

    /// Takes a scan apart.
    pub(in crate::scan) fn into_parts(self) -> (S, Arc<File>, Arc<DecompressedCache>) {
        (self.source, self.file, self.cache)
    }

    /// The scanned bytes.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The inventory.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The inventory, to add to it.
    pub(crate) fn file_mut(&mut self) -> &mut File {
        Arc::make_mut(&mut self.file)
    }

    /// Returns the inventory and drops everything else.
    #[doc(hidden)]
    pub fn into_file(self) -> File {
        Arc::unwrap_or_clone(self.file)
    }

    /// The device images of the file, in the order of [`File::device_images`].
    pub fn images(&self) -> impl Iterator<Item = ImageRef<'_>> {
        let reader = self.reader();
        self.file.nested_images().map(move |nested| reader.image(nested))
    }

    /// The images like [`Self::images`]. Reading them charges `budget` instead of the budget of the source, and leaves
    /// the cache unchanged. It is for programs that read images any number of times.
    pub fn images_with_budget<'scan>(&'scan self, budget: &'scan Budget) -> impl Iterator<Item = ImageRef<'scan>> {
        let reader = self.reader_with(self.view().charging(budget), CacheUse::Reads, Shared::default());
        self.file.nested_images().map(move |nested| reader.image(nested))
    }

    /// Creates a reader for images in any order. Every thread needs a separate one.
    #[doc(hidden)]
    pub fn reader(&self) -> ImageReader<'_> {
        self.reader_with(self.view(), CacheUse::Takes, Shared::default())
    }

    /// Creates a reader of `view`, all bytes of the source with some budget.
    fn reader_with<'scan>(
        &'scan self,
        view: View<'scan>,
        cache_use: CacheUse<'scan>,
        shared: Shared,
    ) -> ImageReader<'scan> {
        ImageReader(Rc::new(Reader {
            source: &self.source,
            view,
            cache: &self.cache,
            cache_use,
            streams: RefCell::default(),
            buffers: RefCell::new(shared.buffers),
            unreleased: &self.unreleased,
            names: shared.names,
        }))
    }

    /// Removes the containers with these start offsets from the cache.
    fn drop_cached(&self, starts: &[u64]) {
        for start in starts {
            drop(self.cache.take(*start));
        }
    }
}

/// Budget of a source, or one for its size.
pub fn budget_of(source: &dyn Source) -> Budget {
    let view = source.view();
    view.budget().cloned().unwrap_or_else(|| Budget::new(Limits::default(), view.size()))
}

/// What a reader can have from others of the same file.
#[derive(Clone, Default)]
struct Shared {
    /// Buffers for decompressed bytes.
    buffers: Vec<Vec<u8>>,
    names: Names,
}

/// Names that were read from the images of a file.
#[derive(Clone, Default)]
pub(super) struct Names {
    #[cfg(feature = "full")]
    pub demangler: Arc<crate::image::Demangler>,
}

/// Reads images of one file.
#[derive(Debug, Clone)]
pub struct ImageReader<'scan>(Rc<Reader<'scan>>);

impl<'scan> ImageReader<'scan> {
    /// Reference to an image of this reader's file.
    pub fn image(&self, nested: NestedImage<'scan>) -> ImageRef<'scan> {
        ImageRef { nested, reader: Rc::clone(&self.0) }
    }

    /// Buffers of the reader, for another one.
    pub(crate) fn into_buffers(self) -> Vec<Vec<u8>> {
        let streams = self.0.streams.take().into_iter();
        let mut buffers = self.0.buffers.take();
        buffers.extend(streams.filter_map(|(_, bytes)| Arc::try_unwrap(bytes).ok()));
        buffers
    }
}

/// A device image of a scanned file: its entry in the inventory, and its bytes.
#[derive(Debug, Clone)]
pub struct ImageRef<'scan> {
    nested: NestedImage<'scan>,
    reader: Rc<Reader<'scan>>,
}

impl<'scan> ImageRef<'scan> {
    /// Index among the device images of the file.
    pub fn index(&self) -> usize {
        self.nested.index
    }

    /// The containers around the image, from the outermost.
    pub fn containers(&self) -> &[&'scan Container] {
        &self.nested.containers
    }

    /// The image, decompressed if it is stored compressed. A decompressed ELF file ends where its headers state. PTX
    /// ends before the NUL that terminates it in memory. Anything after the end belongs to the container.
    pub fn bytes(&self) -> Result<ImageBytes<'scan>> {
        self.read().map_err(|problem| self.error(problem))
    }

    /// The error for a problem in the image.
    pub(crate) fn error(&self, problem: Malformed) -> Error {
        image_error(&self.reader.source.path(), self.index(), self, problem)
    }

    /// Like [`Self::bytes`], for callers that add the file to the error.
    #[doc(hidden)]
    pub fn read(&self) -> Result<ImageBytes<'scan>, Malformed> {
        self.reader.bytes(&self.nested)
    }

    /// Names for all images that are read together.
    pub(super) fn names(&self) -> &Names {
        &self.reader.names
    }

    /// The image as it is stored in the innermost container.
    #[doc(hidden)]
    pub fn stored_bytes(&self) -> Result<ImageBytes<'scan>, Malformed> {
        self.reader.stored_bytes(&self.nested)
    }
}

impl Deref for ImageRef<'_> {
    type Target = Image;

    fn deref(&self) -> &Image {
        self.nested.image
    }
}

/// Error for a problem inside an image. Offsets count from the start of the file if the image is stored there
/// unchanged.
pub fn image_error(path: &str, number: usize, image: &Image, problem: Malformed) -> Error {
    let is_plain = image.offset.is_some() && image.full_size.is_none();
    let path = Path::new(path);
    if is_plain {
        problem.in_file(path)
    } else {
        Error::MalformedImage { path: path.to_owned(), number, malformed: problem }
    }
}

/// Bytes of an image: a part of the input, or of a decompressed stream.
#[derive(Debug, Clone)]
pub struct ImageBytes<'scan>(Place<'scan>);

#[derive(Debug, Clone)]
enum Place<'scan> {
    Input(View<'scan>),
    /// A range of a stream, and a view of the file for its budget.
    Stream(Arc<Vec<u8>>, Range<usize>, View<'scan>),
}

impl ImageBytes<'_> {
    /// View of the bytes. Offsets in messages count from the start of the file if the image is stored there unchanged,
    /// and from the start of the image if it was decompressed.
    pub fn view(&self) -> View<'_> {
        match &self.0 {
            Place::Input(view) => *view,
            Place::Stream(.., file) => file.derived(self),
        }
    }
}

impl Deref for ImageBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Input(view) => view.data(),
            Place::Stream(bytes, range, _) => bytes.get(range.clone()).expect("a range of the stream"),
        }
    }
}

/// Bytes that hold containers and images: the file, or the decompressed bytes of a container in it.
#[derive(Clone)]
enum Space<'scan> {
    File(View<'scan>),
    Stream(Arc<Vec<u8>>, View<'scan>),
}

impl<'scan> Space<'scan> {
    fn view(&self) -> View<'_> {
        match self {
            Space::File(view) => *view,
            Space::Stream(bytes, file) => file.derived(bytes),
        }
    }

    fn part(&self, field: &'static str, start: u64, size: u64) -> Result<ImageBytes<'scan>, Malformed> {
        let part = match self {
            Space::File(view) => Place::Input(view.record(field, Extent { offset: start, size })?),
            Space::Stream(bytes, file) => {
                let Range { start, end } = file.derived(bytes).record(field, Extent { offset: start, size })?.range();
                Place::Stream(Arc::clone(bytes), start as usize..end as usize, *file)
            }
        };
        Ok(ImageBytes(part))
    }
}

/// A compressed stream, identified by its place in the bytes around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StreamId {
    start: u64,
    size: u64,
}

/// State of one or several [`ImageRef`]s.
struct Reader<'scan> {
    source: &'scan dyn Source,
    /// All bytes of the source.
    view: View<'scan>,
    cache: &'scan DecompressedCache,
    cache_use: CacheUse<'scan>,
    /// The streams around the last image that was read, each inside the previous one.
    streams: RefCell<Vec<(StreamId, Arc<Vec<u8>>)>>,
    /// Buffers for streams. New memory is mapped into a process page by page, which takes as long as decompressing.
    buffers: RefCell<Vec<Vec<u8>>>,
    /// Bytes that all readers have read.
    unreleased: &'scan Unreleased,
    names: Names,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").field("source", &self.source.path()).finish_non_exhaustive()
    }
}

impl<'scan> Reader<'scan> {
    fn bytes(&self, nested: &NestedImage<'scan>) -> Result<ImageBytes<'scan>, Malformed> {
        let image = nested.image;
        let stored = self.stored_bytes(nested)?;
        if !codec::is_compressed(image.codec) {
            return Ok(stored);
        }
        let full_size = image.full_size.unwrap_or_default();
        let (offset, whole) = image.stored.part.map_or((0, full_size), |part| (part.offset, part.whole));
        let id = StreamId { start: image.stored.start, size: image.stored.size };
        let depth = compressed_containers(nested).count();
        let full = self.stream(depth, id, |mut full| {
            codec::decompress_into(&mut full, image.codec.unwrap_or(Codec::None), stored.view(), whole)?;
            Ok(Arc::new(full))
        })?;
        let range = format::image_range(image.image_kind, stored.view().derived(&full), offset, full_size);
        let range = range.map_err(|error| stored.view().malformed(error.field, 0, error.cause))?;
        Ok(ImageBytes(Place::Stream(full, range, self.view)))
    }

    fn stored_bytes(&self, nested: &NestedImage<'scan>) -> Result<ImageBytes<'scan>, Malformed> {
        let mut space = Space::File(self.view);
        for (depth, container) in compressed_containers(nested).enumerate() {
            let id = StreamId { start: container.start, size: container.size };
            let decompressed = self.stream(depth, id, |_| {
                // Containers inside another have offsets in its decompressed bytes.
                match if depth == 0 { self.cache.get_for(self.cache_use, container.start) } else { None } {
                    Some(Charged::Kept(bytes)) => Ok(bytes),
                    Some(Charged::NotKept) => self.decompress_again(container).map(Arc::new),
                    None => decompress(container, &space).map(Arc::new),
                }
            })?;
            space = Space::Stream(decompressed, self.view);
        }
        let stored = nested.image.stored;
        self.count(stored.size);
        space.part("image", stored.start, stored.size)
    }

    /// Decompresses a container of the file that the scan has charged.
    fn decompress_again(&self, container: &Container) -> Result<Vec<u8>, Malformed> {
        let uncharged = self.view.budget().map(Budget::part);
        let view = uncharged.as_ref().map_or(self.view, |budget| self.view.charging(budget));
        decompress(container, &Space::File(view))
    }

    /// Returns the decompressed bytes of the stream `id` at `depth`. If they are not there anymore, `decompress`
    /// produces them in a buffer that may have been used before.
    fn stream(
        &self,
        depth: usize,
        id: StreamId,
        decompress: impl FnOnce(Vec<u8>) -> Result<Arc<Vec<u8>>, Malformed>,
    ) -> Result<Arc<Vec<u8>>, Malformed> {
        let mut streams = self.streams.borrow_mut();
        if let Some((known, bytes)) = streams.get(depth)
            && *known == id
        {
            return Ok(Arc::clone(bytes));
        }
        // A buffer is reused if no caller holds bytes of it. It is not cleared: a codec that needs bytes to write to
        // would fill them with zeros again.
        let mut buffers = self.buffers.borrow_mut();
        buffers.extend(streams.drain(depth..).filter_map(|(_, bytes)| Arc::try_unwrap(bytes).ok()));
        let bytes = decompress(buffers.pop().unwrap_or_default())?;
        streams.push((id, Arc::clone(&bytes)));
        Ok(bytes)
    }

    fn count(&self, bytes: u64) {
        if self.unreleased.add(bytes) {
            self.source.release(0..u64::MAX);
        }
    }
}

/// The compressed containers around an image, from the outermost.
pub fn compressed_containers<'scan>(nested: &NestedImage<'scan>) -> impl Iterator<Item = &'scan Container> {
    nested.containers.iter().copied().filter(|container| container.codec.is_some())
}

/// Decompresses a container whose hash the scan has verified.
fn decompress(container: &Container, space: &Space<'_>) -> Result<Vec<u8>, Malformed> {
    let view = space.view().record("container", Extent { offset: container.start, size: container.size })?;
    format::compressed_container(container.container_type, view)?.decompress_unverified()
}
