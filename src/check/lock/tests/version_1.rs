//! Locks of version 1 are still read, and mean the same.

use super::*;

/// A lock that `fatbin lock` of version 1 wrote.
const FIXTURE: &str = include_str!("../../../../fixtures/version-1.lock");

/// Returns the text of a lock in version 1.
pub fn write_version_1(lock: &Lock) -> String {
    let mut text = "fatbin.lock/1\n".to_owned();
    let quoted = text::quoted;
    let number = |key: &str, value: Option<u64>| value.map(|value| format!(" {key}={value}")).unwrap_or_default();
    let string = |key: &str, value: Option<&str>| value.map(|it| format!(" {key}={}", quoted(it))).unwrap_or_default();
    let hash =
        |key: &str, value: Option<Hash>| string(key, value.map(|it| crate::base::bytes::hexadecimal(&it)).as_deref());
    for file in &lock.files {
        text += &format!("file {}{}{}\n", quoted(&file.path), number("size", file.size), number("stored", file.stored));
        for image in &file.images {
            let target = &image.target;
            text += &format!("image {}", target.arch.as_deref().map_or("-".to_owned(), quoted));
            text += &string("kind", target.kind.as_deref());
            text += &string("image", Some(&target.image));
            text += &string("triple", target.triple.as_deref());
            text += &string("in", image.container_path.as_deref());
            text += &string("codec", image.codec.as_deref());
            text += &(number("stored", image.stored) + &number("size", image.size));
            text += &string("debug", image.debug.as_deref());
            text += &(hash("sha256", image.sha256) + &hash("code", image.code) + "\n");
            for kernel in &image.kernels {
                text += &format!("  kernel {}", quoted(kernel.name.as_str()));
                for (figure, value) in kernel.usage.known() {
                    text += &number(figure.key(), Some(value));
                    let is_scratch = figure == crate::image::Figure::Scratch;
                    text += if is_scratch && kernel.usage.scratch_is_minimum { "+" } else { "" };
                }
                text += &(string("demangled", kernel.name.demangled()) + "\n");
            }
        }
    }
    text
}

#[test]
fn a_lock_of_version_1_is_read_and_written_in_version_2() {
    let lock = read(FIXTURE.as_bytes()).unwrap();
    let without_note: Vec<&str> = FIXTURE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(write_version_1(&lock).lines().collect::<Vec<_>>(), without_note);
    let text = write(&lock);
    assert!(text.starts_with("fatbin.lock/2\n") && text.len() < FIXTURE.len(), "{text}");
    assert_eq!(read(text.as_bytes()).unwrap(), lock);
}
