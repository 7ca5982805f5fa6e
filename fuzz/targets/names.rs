//! Reads arbitrary text as a template of file names, an address, and the name of a device or a target. A name from a
//! template stays below the output directory for every name of an image.

#![no_main]

use std::path::{Component, Path};

use fatbin::Image;
use fatbin::scan::{FilePath, ImageKind, NameTemplate};
use fatbin::target::Device;
use fatbin_core::base::io::FileUri;
use fatbin_core::scan::extract::name_template::NamedImage;
use fatbin_core::scan::inventory::NestedImage;
use fatbin_core::target::BundleEntryId;
use fatbin_fuzz::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    check_address(text);
    if let Ok(devices) = Device::parse(text) {
        assert!(!devices.is_empty());
    }
    if let Ok(id) = BundleEntryId::check(text) {
        let canonical = id.canonical();
        let again = BundleEntryId::parse(&canonical).expect("a canonical ID is an ID");
        assert_eq!(again.canonical(), canonical);
    }
    let (template, name) = text.split_once('\0').unwrap_or((text, text));
    check_template(template, name);
});

/// Compares an address with its parts, decoded one byte after another.
fn check_address(text: &str) {
    let Some(Ok(address)) = FileUri::parse(Path::new(text)) else { return };
    let rest = text.strip_prefix("file://").expect("only addresses have this form");
    let path = &rest[..rest.find(['#', '?']).unwrap_or(rest.len())];
    let path = if path.starts_with("localhost/") { &path["localhost".len()..] } else { path };
    assert_eq!(address.path.as_os_str().as_encoded_bytes(), naive_decoded(path.as_bytes()));
    assert_eq!(address.range.is_some(), rest.contains(['#', '?']));
}

fn naive_decoded(mut text: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let mut decoded = Vec::new();
    while let Some((&first, rest)) = text.split_first() {
        let pair = || Some((digit(rest.first()?)?, digit(rest.get(1)?)?));
        (text, _) = match pair().filter(|_| first == b'%') {
            Some((high, low)) => (&rest[2..], decoded.push(high << 4 | low)),
            None => (rest, decoded.push(first)),
        };
    }
    decoded
}

fn check_template(template: &str, name: &str) {
    let Ok(template) = NameTemplate::parse(template) else { return };
    let image = Image::of_target(ImageKind::Unknown, Some(name.to_owned()), Some(name.to_owned()));
    let nested = NestedImage { index: 0, image: &image, containers: Vec::new() };
    for path in [FilePath::new(name), FilePath::parse(name)] {
        let named = NamedImage { path: &path, nested: &nested, codec: None };
        let name = template.name(&named);
        let path = name.as_path();
        let below = path.components().all(|part| matches!(part, Component::Normal(_)));
        let is_literal = path.components().count() == 0;
        assert!(below || is_literal, "{path:?} leaves the output directory");
    }
}
