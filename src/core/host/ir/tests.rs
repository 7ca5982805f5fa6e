//! Modules of small plans, read back: bitcode by a reader of bitstreams, text as it is.
//!
//! `linker-tests/ir` has LLVM read both forms of every kind's plan.

use super::{bitstream, emit_bitcode, write_text};
use crate::base::content::Content;
use crate::base::io::Sink;
use crate::host::code::Step;
use crate::host::{Data, Definition, Field, ObjectPlan, PlanSection, SectionKind, Value};

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

fn bitcode(plan: &ObjectPlan) -> Vec<u8> {
    let mut sink = Sink::new([]);
    emit_bitcode(plan, TRIPLE, &mut sink);
    let mut bytes = Vec::new();
    sink.copy_to(&mut bytes).unwrap();
    bytes
}

fn text(plan: &ObjectPlan) -> String {
    let mut bytes = Vec::new();
    write_text(plan, TRIPLE, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Returns a plan with one section of these bytes, which is one symbol.
fn plan_of_bytes(name: &str, bytes: &[u8]) -> ObjectPlan<'static> {
    let mut plan = ObjectPlan { source_name: "test", ..Default::default() };
    let section = plan.next_section();
    plan.symbol(name, Definition::Data { section, offset: 0, size: bytes.len() as u64 });
    let data = Data::Bytes(Content::from(bytes.to_vec()));
    plan.section(PlanSection::new(".llvm.offloading", SectionKind::Offloading, 8, data));
    plan
}

/// Reader of a bitstream.
struct BitReader<'data> {
    bytes: &'data [u8],
    position: usize,
}

/// A record, and the block that it is in.
#[derive(Debug, PartialEq, Eq)]
struct ReadRecord {
    block: u64,
    code: u64,
    operands: Vec<u64>,
}

impl BitReader<'_> {
    fn fixed(&mut self, width: usize) -> u64 {
        let bit = |index: usize| u64::from(self.bytes[index / 8] >> (index % 8) & 1);
        let value = (0..width).map(|index| bit(self.position + index) << index).sum();
        self.position += width;
        value
    }

    fn variable(&mut self, width: usize) -> u64 {
        let mut value = 0;
        let mut shift = 0;
        loop {
            let chunk = self.fixed(width);
            value |= (chunk & !(1 << (width - 1))) << shift;
            shift += width - 1;
            if chunk >> (width - 1) == 0 {
                return value;
            }
        }
    }

    fn align(&mut self) {
        self.position = self.position.next_multiple_of(32);
    }

    /// Reads a block up to its end, or all blocks of the stream, and checks the lengths of blocks.
    fn block(&mut self, block: u64, width: usize, records: &mut Vec<ReadRecord>) {
        let mut abbreviation = None;
        while self.position < 8 * self.bytes.len() {
            match self.fixed(width) {
                0 => return self.align(),
                1 => {
                    let inner = self.variable(8);
                    let inner_width = self.variable(4) as usize;
                    self.align();
                    let end = self.fixed(32) as usize * 32 + self.position;
                    self.block(inner, inner_width, records);
                    assert_eq!(self.position, end, "length of block {inner}");
                }
                2 => abbreviation = Some(self.abbreviation()),
                3 => {
                    let code = self.variable(6);
                    let count = self.variable(6);
                    let operands = (0..count).map(|_| self.variable(6)).collect();
                    records.push(ReadRecord { block, code, operands });
                }
                _ => {
                    let (code, is_blob) = abbreviation.expect("an abbreviation");
                    let count = self.variable(6);
                    if is_blob {
                        self.align();
                    }
                    let operands = (0..count).map(|_| self.fixed(8)).collect();
                    if is_blob {
                        self.align();
                    }
                    records.push(ReadRecord { block, code, operands });
                }
            }
        }
    }

    /// Reads the definition of a literal code and an array or a blob of bytes; returns the code, and true for a blob.
    fn abbreviation(&mut self) -> (u64, bool) {
        let count = self.variable(5);
        assert_eq!(self.fixed(1), 1, "the code is a literal");
        let code = self.variable(8);
        let _ = self.fixed(1);
        let encoding = self.fixed(3);
        if encoding == 3 {
            assert_eq!((count, self.fixed(1), self.fixed(3), self.variable(5)), (3, 0, 1, 8), "an array of bytes");
        }
        (code, encoding == 5)
    }
}

