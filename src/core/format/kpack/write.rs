//! Writing. The order of keys and the forms of integers are the same as in AMD's own writer (rocm-kpack,
//! `python/rocm_kpack/kpack.py`, as described in its documentation).

use std::io;

use super::layout::{BLOBS_OFFSET, HSACO, Header, Scheme, VERSION, key};
use super::message_pack::MessagePackWriter;
use crate::base::codec::{self, Codec, Compression};
use crate::base::content::Content;

/// Properties of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KpackProperties<'a> {
    /// Name of the software whose device code the archive holds.
    pub group_name: &'a str,
    /// Family of processors; AMD's splitter writes the target ID itself.
    pub family: &'a str,
    /// Target IDs; the loader finds the archive by them.
    pub arches: &'a [&'a str],
}

/// A code object for an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KpackMember<'a, 'data> {
    /// Path of the binary that the code belongs to, `#`, and the index of the code object.
    pub key: &'a str,
    /// Target ID.
    pub arch: &'a str,
    /// The code object.
    pub image: &'data [u8],
}

/// A code object in its stored form.
#[derive(Debug, Clone)]
pub struct StoredMember<'a, 'data> {
    /// Path of the binary that the code belongs to, `#`, and the index of the code object.
    pub key: &'a str,
    /// Target ID.
    pub arch: &'a str,
    /// Type of the code.
    pub code_type: &'a str,
    /// Decompressed size in bytes.
    pub original_size: u64,
    /// The code object, or its zstd frame.
    pub stored: Content<'data>,
}

/// An archive, or the error of the codec.
pub type Written<'data> = io::Result<Content<'data>>;

/// Writes an archive. The table of contents has the members in their order, grouped by key. Images are borrowed, unless
/// they are compressed.
pub fn write<'data>(
    properties: &KpackProperties<'_>,
    members: &[KpackMember<'_, 'data>],
    compression_level: Option<i32>,
) -> Written<'data> {
    let stored = |member: &KpackMember<'_, 'data>| match compression_level {
        Some(level) => compress(&Content::from(member.image), level),
        None => Ok(Content::from(member.image)),
    };
    let members = members.iter().map(|member| {
        let &KpackMember { key, arch, image } = member;
        let original_size = image.len() as u64;
        Ok(StoredMember { key, arch, code_type: HSACO, original_size, stored: stored(member)? })
    });
    let scheme = if compression_level.is_some() { Scheme::ZstdPerKernel } else { Scheme::None };
    write_stored(properties, scheme, members.collect::<io::Result<Vec<_>>>()?)
}

/// Returns the zstd frame of a code object.
pub fn compress<'data>(image: &Content<'_>, level: i32) -> Written<'data> {
    let how = Compression { codec: Codec::Zstd, level };
    codec::compress(image.runs(), image.size(), how, Vec::new()).map(Content::from)
}

/// Writes an archive of members in their stored form.
pub fn write_stored<'data>(
    properties: &KpackProperties<'_>,
    scheme: Scheme,
    mut members: Vec<StoredMember<'_, 'data>>,
) -> Written<'data> {
    let mut blobs = Content::new();
    let end = |blobs: &Content<'_>| BLOBS_OFFSET.checked_add(blobs.size()).ok_or_else(too_large);
    let mut places = Vec::new();
    if scheme == Scheme::ZstdPerKernel {
        blobs.push(u32::try_from(members.len()).map_err(|_| too_large())?.to_le_bytes().to_vec());
    }
    for member in &mut members {
        let stored = std::mem::take(&mut member.stored);
        if scheme == Scheme::ZstdPerKernel {
            blobs.push(u32::try_from(stored.size()).map_err(|_| too_large())?.to_le_bytes().to_vec());
        }
        places.push((end(&blobs)?, stored.size()));
        blobs.append(stored);
    }
    let toc = toc(properties, &members, scheme, &places, blobs.size());
    let header = Header { toc_offset: end(&blobs)? };
    let mut content = Content::from(header.to_bytes());
    content.append(blobs);
    content.push(toc);
    Ok(content)
}

fn too_large() -> io::Error {
    io::Error::other("a kpack archive holds at most 4 GiB of a code object and 2^32 of them")
}

fn toc(
    properties: &KpackProperties<'_>,
    members: &[StoredMember<'_, '_>],
    scheme: Scheme,
    places: &[(u64, u64)],
    blobs_size: u64,
) -> Vec<u8> {
    let mut to = MessagePackWriter::default();
    to.map(if scheme == Scheme::None { 7 } else { 8 });
    to.text(key::FORMAT_VERSION);
    to.number(u64::from(VERSION));
    to.text(key::GROUP_NAME);
    to.text(properties.group_name);
    to.text(key::FAMILY);
    to.text(properties.family);
    to.text(key::ARCHES);
    to.array(properties.arches.len());
    for arch in properties.arches {
        to.text(arch);
    }
    to.text(key::TOC);
    code_objects(&mut to, members);
    to.text(key::SCHEME);
    to.text(scheme.name());
    match scheme {
        Scheme::None => {
            to.text(key::BLOBS);
            blobs(&mut to, places);
        }
        Scheme::ZstdPerKernel => {
            to.text(key::ZSTD_SIZE);
            to.number(blobs_size);
            to.text(key::ZSTD_OFFSET);
            to.number(BLOBS_OFFSET);
        }
    }
    to.0
}

/// Writes the table of uncompressed blobs: offsets and sizes.
fn blobs(to: &mut MessagePackWriter, places: &[(u64, u64)]) {
    to.array(places.len());
    for &(offset, size) in places {
        to.map(2);
        to.text(key::OFFSET);
        to.number(offset);
        to.text(key::SIZE);
        to.number(size);
    }
}

/// Writes the map of maps, with the keys in the order of their first members.
fn code_objects(to: &mut MessagePackWriter, members: &[StoredMember<'_, '_>]) {
    let mut keys: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (ordinal, member) in members.iter().enumerate() {
        let place = *places.entry(member.key).or_insert(keys.len());
        match keys.get_mut(place) {
            Some((_, ordinals)) => ordinals.push(ordinal),
            None => keys.push((member.key, vec![ordinal])),
        }
    }
    to.map(keys.len());
    for (key, ordinals) in keys {
        to.text(key);
        to.map(ordinals.len());
        for (ordinal, member) in ordinals.into_iter().filter_map(|ordinal| Some((ordinal, members.get(ordinal)?))) {
            to.text(member.arch);
            to.map(3);
            to.text(self::key::TYPE);
            to.text(member.code_type);
            to.text(self::key::ORDINAL);
            to.number(ordinal as u64);
            to.text(self::key::ORIGINAL_SIZE);
            to.number(member.original_size);
        }
    }
}
