//! Tile IR: the kernels in its table of functions.
//!
//! The bytecode does not state resource usage, which is known only after compilation for a device. Sources: see
//! [`crate::format::tile_ir`].

use super::debug::DebugInfo;
use super::kernel::{Kernel, LocatedKernel};
use super::{Inspection, charge_kernel};
use crate::base::bytes::{Cursor, Extent, Table, View};
use crate::base::error::{Cause, Malformed};
use crate::format::tile_ir::{TileIr, TileIrVersion, integer, section};

/// Newest version whose table of functions is known.
const NEWEST: TileIrVersion = TileIrVersion { major: 13, minor: 5, tag: 0 };

/// First version with argument attributes for all functions and optimization hints for all kernels.
const WITH_ARGUMENT_ATTRIBUTES: TileIrVersion = NEWEST;

/// Bits of a function's flags.
const IS_KERNEL: u8 = 0x02;
const HAS_HINTS: u8 = 0x04;

/// Alignment of the string offsets, which follow the number of strings.
const STRING_OFFSETS_ALIGNMENT: u64 = 4;

/// Maximum nesting of attributes: hints are dictionaries of dictionaries.
const MAX_DEPTH: usize = 16;

/// Inspects a file.
pub fn inspect(view: View<'_>) -> Inspection {
    let file = match TileIr::read(view) {
        Ok(file) => file,
        Err(problem) => return Inspection { problems: vec![problem], ..Default::default() },
    };
    if file.version > NEWEST {
        return Inspection::not_inspected("Tile IR of a version that is newer than this program");
    }
    if file.version.tag != 0 {
        return Inspection::not_inspected("Tile IR with features of a preview");
    }
    let mut found = Vec::new();
    let mut problems = Vec::new();
    if let Err(problem) = kernels(&file, &mut found) {
        problems.push(problem);
    }
    Inspection::from_kernels(view, found, DebugInfo::default(), problems)
}

/// Appends the kernels to `found`.
fn kernels(file: &TileIr<'_>, found: &mut Vec<LocatedKernel>) -> Result<(), Malformed> {
    let (Some(functions), Some(strings)) = (file.section(section::FUNCTIONS), file.section(section::STRINGS)) else {
        return Ok(());
    };
    let mut cursor = Cursor::new(functions);
    for _ in 0..integer(&mut cursor, "Tile IR function count")? {
        let name_at = cursor;
        let name_index = integer(&mut cursor, "Tile IR function name")?;
        integer(&mut cursor, "Tile IR function type")?;
        let flags = cursor.u8("Tile IR function flags")?;
        integer(&mut cursor, "Tile IR function location")?;
        let is_kernel = flags & IS_KERNEL != 0;
        if file.version >= WITH_ARGUMENT_ATTRIBUTES {
            if is_kernel {
                attribute(&mut cursor, MAX_DEPTH)?;
            }
            attribute(&mut cursor, MAX_DEPTH)?;
        } else if flags & HAS_HINTS != 0 {
            attribute(&mut cursor, MAX_DEPTH)?;
        }
        let size = integer(&mut cursor, "Tile IR function size")?;
        cursor.take("Tile IR function", size)?;
        if is_kernel {
            let name = string(strings, name_index, &name_at)?;
            charge_kernel(functions, [name.len()], 0)?;
            let kernel = Kernel { name: name.to_owned(), ..Default::default() };
            found.push(LocatedKernel { kernel, entry: None });
        }
    }
    Ok(())
}

/// Looks up a string by its index, which was read at `stated_at`.
fn string<'data>(strings: View<'data>, index: u64, stated_at: &Cursor<'_>) -> Result<&'data str, Malformed> {
    let mut cursor = Cursor::new(strings);
    let count = integer(&mut cursor, "Tile IR string count")?;
    cursor.align(STRING_OFFSETS_ALIGNMENT);
    let table = Table { offset: cursor.at(), count, entry_size: 4 };
    let offsets = cursor.take_stated("Tile IR string count", table.extent().size)?;
    let bytes = cursor.rest();
    let mut offsets = offsets.data().as_chunks().0.iter().skip(usize::try_from(index).unwrap_or(usize::MAX));
    let mut offset = || offsets.next().map(|offset| u64::from(u32::from_le_bytes(*offset)));
    let Some(start) = offset() else {
        let cause = Cause::Described(format!("string {index} of {count}"));
        return Err(stated_at.malformed("Tile IR function name", cause));
    };
    // The last string ends with the section.
    let end = offset().unwrap_or(bytes.size());
    let text = bytes.between("Tile IR string", start..end)?;
    text.string("Tile IR string", Extent { offset: 0, size: text.size() })
}

