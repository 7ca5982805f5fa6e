//! Kpack archives.

use super::{Fate, check_count};
use crate::bytes::View;
use crate::content::Content;
use crate::edit::{EditError, Result};
use crate::format::kpack::{KpackArchive, KpackProperties, Scheme, StoredMember, compress, write_stored};

/// Level of zstd for new code objects, that of rocm-kpack.
const LEVEL: i32 = 3;

/// Writes the archive with the code objects that are left, each as it is stored. Target IDs without code are no longer listed.
pub fn write<'data>(view: View<'data>, fates: Vec<Fate<'data>>) -> Result<Content<'data>> {
    let archive = KpackArchive::read(view)?;
    check_count(view, archive.entries.len(), &fates)?;
    let mut members = Vec::new();
    for (entry, fate) in archive.entries.iter().zip(fates) {
        let (original_size, stored) = match fate {
            Fate::Drop => continue,
            Fate::Keep => (entry.original_size, Content::from(entry.stored.data())),
            Fate::Replace(bytes) if archive.scheme == Scheme::None => (bytes.size(), bytes),
            Fate::Replace(bytes) => (bytes.size(), compress(&bytes, LEVEL).map_err(EditError::Compress)?),
        };
        members.push(StoredMember {
            key: entry.key,
            arch: entry.arch,
            code_type: entry.code_type,
            original_size,
            stored,
        });
    }
    let is_left = |arch: &&str| members.iter().any(|member| member.arch == *arch);
    let arches: Vec<&str> = archive.arches.iter().copied().filter(is_left).collect();
    let properties = KpackProperties {
        group_name: archive.group_name.unwrap_or_default(),
        family: archive.family.unwrap_or_default(),
        arches: &arches,
    };
    write_stored(&properties, archive.scheme, members).map_err(EditError::Compress)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::kpack::{KpackMember, write as write_archive};

    const MEMBERS: [KpackMember<'static, 'static>; 3] = [
        KpackMember { key: "a#0", arch: "gfx906", image: b"first" },
        KpackMember { key: "a#0", arch: "gfx908", image: b"second" },
        KpackMember { key: "a#1", arch: "gfx908", image: b"third" },
    ];

    fn rebuilt(level: Option<i32>, fates: [Fate<'static>; 3]) -> Vec<(String, String, Vec<u8>)> {
        let properties = KpackProperties { group_name: "g", family: "f", arches: &["gfx906", "gfx908"] };
        let archive = write_archive(&properties, &MEMBERS, level).unwrap().to_vec();
        let new = write(View::new(&archive), fates.to_vec()).unwrap().to_vec();
        let read = KpackArchive::read(View::new(&new)).unwrap();
        assert_eq!((read.defects(), read.group_name, read.family), (vec![], Some("g"), Some("f")));
        let image = |it: crate::format::ImageView<'_>| {
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
}
