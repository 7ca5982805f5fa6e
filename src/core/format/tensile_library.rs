//! Tensile's libraries of solutions: MessagePack files (`.dat`) next to the code objects of rocBLAS and hipBLASLt.
//!
//! A map has `solutions`, an array of maps with a `name`, and `library`, the tree that selects one. A solution runs the
//! kernel `kernelName`, or the kernel of its name. Source: ROCm/Tensile, `Serialization/SolutionLibrary.hpp` and
//! `Serialization/ContractionSolution.hpp`; hipBLASLt, TensileLite's file of the same name.

use super::kpack::message_pack::MessagePackReader;
use crate::base::bytes::{Resource, View, record_memory};
use crate::base::error::Malformed;

/// Keys of the map. Other programs write MessagePack, too.
const SOLUTIONS: &str = "solutions";
const LIBRARY: &str = "library";
const OTHERS: [&str; 2] = ["version", "fileVersion"];

/// First bytes of a map of at most 15 pairs.
const MAP: std::ops::RangeInclusive<u8> = 0x81..=0x8f;

/// Returns the kernels of the solutions, in the order of the file; `None` for other files.
pub fn kernels(view: View<'_>) -> Option<Result<Vec<&str>, Malformed>> {
    if !view.data().first().is_some_and(|first| MAP.contains(first)) {
        return None;
    }
    let mut reader = MessagePackReader::new(view);
    let pairs = reader.map("Tensile library").ok()?;
    let first = { reader }.text("Tensile key").ok()?;
    let is_library = [SOLUTIONS, LIBRARY].into_iter().chain(OTHERS).any(|key| key == first);
    is_library.then(|| {
        let mut kernels = Vec::new();
        for _ in 0..pairs {
            match reader.text("Tensile key")? {
                SOLUTIONS => solutions(view, &mut reader, &mut kernels)?,
                _ => reader.skip("Tensile value")?,
            }
        }
        Ok(kernels)
    })
}

fn solutions<'data>(
    view: View<'data>,
    reader: &mut MessagePackReader<'data>,
    kernels: &mut Vec<&'data str>,
) -> Result<(), Malformed> {
    for _ in 0..reader.array("Tensile solutions")? {
        let mut name = None;
        let mut kernel = None;
        for _ in 0..reader.map("Tensile solution")? {
            match reader.text("Tensile solution key")? {
                "name" => name = Some(reader.text("Tensile solution name")?),
                "kernelName" => kernel = Some(reader.text("Tensile kernel")?),
                _ => reader.skip("Tensile solution value")?,
            }
        }
        if let Some(kernel) = kernel.or(name) {
            view.charge("Tensile kernel", Resource::Memory, record_memory(size_of::<&str>(), [kernel.len()]))?;
            kernels.push(kernel);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library of two solutions, the first of TensileLite.
    fn library() -> Vec<u8> {
        let value = serde_json::json!({
            "solutions": [
                { "name": "one", "index": 0, "kernelName": "Cijk_one", "sizeMapping": { "workGroup": [16, 16, 1] } },
                { "name": "Cijk_two", "index": 1, "ideals": [1.5, null] },
            ],
            "library": { "type": "Matching", "table": [{ "key": [1, 2], "index": 1 }] },
            "version": "4.33.0",
        });
        rmp_serde::to_vec(&value).unwrap()
    }

    #[test]
    fn solutions_promise_kernels() {
        assert_eq!(kernels(View::new(&library())), Some(Ok(vec!["Cijk_one", "Cijk_two"])));
    }

    #[test]
    fn other_files_are_no_libraries() {
        let other = rmp_serde::to_vec(&serde_json::json!({ "name": 1 })).unwrap();
        for bytes in [&other[..], b"", b"\x80", b"\x81", b"\x81\xa9solution", b"\x93\x01\x02\x03", b"text"] {
            assert_eq!(kernels(View::new(bytes)), None, "{bytes:x?}");
        }
    }

    #[test]
    fn every_truncated_library_is_an_error() {
        let bytes = library();
        for end in 12..bytes.len() {
            assert!(kernels(View::new(&bytes[..end])).is_some_and(|kernels| kernels.is_err()), "{end}");
        }
        let cases = [
            (&b"\x81\xa9solutions\xc0"[..], "Tensile solutions"),
            (b"\x81\xa9solutions\x91\xc0", "Tensile solution"),
            (b"\x81\xa9solutions\x91\x81\xa4name\x01", "Tensile solution name"),
            (b"\x81\xa9solutions\xdd\xff\xff\xff\xff", "Tensile solution"),
            (b"\x82\xa9solutions\x90\x01", "Tensile key"),
        ];
        for (bytes, field) in cases {
            assert_eq!(kernels(View::new(bytes)).unwrap().unwrap_err().field, field, "{bytes:x?}");
        }
    }
}
