//! Zip files, the format of wheels and many packages.

use std::io::{self, Cursor, Write};

use zip::{CompressionMethod, ZipArchive};

use super::{Member, MemberContent};
#[cfg(feature = "cli")]
use crate::bytes::Resource;
use crate::bytes::View;
use crate::error::{Cause, Malformed};

/// Reads the files, without directories.
pub fn members<'data>(view: View<'data>, members: &mut Vec<Member<'data>>) -> Result<(), Malformed> {
    let mut archive = ZipArchive::new(Cursor::new(view.data())).map_err(|error| malformed(view, &error))?;
    for index in 0..archive.len() {
        let again = archive.clone();
        let file = archive.by_index_raw(index).map_err(|error| malformed(view, &error))?;
        if file.is_dir() {
            continue;
        }
        let name = file.name().map_err(|error| malformed(view, &error))?.into_owned();
        super::charge_name(view, name.as_bytes())?;
        let content = match (file.compression(), file.data_start()) {
            _ if file.encrypted() => MemberContent::Unreadable("is encrypted".to_owned()),
            (CompressionMethod::Stored, Some(start)) => {
                MemberContent::Here(view.part("zip member size", start, start, file.size())?)
            }
            (CompressionMethod::Deflated, _) => {
                MemberContent::Packed(Box::new(move |to: &mut dyn Write| unpack(again, index, to)))
            }
            (method, _) => MemberContent::Unreadable(format!("unsupported compression method ({method})")),
        };
        members.push(Member { name: Some(name), packed_size: Some(file.compressed_size()), content });
    }
    Ok(())
}

/// Returns the offset of each member's entry in the central directory, in the order of `members`.
#[cfg(feature = "cli")]
pub fn directory_offsets(view: View<'_>) -> Result<Vec<u64>, Malformed> {
    let mut archive = ZipArchive::new(Cursor::new(view.data())).map_err(|error| malformed(view, &error))?;
    let mut offsets = Vec::new();
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index).map_err(|error| malformed(view, &error))?;
        if !file.is_dir() {
            view.charge("zip file", Resource::Memory, size_of::<u64>() as u64)?;
            offsets.push(file.central_header_start());
        }
    }
    Ok(offsets)
}

fn unpack(mut archive: ZipArchive<Cursor<&[u8]>>, index: usize, to: &mut dyn Write) -> io::Result<()> {
    let mut file = archive.by_index(index).map_err(io::Error::other)?;
    io::copy(&mut file, to).map(|_| ())
}

fn malformed(view: View<'_>, error: &zip::result::ZipError) -> Malformed {
    view.malformed("zip file", 0, Cause::Described(error.to_string()))
}