fn records(bytes: &[u8]) -> Vec<ReadRecord> {
    assert_eq!(bytes[..4], *b"BC\xc0\xde");
    let mut records = Vec::new();
    BitReader { bytes, position: 32 }.block(0, 2, &mut records);
    records
}

#[test]
fn bitcode_contains_images_of_any_size_as_they_are() {
    let every_byte: Vec<u8> = (0..=255).collect();
    let image = every_byte.repeat(5);
    for size in (1..70).chain([255, 256, 1023, 1024, 1025, 1280]) {
        let bytes = bitcode(&plan_of_bytes("image", &image[..size]));
        let found = records(&bytes);
        // CST_CODE_STRING in the block of constants.
        let array = found.iter().find(|record| (record.block, record.code) == (11, 8)).unwrap();
        assert!(array.operands.iter().map(|&byte| byte as u8).eq(image[..size].iter().copied()), "{size} bytes");
        assert!(bytes.windows(size).any(|window| *window == image[..size]), "{size} bytes do not begin at a byte");
    }
}

#[test]
fn bitcode_refers_to_the_bytes_of_images() {
    let image = vec![7; 1 << 20];
    let mut plan = plan_of_bytes("image", b"");
    plan.symbols[0].definition = Definition::Data { section: crate::host::SectionId(0), offset: 0, size: 1 << 20 };
    plan.sections[0].data = Data::Bytes(Content::from(&image[..]));
    let mut sink = Sink::new([]).with_slices([&image[..]]);
    emit_bitcode(&plan, TRIPLE, &mut sink);
    assert!(sink.size() > 1 << 20);
    let copied = format!("{sink:?}");
    assert!(copied.contains("extents: 3"), "{copied}: not bytes, image, bytes");
}

#[test]
fn blocks_that_begin_after_borrowed_bytes_have_lengths() {
    let bytes = [1; 8];
    let mut stream = bitstream::BitWriter::new(*b"BC\xc0\xde");
    stream.enter(11, 3);
    stream.define_bytes(8, bitstream::ByteForm::Blob);
    stream.bytes(bitstream::ByteForm::Blob, 8, [std::borrow::Cow::Borrowed(&bytes[..])].into_iter());
    stream.enter(12, 3);
    stream.record(10, [1 << 40, 0]);
    stream.exit();
    stream.exit();
    let mut sink = Sink::new([]);
    stream.finish(&mut sink);
    let mut written = Vec::new();
    sink.copy_to(&mut written).unwrap();
    let expected = [(11, 8, vec![1; 8]), (12, 10, vec![1 << 40, 0])];
    assert_eq!(records(&written), expected.map(|(block, code, operands)| ReadRecord { block, code, operands }));
}

#[test]
fn text_escapes_every_byte_that_is_not_printable() {
    let every_byte: Vec<u8> = (0..=255).collect();
    let text = text(&plan_of_bytes("image", &every_byte));
    let start = text.find("c\"").unwrap() + 2;
    let literal = &text[start..start + text[start..].find('"').unwrap()];
    let mut decoded = Vec::new();
    let mut rest = literal.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'\\' {
            decoded.push(u8::from_str_radix(std::str::from_utf8(&tail[..2]).unwrap(), 16).unwrap());
            rest = &tail[2..];
        } else {
            decoded.push(*first);
            rest = tail;
        }
    }
    assert_eq!(decoded, every_byte);
    assert!(text.contains("[256 x i8] c\"\\00\\01") && literal.contains(" !\\22#$"), "{text}");
}

#[test]
fn names_are_quoted_where_the_language_requires_it() {
    let cases = [
        ("image.1", "@image.1 "),
        ("with space", "@\"with space\" "),
        ("\"; \\", "@\"\\22; \\5C\" "),
        ("7", "@\"7\" "),
        ("é", "@\"\\C3\\A9\" "),
        ("llvm.used", "@\"\\01llvm.used\" "),
        ("\u{1}_verbatim", "@\"\\01\\01_verbatim\" "),
    ];
    for (name, expected) in cases {
        let text = text(&plan_of_bytes(name, b"x"));
        assert!(text.lines().any(|line| line.starts_with(expected)), "{name:?}: {text}");
        let names = records(&bitcode(&plan_of_bytes(name, b"x"))).pop().unwrap();
        let names: Vec<u8> = names.operands.iter().map(|&byte| byte as u8).collect();
        assert!(names.windows(name.len()).any(|window| window == name.as_bytes()), "{name:?}: {names:?}");
    }
}

