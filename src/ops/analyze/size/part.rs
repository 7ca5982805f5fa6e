//! The parts of a file: its device images, the bytes of containers around them, and everything else.

use std::ops::Range;

use super::{Rest, Size};
use fatbin_core::base::bytes::{apportion, claim, size_of_range, total};
use fatbin_core::base::codec::is_compressed;
use fatbin_core::base::range::range_at;
use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::{Container, File, Image, NestedImage, Section};

/// A part of a file.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    /// Owner of its bytes.
    pub owner: Owner<'a>,
    /// Its size.
    pub size: Size,
}

/// Owner of bytes.
#[derive(Debug, Clone)]
pub enum Owner<'a> {
    /// A device image.
    Image(NestedImage<'a>),
    /// A container, whose bytes are not in an image: headers, tables and padding. The containers around it precede it.
    Container(Vec<&'a Container>),
    /// Bytes outside of containers.
    Rest(Rest),
}

impl<'a> Owner<'a> {
    /// Returns the image, if it is one.
    pub fn image(&self) -> Option<&NestedImage<'a>> {
        if let Owner::Image(nested) = self { Some(nested) } else { None }
    }
}

/// Returns the parts of a file. Their stored sizes add up to the size of the file.
pub fn parts(file: &File) -> Vec<Part<'_>> {
    let mut parts = Partition::default().containers(&file.containers, &[], &(0..file.size));
    let mut left = size_of_range(&(stored(&parts)..file.own_size()));
    let sum = |bytes: fn(&Section) -> u64| total(file.sections.iter().map(bytes));
    let padding = sum(|section| section.padding).min(left);
    left = left.abs_diff(padding);
    let unexplained = sum(|section| section.unexplained).min(left);
    left = left.abs_diff(unexplained);
    let rests = [(Rest::Padding, padding), (Rest::Unexplained, unexplained), (Rest::NotDeviceCode, left)];
    let rests = rests.into_iter().filter(|(_, size)| *size > 0);
    parts.extend(rests.map(|(rest, size)| Part { owner: Owner::Rest(rest), size: Size::plain(size) }));
    parts
}

