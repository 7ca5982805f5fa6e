//! Tar files.

use std::io::{self, Cursor, Write};

use tar::{Archive, Entry, GnuHeader, Header};

use super::{Member, MemberContent};
use crate::base::bytes::{Extent, View};
use crate::base::error::{Cause, Malformed};

/// Size of a block: headers and contents are padded to it.
const BLOCK: u64 = 512;

/// Offset in a block of the map of the byte that is 1 if another block follows (GNU tar, Basic Tar Format,
/// `struct sparse_header`).
const HAS_MORE: usize = 504;

/// Prefix of the keys of a sparse file in the PAX format, whose contents begin with a map of the file.
const PAX_SPARSE: &[u8] = b"GNU.sparse.";

/// Reads the files, without directories, links and devices.
pub fn members<'data>(view: View<'data>, take: &mut dyn FnMut(Member<'data>)) -> Result<(), Malformed> {
    let mut archive = Archive::new(Cursor::new(view.data()));
    let mut end = 0;
    // With seeking, only headers are read.
    for entry in archive.entries_with_seek().map_err(|error| malformed(view, end, &error))? {
        let mut entry = entry.map_err(|error| malformed(view, end, &error))?;
        let kind = entry.header().entry_type();
        // The size of a sparse entry is the full size of the file, not the size of its stored contents.
        let stored = if kind.is_gnu_sparse() { entry.header().entry_size() } else { Ok(entry.size()) };
        let size = stored.map_err(|error| malformed(view, end, &error))?;
        let start = contents_offset(view, entry.raw_file_position(), entry.header());
        let content = view.record("tar member size", Extent { offset: start, size })?;
        end = content.range_in(view).end.next_multiple_of(BLOCK);
        super::charge_name(view, &entry.path_bytes())?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let content = if kind.is_gnu_sparse() {
            let header = view.from(entry.raw_header_position());
            MemberContent::Packed(Box::new(move |to: &mut dyn Write| unpack(header, to)))
        } else if !kind.is_file() && !kind.is_contiguous() {
            continue;
        } else if is_pax_sparse(&mut entry) {
            MemberContent::Unreadable(
                "not opened: sparse file in PAX format; recreate the archive without --sparse".to_owned(),
            )
        } else {
            MemberContent::Here(content)
        };
        take(Member::new(Some(name), content));
    }
    // Archives end with two blocks of zeros. Without any, members may be missing.
    match view.from(end).data().first_chunk::<{ BLOCK as usize }>() {
        Some(block) if block.iter().all(|&byte| byte == 0) => Ok(()),
        _ => {
            let available = view.from(end).size();
            Err(view.malformed("tar end marker", end, Cause::Truncated { needed: BLOCK, available }))
        }
    }
}

/// Returns the offset of the contents of a file whose header ends at `at`. The blocks that continue the map of a sparse
/// file precede the contents.
fn contents_offset(view: View<'_>, at: u64, header: &Header) -> u64 {
    let mut rest = view.from(at);
    let mut has_more = header.entry_type().is_gnu_sparse() && header.as_gnu().is_some_and(GnuHeader::is_extended);
    while has_more {
        has_more = rest.data().get(HAS_MORE) == Some(&1);
        rest = rest.from(BLOCK);
    }
    rest.range_in(view).start
}

fn is_pax_sparse(entry: &mut Entry<'_, Cursor<&[u8]>>) -> bool {
    let extensions = entry.pax_extensions().ok().flatten();
    extensions.into_iter().flatten().flatten().any(|extension| extension.key_bytes().starts_with(PAX_SPARSE))
}

/// Writes the first file of the archive that begins at `header`.
fn unpack(header: View<'_>, to: &mut dyn Write) -> io::Result<()> {
    let mut archive = Archive::new(header.data());
    let mut entry = archive.entries()?.next().ok_or(io::ErrorKind::UnexpectedEof)??;
    io::copy(&mut entry, to).map(|_| ())
}

fn malformed(view: View<'_>, at: u64, error: &io::Error) -> Malformed {
    view.malformed("tar file", at, Cause::Described(error.to_string()))
}
