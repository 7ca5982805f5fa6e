//! A scan that owns the bytes that it is of, and the reader of its images.

use std::fmt;
use std::ptr::NonNull;

use fatbin_rs::Result;
use fatbin_rs::scan::{CacheBudget, File, ImageBytes, ImageRef, Options, Scan, Source};

/// A scanned source, with its images by index. All references in it are to the two allocations that it owns, and none leaves it
/// with a longer life than a reference to it.
pub struct OpenScan {
    // Fields are dropped in this order, each before what it refers to.
    current: Option<ImageBytes<'static>>,
    images: Vec<ImageRef<'static>>,
    scan: Owned<Scan<&'static dyn Source>>,
    _source: Owned<dyn Source>,
}

impl OpenScan {
    /// Scans a source.
    pub fn new(source: impl Source + 'static, options: Options) -> Result<Self> {
        let source: Box<dyn Source> = Box::new(source);
        let source = Owned::new(source);
        // SAFETY: the references are dropped before the allocation, see the order of the fields.
        let scan = Scan::with_options(unsafe { source.get() }, options, Some(&CacheBudget::default()))?;
        let scan = Owned::new(Box::new(scan));
        // SAFETY: as above.
        let images = unsafe { scan.get() }.images().collect();
        Ok(OpenScan { current: None, images, scan, _source: source })
    }

    /// The inventory.
    pub fn file(&self) -> &File {
        // SAFETY: the result does not outlive `self`.
        unsafe { self.scan.get() }.file()
    }

    /// The device images, in order.
    pub fn images(&self) -> &[ImageRef<'_>] {
        &self.images
    }

    /// Reads an image, whose bytes [`Self::bytes`] returns until the next call.
    pub fn read(&mut self, index: usize) -> Result<()> {
        // The buffer of the preceding image is used again.
        self.release();
        self.current = Some(self.images[index].bytes()?);
        Ok(())
    }

    /// The bytes of the image that was read last.
    pub fn bytes(&self) -> &[u8] {
        self.current.as_deref().unwrap_or_default()
    }

    /// Releases these bytes.
    pub fn release(&mut self) {
        self.current = None;
    }
}

impl fmt::Debug for OpenScan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OpenScan").field("file", self.file()).finish_non_exhaustive()
    }
}

/// An allocation that references may point to while its owner is moved, which a `Box` does not allow.
struct Owned<T: ?Sized>(NonNull<T>);

impl<T: ?Sized> Owned<T> {
    fn new(value: Box<T>) -> Self {
        Owned(NonNull::from(Box::leak(value)))
    }

    /// Returns a reference.
    ///
    /// # Safety
    ///
    /// It must not be used after `self` is dropped.
    unsafe fn get<'a>(&self) -> &'a T {
        // SAFETY: the allocation exists until `self` is dropped, and nothing has a mutable reference to it.
        unsafe { self.0.as_ref() }
    }
}

impl<T: ?Sized> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from a leaked box, and is freed once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
