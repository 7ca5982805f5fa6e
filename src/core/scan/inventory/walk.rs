//! The order of images in a file. One walk gives every image its index.

use std::collections::BTreeMap;
use std::slice;

use super::{Container, File, Image, Registration};
use crate::format::KernelContent;
use crate::format::{ImageKind, SelectionScope};

/// Containers and images of a file in its order. Each container precedes its images. An image that consists of
/// containers precedes its containers.
#[derive(Debug, Clone)]
pub struct Walk<'a> {
    /// Outermost containers.
    outermost: slice::Iter<'a, Container>,
    /// The containers around the next image, from the outermost, each with its remaining images.
    around: Vec<(&'a Container, slice::Iter<'a, Image>)>,
    /// Remaining containers of an image, for each level of `around` except the first.
    beside: Vec<slice::Iter<'a, Container>>,
}

/// A container or an image.
#[derive(Debug, Clone, Copy)]
pub enum Node<'a> {
    /// A container. Its images follow.
    Container(&'a Container),
    /// An image. If it consists of containers, they follow.
    Image(&'a Image),
}

/// Images that hold no containers, at any depth, in file order.
#[derive(Debug, Clone)]
pub struct Leaves<'a>(Walk<'a>);

/// A device image and the containers around it.
#[derive(Debug, Clone)]
pub struct NestedImage<'a> {
    /// Index among the device images of the file.
    pub index: usize,
    /// The image.
    pub image: &'a Image,
    /// The containers around it, from the outermost; never empty.
    pub containers: Vec<&'a Container>,
}

impl<'a> Walk<'a> {
    fn new(containers: &'a [Container]) -> Self {
        Walk { outermost: containers.iter(), around: Vec::new(), beside: Vec::new() }
    }

    /// Containers around the node that [`Iterator::next`] returned last, from the outermost. If the node is a
    /// container, it is the last of them.
    pub fn containers(&self) -> impl Iterator<Item = &'a Container> {
        self.around.iter().map(|(container, _)| *container)
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        loop {
            // Between two containers of one image, there is one level fewer.
            let is_between = self.around.len() == self.beside.len();
            let around = if is_between { None } else { self.around.last_mut() };
            let Some((_, images)) = around else {
                let siblings = self.beside.last_mut().unwrap_or(&mut self.outermost);
                if let Some(container) = siblings.next() {
                    self.around.push((container, container.images.iter()));
                    return Some(Node::Container(container));
                }
                drop(self.beside.pop()?);
                continue;
            };
            let Some(image) = images.next() else {
                self.around.pop();
                continue;
            };
            if !image.containers.is_empty() {
                self.beside.push(image.containers.iter());
            }
            return Some(Node::Image(image));
        }
    }
}

impl<'a> Leaves<'a> {
    fn new(containers: &'a [Container]) -> Self {
        Leaves(Walk::new(containers))
    }

    /// Containers around the image that [`Iterator::next`] returned last, from the outermost.
    pub fn containers(&self) -> Vec<&'a Container> {
        self.0.containers().collect()
    }
}

impl<'a> Iterator for Leaves<'a> {
    type Item = &'a Image;

    fn next(&mut self) -> Option<&'a Image> {
        self.0.find_map(|node| match node {
            Node::Image(image) if image.containers.is_empty() => Some(image),
            _ => None,
        })
    }
}

impl<'a> NestedImage<'a> {
    /// The innermost container.
    pub fn container(&self) -> &'a Container {
        self.containers.last().expect("an image is in a container")
    }

    /// Registration of the outermost container.
    pub fn registration(&self) -> Registration {
        self.containers.first().map_or(Registration::Unknown, |container| container.registration)
    }
}

