//! Inspection of the fixtures, intact and corrupt. `linker-tests/inspect` compares images of other compilers with the
//! output of LLVM's and NVIDIA's tools.

use super::elf::Header64;
use super::*;
use crate::format::DeviceImage;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn inspect_image(bytes: &[u8]) -> Inspection {
    let view = View::new(bytes);
    inspect(DeviceImage::identify(view).image_kind, view, &Demangler::default())
}

fn parameter(name: Option<&str>, offset: u64, size: u64) -> Parameter {
    Parameter { name: name.map(str::to_owned), offset, size }
}

/// `llvm-readelf --notes`: `.vgpr_count: 2`, `.sgpr_count: 10` and so on; `llvm-readelf --dyn-syms` has the size.
#[test]
fn reads_resource_usage_of_a_code_object() {
    let kernel = Kernel {
        name: "answer_kernel".to_owned(),
        vgprs: Some(2),
        agprs: Some(0),
        sgprs: Some(10),
        vgpr_spills: Some(0),
        sgpr_spills: Some(0),
        scratch: Some(0),
        shared: Some(0),
        parameters: vec![parameter(None, 0, 8)],
        parameter_size: Some(8),
        wave_size: Some(64),
        max_threads: Some(1024),
        code_size: Some(32),
        ..Default::default()
    };
    let expected = Inspection { kernels: vec![kernel], ..Default::default() };
    assert_eq!(inspect_image(&fixture("answer-gfx90a.hsaco")), expected);
}

/// `cuobjdump -res-usage` 13.5 prints the same figures. ptxas 11.8 wrote the cubin with `-m32`.
#[test]
fn reads_a_32_bit_cubin() {
    let bytes = fixture("answer-sm_75-32.cubin");
    let inspection = inspect_image(&bytes);
    assert_eq!(inspection.problems, []);
    let [kernel] = inspection.kernels.as_slice() else { panic!("{inspection:?}") };
    assert_eq!((kernel.name.as_str(), kernel.registers, kernel.code_size), ("answer_kernel", Some(4), Some(128)));
    assert_eq!(kernel.constant_banks, [ConstantBank { bank: 0, size: 356 }]);
    assert_eq!(kernel.parameters, [parameter(None, 0, 4)]);
    let view = View::new(&bytes);
    assert_eq!(inspect_with_own_sizes(ImageKind::Elf, view).kernels[0].own_size, Some(128 + 356 + 60));
    for end in 0..bytes.len() {
        assert!(format::check_elf(View::new(&bytes[..end])).is_err(), "{end}");
        let _ = inspect_image(&bytes[..end]);
    }
}

/// LLVM's strip and objcopy leave such references. `linker-tests/inspect/stripped.rs` runs them.
#[test]
fn a_cubin_with_broken_references_is_a_problem() {
    let plain = fixture("answer-sm_90.cubin");
    let at = |bytes: &[u8]| plain.windows(bytes.len()).position(|it| it == bytes).unwrap();
    let symbol = at(b"\x12\x10\x0c\0\0\0\0\0\0\0\0\0\0\x01");
    let registers = at(b"\x04\x2f\x08\0\x06\0\0\0") + 4;
    let view = View::new(&plain);
    let elf = Elf::<Header64>::read(view).unwrap();
    let info = object::ObjectSection::index(&elf.section(".nv.info.answer_kernel").unwrap()).0;
    let headers = u64::from_le_bytes(plain[0x28..0x30].try_into().unwrap()) as usize;
    let cases = [
        (symbol, 0x11, "code section at 0x500: no function symbol is in .text.answer_kernel"),
        (registers, 4, "NVIDIA attribute at 0x0: symbol 4 has registers or a stack, and is no function"),
        (
            headers + info * 64 + 44,
            10,
            ".nv.info.answer_kernel is about section 10, and the code of answer_kernel is section 12",
        ),
    ];
    assert_eq!(inspect_image(&plain).problems, []);
    for (place, value, message) in cases {
        let mut bytes = plain.clone();
        bytes[place] = value;
        let problems: Vec<String> = inspect_image(&bytes).problems.iter().map(ToString::to_string).collect();
        assert!(problems.len() == 1 && problems[0].contains(message), "{message}: {problems:?}");
    }
}

/// The note is found without section headers, but the code sizes are not.
#[test]
fn reads_the_note_of_a_code_object_without_section_headers() {
    let mut bytes = fixture("answer-gfx90a.hsaco");
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
    let kernels = inspect_image(&bytes).kernels;
    assert_eq!((kernels[0].vgprs, kernels[0].code_size), (Some(2), None));
}