/// Skips an attribute that begins with its tag. It may have attributes up to a depth inside.
fn attribute(cursor: &mut Cursor<'_>, depth: usize) -> Result<(), Malformed> {
    const FIELD: &str = "Tile IR attribute";
    let start = *cursor;
    let Some(inner_depth) = depth.checked_sub(1) else {
        return Err(start.malformed(FIELD, Cause::Described("nested too deeply".to_owned())));
    };
    match cursor.u8(FIELD)? {
        // Integer: type and value. Dense elements: type and constant.
        1 | 7 => integer(cursor, FIELD).and_then(|_| integer(cursor, FIELD)).map(|_| ()),
        // Boolean.
        3 => cursor.u8(FIELD).map(|_| ()),
        // Index of a type or string.
        4 | 5 => integer(cursor, FIELD).map(|_| ()),
        // Array.
        6 => (0..integer(cursor, FIELD)?).try_for_each(|_| attribute(cursor, inner_depth)),
        // Divisor, and two optional integers.
        8 => integer(cursor, FIELD).and_then(|_| optional_integers(cursor)),
        // Two optional integers: bounds.
        12 => optional_integers(cursor),
        // Dictionary, optimization hints: names and attributes.
        10 | 11 => (0..integer(cursor, FIELD)?).try_for_each(|_| {
            integer(cursor, FIELD)?;
            attribute(cursor, inner_depth)
        }),
        // A floating-point number has the size of its type.
        tag => {
            let cause = Cause::Unexpected { value: tag.into(), expected: "an attribute of a function" };
            Err(start.malformed(FIELD, cause))
        }
    }
}

/// Skips flags. Each of the lowest two that is set adds an integer, which is skipped too.
fn optional_integers(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
    let flags = cursor.u8("Tile IR attribute")?;
    for _ in 0..(flags & 3).count_ones() {
        integer(cursor, "Tile IR attribute")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tile_ir::tests::BYTES;

    fn names(bytes: &[u8]) -> Vec<String> {
        let inspection = inspect(View::new(bytes));
        assert_eq!((inspection.problems, inspection.not_inspected), (Vec::new(), None));
        inspection.kernels.into_iter().map(|kernel| kernel.name).collect()
    }

    /// A file of a version with this table of functions and the strings `a` and `bc`.
    fn file(version: [u8; 4], functions: &[u8]) -> Vec<u8> {
        let strings = b"\x02\xcb\xcb\xcb\0\0\0\0\x01\0\0\0abc";
        let head = [b"\x7fTileIR\0".as_slice(), &version].concat();
        let sections = [&[2, functions.len() as u8], functions, &[1, strings.len() as u8], strings, &[0]].concat();
        [head, sections].concat()
    }

    #[test]
    fn reads_the_kernels_of_all_versions() {
        assert_eq!(names(BYTES), ["_Z2tkPi", "_Z3tk2Pfi"]);
        // Hints of 13.1: a dictionary for sm_100 with an integer and a boolean. A function that is not a kernel.
        let hints = b"\x02\0\x05\x06\x01\x0b\x01\0\x0a\x02\x01\x01\x03\x02\0\x03\x01\x02\x5c\0\x01\x05\0\x02\x01\x5c";
        assert_eq!(names(&file([13, 1, 0, 0], hints)), ["a"]);
        // Since 13.5 functions have attributes of their arguments, here divisors.
        let attributes = b"\x02\x01\x05\x02\x01\x0b\0\x06\x01\x08\x10\x03\x02\x04\x01\x5c\0\x05\0\x02\x06\0\x01\x5c";
        assert_eq!(names(&file([13, 5, 0, 0], attributes)), ["bc"]);
    }

    #[test]
    fn newer_versions_and_previews_are_not_inspected() {
        for (version, reason) in [
            ([13, 6, 0, 0], "Tile IR of a version that is newer than this program"),
            ([14, 0, 0, 0], "Tile IR of a version that is newer than this program"),
            ([13, 4, 1, 0], "Tile IR with features of a preview"),
        ] {
            let inspection = inspect(View::new(&file(version, b"\x01\xff")));
            assert_eq!((inspection.not_inspected, inspection.problems), (Some(reason), Vec::new()), "{version:?}");
        }
    }

    #[test]
    fn reports_defects_and_keeps_earlier_kernels() {
        let cases: [(&[u8], &str); 6] = [
            (b"\x02\0\x05\x02\x01\x01\x5c", "Tile IR function name at 0x15: truncated: need 1 bytes, 0 available"),
            (b"\x02\0\x05\x02\x01\0\x02\x05\x02\x01\0", "Tile IR function name at 0x14: string 2 of 2"),
            (b"\x02\0\x05\x02\x01\0\0\x05\x06\x01\x02", "Tile IR attribute at 0x18: invalid value 0x2, expected an attribute of a function"),
            (b"\x02\0\x05\x02\x01\0\0\x05\x02\x01\x09\0", "Tile IR function at 0x19: truncated: need 9 bytes, 1 available"),
            (
                b"\x02\0\x05\x02\x01\0\0\x05\x06\x01\x06\x01\x06\x01\x06\x01\x06\x01\x06\x01\x06\x01\x06\x01\x06\x01\x06\
                \x01\x06\x01\x06\x01\x06\x01\x06\x01\x06\x01\x06\x01\x06\x01\x06\x01",
                "Tile IR attribute at 0x38: nested too deeply",
            ),
            (b"\x02\0\x05\x02\x01\0\0\x05\x06\x01\x06\xff\xff\xff\xff\x7f\x03", "Tile IR attribute at 0x1f: truncated: need 1 bytes, 0 available"),
        ];
        for (functions, expected) in cases {
            let inspection = inspect(View::new(&file([13, 1, 0, 0], functions)));
            assert_eq!(inspection.kernels.len(), 1, "{expected}");
            assert_eq!(inspection.problems[0].to_string(), expected);
        }
        for end in 0..BYTES.len() {
            assert!(!inspect(View::new(&BYTES[..end])).problems.is_empty(), "{end}");
        }
    }
}
