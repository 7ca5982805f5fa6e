//! Structure of COFF objects, read back by `object`, and unwind information compared with LLVM 22.

use object::pe;
use object::read::coff::{CoffFile, CoffHeader};
use object::read::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use object::{LittleEndian, RelocationFlags, SymbolKind};

use super::unwind;
use crate::base::content::Content;
use crate::host::architecture::UnwindFormat;
use crate::host::assembler::{CompiledFunction, UnwindRule};
use crate::host::code::{Call, Local, Step, Value};
use crate::host::plan::{Data, Field, ObjectPlan, PlanSection, SectionKind};
use crate::host::symbol::Definition;
use crate::host::{self, Host};

/// The bits of a section's flags that hold its alignment.
const ALIGNMENT: u32 = 0xf0_0000;

/// A plan with every kind of section, symbol and reference.
fn plan() -> ObjectPlan<'static> {
    let mut plan = ObjectPlan { source_name: "a.source.of.nineteen", ..Default::default() };
    let image = plan.next_section();
    let image = plan.symbol("image", Definition::Data { section: image, offset: 0, size: 5 });
    let payload = Data::Bytes(Content::from(b"image".to_vec()));
    plan.section(PlanSection::new(".llvm.offloading", SectionKind::Offloading, 4096, payload));
    let weak = plan.reference("optional", Definition::UndefinedWeak);
    let outside = plan.reference("outside", Definition::Undefined);
    let fields = vec![Field::U32(7), Field::U32(0), Field::Pointer(image.plus(3)), Field::Pointer(outside.start())];
    let section = PlanSection::new(".data.rel.ro", SectionKind::Writable, 16, Data::Fields(fields));
    plan.section(PlanSection { keep: vec![weak], ..section });
    let variable = plan.next_section();
    let variable = plan.symbol("variable", Definition::Data { section: variable, offset: 0, size: 8 });
    plan.section(PlanSection::new(".bss", SectionKind::Writable, 8, Data::Zero(8)));
    let arguments = vec![Value::Address(image.plus(2)), Value::Integer(-1), Value::Variable(variable.start())];
    let call = Step::Call(Call { callee: outside, arguments, result: Some(Local::Handle) });
    let first = plan.function("first", vec![call.clone()]);
    let second = plan.function("second", vec![Step::call(first, vec![])]);
    for (priority, function) in [(101, first), (u16::MAX, second)] {
        let data = Data::Fields(vec![Field::Pointer(function.start())]);
        plan.section(PlanSection::new(".init_array", SectionKind::Constructors(priority), 8, data));
    }
    plan
}

fn emitted(host: Host) -> Vec<u8> {
    host::emitted(&plan(), host)
}

/// Returns the relocations of a section: offset, type and name of the symbol.
fn relocations(file: &CoffFile, section: &str) -> Vec<(u64, u16, String)> {
    let section = file.section_by_name(section).unwrap();
    let relocations = section.relocations().map(|(offset, relocation)| {
        let RelocationTarget::Symbol(index) = relocation.target() else { panic!("a symbol") };
        let RelocationFlags::Coff { typ } = relocation.flags() else { panic!("a relocation of COFF") };
        (offset, typ.0, file.symbol_by_index(index).unwrap().name().unwrap().to_owned())
    });
    relocations.collect()
}

