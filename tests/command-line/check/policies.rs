//! Invalid policies: one error with line and column, exit status 2. The schema of policies rejects those that a schema
//! can express.

use serde_json::Value;

use super::Sandbox;

/// A policy and its error. Errors that a schema cannot find are marked: for a schema, an architecture is a string, and it
/// compares no values.
#[rustfmt::skip]
const WRONG: &[(&str, &str, Refusal)] = &[
    ("archs.requires = []", "1:7: unknown key \"requires\"; did you mean require? (available: devices,", Refusal::BySchema),
    ("\n[imges]\n", "2:2: unknown key \"imges\"; did you mean images?", Refusal::BySchema),
    ("[files.'*']\nsizes.total = '1 MB'", "2:7: unknown key \"total\"", Refusal::BySchema),
    ("archs.require = 'sm_90'", "1:17: archs.require: invalid type string; for example: archs.require = [", Refusal::BySchema),
    ("images.debug = 'no'", "1:16: unknown variant `no`, expected one of `none`, `lines`, `full`", Refusal::BySchema),
    ("images.debug = 'ful'", "; did you mean full?", Refusal::BySchema),
    ("kernels = [{}]", "1:12: no requirement for these kernels", Refusal::BySchema),
    ("kernels = [{ match = 'a' }]", "1:12: no requirement for these kernels", Refusal::BySchema),
    ("kernels = [{ max-scratch = -1 }]", "1:28: invalid value: integer `-1`, expected a number of bytes or a size", Refusal::BySchema),
    ("kernels = [{ archs = 'most' }]", "1:22: invalid archs \"most\", expected \"all\" or a list of architectures", Refusal::BySchema),
    ("kernels = [{ devices = 'most' }]", "1:24: invalid devices \"most\", expected \"all\" or a list of devices", Refusal::BySchema),
    ("sizes.total = '850'", "1:15: invalid size \"850\", expected for example \"850 MB\" or \"1.5 GiB\"", Refusal::BySchema),
    ("warn = ['only-arch']", "1:9: unknown rule \"only-arch\"; did you mean only-archs?", Refusal::BySchema),
    ("images.readable-by = ['hip-12']", "1:23: invalid release \"hip-12\", expected for example \"rocm-6.2\" or \"llvm-19\"", Refusal::BySchema),
    ("images.loadable-by = ['R525']", "1:23: invalid driver \"R525\", expected for example \"525\", \"550.54.14\" or \"cuda-12.4\"", Refusal::BySchema),
    ("images.findable-by = ['llvm-23']", "1:23: invalid release \"llvm-23\", expected one with a HIP runtime, for example \"rocm-7.2\"", Refusal::BySchema),
    ("[archs]\nrequire = [\n  'sm_80',\n  'sm_09',\n]", "4:3: unknown architecture \"sm_09\"; did you mean sm_89 or sm_90?", Refusal::InWhole),
    ("archs.forbid = ['gfx9O6']", "1:17: unknown architecture \"gfx9O6\"; did you mean gfx906?", Refusal::InWhole),
    ("archs.only = ['gfx900:sramecc+']", "1:15: gfx900 does not support feature \"sramecc\" (supported: xnack)", Refusal::InWhole),
    ("archs.devices = ['sm_90a']", "1:18: sm_90a is not a device", Refusal::InWhole),
    ("archs.devices = ['gfx9-4-generic']", "1:18: gfx9-4-generic is not a device", Refusal::InWhole),
    ("archs.ptx-fallback = '8.0'", "1:22: invalid PTX architecture \"8.0\", expected for example \"compute_80\"; did you mean compute_80?", Refusal::InWhole),
    ("archs.asked = ''", "1:15: empty list of architectures", Refusal::InWhole),
    ("archs.asked = 'native'", "1:15: native depends on the GPUs of the machine that built the code", Refusal::InWhole),
    ("archs.asked = '8.1'", "1:15: unknown architecture \"8.1\"", Refusal::InWhole),
    ("archs = { asked = 'all', asked-cuda = '11.4' }", "1:39: invalid release of CUDA \"11.4\"; all and all-major are known for 11.5 to 13.5", Refusal::InWhole),
    ("archs.asked-cuda = '12.9'", "1:20: asked-cuda has no effect without asked", Refusal::InWhole),
    ("archs = { asked = '9.0', forbid = ['sm_90'] }", "1:19: sm_90 is required and forbidden", Refusal::InWhole),
    ("package.kernels = [{ match = 'a' }]", "missing field `devices`", Refusal::BySchema),
    ("package.kernels = [{ match = 'a', devices = ['sm_90a'] }]", "1:46: sm_90a is not a device", Refusal::InWhole),
    ("archs.devices = ['12.0+PTX']", "1:18: compute_120 is not a device", Refusal::InWhole),
    ("archs.require = ['sm_80', '8.0']", "1:27: duplicate architecture sm_80", Refusal::InWhole),
    ("archs.require = ['sm_80', 'sm_80']", "1:27: duplicate architecture sm_80", Refusal::BySchema),
    ("archs = { require = ['sm_80'], forbid = ['sm_80'] }", "1:22: sm_80 is required and forbidden", Refusal::InWhole),
    ("archs = { require = ['gfx90a:xnack+'], forbid = ['gfx90a'] }", "gfx90a:xnack+ is required and forbidden", Refusal::InWhole),
    ("archs = { require = ['sm_80'], only = ['sm_90'] }", "1:22: sm_80 is required and not in only", Refusal::InWhole),
    ("archs = { only = ['sm_80'], forbid = ['sm_80'] }", "1:19: sm_80 is in only and forbidden", Refusal::InWhole),
    ("archs = { devices = ['gfx90a'], only = ['sm_80'] }", "1:22: no architecture in only runs on gfx90a", Refusal::InWhole),
    ("sizes = { total = '1 MB', file = '2 MB' }", "1:34: 2 MB exceeds total, 1 MB", Refusal::InWhole),
    ("sizes = { file = '1 MB', arch = { sm_90 = '2 MB' } }", "1:43: 2 MB exceeds file, 1 MB", Refusal::InWhole),
    ("sizes.total = '0 B'", "1:15: invalid size limit: 0 bytes", Refusal::InWhole),
    ("kernels = [{ match = '(', archs = 'all' }]", "1:22: invalid regular expression: unclosed group", Refusal::InWhole),
    ("must-hold = ['[']", "1:14: invalid pattern: unclosed character class; missing ']'", Refusal::InWhole),
    ("archs.require = [", "1:18: ", Refusal::InWhole),
];

