//! Pointers of linked Mach-O files: stored and moved as rebase opcodes say, or stored in chains.

use std::ops::Range;

use object::macho::{
    DYLD_CHAINED_PTR_64, DYLD_CHAINED_PTR_64_OFFSET, DyldInfoCommand, LC_DYLD_CHAINED_FIXUPS, LC_DYLD_INFO,
    LC_DYLD_INFO_ONLY, LinkeditDataCommand, MH_OBJECT, S_ATTR_PURE_INSTRUCTIONS,
};
use object::read::macho::{Fixup, LoadCommandData, MachHeader, Section, Segment};
use object::{Endianness, Pod};

use super::super::Result;
use super::Host;
use super::loaded::{Fixups, Form, LoadedFile, Pointer, outside};
use fatbin_core::base::bytes::{Resource, View};
use fatbin_core::base::range::{offset_from, range_at};

/// Pointers of a file; `None` in an unknown form.
type Listed = Option<Vec<(u64, Pointer)>>;

/// Reads the load commands.
pub fn read<'data, Header>(view: View<'data>, containers: &[Range<u64>]) -> Result<Host<'data>>
where
    Header: MachHeader<Endian = Endianness> + Pod,
{
    let Ok(header) = Header::parse(view.data(), 0) else { return Ok(Host::Unknown) };
    let Ok(endian) = header.endian() else { return Ok(Host::Unknown) };
    if header.filetype(endian) == MH_OBJECT {
        return Ok(Host::Object);
    }
    let Ok(mut commands) = header.load_commands(endian, view.data(), 0) else { return Ok(Host::Unknown) };
    let mut segments = Vec::new();
    let mut data = Vec::new();
    let mut writers = Vec::new();
    while let Ok(Some(command)) = commands.next() {
        view.charge("Mach-O load command", Resource::Work, 1)?;
        if let Ok(Some((segment, sections))) = Header::Segment::from_command(command) {
            let offset = segment.fileoff(endian).into();
            segments.push((range_at(offset, segment.filesize(endian).into()), segment.vmaddr(endian).into()));
            let sections = segment.sections(endian, sections).unwrap_or_default();
            for (section, offset) in segment.section_offsets(endian, sections).flatten() {
                if section.flags(endian).0 & S_ATTR_PURE_INSTRUCTIONS.0 == 0 {
                    data.extend(section.file_range(endian, offset));
                }
            }
        }
        if [LC_DYLD_INFO, LC_DYLD_INFO_ONLY, LC_DYLD_CHAINED_FIXUPS].contains(&command.cmd()) {
            writers.push(command);
        }
    }
    let pointer = if header.is_type_64() { 8 } else { 4 };
    let data = outside(data.into_iter().map(|(offset, size)| range_at(offset, size)), containers);
    let file = LoadedFile { view, endian, pointer, segments, data, fixups: Fixups::Listed(Vec::new()) };
    let mut all = Vec::new();
    for command in writers {
        let listed =
            if command.cmd() == LC_DYLD_CHAINED_FIXUPS { file.chained(command)? } else { file.rebased(command)? };
        let Some(listed) = listed else { return Ok(Host::Unknown) };
        all.extend(listed);
    }
    Ok(Host::Loaded(file.with_fixups(all)))
}

impl<'data> LoadedFile<'data> {
    /// Returns the pointers that rebase opcodes move.
    fn rebased(&self, command: LoadCommandData<'data, Endianness>) -> Result<Listed> {
        let Ok(info) = command.data::<DyldInfoCommand<Endianness>>() else { return Ok(None) };
        let Ok(rebases) = info.rebases(self.endian, self.view.data(), self.pointer as u8) else { return Ok(None) };
        let mut listed = Vec::new();
        for rebase in rebases {
            let Ok(rebase) = rebase else { return Ok(None) };
            let segment = self.segments.get(usize::from(rebase.segment_index));
            let Some(place) = segment.map(|(range, _)| offset_from(range.start, rebase.segment_offset)) else {
                return Ok(None);
            };
            listed.extend(self.moved_at(place, rebase.kind.0.into())?);
        }
        Ok(Some(listed))
    }

    /// Returns the pointers of all chains.
    fn chained(&self, command: LoadCommandData<'data, Endianness>) -> Result<Listed> {
        let Ok(place) = command.data::<LinkeditDataCommand<Endianness>>() else { return Ok(None) };
        let Ok(fixups) = place.chained_fixups(self.endian, self.view.data()) else { return Ok(None) };
        let Ok(segments) = fixups.segments(self.endian) else { return Ok(None) };
        let text = self.segments.iter().find(|(range, _)| range.start == 0 && !range.is_empty());
        let start = text.map_or(0, |(_, address)| *address);
        let mut listed = Vec::new();
        for segment in segments {
            let Ok(segment) = segment else { return Ok(None) };
            let format = segment.header().pointer_format.get(self.endian);
            let Some((range, _)) = self.segments.get(segment.index() as usize) else { return Ok(None) };
            if ![DYLD_CHAINED_PTR_64, DYLD_CHAINED_PTR_64_OFFSET].contains(&format) {
                return Ok(None);
            }
            let Ok(bytes) = self.view.between("segment", range.clone()) else { return Ok(None) };
            for fixup in segment.fixups(self.endian, start, bytes.data()) {
                let Ok((at, fixup)) = fixup else { return Ok(None) };
                // Pointers to other files have no address.
                let value = match fixup {
                    Fixup::Rebase(rebase) => start.wrapping_add(rebase.target_offset),
                    _ => 0,
                };
                self.charge_fixup()?;
                listed.push((offset_from(range.start, at), Pointer { value, form: Form::Chained }));
            }
        }
        Ok(Some(listed))
    }
}
