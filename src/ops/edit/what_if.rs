//! `size --what-if`: the size of a file if its device code was compressed otherwise, or pruned, and the time that
//! loading it takes.
//!
//! Containers are rebuilt in memory by the code of `transcode` and `prune`, one at a time in each thread.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::edit::container::rebuild;
use crate::edit::file::first_images;
use crate::edit::transcode::{BundleForm, Transcoding};
use crate::edit::{ArchName, Edit, EditError, EditedImage, Effort, Encoding, ImageEdit, Prune};
use fatbin_core::base::bytes::{Extent, View, size_of_range, total};
use fatbin_core::base::codec::Codec;
use fatbin_core::base::parallel::{map_parallel, threads};
use fatbin_core::format::ContainerType;
use fatbin_core::format::ccob::Version;
use fatbin_core::format::cuda_fatbin::level;
use fatbin_core::scan::inventory::{Container, File};
use fatbin_core::scan::{Options, Scan, ScannedFile, Source};

/// A change whose effect is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhatIf {
    /// Everything that can be compressed has these codecs. `None` is uncompressed.
    Compressed(Option<CodecLevels>),
    /// Images for these processors are gone.
    Dropped(Vec<ArchName>),
}

/// Codecs and levels of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodecLevels {
    /// Codec of the entries of CUDA fat binaries, and its level.
    pub entries: (Codec, i32),
    /// Level of zstd in bundles, kpack archives and offload binaries of version 3; absent if they stay as they are.
    pub streams: Option<i32>,
}

/// Effect of a change on a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effect {
    /// Size of the file.
    pub size: u64,
    /// Number of images that are left, in the containers that were rebuilt.
    pub images: usize,
    /// Time for decompressing all images of an arch in one thread, by arch.
    pub times: BTreeMap<String, Duration>,
}

impl Effect {
    /// Adds the effect on another file.
    pub fn add(&mut self, other: Effect) {
        self.size = total([self.size, other.size]);
        self.images = [self.images, other.images].iter().sum();
        for (arch, time) in other.times {
            let sum = self.times.entry(arch).or_default();
            *sum = sum.saturating_add(time);
        }
    }
}

impl CodecLevels {
    /// The mode `size` of fatbinary, for all entries; streams have the same level.
    pub const SIZE: CodecLevels =
        CodecLevels { entries: (Codec::Zstd, level::ZSTD_SIZE), streams: Some(level::ZSTD_SIZE) };
    /// The mode `balance` of fatbinary, for all entries; streams have the level of LLVM's tools.
    pub const BALANCE: CodecLevels = CodecLevels { entries: (Codec::Zstd, level::ZSTD), streams: Some(STREAM_LEVEL) };
    /// The mode `speed` of fatbinary, for all entries; streams have the level of LLVM's tools.
    pub const SPEED: CodecLevels = CodecLevels { entries: (Codec::Lz4, level::LZ4), streams: Some(STREAM_LEVEL) };
}

/// Level of zstd in LLVM's tools.
const STREAM_LEVEL: i32 = 3;

/// Returns the effect of no change, and of each of `changes`, on a file. Containers with about `percent` of the bytes
/// are rebuilt, and the result is extrapolated to the others.
pub fn what_if(scanned: &ScannedFile, changes: &[WhatIf], percent: u32) -> Result<Vec<Effect>, EditError> {
    let scan = scanned.open()?;
    let sample = Sample::new(scan.file(), percent);
    let mut effects = Vec::new();
    for change in [None].into_iter().chain(changes.iter().map(Some)) {
        effects.push(sample.effect(scan.source().view(), change)?);
        scan.source().release(0..u64::MAX);
    }
    scan.source().input().check_unchanged()?;
    Ok(effects)
}

/// A container that is rebuilt, and the index of its first device image.
struct Sampled<'a> {
    container: &'a Container,
    first: usize,
}

/// The containers of a file that are rebuilt.
struct Sample<'a> {
    file: &'a File,
    containers: Vec<Sampled<'a>>,
    /// Bytes of all containers, and of the sample.
    all_bytes: u64,
    bytes: u64,
}

impl<'a> Sample<'a> {
    /// Chooses `percent` of the containers: in descending order of size, the first of each run of 100 / `percent`
    /// containers.
    fn new(file: &'a File, percent: u32) -> Self {
        let sampled = |(container, first)| Sampled { container, first };
        let mut containers: Vec<Sampled<'_>> = file.containers.iter().zip(first_images(file)).map(sampled).collect();
        let all_bytes = containers.iter().map(|it| it.container.size).sum();
        containers.sort_by_cached_key(|it| std::cmp::Reverse(it.container.size));
        let mut share = 100_u32.saturating_sub(percent);
        containers.retain(|_| {
            share = share.saturating_add(percent);
            let is_taken = share >= 100;
            share = share.checked_sub(100).unwrap_or(share);
            is_taken
        });
        let bytes = containers.iter().map(|it| it.container.size).sum();
        Sample { file, containers, all_bytes, bytes }
    }