/// Sum of the stored bytes of some parts.
fn stored(parts: &[Part<'_>]) -> u64 {
    total(parts.iter().map(|part| part.size.stored))
}

/// Divides the stored bytes among parts in proportion to their current stored bytes.
fn scaled(mut parts: Vec<Part<'_>>, total: u64) -> Vec<Part<'_>> {
    if stored(&parts) != total {
        let weights: Vec<u64> = parts.iter().map(|part| part.size.stored).collect();
        for (part, share) in parts.iter_mut().zip(apportion(total, &weights)) {
            part.size.stored = share;
        }
    }
    parts
}

/// Adds the bytes of `within` that no part has, and assigns them to the innermost container.
fn with_headers<'a>(mut parts: Vec<Part<'a>>, around: &[&'a Container], within: &Range<u64>) -> Vec<Part<'a>> {
    let left = size_of_range(within).saturating_sub(stored(&parts));
    if left > 0 || parts.is_empty() {
        parts.push(Part { owner: Owner::Container(around.to_vec()), size: Size::plain(left) });
    }
    parts
}

/// The division of a file, image by image.
#[derive(Default)]
struct Partition {
    /// Index of the next device image.
    next: usize,
}

impl Partition {
    /// Returns the parts of containers that are stored in `within`.
    fn containers<'a>(
        &mut self,
        containers: &'a [Container],
        around: &[&'a Container],
        within: &Range<u64>,
    ) -> Vec<Part<'a>> {
        let ranges: Vec<_> = containers.iter().map(|container| range_at(container.start, container.size)).collect();
        let mut parts = Vec::new();
        for (container, claimed) in containers.iter().zip(claim(&ranges, within)) {
            let around = [around, &[container]].concat();
            parts.extend(scaled(self.container(container, &around), claimed));
        }
        parts
    }

    /// Returns the parts of a container, the last of `around`. The parts of a compressed container add up to its
    /// decompressed size.
    fn container<'a>(&mut self, container: &'a Container, around: &[&'a Container]) -> Vec<Part<'a>> {
        let images = &container.images;
        let spans: Vec<_> = images.iter().map(|image| range_at(image.stored.start, image.stored.size)).collect();
        let within = if container.codec.is_some() && !images.is_empty() {
            0..spans.iter().map(|span| span.end).max().unwrap_or_default()
        } else {
            range_at(container.start, container.size)
        };
        let mut parts = Vec::new();
        for (image, claimed) in images.iter().zip(shared(images, claim(&spans, &within))) {
            parts.extend(self.image(image, around, claimed));
        }
        with_headers(parts, around, &within)
    }

    /// Returns the parts of an image. `claimed` of its bytes are stored.
    fn image<'a>(&mut self, image: &'a Image, around: &[&'a Container], claimed: u64) -> Vec<Part<'a>> {
        let is_plain = !is_compressed(image.codec);
        if !image.containers.is_empty() {
            return self.holder(image, around, claimed, is_plain);
        }
        let owner = if image.is_device_image() {
            let index = self.next;
            self.next = index.saturating_add(1);
            Owner::Image(NestedImage { index, image, containers: around.to_vec() })
        } else if image.image_kind == ImageKind::Metadata {
            Owner::Rest(Rest::ContainerHeaders)
        } else {
            Owner::Rest(Rest::HostCode)
        };
        let decompressed = if is_plain { claimed } else { image.full_size.unwrap_or(claimed) };
        vec![Part { owner, size: Size { stored: claimed, decompressed } }]
    }

    /// Returns the parts of an image that consists of containers.
    fn holder<'a>(
        &mut self,
        image: &'a Image,
        around: &[&'a Container],
        claimed: u64,
        is_plain: bool,
    ) -> Vec<Part<'a>> {
        let within = if is_plain && image.stored.part.is_none() {
            range_at(image.stored.start, image.stored.size)
        } else {
            let ends = image.containers.iter().map(|container| range_at(container.start, container.size).end);
            0..ends.max().unwrap_or_default()
        };
        let parts = self.containers(&image.containers, around, &within);
        scaled(with_headers(parts, around, &within), claimed)
    }
}

/// Divides the bytes of each stream among the images that are compressed in it, by their decompressed sizes.
fn shared(images: &[Image], mut claimed: Vec<u64>) -> Vec<u64> {
    let stream = |image: &Image| image.stored.part.map(|_| (image.stored.start, image.stored.size));
    let runs = images.chunk_by(|one, other| stream(one).is_some() && stream(one) == stream(other));
    let mut rest = claimed.as_mut_slice();
    for run in runs {
        let Some((own, others)) = rest.split_at_mut_checked(run.len()) else { break };
        if run.len() > 1 {
            let sizes: Vec<u64> = run.iter().map(|image| image.full_size.unwrap_or_default()).collect();
            own.copy_from_slice(&apportion(total(own.iter().copied()), &sizes));
        }
        rest = others;
    }
    claimed
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::base::codec::Codec;
    use fatbin_core::base::file_path::FilePath;
    use fatbin_core::format::{ContainerType, GroupPart};
    use fatbin_core::scan::inventory::StoredBytes;
    use fatbin_core::target::OffloadKind;

    fn image(name: &str, start: u64, size: u64) -> Image {
        let stored = StoredBytes { start, size, part: None };
        Image { id: Some(name.to_owned()), size: Some(size), stored, ..Image::default() }
    }

    fn container(start: u64, size: u64, images: Vec<Image>) -> Container {
        let container_type = ContainerType::Bundle;
        Container {
            container_type,
            version: None,
            section: None,
            offset: Some(start),
            size,
            codec: None,
            registration: Default::default(),
            images,
            start,
        }
    }

    /// Returns the parts as text: what they are for, stored bytes, decompressed bytes. Checks that they add up.
    fn parts_of(file: &File) -> Vec<String> {
        let parts = parts(file);
        assert_eq!(stored(&parts), file.size);
        let name = |owner: &Owner<'_>| match owner {
            Owner::Image(nested) => format!("{}:{}", nested.index, nested.image.id.as_deref().unwrap_or_default()),
            Owner::Container(containers) => format!("headers@{}", containers.last().unwrap().start),
            Owner::Rest(rest) => rest.name().to_owned(),
        };
        let indexes: Vec<_> = file.nested_images().map(|it| (it.index, it.image.id.clone())).collect();
        let found = parts.iter().filter_map(|part| match &part.owner {
            Owner::Image(nested) => Some((nested.index, nested.image.id.clone())),
            _ => None,
        });
        assert!(found.eq(indexes), "indexes are those of the inventory");
        parts.iter().map(|it| format!("{} {} {}", name(&it.owner), it.size.stored, it.size.decompressed)).collect()
    }

    fn file(size: u64, containers: Vec<Container>) -> File {
        File { size, containers, ..File::empty(FilePath::parse("file")) }
    }

    #[test]
    fn bytes_that_are_in_no_image_are_parts() {
        let host = Image { kind: Some(OffloadKind::Host), ..image("host", 30, 5) };
        let mut file = file(100, vec![container(10, 50, vec![image("a", 20, 10), host]), container(70, 10, vec![])]);
        let name = ".section".to_owned();
        file.sections = vec![Section { name, offset: 10, size: 75, in_containers: 60, padding: 10, unexplained: 5 }];
        let expected = [
            "0:a 10 10",
            "host-code 5 5",
            "headers@10 35 35",
            "headers@70 10 10",
            "padding 10 10",
            "unexplained 5 5",
            "not-device-code 25 25",
        ];
        assert_eq!(parts_of(&file), expected);
    }

    #[test]
    fn images_of_one_stream_share_it_by_their_sizes() {
        let grouped = |name, offset, size| {
            let part = Some(GroupPart { offset, whole: 40 });
            let stored = StoredBytes { start: 4, size: 10, part };
            Image { codec: Some(Codec::Zstd), full_size: Some(size), stored, ..image(name, 4, 10) }
        };
        let images = vec![grouped("a", 0, 20), grouped("b", 20, 10), grouped("c", 30, 10), image("d", 14, 2)];
        let expected = ["0:a 5 20", "1:b 3 10", "2:c 2 10", "3:d 2 2", "headers@0 4 4"];
        assert_eq!(parts_of(&file(16, vec![container(0, 16, images)])), expected);
    }

    #[test]
    fn images_of_a_compressed_container_share_its_bytes() {
        let inner = Image { containers: vec![container(20, 20, vec![image("b", 25, 10)])], ..image("", 20, 20) };
        let mut compressed = container(8, 8, vec![image("a", 0, 20), inner]);
        compressed.codec = Some(Codec::Zstd);
        let expected = ["0:a 4 20", "1:b 2 10", "headers@20 2 10", "not-device-code 8 8"];
        assert_eq!(parts_of(&file(16, vec![compressed])), expected);
    }

    #[test]
    fn bytes_of_several_containers_belong_to_the_first() {
        let containers = vec![container(0, 20, vec![image("a", 0, 16)]), container(10, 20, vec![image("b", 10, 20)])];
        assert_eq!(parts_of(&file(25, containers)), ["0:a 16 16", "headers@0 4 4", "1:b 5 20"]);
    }

    #[test]
    fn sizes_that_exceed_the_file_add_up_too() {
        let section = Section {
            name: String::new(),
            offset: 0,
            size: u64::MAX,
            in_containers: 0,
            padding: u64::MAX,
            unexplained: u64::MAX,
        };
        let mut file = file(25, vec![container(u64::MAX - 3, u64::MAX, vec![]), container(5, 9, vec![])]);
        file.sections = vec![section.clone(), section];
        assert_eq!(parts_of(&file), ["headers@18446744073709551612 0 3", "headers@5 9 9", "padding 16 16"]);
    }
}