impl File {
    /// All containers and images, at any depth, including host entries of bundles.
    #[doc(hidden)]
    pub fn walk(&self) -> Walk<'_> {
        Walk::new(&self.containers)
    }

    /// Device images in file order. Host entries of bundles and entries with only properties are left out. An image
    /// that consists of containers is replaced by the images in them.
    pub fn device_images(&self) -> impl Iterator<Item = &Image> {
        Leaves::new(&self.containers).filter(|image| image.is_device_image() && !image.is_left_out)
    }

    /// Leaves out the images of [`File::device_images`] whose indices a filter does not accept. The indices of the
    /// others stay.
    #[doc(hidden)]
    pub fn leave_out(&mut self, is_accepted: impl Fn(usize) -> bool) {
        leave_out(&mut self.containers, &mut (0..).map(is_accepted));
    }

    /// Records what the images of [`File::device_images`] with these indices hold. All others hold kernels. Stubs are
    /// kernels like others where no image that a runtime may select instead has a body.
    #[doc(hidden)]
    pub fn set_contents(&mut self, contents: &BTreeMap<usize, KernelContent>) {
        let of_index = |index: usize| contents.get(&index).copied().unwrap_or_default();
        set_contents(&mut self.containers, &mut (0..).map(of_index));
        let registered_together = self.containers.iter().filter(|container| is_selected_by_file(container));
        let of_file = registered_together.flat_map(|container| &container.images).map(|image| image.content).max();
        settle_stubs(&mut self.containers, of_file.unwrap_or_default());
    }

    /// Entries that hold only properties.
    #[doc(hidden)]
    pub fn metadata_entries(&self) -> impl Iterator<Item = &Image> {
        Leaves::new(&self.containers).filter(|image| image.image_kind == ImageKind::Metadata)
    }

    /// Images of [`File::device_images`], each with its index and the containers around it.
    #[doc(hidden)]
    pub fn nested_images(&self) -> impl Iterator<Item = NestedImage<'_>> {
        self.nested(Image::is_device_image)
    }

    /// All images that hold no others, with their containers, including host entries of bundles. Their indices count
    /// all of them.
    pub(crate) fn nested_leaves(&self) -> impl Iterator<Item = NestedImage<'_>> {
        self.nested(|_| true)
    }

    fn nested(&self, accepts: impl Fn(&Image) -> bool) -> impl Iterator<Item = NestedImage<'_>> {
        let mut leaves = Leaves::new(&self.containers);
        let images = std::iter::from_fn(move || {
            let image = leaves.by_ref().find(|image| accepts(image))?;
            Some((image, leaves.containers()))
        });
        let images = images.enumerate().map(|(index, (image, containers))| NestedImage { index, image, containers });
        images.filter(|nested| !nested.image.is_left_out)
    }
}

/// Marks the images that are not accepted, and images if all of their parts are marked. `accepted` has the device images.
fn leave_out(containers: &mut [Container], accepted: &mut impl Iterator<Item = bool>) {
    for image in containers.iter_mut().flat_map(|container| &mut container.images) {
        if image.containers.is_empty() {
            image.is_left_out = !(image.is_device_image() && accepted.next().unwrap_or_default());
        } else {
            leave_out(&mut image.containers, accepted);
            image.is_left_out = image.containers.iter().all(Container::is_left_out);
        }
    }
}

/// `contents` has the device images.
fn set_contents(containers: &mut [Container], contents: &mut impl Iterator<Item = KernelContent>) {
    for image in containers.iter_mut().flat_map(|container| &mut container.images) {
        if !image.containers.is_empty() {
            set_contents(&mut image.containers, contents);
        } else if image.is_device_image() {
            image.content = contents.next().unwrap_or_default();
        }
    }
}

fn is_selected_by_file(container: &Container) -> bool {
    container.container_type.descriptor().selection_scope == SelectionScope::File
}

/// `of_file` is the most that an image of the containers holds that are registered together.
fn settle_stubs(containers: &mut [Container], of_file: KernelContent) {
    for container in containers {
        let of_container = container.images.iter().map(|image| image.content).max().unwrap_or_default();
        let most = if is_selected_by_file(container) { of_file } else { of_container };
        for image in &mut container.images {
            settle_stubs(&mut image.containers, of_file);
            if image.content == most && most == KernelContent::Stubs {
                image.content = KernelContent::Kernels;
            }
        }
    }
}

