//! Tests of inputs.

use super::*;

fn input(bytes: &[u8]) -> (tempfile::NamedTempFile, Input) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let input = Input::open(file.path(), MAPPED).unwrap();
    (file, input)
}

#[test]
fn blocks_cover_every_byte_and_overlap() {
    let bytes: Vec<u8> = (0..3 * BLOCK + 77).map(|i| (i % 251) as u8).collect();
    let (_file, input) = input(&bytes);
    let mut end = 5;
    input
        .blocks(5..bytes.len() as u64, 23, |offset, block| {
            assert!(offset == 5 || offset == end - 23);
            assert_eq!(block, &bytes[offset as usize..offset as usize + block.len()]);
            end = offset + block.len() as u64;
        })
        .unwrap();
    assert_eq!(end, bytes.len() as u64);
}

#[test]
fn an_empty_file_is_an_input() {
    let (_file, input) = input(b"");
    assert_eq!(input.size(), 0);
    assert_eq!(input.offset_of(input.view().data()), None);
}

#[test]
fn offset_of_recognizes_slices_of_the_input_and_not_copies() {
    let (_file, input) = input(b"0123456789");
    assert_eq!(input.offset_of(&input.view().data()[3..7]), Some(3));
    assert_eq!(input.offset_of(b"3456"), None);
}

#[cfg(unix)]
#[test]
fn open_any_accepts_a_device() {
    assert!(Input::open("/dev/null", Access::read()).is_err());
    assert_eq!(Input::open_any("/dev/null", Access::read()).unwrap().size(), 0);
    assert!(Input::open_any(std::env::temp_dir(), Access::read()).is_err());
}

#[test]
fn a_directory_is_refused() {
    let error = Input::open(std::env::temp_dir(), Access::read()).err().unwrap().to_string();
    assert!(error.ends_with("is a directory, not a regular file"), "{error}");
}

#[test]
fn an_input_that_was_read_does_not_change_with_its_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"before").unwrap();
    let input = Input::open(file.path(), Access::read()).unwrap();
    std::fs::write(file.path(), b"AFTER").unwrap();
    assert_eq!(input.view().data(), b"before");
    assert_eq!(input.in_memory(2, 4), Some(&b"fore"[..]));
    let mut seen = Vec::new();
    input.blocks(1..6, 3, |offset, block| seen.push((offset, block.to_vec()))).unwrap();
    assert_eq!(seen, [(1, b"efore".to_vec())]);
}

/// What the contract of [`Access::map`] states about writing.
#[cfg(target_os = "linux")]
#[test]
fn writing_to_a_mapped_file_changes_the_view() {
    use std::os::unix::fs::FileExt;
    let (file, input) = input(b"before");
    file.as_file().write_at(b"AF", 0).unwrap();
    assert_eq!(input.view().data().to_vec(), b"AFfore");
}

/// What the contract of [`Access::map`] states about truncation, in a separate process.
#[cfg(target_os = "linux")]
#[test]
fn truncating_a_mapped_file_raises_sigbus() {
    use std::os::unix::process::ExitStatusExt;
    const CHILD: &str = "FATBIN_TEST_TRUNCATED_CHILD";
    const SIGBUS: i32 = 7;
    if std::env::var_os(CHILD).is_some() {
        let (file, input) = input(&[1; 1 << 16]);
        file.as_file().set_len(0).unwrap();
        std::process::exit(input.view().data()[1 << 15].into());
    }
    let module = module_path!().split_once("::").unwrap().1;
    let name = format!("{module}::truncating_a_mapped_file_raises_sigbus");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    // The signal leaves the child's file behind.
    let directory = tempfile::tempdir().unwrap();
    let status = child
        .args([name.as_str(), "--exact", "--nocapture"])
        .env(CHILD, "1")
        .env("TMPDIR", directory.path())
        .output()
        .unwrap()
        .status;
    assert_eq!(status.signal(), Some(SIGBUS), "{status}");
}