#[test]
fn sections_have_names_flags_and_alignments_of_windows() {
    use pe::{IMAGE_SCN_CNT_CODE as CODE, IMAGE_SCN_CNT_INITIALIZED_DATA as DATA, IMAGE_SCN_MEM_EXECUTE as EXECUTE};
    use pe::{IMAGE_SCN_CNT_UNINITIALIZED_DATA as ZERO, IMAGE_SCN_MEM_READ as READ, IMAGE_SCN_MEM_WRITE as WRITE};
    let constructors = |host| match host {
        Host::X86_64WindowsGnu => ([".ctors.65434", ".ctors"], DATA | READ | WRITE),
        _ => ([".CRT$XCA00101", ".CRT$XCU"], DATA | READ),
    };
    for host in [Host::X86_64WindowsMsvc, Host::X86_64WindowsGnu, Host::Aarch64WindowsMsvc] {
        let bytes = emitted(host);
        let file = CoffFile::<&[u8]>::parse(bytes.as_slice()).unwrap();
        let (names, array_flags) = constructors(host);
        let code_alignment = if host == Host::Aarch64WindowsMsvc { 4 } else { 16 };
        let expected = [
            (".text.startup", CODE | EXECUTE | READ, code_alignment),
            (".llvm.offloading", DATA | READ, 4096),
            (".rdata", DATA | READ, 16),
            (".bss", ZERO | READ | WRITE, 8),
            (names[0], array_flags, 8),
            (names[1], array_flags, 8),
            (".xdata", DATA | READ, 4),
            (".pdata", DATA | READ, 4),
        ];
        let found: Vec<_> = file
            .sections()
            .map(|section| {
                let flags = section.coff_section().characteristics.get(LittleEndian).0 & !ALIGNMENT;
                (section.name().unwrap().to_owned(), flags, section.align())
            })
            .collect();
        let expected = expected.map(|(name, flags, alignment)| (name.to_owned(), flags.0, alignment));
        assert_eq!(found, expected, "{host:?}");
    }
}

