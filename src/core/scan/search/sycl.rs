//! Property sets of SYCL images. The program passes them to its runtime with each image.
//!
//! | device image, version 3 | offset | version 2 | offset |
//! |---|---|---|---|
//! | version u16, offload kind u8 | 0, 2 | the same | 0, 2 |
//! | target | 8 | the same | 8 |
//! | start and end of the image | 32, 40 | the same | 48, 56 |
//! | start and end of its property sets | 64, 72 | the same | 80, 88 |
//!
//! A property set has 24 bytes: pointers to its name and to the start and the end of its properties. A property has 32:
//! pointers to its name and to its value, type i32, and size u64. If the value is a number, it is stored in place of
//! its size. Source: Intel's DPC++, SYCL's device_binary_image.hpp and compiler.hpp; LLVM 22, whose images have no
//! property sets; dpnp 0.20.0.

use std::collections::HashMap;

use object::read::Object;

use super::findings::Findings;
use crate::base::bytes::{Resource, View, record_memory};
use crate::format::{ContainerType, bundle_section};
use crate::scan::inventory::{Container, Image, Property, PropertySet, PropertyValue};
use crate::scan::structure::Structure;
use crate::scan::structure::tables::{HostTables, POINTER};

/// Versions of a device image, each with the offset of its pointer to the image.
const VERSIONS: [(u64, u64); 2] = [(3, 32), (2, 48)];

/// Offload kinds of SYCL, of Intel and of LLVM.
const KINDS: [u64; 2] = [4, 8];

/// Offsets of the offload kind and of the pointer to the target.
const KIND: u64 = 2;
const TARGET: u64 = 8;

/// Offsets from the pointer to the image: its end, and the start and end of its property sets.
const IMAGE_END: u64 = 8;
const SETS_START: u64 = 32;
const SETS_END: u64 = 40;

/// Sizes of a property set and of a property.
const SET: u64 = 24;
const PROPERTY: u64 = 32;

/// Offsets of the pointers to the start and the end of the properties in a property set.
const PROPERTIES_START: u64 = POINTER;
const PROPERTIES_END: u64 = 2 * POINTER;

/// Type of a property that is a number.
const NUMBER: u64 = 1;

/// Adds the property sets of SYCL images.
pub fn describe_images<'data>(view: View<'data>, structure: &Structure<'data>, findings: &mut Findings) {
    let images = findings.indices_by_offset(ContainerType::SyclImage);
    if images.is_empty() {
        return;
    }
    let gaps = findings.unexplained(view.size());
    for (file, host) in structure.parsed_hosts() {
        if file.is_64()
            && let Some(tables) = HostTables::read(&file, host, &gaps)
        {
            tables.add_property_sets(view, &images, &mut findings.containers);
        }
    }
}

impl<'data> HostTables<'_, 'data> {
    fn add_property_sets(&self, view: View<'data>, images: &HashMap<u64, usize>, containers: &mut [Container]) {
        for (place, target) in &self.targets {
            let index = self.in_file(*target).and_then(|offset| images.get(&offset));
            let Some(container) = index.and_then(|index| containers.get_mut(*index)) else { continue };
            if !self.is_image(*place, target.checked_add(container.size)) {
                continue;
            }
            let lacks_triple = container.section_name().is_some_and(bundle_section::lacks_triple);
            let triple = if lacks_triple { self.triple(view, *place) } else { None };
            let Some(image) = container.images.first_mut() else { continue };
            if triple.is_some() {
                image.triple = triple;
            }
            if let Some(sets) = self.property_sets(view, *place) {
                add_sets(view, image, sets);
            }
        }
    }

    /// Target in the description of an image.
    fn triple(&self, view: View<'data>, place: u64) -> Option<String> {
        let stated_at = VERSIONS.iter().find(|version| self.has_version(place, version)).map(|(_, at)| *at)?;
        self.text(view, place.checked_sub(stated_at)?.checked_add(TARGET)?).filter(|text| !text.is_empty())
    }

    /// True if a pointer to an image is in a description of this version.
    fn has_version(&self, place: u64, (version, at): &(u64, u64)) -> bool {
        let Some(record) = place.checked_sub(*at) else { return false };
        let kind = self.number(record, KIND, 1);
        self.number(record, 0, 2) == Some(*version) && kind.is_some_and(|kind| KINDS.contains(&kind))
    }

    /// True if a pointer to an image is in the description of an image that ends at `end`.
    fn is_image(&self, place: u64, end: Option<u64>) -> bool {
        // The end of the last image is the end of its section. It may be outside of all segments.
        let own_end = self.target(place, IMAGE_END);
        VERSIONS.iter().any(|version| self.has_version(place, version)) && (own_end.is_none() || own_end == end)
    }

    fn property_sets(&self, view: View<'data>, place: u64) -> Option<Vec<PropertySet>> {
        let mut sets = Vec::new();
        for set in records(self.target(place, SETS_START)?, self.target(place, SETS_END)?, SET)? {
            let name = self.text(view, set)?;
            let bounds = [PROPERTIES_START, PROPERTIES_END].map(|field| self.target(set, field));
            let properties = match bounds {
                [Some(start), Some(end)] => {
                    let places = records(start, end, PROPERTY)?;
                    places.map(|property| self.property(view, property)).collect::<Option<Vec<_>>>()?
                }
                _ => Vec::new(),
            };
            view.charge("SYCL property set", Resource::Memory, record_memory(size_of::<PropertySet>(), [name.len()]))
                .ok()?;
            sets.push(PropertySet { name, properties });
        }
        Some(sets)
    }

    fn property(&self, view: View<'data>, place: u64) -> Option<Property> {
        let name = self.text(view, place)?;
        view.charge("SYCL property", Resource::Memory, record_memory(size_of::<Property>(), [name.len()])).ok()?;
        let kind = self.number(place, 16, 4)?;
        let size = self.number(place, 24, 8)?;
        let value = if kind == NUMBER { PropertyValue::Number(size as u32) } else { PropertyValue::Bytes(size) };
        Some(Property { name, value })
    }

    /// Text that the pointer at `place` leads to.
    fn text(&self, view: View<'data>, place: u64) -> Option<String> {
        let offset = self.in_file(*self.targets.get(&place)?)?;
        view.c_string(view.field("SYCL property name", offset), offset).ok().map(str::to_owned)
    }
}

/// Gives the property sets to an image, or to all images in its containers.
fn add_sets(view: View<'_>, image: &mut Image, sets: Vec<PropertySet>) {
    let inner = image.containers.iter_mut().flat_map(|container| &mut container.images);
    for image in inner {
        let size =
            |set: &PropertySet| record_memory(size_of::<PropertySet>(), set.properties.iter().map(|it| it.name.len()));
        let all = sets.iter().map(size).sum();
        if view.charge("SYCL property set", Resource::Memory, all).is_err() {
            return;
        }
        image.property_sets.clone_from(&sets);
    }
    image.property_sets = sets;
}

/// Offsets of the records in a range; `None` unless it is a whole number of records.
fn records(start: u64, end: u64, size: u64) -> Option<impl Iterator<Item = u64>> {
    let length = end.checked_sub(start)?;
    length.is_multiple_of(size).then(|| (start..end).step_by(size as usize))
}