    /// Scales an amount from the sample to all containers.
    fn projected(&self, amount: u128) -> u128 {
        amount.saturating_mul(self.all_bytes.into()).checked_div(self.bytes.into()).unwrap_or_default()
    }

    fn effect(&self, view: View<'_>, change: Option<&WhatIf>) -> Result<Effect, EditError> {
        let edit: Box<dyn Edit + '_> = match change {
            None => Box::new(Recompressed(None)),
            Some(WhatIf::Compressed(levels)) => Box::new(Recompressed(Some(*levels))),
            Some(WhatIf::Dropped(archs)) => Box::new(Prune::Drop(archs.clone()).kept(self.file)),
        };
        let measure = |sampled: &Sampled<'_>| rebuilt(view, sampled, &*edit);
        let measure_all = |workers| {
            let mut results = Vec::new();
            map_parallel(&self.containers, workers, measure, &mut |result| results.push(result));
            results
        };
        let results = view.charge_in_any_order(|| measure_all(threads())).unwrap_or_else(|| measure_all(1));
        let mut effect = Effect::default();
        for result in results {
            effect.add(result?);
        }
        let around = size_of_range(&(self.all_bytes..self.file.size));
        effect.size = total([around, u64::try_from(self.projected(effect.size.into())).unwrap_or(u64::MAX)]);
        for time in effect.times.values_mut() {
            *time = Duration::from_nanos(self.projected(time.as_nanos()) as u64);
        }
        Ok(effect)
    }
}

/// Returns the size of a container with an edit, and the times for its images.
fn rebuilt(view: View<'_>, sampled: &Sampled<'_>, edit: &dyn Edit) -> Result<Effect, EditError> {
    let Sampled { container, first } = *sampled;
    let offset = container.offset.unwrap_or_default();
    let own = view.part("container", Extent { offset, size: container.size })?;
    let new = rebuild(own, container, first, edit, 1)?;
    let (images, times) = match &new {
        Some(content) => load_times(View::new(&content.to_vec()))?,
        None => load_times(View::new(own.data()))?,
    };
    Ok(Effect { size: new.map_or(container.size, |content| content.size()), images, times })
}

/// Number of images, and times by arch.
type LoadTimes = (usize, BTreeMap<String, Duration>);

/// Measures the time for decompressing the images of each arch. What is compressed together is decompressed once for an
/// arch.
fn load_times(view: View<'_>) -> Result<LoadTimes, EditError> {
    // Containers must be decompressed again, and not be found in a cache.
    let scan = Scan::with_options(view, Options::default(), None)?;
    let mut archs: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for nested in scan.file().nested_images() {
        archs.entry(nested.image.arch_and_form()).or_default().push(nested);
    }
    let images = archs.values().map(Vec::len).sum();
    let mut times = BTreeMap::new();
    for (arch, nested) in archs {
        let reader = scan.reader();
        let start = Instant::now();
        for image in nested {
            // An image that cannot be decompressed takes no time.
            let _ = reader.image(image).bytes();
        }
        times.insert(arch, start.elapsed());
    }
    Ok((images, times))
}

/// An edit that keeps all images, with other codecs. Without a value it changes nothing.
struct Recompressed(Option<Option<CodecLevels>>);

impl Edit for Recompressed {
    fn image(&self, _: &EditedImage<'_>) -> Result<ImageEdit, EditError> {
        Ok(ImageEdit::Keep)
    }

    fn encoding(&self, container: &Container) -> Encoding {
        let Some(levels) = self.0 else { return Encoding::Same };
        let is_bundle = matches!(container.container_type, ContainerType::Bundle | ContainerType::Ccob);
        let own = container.version.and_then(|version| Version::from_number(version.into()));
        let (bundle, codec, level) = match (levels, container.container_type) {
            (None, _) => (BundleForm::Plain, Codec::None, None),
            (Some(levels), ContainerType::CudaFatbin) => (BundleForm::Plain, levels.entries.0, Some(levels.entries.1)),
            (Some(levels), _) => match levels.streams {
                Some(level) => (BundleForm::Compressed(own.unwrap_or(Version::Two)), Codec::Zstd, Some(level)),
                None => return Encoding::Same,
            },
        };
        let transcoding = Transcoding {
            bundle: is_bundle.then_some(bundle),
            offload_binary: None,
            codec: Some(codec),
            effort: level.map_or(Effort::Fit, Effort::Level),
        };
        transcoding.of(container)
    }
}
