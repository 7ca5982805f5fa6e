//! Tests of outputs.

use super::*;

fn create(path: &Path) -> Result<Output> {
    Output::create(FileSet::new().output(path, OutputKind::Code)?)
}

#[cfg(unix)]
fn update(path: &Path) -> Result<Output> {
    Output::update(FileSet::new().updating(true).output(path, OutputKind::Code)?)
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_uncommitted_output_leaves_only_the_old_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.o");
    std::fs::write(&path, "old").unwrap();
    let mut output = create(&path).unwrap();
    output.write(b"half").unwrap();
    drop(output);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(names(directory.path()), ["out.o"]);
}

#[test]
fn a_committed_output_replaces_the_old_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.o");
    std::fs::write(&path, "old").unwrap();
    let mut output = create(&path).unwrap();
    output.write(b"new").unwrap();
    output.commit([]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert_eq!(names(directory.path()), ["out.o"]);
}

#[cfg(unix)]
#[test]
fn create_in_replaces_a_symbolic_link() {
    let directory = tempfile::tempdir().unwrap();
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::symlink(outside.path(), directory.path().join("image")).unwrap();
    let name = crate::base::io::OutputName::of("image");
    let place = FileSet::new().output_in(directory.path(), &name, OutputKind::Code).unwrap();
    let mut output = Output::create(place).unwrap();
    output.write(b"new").unwrap();
    output.commit([]).unwrap();
    assert_eq!(std::fs::read(outside.path()).unwrap(), b"");
    assert_eq!(std::fs::read(directory.path().join("image")).unwrap(), b"new");
}

#[cfg(unix)]
#[test]
fn create_follows_a_symbolic_link() {
    let directory = tempfile::tempdir().unwrap();
    let real = directory.path().join("real");
    std::fs::write(&real, "old").unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut output = create(&link).unwrap();
    output.write(b"new").unwrap();
    output.commit([]).unwrap();
    assert_eq!(std::fs::read(&real).unwrap(), b"new");
    assert!(link.is_symlink());
}

#[test]
fn reserving_space_does_not_change_the_size() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let mut output = create(&path).unwrap();
    output.reserve(7).unwrap();
    output.write(b"1234567").unwrap();
    output.commit([]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"1234567");
}

#[test]
fn copies_bytes_at_any_offset_in_their_block() {
    let directory = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..3 * WINDOW as usize + 77).map(|i| (i % 251) as u8).collect();
    std::fs::write(directory.path().join("in"), &bytes).unwrap();
    let input = Input::open(directory.path().join("in"), crate::base::io::MAPPED).unwrap();
    let size = bytes.len() as u64;
    for (written, offset, part) in [(0, 0, size), (128, 0, size), (128, 128, size - 128), (1, 4097, 2 * WINDOW + 5)] {
        let path = directory.path().join("out");
        let mut output = create(&path).unwrap();
        output.write(&vec![7; written]).unwrap();
        output.copy(&input, offset, part).unwrap();
        output.write(b"end").unwrap();
        output.commit([]).unwrap();
        let expected = [&vec![7; written], &bytes[offset as usize..][..part as usize], b"end"].concat();
        assert!(std::fs::read(&path).unwrap() == expected, "{offset} after {written}");
    }
    let mut output = create(&directory.path().join("out")).unwrap();
    let error = output.copy(&input, 1, size).unwrap_err().to_string();
    assert!(error.ends_with("1 bytes missing"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn reserving_more_than_the_file_system_has_fails() {
    let directory = tempfile::tempdir().unwrap();
    let mut output = create(&directory.path().join("out")).unwrap();
    let error = output.reserve(1 << 60).unwrap_err().to_string();
    assert!(error.contains("cannot write: "), "{error}");
}

#[cfg(unix)]
#[test]
fn a_device_is_written_in_place() {
    let mut output = create(Path::new("/dev/null")).unwrap();
    output.write(b"gone").unwrap();
    output.commit([]).unwrap();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[cfg(unix)]
#[test]
fn an_updated_file_keeps_its_mode_and_hard_links() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let directory = tempfile::tempdir().unwrap();
    let [path, link] = ["out", "link"].map(|name| directory.path().join(name));
    for old in ["old", "old, and much longer than the new one"] {
        for is_linked in [false, true] {
            let _ = std::fs::remove_file(&link);
            std::fs::write(&path, old).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            if is_linked {
                std::fs::hard_link(&path, &link).unwrap();
            }
            let mut output = update(&path).unwrap();
            output.write(b"new bytes").unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), old.as_bytes());
            output.commit([]).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"new bytes");
            assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
            assert_eq!(link.exists(), is_linked);
            if is_linked {
                assert_eq!(std::fs::read(&link).unwrap(), b"new bytes");
            }
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1 + usize::from(is_linked));
        }
    }
}

#[cfg(unix)]
#[test]
fn a_replaced_file_loses_its_hard_links() {
    let directory = tempfile::tempdir().unwrap();
    let [path, link] = ["out", "link"].map(|name| directory.path().join(name));
    std::fs::write(&path, "old").unwrap();
    std::fs::hard_link(&path, &link).unwrap();
    let mut output = create(&path).unwrap();
    output.write(b"new").unwrap();
    output.commit([]).unwrap();
    assert_eq!(std::fs::read(&link).unwrap(), b"old");
}

#[cfg(unix)]
#[test]
fn an_update_that_is_dropped_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    std::fs::write(&path, "old").unwrap();
    let mut output = update(&path).unwrap();
    output.write(b"half").unwrap();
    drop(output);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn the_first_bytes_of_a_rewritable_output_are_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let mut output = create(&path).unwrap().rewritable().unwrap();
    output.write(b"....stream").unwrap();
    output.replace_start(b"size").unwrap();
    output.write(b" end").unwrap();
    output.commit([]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"sizestream end");
}

#[cfg(unix)]
#[test]
fn a_device_becomes_rewritable_by_a_temporary_file() {
    let mut output = create(Path::new("/dev/null")).unwrap().rewritable().unwrap();
    output.write(b"....").unwrap();
    output.replace_start(b"size").unwrap();
    output.commit([]).unwrap();
}
