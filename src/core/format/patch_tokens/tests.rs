//! Tests of the reader of patch tokens.

use super::*;

const BYTES: &[u8] = include_bytes!("../../../../fixtures/answer-gen9.gen");

#[test]
fn reads_the_kernels_of_ocloc() {
    let bytes = [BYTES, b"something else"].concat();
    let program = Program::read(View::new(&bytes)).unwrap();
    assert_eq!((program.size, program.version, program.pointer_size), (BYTES.len() as u64, 1081, 8));
    assert_eq!(program.arch(), Some("gen9"));
    let [kernel] = &program.kernels[..] else { panic!("one kernel") };
    assert_eq!((kernel.name, kernel.code.size() % 64), ("answer_kernel", 0));
    assert_eq!(kernel.whole.range().end, program.size);
    let numbers: Vec<u32> = tokens(kernel.tokens).map(|token| token.unwrap().number).collect();
    assert!(numbers.contains(&23) && numbers.contains(&26), "{numbers:?}");
}

#[test]
fn every_truncated_program_is_an_error() {
    for end in 0..BYTES.len() {
        assert!(Program::read(View::new(&BYTES[..end])).is_err(), "{end}");
    }
}

#[test]
fn reports_the_offset_and_the_cause_of_defects() {
    let tokens_at = BYTES.len() - Program::read(View::new(BYTES)).unwrap().kernels[0].tokens.size() as usize;
    let cases: [(usize, u32, &str); 5] = [
        (0, 0, "Intel program magic at 0x0: invalid value 0x0, expected CTNI"),
        (12, 5, "Intel pointer size at 0xc: invalid value 0x5, expected 4 or 8"),
        (16, 2, "Intel kernel header at"),
        (28 + 20, u32::MAX, "Intel kernel heap at 0x30: offset"),
        (tokens_at + 4, 0, "patch token size at"),
    ];
    for (at, new, expected) in cases {
        let mut bytes = BYTES.to_vec();
        bytes[at..at + 4].copy_from_slice(&new.to_le_bytes());
        let error = Program::read(View::new(&bytes)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
