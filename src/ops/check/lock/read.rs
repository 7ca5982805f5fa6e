//! Parser of locks, which [`super::write`] wrote and users may have edited.
//!
//! Only comments are skipped. An unknown entry or field is an error, because a lock that is only partly understood
//! guards only part of what its owner expects.
//!
//! A line of a kernel is one kernel in each image of its unit, so there may be far more kernels than bytes of text.
//! They are charged to a budget.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::fields::{EntryForm, FieldReader, Fields, excerpt};
use super::line_error::{LineError, LockError};
use super::summary;
use super::text::HEADER;
use super::units::ImageLabels;
use super::{FIGURES, KernelHash, KernelPool, KernelUsage, Lock, LockedFile, LockedImage, LockedKernel, LockedTarget};
use fatbin_core::base::bytes::{Budget, Limits, Resource};
use fatbin_core::image::Figure;

type Result<T> = std::result::Result<T, LineError>;

/// First bytes of a lock of any version.
const MAGIC: &[u8] = b"fatbin.lock/";

/// Returns whether a file that begins with these bytes is a lock, or the summary of one.
pub fn is_lock(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(summary::HEADER.as_bytes())
}

/// Parses a lock.
pub fn read(bytes: &[u8]) -> std::result::Result<Lock, LockError> {
    read_within(bytes, Limits::default())
}

/// Parses a lock within limits.
pub fn read_within(bytes: &[u8], limits: Limits) -> std::result::Result<Lock, LockError> {
    let mut reader = Reader {
        files: Vec::new(),
        unit: None,
        pool: KernelPool::default(),
        budget: Budget::new(limits, bytes.len() as u64),
    };
    for (line, number) in bytes.split(|&byte| byte == b'\n').zip(1..) {
        let in_line = |cause| LockError { line: number, cause };
        let line = str::from_utf8(line).map_err(|error| in_line(error.into()))?.trim();
        match number {
            1 => check_header(line).map_err(in_line)?,
            _ if line.is_empty() || line.starts_with('#') => {}
            _ => reader.add_entry(line).map_err(in_line)?,
        }
    }
    Ok(Lock::new(reader.files))
}

fn check_header(header: &str) -> Result<()> {
    match header {
        HEADER => Ok(()),
        summary::HEADER => Err(LineError::Summary),
        _ => Err(LineError::Header(excerpt(header))),
    }
}

struct Reader {
    files: Vec<LockedFile>,
    /// The last unit of the last file.
    unit: Option<OpenUnit>,
    pool: KernelPool,
    budget: Budget,
}

/// A unit whose entries are being read.
#[derive(Default)]
struct OpenUnit {
    attributes: Attributes,
    /// Index of its first image in the file.
    start: usize,
    labels: ImageLabels,
    /// Indices of its images in the file, by their labels.
    by_label: HashMap<String, usize>,
}

/// Properties that images of a unit may share.
#[derive(Default, Clone)]
struct Attributes {
    kind: Option<String>,
    image: Option<String>,
    triple: Option<String>,
    container_path: Option<String>,
    codec: Option<String>,
    debug: Option<String>,
}

impl Attributes {
    /// Reads the properties of a unit, or the properties of an image. For an image, `unit` has the properties of its
    /// unit.
    fn read(fields: &mut Fields<'_>, unit: Attributes) -> Result<Self> {
        let mut read = |key, shared: Option<String>| match (fields.string(key), shared) {
            (Some(_), Some(_)) => Err(LineError::DuplicateField(key.to_owned())),
            (own, shared) => Ok(own.or(shared)),
        };
        Ok(Attributes {
            kind: read("kind", unit.kind)?,
            image: read("image", unit.image)?,
            triple: read("triple", unit.triple)?,
            container_path: read("in", unit.container_path)?,
            codec: read("codec", unit.codec)?,
            debug: read("debug", unit.debug)?,
        })
    }
}

