//! A table of policies, files and expected results.

use super::Sandbox;

/// A policy, the files, the exit status, and words of the output.
type Case = (&'static str, &'static str, i32, &'static [&'static str]);

#[rustfmt::skip]
pub const CASES: &[Case] = &[
    // Required: passes, is violated, and is undecided for a cubin on its own.
    ("archs.require = ['gfx90a', 'sm_90']", "both.o", 0, &[]),
    ("archs.require = ['sm_90', 'compute_80']", "cuda.o", 0, &[]),
    ("archs.require = ['sm_89']", "both.o", 1, &["both.o: required-archs: no code for sm_89; available: gfx90a, sm_90"]),
    ("archs.require = ['compute_90']", "cuda.o", 1, &["required-archs: no code for compute_90; available: compute_80, sm_90"]),
    ("archs.require = ['gfx90a']", "xnack", 1, &["required-archs: no code for gfx90a; available: gfx90a:xnack+"]),
    ("archs.require = ['gfx90a:xnack+']", "amd", 0, &[]),
    ("archs.require = ['sm_100f']", "sm100", 2, &["undecided: required-archs: image 0 (sm_100) at 0x0: cannot determine whether there is code for sm_100f"]),
    ("archs.require = ['sm_80']", "nameless", 2, &["undecided: required-archs: image 0", "does not state its architecture"]),
    // PTX instead of machine code, from a version on.
    ("archs = { require = ['sm_90', 'sm_86'], ptx-fallback = 'compute_80' }", "cuda.o", 0, &[]),
    ("archs = { require = ['sm_90', 'sm_86'], ptx-fallback = 'compute_86' }", "cuda.o", 1, &["no code for sm_86"]),
    // What the build was asked for, in the spellings of PyTorch, CMake and ROCm.
    ("archs.asked = '9.0;8.0+PTX'", "cuda.o", 1, &["cuda.o: asked-archs: no code for sm_80 (8.0+PTX); the driver compiles compute_80 there; available: compute_80, sm_90"]),
    ("archs.asked = '90-real 80-virtual'", "cuda.o", 0, &[]),
    ("archs.asked = '90'", "cuda.o", 1, &["asked-archs: no code for compute_90 (90); the newest PTX for later devices is compute_80; available: compute_80, sm_90"]),
    ("archs.asked = '9.0a'", "cuda.o", 1, &["asked-archs: no code for sm_90a (9.0a); sm_90 runs there; available: compute_80, sm_90"]),
    ("archs.asked = '10.0f'", "sm100", 2, &["undecided: asked-archs: image 0 (sm_100) at 0x0: cannot determine whether there is code for sm_100f (10.0f)"]),
    ("archs.asked = 'gfx90a;gfx1100'", "amd", 1, &["amd: asked-archs: no code for gfx1100; nothing runs there; available: gfx90a"]),
    ("archs.asked = 'gfx90a:xnack-'", "amd", 0, &[]),
    ("archs.asked = '9.0;gfx90a'", "sm90 amd", 0, &[]),
    ("archs.asked = '8.0;9.0a'", "amd", 1, &["policy.toml: matches-something: no file has code for NVIDIA devices, and the build was asked for 8.0, 9.0a"]),
    ("archs = { asked = 'all-major', asked-cuda = '12.0' }", "cuda.o", 1, &["no code for sm_70 (all-major of CUDA 12.0); nothing runs there", "no code for compute_90 (all-major of CUDA 12.0)"]),
    ("archs.asked = 'all'", "sm90", 1, &["no code for sm_121 (all of CUDA 13.5); nothing runs there"]),
    ("archs.asked = '9.0'\nfiles.amd.archs.asked = 'gfx90a'", "sm90 amd", 0, &[]),
    ("archs.require = ['9.0', '80-virtual']", "cuda.o", 0, &[]),
    ("archs.require = ['9.0+PTX']", "cuda.o", 1, &["required-archs: no code for compute_90; available"]),
    // Devices: code that runs there, for any target.
    ("archs.devices = ['sm_90', 'gfx90a:sramecc+:xnack-']", "both.o", 0, &[]),
    ("archs.devices = ['sm_86']", "cuda.o", 1, &["devices: no machine code that runs on sm_86 (only PTX, which is compiled when it is loaded)"]),
    ("archs = { devices = ['sm_86'], ptx-fallback = 'compute_80' }", "cuda.o", 0, &[]),
    ("archs.devices = ['gfx90a:xnack-']", "xnack", 1, &["devices: no code that runs on gfx90a:xnack-; available: gfx90a:xnack+"]),
    ("archs.devices = ['sm_80']", "nameless", 2, &["undecided: devices: "]),
    // Forbidden and only.
    ("archs.forbid = ['sm_50', 'gfx906']", "both.o", 0, &[]),
    ("archs.forbid = ['gfx90a']", "xnack", 1, &["forbidden-archs: image 0 (gfx90a:xnack+) at 0x0: code for gfx90a:xnack+ is forbidden"]),
    ("archs.forbid = ['ptx']", "cuda.o", 1, &["forbidden-archs: image 1 (compute_80)"]),
    ("archs.forbid = ['sm_50']", "nameless", 2, &["undecided: forbidden-archs: image 0"]),
    ("archs.only = ['gfx90a', 'sm_90']", "both.o", 0, &[]),
    ("archs.only = ['sm_90']", "cuda.o", 1, &["only-archs: image 1 (compute_80)", "only sm_90 allowed"]),
    ("archs.only = ['sm_90']", "nameless", 2, &["undecided: only-archs: image 0"]),
    ("warn = ['only-archs']\narchs.only = ['sm_90']", "cuda.o", 0, &["cuda.o: warning: only-archs: "]),
    // Features, across all files.
    ("archs.consistent-features = true", "amd hip.o", 0, &[]),
    ("archs.consistent-features = true", "amd hip.o xnack", 1, &["xnack: consistent-features: built for gfx90a:xnack+, unlike other files; gfx90a in amd, hip.o"]),
    // Kernels.
    ("kernels = [{ match = '^answer', archs = ['gfx90a', 'sm_90'] }]", "both.o", 0, &[]),
    ("kernels = [{ match = '^answer', archs = ['sm_89'] }]", "both.o", 1, &["kernel-coverage: kernel answer_kernel: missing for sm_89; available for gfx90a, sm_90"]),
    ("kernels = [{ match = 'answer', archs = ['sm_90'] }]", "opaque.o", 2, &["undecided: kernel-coverage: kernel answer_kernel: cannot determine whether it is available for sm_90: image 0: compressed with an unknown codec"]),
    ("kernels = [{ archs = 'all' }]", "both.o", 0, &[]),
    ("kernels = [{ archs = 'all' }]", "more.o", 1, &["kernel-coverage: kernel more: missing for sm_90; available for compute_90"]),
    // Devices of kernels, container by container.
    ("kernels = [{ devices = 'all' }]", "both.o cuda.o", 0, &[]),
    ("kernels = [{ devices = 'all' }]", "more.o", 1, &["kernel-coverage: kernel more: fails on sm_90: image 0 is selected there and lacks it; image 1 has it; its code is for sm_90 ptx"]),
    ("kernels = [{ devices = ['sm_90'] }]", "more.o", 1, &["kernel more: fails on sm_90"]),
    ("kernels = [{ match = '^answer', devices = ['sm_90'] }]", "more.o", 0, &[]),
    ("kernels = [{ devices = ['sm_120'] }]", "cuda.o", 1, &["kernel answer_kernel: no machine code that runs on sm_120 (only PTX)"]),
    ("archs.ptx-fallback = 'compute_80'\nkernels = [{ devices = ['sm_120'] }]", "cuda.o", 0, &[]),
    ("kernels = [{ devices = ['gfx942'] }]", "both.o", 1, &["kernel answer_kernel: does not run on gfx942; its code is for gfx90a, sm_90"]),
    ("kernels = [{ match = 'no such', archs = 'all' }]", "both.o", 1, &["policy.toml: matches-something: no kernel matches \"no such\" (line 1)"]),
    ("kernels = [{ max-registers = 8, max-scratch = 0, max-shared = '48 KiB' }]", "both.o", 0, &[]),
    ("kernels = [{ max-registers = 4 }]", "both.o", 1, &["kernel-limits: image 1 (sm_90) at ", "kernel answer_kernel: 8 registers, at most 4 allowed"]),
    ("kernels = [{ max-spills = 0 }]", "amd", 0, &[]),
    ("kernels = [{ max-spills = 0 }]", "sm90", 2, &["undecided: kernel-limits: ", "does not state spilled registers", "use max-scratch"]),
    ("kernels = [{ max-scratch = 0 }]", "bitcode", 1, &["matches-something: no kernel could be inspected"]),
    // Sizes as stored.
    ("sizes = { total = '20 kB', file = '8 kB', arch = { sm_90 = '4 kB' } }", "both.o amd", 0, &[]),
    ("sizes.total = '8 kB'", "both.o amd", 1, &["policy.toml: total-size: 10.51 kB of device code, at most 8 kB allowed; 7.05 kB in both.o, 3.45 kB in amd"]),
    ("sizes.file = '5 kB'", "both.o amd", 1, &["both.o: file-size: 7.05 kB of device code, at most 5 kB allowed; 3.45 kB for gfx90a"]),
    ("sizes.arch.gfx90a = '1 kB'", "amd", 1, &["amd: arch-size: 3.45 kB of code for gfx90a, at most 1 kB allowed"]),
    ("sizes.arch.gfx90a = '1100 B'", "v2.hipfb", 0, &[]),
    ("sizes.arch.gfx90a = '500 B'", "two.hipfb", 2, &["undecided: arch-size: cannot determine the size of code for gfx90a", "compressed together with other code"]),
    ("sizes.arch.sm_80 = '1 kB'", "amd", 1, &["matches-something: no code for sm_80, which has a size limit"]),
    // A package is a file with members; its size is tested in size.rs.
    ("sizes.package = '1 MB'", "amd", 1, &["policy.toml: package-size: no package among the inputs"]),
    // A package as a whole, here the files that are named; tests/command-line/check/packages.rs has directories and wheels.
    ("package.devices = ['sm_90', 'gfx90a']", "cuda.o amd", 0, &[]),
    ("package.devices = ['sm_100']", "cuda.o amd", 0, &[]),
    ("package = { devices = ['sm_100'], jit = false }", "cuda.o amd", 1, &["policy.toml: package-coverage: no file has code that runs on sm_100; available: compute_80, gfx90a, sm_90"]),
    ("package.devices = ['gfx942']", "amd broken", 2, &["undecided: package-coverage: no file has code that runs on gfx942 in the readable part of broken"]),
    ("package.kernels = [{ match = '^answer', devices = ['sm_90', 'gfx90a'] }]", "cuda.o amd", 0, &[]),
    ("package.kernels = [{ match = '^answer', devices = ['sm_80', 'gfx1100'] }]", "cuda.o amd", 1, &["policy.toml: package-coverage: kernel answer_kernel: does not run on gfx1100; its code is for gfx90a, sm_80 ptx, sm_90"]),
    ("package.kernels = [{ match = 'no such', devices = ['sm_90'] }]", "cuda.o", 1, &["cuda.o: package-coverage: no kernel matches \"no such\""]),
    // Indexes are in kernel_stores.rs, wheels in metal.rs.
    ("package.promised-kernels = true", "both.o", 1, &["policy.toml: promised-kernels: no index of kernels"]),
    ("images.ptx-assembles = true", "cuda.o", 2, &["cuda.o: undecided: ptx-assembles: the PTX was not assembled; pass the path of ptxas with --ptxas"]),
    ("images.ptx-assembles = true", "sm90 amd", 0, &[]),
    ("images.platform-tag = true", "both.o", 0, &[]),
    ("images.platform-tag = true", "air.metallib", 2, &["air.metallib: undecided: platform-tag: image 0 (macos) at 0x0: needs macOS 14.0, and no wheel states"]),
    // Links are in host_runtime.rs.
    ("images.host-runtime = true", "both.o", 0, &[]),
    ("images.host-runtime = true", "old-runtime.o", 1, &["old-runtime.o: host-runtime: needs libcudart.so.12, but its cubins are of CUDA 13."]),
    // Debug information and paths.
    ("images.debug = 'none'", "both.o", 0, &[]),
    ("images.debug = 'none'", "with-debug", 1, &["debug-information: image 0 (gfx90a) at ", "contains full debug information, none is allowed"]),
    ("images.debug = 'lines'", "with-debug", 1, &["contains full debug information, only line tables are allowed"]),
    ("images.debug = 'full'", "with-debug", 0, &[]),
    ("images.debug = 'none'", "opaque.o", 2, &["undecided: debug-information: image 0", "compressed with an unknown codec"]),
    ("images.build-paths = false", "both.o", 0, &[]),
    ("images.build-paths = false", "more.o", 1, &["build-paths: image 1 (compute_90)", "for example /home/me/kernel.cu"]),
    ("images.build-paths = false", "opaque.o", 2, &["undecided: build-paths: image 0", "cannot be searched for paths: compressed bytes at 0x2a0: unsupported compression"]),
    // Compression, and the releases that can read it.
    ("images.compressed = true", "v2.hipfb", 0, &[]),
    ("images.compressed = true", "cuda.o", 1, &["compression: 2 of 2 images not compressed, 3.81 kB; architectures: compute_80, sm_90"]),
    ("images.compressed = true", "opaque.o", 1, &["1 of 2 images not compressed"]),
    ("images.compressed = false", "plain.hipfb", 0, &[]),
    ("images.compressed = false", "v3.hipfb", 1, &["compression: 1 of 1 images compressed"]),
    ("images.readable-by = ['rocm-6.2', 'llvm-19']", "v2.hipfb plain.hipfb", 0, &[]),
    ("images.readable-by = ['rocm-6.1']", "v2.hipfb", 1, &["readable-by: ROCm 6.1 cannot read ccob version 2 at 0x0; ROCm 6.2 is the first release that can"]),
    ("images.readable-by = ['rocm-6.2', 'llvm-19']", "v3.hipfb", 1, &["ROCm 6.2 cannot read ccob version 3", "LLVM 19 cannot read ccob version 3"]),
    ("images.readable-by = ['cuda-12.4', 'rocm-6.2']", "zstd.fatbin", 0, &[]),
    ("images.readable-by = ['cuda-12.2']", "zstd.fatbin cuda.o", 1, &["readable-by: CUDA 12.2 cannot read cuda-fatbin with zstd at 0x0; CUDA 12.4 is the first release that can"]),
    ("images.readable-by = ['llvm-20', 'rocm-6.2', 'llvm-22']", "v2.hipfb plain.hipfb", 0, &[]),
    ("images.readable-by = ['llvm-20']", "short-id.hipfb", 0, &[]),
    ("images.readable-by = ['llvm-22']", "short-id.hipfb", 1, &["readable-by: LLVM 22 refuses the bundle at 0x0 for its entry host-x86_64-unknown-linux; it needs a kind and a triple of four components"]),
    // The IDs of bundle entries, and the runtimes that find them.
    ("images.findable-by = ['rocm-7.2']", "plain.hipfb v3.hipfb both.o", 0, &[]),
    ("images.findable-by = ['rocm-7.2']", "amdgpu.hipfb", 1, &["findable-by: image 0 (gfx90a) at ", "the HIP runtime of ROCm 7.2 does not find hipv4-amdgpu9.0a-amd-amdhsa--gfx90a; bundle it again as hipv4-amdgcn-amd-amdhsa--gfx90a"]),
    ("warn = ['findable-by']\nimages.findable-by = ['rocm-6']\narchs.require = ['gfx90a']", "amdgpu.hipfb", 0, &["warning: findable-by"]),
    ("archs.only = ['amdgpu9.0a', 'sm_90']", "both.o amdgpu.hipfb", 0, &[]),
    // NVIDIA's drivers: a cubin of CUDA 13.5 for sm_90, and PTX 7.0 for sm_80.
    ("images.loadable-by = ['580', 'cuda-13.0', '580.65.06']", "both.o cuda.o amd", 0, &[]),
    ("images.loadable-by = ['525.60.13']", "cuda.o", 0, &[]),
    ("images.loadable-by = ['525']", "both.o", 1, &["both.o: loadable-by: image 1 (sm_90) at ", "driver 525 does not load code for sm_90; cubin of CUDA 13.5; oldest release: CUDA 13.0 (driver 580.65.06)"]),
    ("warn = ['loadable-by']\nimages.loadable-by = ['525']", "both.o", 0, &["warning: loadable-by: "]),
    ("images.loadable-by = ['450.51.05']\narchs.devices = ['sm_90']", "cuda.o", 1, &["loadable-by: driver 450.51.05 supports no device that the code runs on"]),
    ("images.loadable-by = ['616']", "new.ptx", 2, &["undecided: loadable-by: image 0 (compute_80) at 0x0: cannot determine whether driver 616 loads code for sm_80; PTX ISA 9.6; oldest release: unknown, newer than CUDA 13.5"]),
    ("images.loadable-by = ['610']", "new.ptx", 1, &["driver 610 does not load code for sm_80"]),
    ("images.loadable-by = ['12.0']", "blobs.o", 1, &["the driver of CUDA 12.0 does not load an image that the program selects; cubin of CUDA 13.5"]),
    // Intact, registered, and not duplicated.
    ("images.intact = true", "both.o v3.hipfb", 0, &[]),
    ("images.intact = true", "cut", 1, &["cut: valid-images: image 0 (gfx90a) at "]),
    ("images.intact = true", "opaque.o", 2, &["undecided: valid-images: image 0", "compressed with an unknown codec"]),
    ("", "wrong-hash.hipfb", 1, &["valid-images: compressed bundle hash at 0x18: hash mismatch: stored "]),
    ("", "wrong-arch", 1, &["valid-images: image 0 (gfx906) at ", "the container states gfx906, the image's own header gfx90a"]),
    ("images.registered = true", "cuda.o hip.o", 0, &[]),
    ("images.registered = true", "v2.hipfb", 2, &["undecided: wrappers: no wrapper registers the containers"]),
    ("images.duplicates = false", "both.o", 0, &[]),
    ("images.duplicates = false", "twice", 1, &["duplicate-images: image 0 (gfx90a) at ", "stored twice, also as image 1, wasting 3.45 kB"]),
    ("warn = ['duplicate-images']\nimages.duplicates = false", "twice", 0, &["warning: duplicate-images"]),
    ("images.duplicates = false", "opaque.o", 2, &["undecided: duplicate-images: image 0", "cannot be compared: compressed with an unknown codec"]),
    ("images.duplicates = false", "lto-ir.o", 2, &["undecided: duplicate-images: image 0", "cannot be compared: LTO-IR, compiled to machine code at link time"]),
    ("images.duplicates = false", "no-frame.fatbin", 2, &["undecided: duplicate-images: image 0", "cannot be compared: damaged"]),
    // Proofs of changes: of the file, of the archive around it, of another file, of the file before it changed.
    // Metadata of packages; tests/command-line/metadata.rs has more.
    ("package.metadata = true", "true.whl", 0, &[]),
    ("package.metadata = true", "false.whl", 1, &["false.whl!a-1.dist-info/variant.json: metadata: claims nvidia :: sm_arch :: 86_real"]),
    ("package.metadata = true", "invalid.whl", 2, &["undecided: metadata: not the metadata of a package: variants missing"]),
    ("package.metadata = true", "cuda.o", 1, &["policy.toml: metadata: no package with metadata"]),
    ("images.proven = true", "pruned.o --proof pruned.json", 0, &[]),
    ("images.proven = true", "pruned.o pruned.whl ./pruned.o --proof pruned.json --proof whl.json", 0, &[]),
    ("images.proven = true", "pruned.o", 1, &["pruned.o: proven: not the result of a proven change; pass its proof with --proof"]),
    ("images.proven = true", "cuda.o pruned.o --proof pruned.json", 1, &["cuda.o: proven: not the result of a proven change; pass its proof with --proof"]),
    ("images.proven = true", "pruned.whl --proof pruned.json", 1, &["pruned.whl!lib/cuda.so: proven: not the result of a proven change"]),
    ("images.proven = true", "./changed.o --proof changed.json --proof pruned.json", 1, &["changed.o: proven: differs from the result of its proof changed.json"]),
    ("warn = ['proven']\nimages.proven = true", "cuda.o", 0, &["warning: proven"]),
    ("images.proven = true\nfiles.'cuda.o'.images.proven = false", "cuda.o pruned.o --proof pruned.json", 0, &[]),
    // Nothing found, nothing readable, nothing matched.
    ("", "both.o", 0, &[]),
    ("", "text", 1, &["text: holds-device-code: no device code"]),
    ("", "both.o text", 1, &["text: holds-device-code: no device code"]),
    ("skip = ['text']", "both.o text", 0, &[]),
    ("skip = ['other']", "both.o", 1, &["policy.toml: matches-something: no file with device code matches \"other\"; available: both.o"]),
    ("must-hold = ['both.*']", "both.o", 0, &[]),
    ("must-hold = ['lib/*.so']", "both.o", 1, &["policy.toml: holds-device-code: no file with device code matches \"lib/*.so\"; available: both.o"]),
    ("files.'*.so'.archs.require = ['sm_90']", "both.o", 1, &["no file with device code matches \"*.so\""]),
    ("", "both.o broken", 2, &["broken: undecided: readable: offload binary version at 0x4"]),
    ("", "both.o missing", 2, &["missing: undecided: readable: cannot open: no such file"]),
    // Requirements that differ by file.
    ("archs.require = ['sm_90']\nfiles.amd.archs.require = ['gfx90a']", "amd sm90", 0, &[]),
    ("archs.require = ['sm_90']", "amd sm90", 1, &["amd: required-archs: no code for sm_90; available: gfx90a"]),
];