#[test]
fn symbols_of_one_name_are_numbered_and_undefined_ones_keep_theirs() {
    let mut plan = plan_of_bytes("same", b"x");
    let section = plan.next_section();
    plan.symbol("same", Definition::Data { section, offset: 0, size: 1 });
    plan.symbol("same", Definition::Undefined);
    plan.section(PlanSection::new(".rodata", SectionKind::ReadOnly, 1, Data::Bytes(Content::from(b"y".to_vec()))));
    let text = text(&plan);
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("@same")).collect();
    assert_eq!(names[0], ".1 = internal constant [1 x i8] c\"x\", section \".llvm.offloading\", align 8");
    assert_eq!(names[1], ".2 = internal constant [1 x i8] c\"y\", align 1");
    assert_eq!(names[2], " = external global [0 x i8]");
}

#[test]
fn data_without_a_reference_is_marked_as_used() {
    let mut plan = plan_of_bytes("image", b"x");
    let section = plan.next_section();
    plan.symbol("pointer", Definition::Data { section, offset: 0, size: 8 });
    let fields = Data::Fields(vec![Field::Pointer(crate::host::SymbolId(0).start())]);
    plan.section(PlanSection::new(".data.rel.ro", SectionKind::Writable, 8, fields));
    let used = text(&plan).lines().find(|line| line.starts_with("@llvm.compiler.used")).unwrap().to_owned();
    assert!(used.contains("@pointer ") && !used.contains("@image "), "{used}");
}

#[test]
fn symbols_to_keep_follow_the_last_structure_of_their_section() {
    let mut plan = plan_of_bytes("image", b"x");
    let kept = plan.symbol("kept", Definition::UndefinedWeak);
    let section = plan.next_section();
    plan.symbol("first", Definition::Data { section, offset: 0, size: 4 });
    plan.symbol("last", Definition::Data { section, offset: 4, size: 4 });
    let fields = Data::Fields(vec![Field::U32(1), Field::U32(2)]);
    let section = PlanSection::new("own", SectionKind::Writable, 4, fields);
    plan.section(PlanSection { keep: vec![kept], ..section });
    let text = text(&plan);
    assert!(text.contains("@kept = extern_weak global [0 x i8]\n"), "{text}");
    assert!(text.contains("@first = internal constant <{ i32 }> <{ i32 1 }>, section \"own\", align 4\n"), "{text}");
    let last = "@last = internal constant <{ i32, i8* }> <{ i32 2, i8* bitcast ([0 x i8]* @kept to i8*) }>";
    assert!(text.contains(last), "{text}");
}

#[test]
fn constructors_call_with_pointers_and_numbers() {
    let mut plan = plan_of_bytes("image", b"x");
    let callee = plan.symbol("callee", Definition::Undefined);
    let call = Step::call(callee, vec![Value::Address(crate::host::SymbolId(0).plus(1)), Value::Integer(-1)]);
    let function = plan.function("register", vec![call]);
    let data = Data::Fields(vec![Field::Pointer(function.start())]);
    plan.section(PlanSection::new(".init_array", SectionKind::Constructors(101), 8, data));
    let text = text(&plan);
    let lines = [
        "declare void @callee(i8*, i64)",
        "define internal void @register() section \".text.startup\" {",
        "  call void @callee(i8* getelementptr inbounds (i8, i8* bitcast ([1 x i8]* @image to i8*), i64 1), i64 -1)",
        "@llvm.global_ctors = appending global [1 x { i32, void ()*, i8* }] \
         [{ i32, void ()*, i8* } { i32 101, void ()* @register, i8* null }]",
    ];
    for line in lines {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn a_function_that_is_called_may_be_an_entry_too() {
    let mut plan = plan_of_bytes("image", b"x");
    let section = plan.next_section();
    plan.symbol("callee", Definition::Data { section, offset: 0, size: 8 });
    let entry = plan.reference("callee", Definition::UndefinedWeak);
    let fields = Data::Fields(vec![Field::Pointer(entry.start())]);
    plan.section(PlanSection::new("entries", SectionKind::Writable, 8, fields));
    let callee = plan.reference("callee", Definition::Undefined);
    plan.function("register", vec![Step::call(callee, vec![])]);
    let text = text(&plan);
    assert!(
        text.contains("@callee.1 = internal constant <{ i8* }> <{ i8* bitcast (void ()* @callee to i8*) }>"),
        "{text}"
    );
    assert!(text.contains("\ndeclare void @callee()\n") && text.contains("  call void @callee()\n"), "{text}");
}