impl Reader {
    fn add_entry(&mut self, line: &str) -> Result<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "file" => {
                self.unit = None;
                self.files.push(file(FieldReader::read("file", rest, EntryForm::Named)?)?);
                Ok(())
            }
            "unit" => self.add_unit(FieldReader::read("unit", rest, EntryForm::Fields)?),
            "image" => self.add_image(FieldReader::read("image", rest, EntryForm::Named)?),
            "kernel" => self.add_kernel(FieldReader::read("kernel", rest, EntryForm::Scoped)?),
            _ => Err(LineError::UnknownEntry(excerpt(word))),
        }
    }

    fn add_unit(&mut self, mut entry: FieldReader<'_>) -> Result<()> {
        let file = self.files.last().ok_or(LineError::OutOfPlace { entry: "unit", outer: "file" })?;
        let attributes = Attributes::read(&mut entry.fields, Attributes::default())?;
        self.unit = Some(OpenUnit { attributes, start: file.images.len(), ..OpenUnit::default() });
        entry.fields.finish()
    }

    fn add_image(&mut self, mut entry: FieldReader<'_>) -> Result<()> {
        let out_of_place = |outer| LineError::OutOfPlace { entry: "image", outer };
        let file = self.files.last_mut().ok_or(out_of_place("file"))?;
        let unit = self.unit.as_mut().ok_or(out_of_place("unit"))?;
        let attributes = Attributes::read(&mut entry.fields, unit.attributes.clone())?;
        let image = image(entry, attributes)?;
        let label = unit.labels.next(image.target.arch.as_deref());
        unit.by_label.insert(label, file.images.len());
        file.images.push(image);
        Ok(())
    }

    fn add_kernel(&mut self, mut entry: FieldReader<'_>) -> Result<()> {
        let name = entry.name.take().ok_or(LineError::NoName("kernel"))?;
        let name = match entry.fields.optional("demangled") {
            Some(demangled) => self.pool.name_with(&name, demangled.as_deref()),
            None => self.pool.name(&name),
        };
        let (Some(unit), Some(file)) = (&self.unit, self.files.last_mut()) else { return Err(NO_IMAGE) };
        let images = file.images.get_mut(unit.start..).filter(|images| !images.is_empty()).ok_or(NO_IMAGE)?;
        let common = usage(&mut entry.fields, KernelUsage::default())?;
        let common_code = entry.fields.hash("code")?;
        entry.fields.finish()?;
        let add = |image: &mut LockedImage, usage: &Arc<KernelUsage>, code: Option<KernelHash>| {
            let size = size_of::<LockedKernel>() as u64;
            self.budget.charge(Resource::Memory, size).map_err(LineError::OverBudget)?;
            image.kernels.push(LockedKernel { name: name.clone(), usage: Arc::clone(usage), code });
            Ok(())
        };
        if entry.scopes.is_empty() {
            let usage = self.pool.usage(common);
            return images.iter_mut().try_for_each(|image| add(image, &usage, common_code));
        }
        let mut added = BTreeSet::new();
        for (labels, mut fields) in entry.scopes {
            let usage = self.pool.usage(usage(&mut fields, common.clone())?);
            let code = match (fields.hash("code")?, common_code) {
                (Some(_), Some(_)) => return Err(LineError::DuplicateField("code".to_owned())),
                (own, common) => own.or(common),
            };
            fields.finish()?;
            for label in labels.split(',') {
                let index = unit.by_label.get(label).and_then(|index| index.checked_sub(unit.start));
                let image = index.and_then(|index| images.get_mut(index));
                add(image.ok_or_else(|| LineError::UnknownImage(excerpt(label)))?, &usage, code)?;
                if !added.insert(label) {
                    return Err(LineError::DuplicateImage(excerpt(label)));
                }
            }
        }
        Ok(())
    }
}

const NO_IMAGE: LineError = LineError::OutOfPlace { entry: "kernel", outer: "image" };

fn file(mut entry: FieldReader<'_>) -> Result<LockedFile> {
    let path = entry.name.take().ok_or(LineError::NoName("file"))?.into_owned();
    let fields = &mut entry.fields;
    let size = fields.number("size")?;
    let stored = fields.number("stored")?;
    entry.fields.finish()?;
    Ok(LockedFile { path, size, stored, images: Vec::new(), order: None })
}

fn image(mut entry: FieldReader<'_>, attributes: Attributes) -> Result<LockedImage> {
    let target = LockedTarget {
        arch: entry.name.map(Cow::into_owned),
        kind: attributes.kind,
        image: attributes.image.ok_or(LineError::Missing { field: "image" })?,
        triple: attributes.triple,
    };
    let fields = &mut entry.fields;
    let image = LockedImage {
        target,
        kernels: Vec::new(),
        container_path: attributes.container_path,
        codec: attributes.codec,
        stored: fields.number("stored")?,
        size: fields.number("size")?,
        debug: attributes.debug,
        sha256: fields.hash("sha256")?,
        code: fields.hash("code")?,
        rest: fields.hash("rest")?,
        parts: None,
    };
    entry.fields.finish()?;
    Ok(image)
}

/// Reads figures, and adds them to the known figures in `usage`.
fn usage(fields: &mut Fields<'_>, mut usage: KernelUsage) -> Result<KernelUsage> {
    for (figure, known) in FIGURES.into_iter().zip(&mut usage.figures) {
        let value = if figure == Figure::Scratch {
            fields.minimum(figure.key())?
        } else {
            fields.number(figure.key())?.map(|value| (value, false))
        };
        let Some((value, is_minimum)) = value else { continue };
        if known.replace(value).is_some() {
            return Err(LineError::DuplicateField(figure.key().to_owned()));
        }
        usage.scratch_is_minimum |= is_minimum;
    }
    Ok(usage)
}