#[test]
fn every_rule_has_a_case_that_does_not_pass() {
    for rule in fatbin::check::Rule::ALL {
        let message = format!("{}: ", rule.name());
        let is_listed =
            CASES.iter().any(|(.., status, parts)| *status != 0 && parts.iter().any(|it| it.contains(&message)));
        assert!(is_listed, "no case for {}", rule.name());
    }
}

#[test]
fn every_rule_passes_fails_and_stays_undecided_as_expected() {
    let sandbox = Sandbox::with_device_code();
    let mut wrong = String::new();
    for (policy, files, status, parts) in CASES {
        let run = sandbox.check(policy, files);
        let summary = run.out.lines().last().unwrap_or_default();
        // The table only counts the checks that the JSON document lists.
        let document = sandbox.check(policy, &format!("{files} --json")).out;
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        let counts = document["counts"].as_object().unwrap().iter();
        let is_counted = |(outcome, count): (&String, &serde_json::Value)| {
            *count == 0 || summary.contains(&format!("{count} {outcome}"))
        };
        let all = document["judged"].as_array().unwrap().len();
        let is_right = run.status == *status
            && summary.starts_with(&format!("{all} check"))
            && counts.into_iter().all(is_counted)
            && parts.iter().all(|part| run.out.contains(part))
            && summary.contains(" checks: ")
            && (summary.contains("violated") || summary.contains("undecided")) == (*status != 0);
        if !is_right {
            let (expected, got, out, err) = (status, run.status, &run.out, &run.err);
            wrong += &format!("{policy}\n  on {files}: {got}, not {expected} {parts:?}\n{out}{err}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