impl Container {
    /// Returns whether all of its images are left out.
    #[doc(hidden)]
    pub fn is_left_out(&self) -> bool {
        !self.images.is_empty() && self.images.iter().all(|image| image.is_left_out)
    }

    /// Images in the container that hold no others, at any depth, including host entries of bundles.
    #[doc(hidden)]
    pub fn images(&self) -> Leaves<'_> {
        Leaves::new(slice::from_ref(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ContainerType;
    use crate::target::OffloadKind;

    fn image(name: &str) -> Image {
        let kind = if name == "host" { OffloadKind::Host } else { OffloadKind::Hip };
        Image { kind: Some(kind), id: Some(name.to_owned()), ..Image::default() }
    }

    fn container(size: u64, images: Vec<Image>) -> Container {
        let container_type = ContainerType::Bundle;
        let registration = Default::default();
        let version = None;
        let section = None;
        let offset = None;
        let codec = None;
        Container { container_type, version, section, offset, size, codec, registration, images, start: 0 }
    }

    /// Two containers. The first holds images at three depths, with empty containers among them.
    fn file() -> File {
        let holding = |containers| Image { containers, ..Image::default() };
        let deepest = holding(vec![container(4, vec![image("d"), image("e")])]);
        let middle = holding(vec![
            container(2, vec![image("b"), image("c")]),
            container(3, Vec::new()),
            container(5, vec![deepest, image("f")]),
        ]);
        let containers = vec![
            container(1, vec![image("host"), image("a"), middle, image("g")]),
            container(6, Vec::new()),
            container(7, vec![image("h")]),
        ];
        File { containers, ..File::empty(crate::base::file_path::FilePath::new("file")) }
    }

    /// Recursion as an oracle.
    fn leaves<'a>(containers: &'a [Container], around: &[u64], found: &mut Vec<(&'a str, Vec<u64>)>) {
        for container in containers {
            let around = [around, &[container.size]].concat();
            for image in &container.images {
                match image.id.as_deref() {
                    Some(id) => found.push((id, around.clone())),
                    None => leaves(&image.containers, &around, found),
                }
            }
        }
    }

    #[test]
    fn the_walk_visits_images_in_the_order_of_a_recursion() {
        let file = file();
        let mut expected = Vec::new();
        leaves(&file.containers, &[], &mut expected);
        expected.retain(|(id, _)| *id != "host");
        let found: Vec<_> = file
            .nested_images()
            .map(|it| (it.image.id.as_deref().unwrap(), it.containers.iter().map(|it| it.size).collect::<Vec<_>>()))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(found.len(), 8);
        assert!(file.nested_images().enumerate().all(|(index, it)| index == it.index));
        assert!(file.device_images().zip(&expected).all(|(image, (id, _))| image.id.as_deref() == Some(id)));
    }

    #[test]
    fn the_walk_visits_containers_and_images_before_their_contents() {
        let file = file();
        let mut nodes = Vec::new();
        let mut walk = file.walk();
        while let Some(node) = walk.next() {
            nodes.push(match node {
                Node::Container(container) => container.size.to_string(),
                Node::Image(image) => image.id.clone().unwrap_or("holder".to_owned()),
            });
            if let Node::Container(container) = node {
                assert_eq!(walk.containers().last(), Some(container));
            }
        }
        let expected = "1 host a holder 2 b c 3 5 holder 4 d e f g 6 7 h";
        assert_eq!(nodes, expected.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn images_of_a_container_include_host_entries() {
        let file = file();
        let ids: Vec<_> = file.containers[0].images().filter_map(|image| image.id.as_deref()).collect();
        assert_eq!(ids, ["host", "a", "b", "c", "d", "e", "f", "g"]);
        assert_eq!(file.containers[1].images().count(), 0);
    }
}