/// Without the note, the kernel descriptor has the sizes.
#[test]
fn reads_descriptors_of_a_code_object_without_its_note() {
    let mut bytes = fixture("answer-gfx90a.hsaco");
    let owner = bytes.windows(7).position(|bytes| bytes == b"AMDGPU\0").unwrap();
    bytes[owner] = b'X';
    let kernel = Kernel {
        name: "answer_kernel".to_owned(),
        scratch: Some(0),
        shared: Some(0),
        parameter_size: Some(8),
        wave_size: Some(64),
        code_size: Some(32),
        ..Default::default()
    };
    assert_eq!(inspect_image(&bytes).kernels, [kernel]);
}

/// Contradictions between the note, the symbols and the header. They make HIP reject a code object.
#[test]
fn lists_defects_of_a_code_object_for_which_hip_refuses_it() {
    let good = fixture("answer-gfx90a.hsaco");
    let changed = |old: &[u8], new: &[u8]| {
        let mut bytes = good.clone();
        // The last one: the note precedes the names of symbols.
        let at = bytes.windows(old.len()).rposition(|bytes| bytes == old).unwrap();
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    };
    let mut in_note = good.clone();
    let target = in_note.windows(25).position(|bytes| bytes == b"amdgcn-amd-amdhsa--gfx90a").unwrap();
    in_note[target + 19..target + 25].copy_from_slice(b"gfx942");
    let mut without_note = good.clone();
    let owner = good.windows(7).position(|bytes| bytes == b"AMDGPU\0").unwrap();
    without_note[owner] = b'X';
    let mut relocatable = without_note.clone();
    relocatable[16] = 1;
    let cases: [(Vec<u8>, &[&str]); 5] = [
        (good.clone(), &[]),
        (
            changed(b"answer_kernel.kd", b"another_names.kd"),
            &["kernel answer_kernel has no descriptor: answer_kernel.kd is not defined"],
        ),
        (in_note, &["states gfx942, the header gfx90a"]),
        (without_note, &["missing; HIP loads no code object without it"]),
        // A device linker adds the note.
        (relocatable, &[]),
    ];
    for (bytes, expected) in cases {
        let inspection = inspect_image(&bytes);
        let found: Vec<String> = inspection.load_defects(None).iter().map(|defect| defect.cause.to_string()).collect();
        assert_eq!(found, expected);
        assert_eq!(inspection.load_defects(Some(OffloadKind::Hip)).len(), expected.len());
        assert_eq!(inspection.load_defects(Some(OffloadKind::OpenMp)), []);
    }
}

/// `cuobjdump -res-usage`: `REG:8 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:536`.
#[test]
fn reads_resource_usage_of_a_cubin() {
    let kernel = Kernel {
        name: "answer_kernel".to_owned(),
        registers: Some(8),
        scratch: Some(0),
        shared: Some(0),
        constant_banks: vec![ConstantBank { bank: 0, size: 536 }],
        parameters: vec![parameter(None, 0, 8)],
        parameter_size: Some(8),
        wave_size: Some(32),
        code_size: Some(256),
        ..Default::default()
    };
    let expected = Inspection { kernels: vec![kernel], ..Default::default() };
    assert_eq!(inspect_image(&fixture("answer-sm_90.cubin")), expected);
}

/// Cubins up to CUDA 12 also have the number in the section header. This one does not.
#[test]
fn reads_registers_from_the_section_header_without_attributes() {
    let mut bytes = fixture("answer-sm_90.cubin");
    // `.nv.info`, section 7, as any other section; `sh_info` of `.text.answer_kernel`, section 12.
    let header = |section: usize| 0x818 + section * 64;
    bytes[header(7)] = 0;
    bytes[header(12) + 44 + 3] = 33;
    let kernel = &inspect_image(&bytes).kernels[0];
    assert_eq!((kernel.registers, kernel.scratch), (Some(33), None));
}

#[test]
fn reports_invalid_attributes_and_keeps_the_rest() {
    let mut bytes = fixture("answer-sm_90.cubin");
    // The first attribute of `.nv.info`.
    bytes[0x3f8] = 0x77;
    let inspection = inspect_image(&bytes);
    let problems: Vec<String> = inspection.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, ["NVIDIA attribute format at 0x3f8: invalid value 0x77, expected 1 to 4"]);
    assert_eq!(inspection.kernels[0].parameter_size, Some(8));
}

#[test]
fn reads_parameters_of_a_ptx_kernel() {
    let kernel = Kernel {
        name: "answer_kernel".to_owned(),
        shared: Some(0),
        parameters: vec![parameter(Some("answer_kernel_param_0"), 0, 8)],
        parameter_size: Some(8),
        wave_size: Some(32),
        ..Default::default()
    };
    let expected = Inspection { kernels: vec![kernel], ..Default::default() };
    assert_eq!(inspect_image(&fixture("answer-sm_80.ptx")), expected);
}

