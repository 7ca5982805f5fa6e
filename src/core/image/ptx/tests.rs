//! PTX as written by nvcc and clang, and invalid PTX.

use super::*;

fn kernels(text: &str) -> Vec<Kernel> {
    inspect(View::new(text.as_bytes())).kernels
}

const HEAD: &str = ".version 8.1\n.target sm_90\n.address_size 64\n";

#[test]
fn reads_parameters_and_directives_of_entries() {
    let text = format!(
        "{HEAD}
        .visible .entry big(.param .align 8 .b8 p[20000], .param .u32 q, .param .u64 .ptr .global .align 16 r,
            .param .u8 s, .param .align 16 .b8 t[17], .param .texref u)
        .reqntid 32, 2 .maxnreg 40 {{ .shared .align 16 .b8 sh[100]; ret; }}
        .entry small() .pragma \"nounroll; {{\"; .minnctapersm 3 .maxntid 64,2,2 {{ ret; }}"
    );
    let [big, small] = kernels(&text).try_into().unwrap();
    // Layout by ptxas: EIATTR_KPARAM_INFO_V2 and EIATTR_CBANK_PARAM_SIZE of the cubin that it compiles from this.
    let places: Vec<_> = big.parameters.iter().map(|it| (it.offset, it.size)).collect();
    assert_eq!(places[..5], [(0, 20000), (20000, 4), (20008, 8), (20016, 1), (20032, 17)]);
    assert_eq!(big.parameter_size, Some(20049));
    assert_eq!((big.required_threads, big.max_registers, big.shared), (Some([32, 2, 1]), Some(40), Some(100)));
    assert_eq!((big.max_threads, big.min_blocks), (None, None));
    assert_eq!((small.max_threads, small.min_blocks, small.parameter_size), (Some(256), Some(3), Some(0)));
}

#[test]
fn shared_memory_includes_called_functions() {
    let text = format!(
        "{HEAD}
        .shared .align 4 .b8 outer[1000]; .shared .b8 unused[5000]; .extern .shared .align 16 .b8 dynamic[];
        .func leaf;
        .func (.param .b32 result) leaf(.param .b32 x) {{ .shared .b64 own[2]; mov.u32 %r1, outer; call leaf; ret; }}
        .entry calls() {{ .shared .b8 one; call (result), leaf, (x); mov.u32 %r2, dynamic; mov.u32 %r3, outer; ret; }}
        .entry two() {{ .shared .b8 a; .shared .align 16 .b8 b[16]; .shared .b8 c; .shared .b64 d; ret; }}
        .entry alone() {{ ret; }}"
    );
    let shared: Vec<_> = kernels(&text).iter().map(|kernel| (kernel.name.clone(), kernel.shared.unwrap())).collect();
    // `SHARED` of the cubin that ptxas compiles from such a text for sm_80.
    assert_eq!(shared, [("calls", 1024), ("two", 48), ("alone", 0)].map(|(name, size)| (name.to_owned(), size)));
}

#[test]
fn first_line_of_the_body_is_the_source_line() {
    let text = format!(
        "{HEAD}.file 1 \"/src/a.cu\"
        .entry k() {{ .loc 1 0 0\n .loc 1 12 5\n add.u32 %r1, %r1, 1;\n .loc 1 13 5\n ret; }}
        .entry plain() {{ ret; }}"
    );
    let inspection = inspect(View::new(text.as_bytes()));
    assert_eq!(inspection.debug.level, DebugLevel::Lines);
    assert_eq!(inspection.kernels[0].source, Some(SourceLine { file: "/src/a.cu".to_owned(), line: 12 }));
    assert_eq!(inspection.kernels[1].source, None);
    let full = format!("{text} .section .debug_info {{ .b8 1 }}");
    assert_eq!(inspect(View::new(full.as_bytes())).debug.level, DebugLevel::Full);
}

#[test]
fn ignores_declarations() {
    assert_eq!(kernels(&format!("{HEAD}.extern .entry elsewhere(.param .u64 x);")), []);
}

#[test]
fn reads_truncated_text() {
    let text = format!(
        "{HEAD}.entry k(.param .u64 .ptr .global .align 4 a, .param .align 8 .b8 b[16]) .maxntid 1,2,3 .pragma \"x\";
        {{ .shared .align 4 .b8 s[4][5]; .loc 1 2 3\n /* {{ */ {{ ret; }} }} .file 1 \"x\" // end"
    );
    for end in 0..text.len() {
        inspect(View::new(&text.as_bytes()[..end]));
    }
    let huge = format!(".entry k(.param .b8 a[{0}], .param .b64 b[{0}]) .maxntid {0},{0},{0} {{ }}", u64::MAX);
    let kernel = &kernels(&huge)[0];
    assert_eq!((kernel.parameter_size, kernel.max_threads), (None, None));
}