#[derive(PartialEq)]
enum Refusal {
    BySchema,
    InWhole,
}

#[test]
fn reports_an_invalid_policy_with_line_and_column() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "sm90");
    for (policy, message, _) in WRONG {
        let run = sandbox.check(policy, "sm90");
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{policy}: {}", run.err);
        assert!(run.err.starts_with("fatbin: policy.toml:") && run.err.contains(message), "{policy}: {}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{policy}: {}", run.err);
    }
}

#[test]
fn rejects_missing_policies_and_policies_that_are_not_text() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "sm90").file("bytes.toml", b"\xff\xfe");
    let run = sandbox.fatbin("check --policy missing.toml sm90");
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert_eq!(run.err, "fatbin: missing.toml: cannot open: no such file or directory\n");
    let run = sandbox.fatbin("check --policy bytes.toml sm90");
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("fatbin: bytes.toml: not UTF-8: "), "{}", run.err);
}

fn schema() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&Sandbox::new().fatbin("schema policy").ok()).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn schema_accepts_valid_policies_and_rejects_malformed_ones() {
    let schema = schema();
    let accepts = |policy: &str| schema.is_valid(&toml::from_str::<Value>(policy).unwrap());
    for (policy, ..) in super::cases::CASES {
        assert!(accepts(policy), "{policy}: {:?}", schema.validate(&toml::from_str(policy).unwrap()));
    }
    for (policy, _, refusal) in WRONG.iter().filter(|(policy, ..)| toml::from_str::<Value>(policy).is_ok()) {
        assert_eq!(accepts(policy), *refusal == Refusal::InWhole, "{policy}");
    }
}