#[test]
fn relocations_store_their_addends_in_the_section() {
    let bytes = emitted(Host::X86_64WindowsMsvc);
    let file = CoffFile::<&[u8]>::parse(bytes.as_slice()).unwrap();
    let names = |section| relocations(&file, section);
    // ADDR64 is 1, and the last one only refers to a symbol.
    let expected = [(8, 1, "image"), (16, 1, "outside"), (0, 0, "optional")];
    assert_eq!(names(".rdata"), expected.map(|(offset, kind, name)| (offset, kind, name.to_owned())));
    let data = file.section_by_name(".rdata").unwrap().data().unwrap();
    assert_eq!(data[..24], [7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

    let code = file.section_by_name(".text.startup").unwrap();
    let image = names(".text.startup").into_iter().find(|(_, _, name)| name == "image").unwrap();
    let at = image.0 as usize;
    // REL32 is 4.
    assert_eq!((image.1, &code.data().unwrap()[at..at + 4]), (4, &[2, 0, 0, 0][..]));
}

#[test]
fn aarch64_stores_addends_in_instructions() {
    let bytes = emitted(Host::Aarch64WindowsMsvc);
    let file = CoffFile::<&[u8]>::parse(bytes.as_slice()).unwrap();
    let relocations = relocations(&file, ".text.startup");
    let code = file.section_by_name(".text.startup").unwrap().data().unwrap();
    let word = |at: u64| u32::from_le_bytes(code[at as usize..at as usize + 4].try_into().unwrap());
    // PAGEBASE_REL21 is 4, PAGEOFFSET_12A is 6; adrp x0 and add x0, x0, each with the addend 2.
    let of_image: Vec<_> =
        relocations.iter().filter(|(_, _, name)| name == "image").map(|&(at, kind, _)| (kind, word(at))).collect();
    assert_eq!(of_image, [(4, 0xd000_0000), (6, 0x9100_0800)]);
}

#[test]
fn symbols_are_local_external_or_weak() {
    let bytes = emitted(Host::X86_64WindowsMsvc);
    let file = CoffFile::<&[u8]>::parse(bytes.as_slice()).unwrap();
    let class = |name: &str| {
        let symbol = file.symbol_by_name(name).unwrap();
        (symbol.coff_symbol().storage_class, symbol.kind())
    };
    assert_eq!(class("image"), (pe::IMAGE_SYM_CLASS_STATIC, SymbolKind::Data));
    assert_eq!(class("first"), (pe::IMAGE_SYM_CLASS_STATIC, SymbolKind::Text));
    assert_eq!(class("outside").0, pe::IMAGE_SYM_CLASS_EXTERNAL);
    assert!(file.symbol_by_name("optional").unwrap().is_weak());
    let sources = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::File);
    assert_eq!(sources.map(|symbol| symbol.name().unwrap()).collect::<Vec<_>>(), ["a.source.of.nineteen"]);
}

#[test]
fn the_function_table_refers_to_every_function() {
    for (host, columns) in [(Host::X86_64WindowsMsvc, 3), (Host::Aarch64WindowsMsvc, 2)] {
        let bytes = emitted(host);
        let file = CoffFile::<&[u8]>::parse(bytes.as_slice()).unwrap();
        let table = relocations(&file, ".pdata");
        let names: Vec<&str> = table.iter().map(|(_, _, name)| name.as_str()).collect();
        let rows = [["first", "first", ".xdata"], ["second", "second", ".xdata"]];
        assert_eq!(names, rows.map(|row| row[3 - columns..].to_vec()).concat());
        assert_eq!(file.section_by_name(".pdata").unwrap().size() as usize, 2 * 4 * columns);
    }
}

#[test]
fn the_same_plan_gives_the_same_bytes() {
    for host in [Host::X86_64WindowsMsvc, Host::X86_64WindowsGnu, Host::Aarch64WindowsMsvc] {
        let bytes = emitted(host);
        assert_eq!(bytes, emitted(host));
        // No time of creation.
        let header = pe::ImageFileHeader::parse(bytes.as_slice(), &mut 0).unwrap();
        assert_eq!(header.time_date_stamp.get(LittleEndian), 0);
    }
}

/// The bytes that LLVM 22 writes for `push rbx; push r14; sub rsp, SIZE` in the lengths of fatbin's instructions.
#[test]
fn x64_unwind_information_lists_the_prologue_backwards() {
    let function = |size| {
        let prologue = [
            (1, UnwindRule::FrameAt(16)),
            (1, UnwindRule::Saved { register: 3, at: -16 }),
            (3, UnwindRule::FrameAt(24)),
            (3, UnwindRule::Saved { register: 14, at: -24 }),
            (10, UnwindRule::FrameAt(24 + size)),
        ];
        let epilogue = [(50, UnwindRule::FrameAt(24)), (52, UnwindRule::FrameAt(16))];
        let unwind = prologue.into_iter().chain(epilogue).collect();
        CompiledFunction { bytes: vec![0; 60], unwind, ..Default::default() }
    };
    let small = [1, 10, 3, 0, 10, 0xa2, 3, 0xe0, 1, 0x30, 0, 0];
    assert_eq!(unwind::information(UnwindFormat::X64, &function(88)), small);
    let large = [1, 10, 4, 0, 10, 0x01, 0x1b, 0x00, 3, 0xe0, 1, 0x30];
    assert_eq!(unwind::information(UnwindFormat::X64, &function(216)), large);
}

/// The bytes that `llvm-readobj --unwind` 22 decodes as the instructions of the prologue and the epilogue.
#[test]
fn arm64_unwind_information_lists_prologue_and_epilogue() {
    let unwind = vec![
        (4, UnwindRule::FrameAt(48)),
        (8, UnwindRule::Saved { register: 30, at: -8 }),
        (12, UnwindRule::Saved { register: 19, at: -16 }),
        (16, UnwindRule::Saved { register: 20, at: -24 }),
        (492, UnwindRule::FrameAt(0)),
        (492, UnwindRule::Restored { register: 30 }),
    ];
    let function = CompiledFunction { bytes: vec![0; 500], unwind, ..Default::default() };
    let header: u32 = 125 | 1 << 21 | 8 << 22 | 4 << 27;
    let codes = [0xd0, 0x43, 0xd0, 0x04, 0xd2, 0xc5, 0x03, 0xe4, 0xd2, 0xc5, 0xd0, 0x04, 0xd0, 0x43, 0x03, 0xe4];
    let expected = [header.to_le_bytes().as_slice(), &codes].concat();
    assert_eq!(unwind::information(UnwindFormat::Arm64, &function), expected);
}
