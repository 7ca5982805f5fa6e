//! squashfs file systems, version 4: the payload of AppImages and snaps.
//!
//! Inodes and directories are in blocks of metadata. A block is decompressed when it is needed, and a few blocks are
//! kept. Source: `doc/format.adoc` of squashfs-tools-ng 1.3.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::rc::Rc;

use super::{Member, MemberContent};
use crate::base::bytes::{Cursor, Extent, Resource, View, entries_size};
use crate::base::codec::window::{XzFormat, xz_block_decoder, zstd_block};
use crate::base::error::{Cause, Malformed};
use crate::base::range::offset_from;

/// First bytes of a file system.
pub const MAGIC: &[u8] = b"hsqs";

/// Offsets in the superblock.
const BLOCK_SIZE: u64 = 12;
const COMPRESSOR: u64 = 20;
const VERSION: u64 = 28;
const ROOT: u64 = 32;
const INODES: u64 = 64;
const DIRECTORIES: u64 = 72;
const FRAGMENTS: u64 = 80;

/// Limits of the format: bytes of a block of metadata, and of data.
const METADATA: u64 = 8 << 10;
const LARGEST_BLOCK: u64 = 1 << 20;

/// Blocks of metadata that are kept.
const KEPT: usize = 128;

/// Bytes of metadata that are read per step of work.
const BYTES_PER_STEP: u64 = 16;

/// Size of the common part of an inode.
const INODE: u64 = 16;

/// Compressor that is not supported.
const LZO: u16 = 3;

/// Flag of a stored size: the block is not compressed.
const METADATA_STORED: u16 = 0x8000;
const DATA_STORED: u32 = 1 << 24;

/// Index of the fragment of a file without one.
const NO_FRAGMENT: u32 = u32::MAX;

/// Size of an entry of the fragment table, and number of entries in a block of metadata.
const FRAGMENT: u64 = 16;
const FRAGMENTS_PER_BLOCK: u64 = METADATA / FRAGMENT;

/// Reads the regular files, directory by directory.
pub fn members<'data>(view: View<'data>, take: &mut dyn FnMut(Member<'data>)) -> Result<(), Malformed> {
    let files = Rc::new(FileSystem::read(view)?);
    if files.compressor == LZO {
        let reason = "not opened: squashfs file system compressed by LZO; unpack it with unsquashfs".to_owned();
        take(Member::new(None, MemberContent::Unreadable(reason)));
        return Ok(());
    }
    let mut directories = vec![(view.u64("squashfs root inode", ROOT)?, String::new())];
    let mut known = BTreeSet::new();
    while let Some((reference, path)) = directories.pop() {
        if !known.insert(reference) {
            return Err(view.malformed("squashfs directory", ROOT, described("contains itself")));
        }
        let Inode::Directory(directory) = files.inode(reference)? else {
            return Err(view.malformed("squashfs root inode", ROOT, described("not a directory")));
        };
        for (name, reference) in files.entries(&directory)? {
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            super::charge_name(view, path.as_bytes())?;
            match files.inode(reference)? {
                Inode::Directory(_) => directories.push((reference, path)),
                Inode::File(file) => {
                    let size = Some(file.size);
                    let files = Rc::clone(&files);
                    let content = MemberContent::Packed(Box::new(move |to: &mut dyn Write| files.unpack(&file, to)));
                    take(Member { size, ..Member::new(Some(path), content) });
                }
                Inode::Other => {}
            }
        }
    }
    Ok(())
}

fn described(cause: &str) -> Cause {
    Cause::Described(cause.to_owned())
}

struct FileSystem<'data> {
    view: View<'data>,
    compressor: u16,
    block_size: u64,
    inodes: u64,
    directories: u64,
    fragments: u64,
    /// Decompressed blocks of metadata by offset, with the offset of the next.
    metadata: RefCell<BTreeMap<u64, Block>>,
    /// The last fragment: small files follow one another in it.
    fragment: RefCell<Option<(u64, Rc<[u8]>)>>,
}

type Block = (Rc<[u8]>, u64);

enum Inode {
    Directory(Directory),
    File(FileInode),
    Other,
}

/// Place and size of a directory.
struct Directory {
    block: u64,
    at: u64,
    size: u64,
}

struct FileInode {
    size: u64,
    /// Offset of the first block, and stored sizes of all.
    start: u64,
    blocks: Vec<u32>,
    /// Index of the fragment with the rest, and offset in it.
    fragment: Option<(u32, u64)>,
}

/// A position in the metadata.
struct Position<'a, 'data> {
    files: &'a FileSystem<'data>,
    block: u64,
    at: u64,
}

