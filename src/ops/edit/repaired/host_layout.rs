//! What the loader does with a host file: the sections that it maps, and the constructors that it calls. Device code is
//! registered by a constructor.

use std::ops::Range;

use object::read::{File, Object, ObjectSection, ObjectSegment};
use object::{ObjectKind, SectionFlags, SegmentFlags, elf};

use fatbin_core::base::bytes::{ObjectBytes, Resource, View, size_of_range, text_work};
use fatbin_core::base::error::{Cause, Malformed};
use fatbin_core::base::range::range_at;
use fatbin_core::scan::pointers::{HostFile, HostSection, PointerTarget, Pointers};

/// Parts of a host file that the loader uses. Offsets count from the start of the file.
#[derive(Debug, Clone, Default)]
pub struct HostLayout {
    /// Mapped bytes of the file; `None` for an object.
    loaded: Option<Vec<Segment>>,
    /// Sections with an address, and whether their bytes are mapped there.
    sections: Vec<HostSectionPlace>,
    /// Entries of arrays of constructors, and whether they lead to code.
    constructors: Vec<(u64, bool)>,
}

#[derive(Debug, Clone)]
struct Segment {
    address: Range<u64>,
    offset: u64,
    is_code: bool,
}

impl Segment {
    /// Returns whether it maps this byte of the file.
    fn has(&self, offset: u64) -> bool {
        range_at(self.offset, size_of_range(&self.address)).contains(&offset)
    }
}

#[derive(Debug, Clone)]
struct HostSectionPlace {
    name: String,
    offset: u64,
    address: u64,
    is_loaded: bool,
}

impl HostLayout {
    /// Reads the layout of a host file; `None` for any other file.
    pub fn read(view: View<'_>) -> Option<HostLayout> {
        let file = File::parse(ObjectBytes(view)).ok()?;
        let is_object = file.kind() == ObjectKind::Relocatable;
        let loaded = if is_object { None } else { Some(segments(&file)) };
        let mut layout = HostLayout { loaded, ..HostLayout::default() };
        let mut arrays = Vec::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, sh_type, .. } = section.flags() else { continue };
            let Some((offset, size)) = section.file_range() else { continue };
            let name = String::from_utf8_lossy(section.name_bytes().unwrap_or_default()).into_owned();
            if view.charge("section", Resource::Work, text_work(name.len())).is_err() {
                break;
            }
            if sh_type == elf::SHT_INIT_ARRAY {
                arrays.push(section);
            } else if sh_flags.0 & elf::SHF_ALLOC.0 != 0 && size > 0 {
                let address = section.address();
                let is_loaded = layout.loads(range_at(address, size), offset);
                layout.sections.push(HostSectionPlace { name, offset, address, is_loaded });
            }
        }
        layout.constructors = layout.constructors_in(&file, view, &arrays);
        Some(layout)
    }

    /// Returns whether the loader maps these addresses from this offset of the file.
    fn loads(&self, addresses: Range<u64>, offset: u64) -> bool {
        self.loaded.as_ref().is_none_or(|segments| {
            segments.iter().any(|segment| {
                let is_inside = segment.address.start <= addresses.start && addresses.end <= segment.address.end;
                let distance = addresses.start.wrapping_sub(segment.address.start);
                is_inside && segment.offset.wrapping_add(distance) == offset
            })
        })
    }

    /// Returns whether this byte of the file is mapped. All bytes of an object may be.
    pub fn is_loaded(&self, offset: u64) -> bool {
        self.loaded.as_ref().is_none_or(|segments| segments.iter().any(|it| it.has(offset)))
    }

    fn is_code(&self, offset: u64) -> bool {
        self.loaded.as_ref().is_none_or(|segments| segments.iter().any(|it| it.is_code && it.has(offset)))
    }

    fn constructors_in<'data, 'file>(
        &self,
        file: &'file HostFile<'data>,
        view: View<'data>,
        arrays: &[HostSection<'data, 'file>],
    ) -> Vec<(u64, bool)> {
        let pointers = Pointers::read(file, view, arrays.iter());
        let mut constructors = Vec::new();
        for (offset, size) in arrays.iter().filter_map(ObjectSection::file_range) {
            for place in (offset..range_at(offset, size).end).step_by(pointers.size() as usize) {
                if view.charge("constructor", Resource::Work, 1).is_err() {
                    return constructors;
                }
                let leads_to_code = match pointers.at(place) {
                    PointerTarget::Offset(offset) => self.is_code(offset),
                    PointerTarget::Symbol(_) => true,
                    PointerTarget::Nothing => false,
                };
                constructors.push((place, leads_to_code));
            }
        }
        constructors
    }

    /// Returns what the loader did with the file before, and does not do with this one.
    pub fn losses(&self, before: &HostLayout) -> Vec<Malformed> {
        let was_loaded = |name: &str| before.sections.iter().any(|it| it.name == name && it.is_loaded);
        let lost = self.sections.iter().filter(|it| !it.is_loaded && was_loaded(&it.name));
        let mut losses: Vec<Malformed> = lost
            .map(|section| {
                let cause = format!("the loader does not map it to its address {:#x}", section.address);
                let cause = Cause::Described(format!("{}: {cause}", section.name));
                Malformed::new("section", section.offset, cause)
            })
            .collect();
        let count = |layout: &HostLayout| layout.constructors.iter().filter(|(_, is_code)| *is_code).count();
        let (old, new) = (count(before), count(self));
        if new < old {
            let first = self.constructors.iter().find(|(_, is_code)| !is_code).or(self.constructors.first());
            let cause = Cause::Described(format!("{new} of {old} constructors lead to code"));
            losses.push(Malformed::new("constructors", first.map_or(0, |it| it.0), cause));
        }
        losses
    }

    /// Returns whether the sections can be compared with those of the file before.
    pub fn has_sections(&self) -> bool {
        !self.sections.is_empty()
    }
}

fn segments(file: &HostFile<'_>) -> Vec<Segment> {
    let segment = |segment: object::Segment<'_, '_, ObjectBytes<'_>>| {
        let (offset, size) = segment.file_range();
        let is_code = match segment.flags() {
            SegmentFlags::Elf { p_flags, .. } => p_flags.0 & elf::PF_X.0 != 0,
            _ => true,
        };
        Segment { address: range_at(segment.address(), size), offset, is_code }
    };
    file.segments().map(segment).collect()
}
