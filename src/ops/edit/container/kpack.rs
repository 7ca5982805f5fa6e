//! Kpack archives.

use super::effort::{self, Unit};
use super::{Fate, check_count};
use crate::edit::decision::{Effort, Recompression};
use crate::edit::{EditError, Result};
use fatbin_core::base::bytes::View;
use fatbin_core::base::codec::{self, Codec};
use fatbin_core::base::content::Content;
use fatbin_core::base::parallel::map_parallel;
use fatbin_core::format::kpack::{
    KpackArchive, KpackEntry, KpackProperties, Scheme, StoredMember, compress, write_stored,
};

/// Writes the archive with the code objects that are left. Kept code objects are stored as they are, unless `encoding`
/// requests another form. `Some(None)` is uncompressed. Target IDs without code are no longer listed.
pub fn write<'data>(
    view: View<'data>,
    fates: Vec<Fate<'data>>,
    encoding: Option<Option<Recompression>>,
    workers: usize,
) -> Result<Content<'data>> {
    let archive = KpackArchive::read(view)?;
    check_count(view, archive.entries.len(), &fates)?;
    let own =
        (archive.scheme == Scheme::ZstdPerKernel).then_some(Recompression { codec: Codec::Zstd, effort: Effort::Fit });
    let how = encoding.unwrap_or(own);
    let scheme = if how.is_some() { Scheme::ZstdPerKernel } else { Scheme::None };
    // Without another form, code objects that stay are not compressed again.
    let is_same = scheme == archive.scheme && how.is_none_or(|how| how.effort == Effort::Fit);
    let jobs: Vec<_> = archive.entries.iter().zip(fates).collect();
    let encode = |(entry, fate): &(&KpackEntry<'data>, Fate<'data>)| match fate {
        Fate::Drop => Ok(None),
        Fate::Keep if is_same => Ok(Some((entry.original_size, Content::from(entry.stored.data())))),
        Fate::Keep => {
            let plain = match archive.scheme {
                Scheme::None => Content::from(entry.stored.data()),
                Scheme::ZstdPerKernel => {
                    Content::from(codec::decompress(Codec::Zstd, entry.stored, entry.original_size)?)
                }
            };
            encoded(plain, how).map(Some)
        }
        Fate::Replace(bytes) => encoded(bytes.clone(), how).map(Some),
    };
    let mut results = Vec::new();
    map_parallel(&jobs, workers, encode, &mut |result| results.push(result));
    let mut members = Vec::new();
    for ((entry, _), result) in jobs.iter().zip(results) {
        let Some((original_size, stored)) = result? else { continue };
        let KpackEntry { key, arch, code_type, .. } = **entry;
        members.push(StoredMember { key, arch, code_type, original_size, stored });
    }
    let is_left = |arch: &&str| members.iter().any(|member| member.arch == *arch);
    let arches: Vec<&str> = archive.arches.iter().copied().filter(is_left).collect();
    let properties = KpackProperties {
        group_name: archive.group_name.unwrap_or_default(),
        family: archive.family.unwrap_or_default(),
        arches: &arches,
    };
    write_stored(&properties, scheme, members).map_err(EditError::Compress)
}

/// Returns the size of a code object, and its stored form.
fn encoded<'data>(plain: Content<'data>, how: Option<Recompression>) -> Result<(u64, Content<'data>)> {
    let size = plain.size();
    let Some(how) = how else { return Ok((size, plain)) };
    let stored = effort::compress(how, Unit::Container, u64::MAX, |how| {
        let stored = compress(&plain, how.level)?;
        let size = stored.size();
        Ok((stored, size))
    });
    Ok((size, stored.map_err(EditError::Compress)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::format::kpack::{KpackMember, write as write_archive};

    const MEMBERS: [KpackMember<'static, 'static>; 3] = [
        KpackMember { key: "a#0", arch: "gfx906", image: b"first" },
        KpackMember { key: "a#0", arch: "gfx908", image: b"second" },
        KpackMember { key: "a#1", arch: "gfx908", image: b"third" },
    ];

    fn rebuilt(level: Option<i32>, fates: [Fate<'static>; 3]) -> Vec<(String, String, Vec<u8>)> {
        let properties = KpackProperties { group_name: "g", family: "f", arches: &["gfx906", "gfx908"] };
        let archive = write_archive(&properties, &MEMBERS, level).unwrap().to_vec();
        let new = write(View::new(&archive), fates.to_vec(), None, 1).unwrap().to_vec();
        let read = KpackArchive::read(View::new(&new)).unwrap();
        assert_eq!((read.defects(), read.group_name, read.family), (vec![], Some("g"), Some("f")));
        let image = |it: fatbin_core::format::ImageView<'_>| {
            (it.id.unwrap().to_owned(), it.arch.clone().unwrap(), it.bytes().unwrap().into_owned())
        };
        read.images().map(image).collect()
    }

    #[test]
    fn what_is_left_keeps_its_key_and_its_bytes() {
        for level in [None, Some(3)] {
            let image = |key: &str, arch: &str, bytes: &[u8]| (key.to_owned(), arch.to_owned(), bytes.to_vec());
            let left = rebuilt(level, [Fate::Drop, Fate::Keep, Fate::Replace(Content::from(b"new".to_vec()))]);
            assert_eq!(left, [image("a#0", "gfx908", b"second"), image("a#1", "gfx908", b"new")]);
            assert_eq!(rebuilt(level, [Fate::Drop, Fate::Drop, Fate::Drop]), []);
            assert_eq!(rebuilt(level, [Fate::Keep, Fate::Drop, Fate::Keep]).len(), 2);
        }
    }

    #[test]
    fn code_objects_are_compressed_and_decompressed() {
        let properties = KpackProperties { group_name: "g", family: "f", arches: &["gfx906", "gfx908"] };
        let written = |level| write_archive(&properties, &MEMBERS, level).unwrap().to_vec();
        let zstd = |effort| Some(Recompression { codec: Codec::Zstd, effort });
        let kept = || vec![Fate::Keep; MEMBERS.len()];
        for workers in [1, 3] {
            let to = |bytes: &[u8], how| write(View::new(bytes), kept(), Some(how), workers).unwrap().to_vec();
            assert_eq!(to(&written(None), zstd(Effort::Fit)), written(Some(3)));
            assert_eq!(to(&written(Some(1)), zstd(Effort::Level(19))), written(Some(19)));
            assert_eq!(to(&written(Some(19)), zstd(Effort::Fit)), written(Some(19)), "stored as before");
            assert_eq!(to(&written(Some(3)), None), written(None));
        }
    }
}