/// Equal to the output of `llvm-dwarfdump`, except that `-fno-ident` leaves the producer empty.
#[test]
fn reads_units_and_declarations_of_full_debug_information() {
    let inspection = inspect_image(&fixture("answer-gfx90a-debug.hsaco"));
    let unit = CompileUnit {
        name: Some("/answer/answer.c".to_owned()),
        directory: Some("/answer".to_owned()),
        producer: None,
        split_file: None,
        version: 5,
    };
    assert_eq!(inspection.debug, DebugInfo { level: DebugLevel::Full, units: vec![unit] });
    let source = SourceLine { file: "/answer/answer.c".to_owned(), line: 16 };
    assert_eq!(inspection.kernels[0].source, Some(source));
}

#[test]
fn reads_the_source_line_from_a_line_table() {
    let inspection = inspect_image(&fixture("answer-sm_90-debug.cubin"));
    assert_eq!(inspection.debug, DebugInfo { level: DebugLevel::Lines, units: Vec::new() });
    let source = SourceLine { file: "/answer/answer.c".to_owned(), line: 16 };
    assert_eq!(inspection.kernels[0].source, Some(source));
}

/// Relocatable cubins of CUDA 11.8 to 12.8 have sections without bytes in the file. Only CUDA uses their types.
#[test]
fn sections_of_cuda_without_bytes_are_not_read() {
    let with_type = |section_type: u32| {
        let mut bytes = fixture("answer-sm_90.cubin");
        let headers = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
        // `.nv.shared.reserved.0`; the fields are `sh_type` and `sh_size`.
        let header = headers + 64 * 13;
        bytes[header + 4..][..4].copy_from_slice(&section_type.to_le_bytes());
        bytes[header + 32..][..8].copy_from_slice(&(1_u64 << 20).to_le_bytes());
        bytes
    };
    let code_of = |bytes: &[u8]| image_digests(ImageKind::Elf, View::new(bytes)).unwrap().code;
    let nobits = code_of(&with_type(8));
    for section_type in [0x7000_0007, 0x7000_0009, 0x7000_000a] {
        let bytes = with_type(section_type);
        assert_eq!(build_paths(ImageKind::Elf, View::new(&bytes)).map_err(|error| error.to_string()), Ok(Vec::new()));
        assert_eq!(code_of(&bytes), nobits, "{section_type:#x}");
    }
}

#[test]
fn keeps_kernels_if_debug_information_is_invalid() {
    use object::ObjectSection;
    let mut bytes = fixture("answer-sm_90-debug.cubin");
    let (table, _) =
        Elf::<Header64>::read(View::new(&bytes)).unwrap().section(".debug_line").unwrap().file_range().unwrap();
    // Its version, after its length.
    bytes[table as usize + 4] = 99;
    let inspection = inspect_image(&bytes);
    assert_eq!((inspection.kernels[0].registers, &inspection.kernels[0].source), (Some(8), &None));
    let problems: Vec<String> = inspection.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, [format!("debug information at {table:#x}: unknown DWARF version: 99")]);
}

#[test]
fn problem_offsets_are_inside_the_image() {
    use object::ObjectSection;
    let mut bytes = fixture("answer-gfx90a-debug.hsaco");
    let elf = Elf::<Header64>::read(View::new(&bytes)).unwrap();
    let (table, _) = elf.section(".debug_line").unwrap().file_range().unwrap();
    let number = elf.section(".debug_info").unwrap().index().0;
    let headers = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
    // The offset in the header of one section, and the version in the other. Then only the other section is read.
    bytes[headers + 64 * number + 0x18 + 2] = 0xff;
    bytes[table as usize + 4] = 99;
    let problems = inspect_image(&bytes).problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems.iter().all(|problem| problem.offset <= bytes.len() as u64), "{problems:?}");
}

#[test]
fn states_why_an_image_is_not_inspected() {
    for (bytes, words) in [(&b"BC\xc0\xde"[..], "bitcode"), (b"", "empty"), (b"what is this", "unknown")] {
        let inspection = inspect_image(bytes);
        assert!(inspection.not_inspected.unwrap().contains(words), "{inspection:?}");
        assert!(inspection.kernels.is_empty());
    }
    assert!(inspect(ImageKind::Nvvm, View::new(b"x"), &Demangler::default()).not_inspected.is_some());
}

#[test]
fn truncated_or_corrupt_images_never_panic() {
    for name in ["answer-gfx90a-debug.hsaco", "answer-sm_90-debug.cubin", "answer-sm_80.ptx"] {
        let good = fixture(name);
        let kind = DeviceImage::identify(View::new(&good)).image_kind;
        for end in 0..good.len() {
            inspect(kind, View::new(&good[..end]), &Demangler::default());
        }
        for at in 0..good.len() {
            for value in [0, 0x7f, 0xff] {
                let mut broken = good.clone();
                broken[at] = value;
                inspect(kind, View::new(&broken), &Demangler::default());
            }
        }
    }
}
