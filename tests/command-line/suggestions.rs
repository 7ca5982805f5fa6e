//! Suggestions: a name that is nearly one of a closed set is answered with that name.

use crate::Sandbox;

/// A name with a typing error in each place that has a closed set of names, and the suggestion for it.
const CASES: [(&str, &str); 35] = [
    ("scna a", "did you mean scan?"),
    ("scan --jsn a", "did you mean --json?"),
    ("scan --color alway a", "did you mean always?"),
    ("check --policy good.toml --format sarf a", "did you mean sarif?"),
    ("metadata --format jsn a", "did you mean json?"),
    ("split --to kpak a -o d", "did you mean kpack?"),
    ("schema polcy", "did you mean policy?"),
    ("completions bsh", "did you mean bash or zsh?"),
    ("wrap --kind hop -o o a", "did you mean hip?"),
    ("wrap --kind hip --abi llvm2 -o o a", "did you mean llvm"),
    ("extract --kind cude a", "did you mean cuda?"),
    ("size --by arhc a", "did you mean arch?"),
    ("transcode --to zstdd a -o o", "did you mean zstd?"),
    ("pack --compress=zsdt -o o a", "did you mean zstd?"),
    ("bundle --raw --type o --id-style legcy --target x=a -o o", "did you mean legacy?"),
    ("explain E010", "did you mean E0101 or E0102 or E0103?"),
    ("explain require-archs", "did you mean required-archs?"),
    ("help no-kernel-imag", "did you mean no-kernel-image?"),
    ("wrap --kind hip --host x86_64-unknown-linxu-gnu -o o a", "did you mean x86_64-unknown-linux-gnu?"),
    ("wrap --kind hip --image fil=a -o o", "did you mean file?"),
    ("wrap --kind hip --entry k,szie=8 -o o a", "did you mean size?"),
    ("pack --kind cuda --image file=a,identt=x -o o", "did you mean ident?"),
    ("pack --image file=a,kind=hpi -o o", "did you mean hip?"),
    ("replace --image arhc:gfx90a=a a -o o", "did you mean arch?"),
    ("replace --image kind:hpi=a a -o o", "did you mean hip"),
    ("replace --image image:elff=a a -o o", "did you mean elf?"),
    ("bundle --raw --type oo --target x=a -o o", "did you mean o"),
    ("bundle --raw --type o --target hpi-amdgcn-amd-amdhsa--gfx90a=a -o o", "did you mean hip?"),
    ("extract --container cob a", "did you mean ccob?"),
    ("extract --arch gfx90b --to o a", "did you mean gfx90a?"),
    ("extract --triple amdgcn-amd-amdhs --to o a", "did you mean amdgcn-amd-amdhsa?"),
    ("extract --name {nmae} -o d a", "did you mean name?"),
    ("size --what-if spede a", "did you mean speed?"),
    ("select --device sm_9O a", "did you mean sm_90?"),
    ("select --device RTX-409O a", "did you mean RTX-4090?"),
];

#[test]
fn every_closed_set_of_names_has_suggestions() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").file("good.toml", "");
    for (arguments, suggestion) in CASES {
        let run = sandbox.fatbin(arguments);
        assert!(run.status != 0 && run.err.contains(suggestion), "{arguments}: {}", run.err);
    }
}

#[test]
fn names_in_policies_have_suggestions() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let cases = [
        ("archs.requires = ['gfx90a']", "unknown key \"requires\"; did you mean require?"),
        ("[arch]\nrequire = ['gfx90a']", "unknown key \"arch\"; did you mean archs?"),
        ("warn = ['file-sze']", "unknown rule \"file-sze\"; did you mean file-size?"),
        ("images.debug = 'line'", "did you mean lines?"),
        ("archs.require = ['sm_9O']", "unknown architecture \"sm_9O\"; did you mean sm_90?"),
        ("archs.devices = ['gfx90b']", "unknown architecture \"gfx90b\"; did you mean gfx90"),
        ("sizes.arch = { sm_9O = '1 MB' }", "did you mean sm_90?"),
    ];
    for (policy, message) in cases {
        let run = sandbox.file("policy.toml", policy).fatbin("check --policy policy.toml a");
        assert!(run.status == 2 && run.err.contains(message), "{policy}: {}", run.err);
    }
}

#[test]
fn names_that_exist_have_no_suggestions() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let run = sandbox.fatbin("extract --arch gfx942 --to o a");
    assert_eq!(run.err, "fatbin: a: no image matches arch gfx942; available: amdgcn-amd-amdhsa gfx90a\n");
}