impl Position<'_, '_> {
    /// Reads bytes that may continue in the next blocks.
    fn take(&mut self, field: &'static str, size: u64) -> Result<Vec<u8>, Malformed> {
        let view = self.files.view;
        view.charge(field, Resource::Work, size.div_ceil(BYTES_PER_STEP))?;
        let mut bytes = Vec::new();
        let mut left = size;
        while left > 0 {
            let (block, next) = self.files.metadata(self.block)?;
            let rest = block.get(self.at as usize..).unwrap_or_default();
            if rest.is_empty() && (block.len() as u64) < METADATA {
                return Err(view.malformed(field, self.block, Cause::EndsInside));
            }
            let (part, _) = rest.split_at(rest.len().min(left as usize));
            bytes.extend(part);
            left = left.abs_diff(part.len() as u64);
            self.at = offset_from(self.at, part.len() as u64);
            if left > 0 {
                self.block = next;
                self.at = 0;
            }
        }
        Ok(bytes)
    }
}

impl<'data> FileSystem<'data> {
    fn read(view: View<'data>) -> Result<Self, Malformed> {
        let version = view.u32("squashfs version", VERSION)?;
        if version != 4 {
            return Err(view.malformed("squashfs version", VERSION, described("not 4.0")));
        }
        let block_size = u64::from(view.u32("squashfs block size", BLOCK_SIZE)?);
        if !block_size.is_power_of_two() || block_size > LARGEST_BLOCK {
            return Err(view.malformed("squashfs block size", BLOCK_SIZE, described("not a power of two up to 1 MiB")));
        }
        Ok(FileSystem {
            view,
            compressor: view.u16("squashfs compressor", COMPRESSOR)?,
            block_size,
            inodes: view.u64("squashfs inode table", INODES)?,
            directories: view.u64("squashfs directory table", DIRECTORIES)?,
            fragments: view.u64("squashfs fragment table", FRAGMENTS)?,
            metadata: RefCell::default(),
            fragment: RefCell::default(),
        })
    }

    /// Reads the inode at a reference: offset of its block after the start of the table, and offset in the block.
    fn inode(&self, reference: u64) -> Result<Inode, Malformed> {
        let block = offset_from(self.inodes, reference >> 16);
        let mut position = Position { files: self, block, at: reference & 0xffff };
        let header = position.take("squashfs inode", INODE)?;
        let kind = self.view.derived(&header).u16("squashfs inode", 0)?;
        let mut fields = |size: u64| position.take("squashfs inode", size);
        let number = |bytes: &[u8], at: u64| self.view.derived(bytes).u32("squashfs inode", at).map(u64::from);
        let short = |bytes: &[u8], at: u64| self.view.derived(bytes).u16("squashfs inode", at).map(u64::from);
        Ok(match kind {
            1 => {
                let bytes = fields(16)?;
                Inode::Directory(Directory {
                    block: number(&bytes, 0)?,
                    size: short(&bytes, 8)?,
                    at: short(&bytes, 10)?,
                })
            }
            8 => {
                let bytes = fields(24)?;
                Inode::Directory(Directory {
                    size: number(&bytes, 4)?,
                    block: number(&bytes, 8)?,
                    at: short(&bytes, 18)?,
                })
            }
            2 => {
                let bytes = fields(16)?;
                let fragment = (number(&bytes, 4)? as u32, number(&bytes, 8)?);
                Inode::File(self.file(&mut position, number(&bytes, 0)?, number(&bytes, 12)?, fragment)?)
            }
            9 => {
                let bytes = fields(40)?;
                let long = |at: u64| self.view.derived(&bytes).u64("squashfs inode", at);
                let fragment = (number(&bytes, 28)? as u32, number(&bytes, 32)?);
                Inode::File(self.file(&mut position, long(0)?, long(8)?, fragment)?)
            }
            _ => Inode::Other,
        })
    }

    /// Reads the sizes of the blocks of a file.
    fn file(
        &self,
        position: &mut Position<'_, '_>,
        start: u64,
        size: u64,
        (fragment, at): (u32, u64),
    ) -> Result<FileInode, Malformed> {
        let fragment = (fragment != NO_FRAGMENT).then_some((fragment, at));
        let whole = size.checked_div(self.block_size).unwrap_or_default();
        let rounded = size.div_ceil(self.block_size);
        let count = if fragment.is_some() { whole } else { rounded };
        let list = entries_size(count, 4);
        self.view.charge("squashfs block sizes", Resource::Memory, list)?;
        let bytes = position.take("squashfs block sizes", list)?;
        let (sizes, _) = bytes.as_chunks();
        Ok(FileInode { size, start, blocks: sizes.iter().map(|size| u32::from_le_bytes(*size)).collect(), fragment })
    }

    /// Returns the names and inodes in a directory.
    fn entries(&self, directory: &Directory) -> Result<Vec<(String, u64)>, Malformed> {
        // The stated size counts three bytes more.
        let Some(size) = directory.size.checked_sub(3) else { return Ok(Vec::new()) };
        self.view.charge("squashfs directory", Resource::Memory, size)?;
        let block = offset_from(self.directories, directory.block);
        let bytes = Position { files: self, block, at: directory.at }.take("squashfs directory", size)?;
        let mut cursor = Cursor::new(self.view.derived(&bytes));
        let mut entries = Vec::new();
        while cursor.rest().size() > 0 {
            let header = cursor.take("squashfs directory", 12)?;
            let last = header.u32("squashfs directory", 0)?;
            let inodes = u64::from(header.u32("squashfs directory", 4)?);
            for _ in 0..=last {
                let entry = cursor.take("squashfs directory entry", 8)?;
                let at = u64::from(entry.u16("squashfs directory entry", 0)?);
                let size = u64::from(entry.u16("squashfs name size", 6)?);
                let name = cursor.take_stated(entry.field("squashfs name size", 6), offset_from(size, 1))?;
                entries.push((String::from_utf8_lossy(name.data()).into_owned(), inodes << 16 | at));
            }
        }
        Ok(entries)
    }

    /// Returns a block of metadata, and the offset of the next.
    fn metadata(&self, at: u64) -> Result<Block, Malformed> {
        if let Some(block) = self.metadata.borrow().get(&at) {
            return Ok(block.clone());
        }
        let header = self.view.u16("squashfs metadata", at)?;
        let size = u64::from(header & !METADATA_STORED);
        let stored = Extent { offset: offset_from(at, 2), size };
        let stored = self.view.part(self.view.field("squashfs metadata", at), stored)?;
        let bytes = if header & METADATA_STORED == 0 {
            stored.charge("squashfs metadata", Resource::Decompressed, METADATA)?;
            self.decompress(stored, METADATA)?
        } else {
            stored.data().to_vec()
        };
        let block: Block = (bytes.into(), stored.range_in(self.view).end);
        let mut kept = self.metadata.borrow_mut();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(at, block.clone());
        Ok(block)
    }

    /// Decompresses a block of at most `most` bytes.
    fn decompress(&self, stored: View<'data>, most: u64) -> Result<Vec<u8>, Malformed> {
        let data = stored.data();
        let by_lzma = |format| -> io::Result<Vec<u8>> { all(xz_block_decoder(data, LARGEST_BLOCK, format)?, most) };
        let read = match self.compressor {
            1 => all(flate2::bufread::ZlibDecoder::new(data), most),
            2 => by_lzma(XzFormat::Lzma),
            4 => by_lzma(XzFormat::OneXz),
            5 => ::lz4::block::decompress(data, i32::try_from(most).ok()),
            6 => zstd_block(stored, most),
            _ => Err(io::Error::other("unknown compressor")),
        };
        read.map_err(|error| stored.malformed("squashfs block", 0, Cause::Compressed(error.to_string())))
    }

    /// Returns a block of data with its stated size.
    fn data(&self, at: u64, stated: u32, most: u64) -> Result<Vec<u8>, Malformed> {
        let size = u64::from(stated & !DATA_STORED);
        let stored = self.view.record("squashfs block", Extent { offset: at, size })?;
        if stated & DATA_STORED == 0 { self.decompress(stored, most) } else { Ok(stored.data().to_vec()) }
    }

    /// Returns the bytes of a fragment, the last blocks of several files.
    fn fragment(&self, index: u32) -> Result<Rc<[u8]>, Malformed> {
        let index = u64::from(index);
        let block = index.checked_div(FRAGMENTS_PER_BLOCK).unwrap_or_default();
        let place = offset_from(self.fragments, entries_size(block, 8));
        let block = self.view.u64("squashfs fragment table", place)?;
        let at = entries_size(index.checked_rem(FRAGMENTS_PER_BLOCK).unwrap_or_default(), FRAGMENT);
        let entry = Position { files: self, block, at }.take("squashfs fragment", FRAGMENT)?;
        let entry = self.view.derived(&entry);
        let start = entry.u64("squashfs fragment", 0)?;
        if let Some((known, bytes)) = &*self.fragment.borrow()
            && *known == start
        {
            return Ok(Rc::clone(bytes));
        }
        self.view.charge("squashfs fragment", Resource::Decompressed, self.block_size)?;
        let bytes: Rc<[u8]> = self.data(start, entry.u32("squashfs fragment", 8)?, self.block_size)?.into();
        *self.fragment.borrow_mut() = Some((start, Rc::clone(&bytes)));
        Ok(bytes)
    }

    /// Writes the bytes of a file.
    fn unpack(&self, file: &FileInode, to: &mut dyn Write) -> io::Result<()> {
        let failed = |malformed: Malformed| io::Error::other(malformed.cause);
        let mut at = file.start;
        let mut left = file.size;
        for stated in &file.blocks {
            let size = left.min(self.block_size);
            left = left.abs_diff(size);
            if *stated == 0 {
                io::copy(&mut io::repeat(0).take(size), to)?;
                continue;
            }
            let bytes = self.data(at, *stated, size).map_err(failed)?;
            if bytes.len() as u64 != size {
                return Err(io::Error::other("a block has another size"));
            }
            to.write_all(&bytes)?;
            at = offset_from(at, (*stated & !DATA_STORED).into());
        }
        if let Some((index, at)) = file.fragment {
            let bytes = self.fragment(index).map_err(failed)?;
            let end = offset_from(at, left);
            let rest = bytes.get(at as usize..end as usize);
            to.write_all(rest.ok_or_else(|| io::Error::other("a fragment is too short"))?)?;
        }
        Ok(())
    }
}

/// Reads everything, at most `most` bytes.
fn all(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(offset_from(most, 1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(io::Error::other("the block is too large")) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests;
