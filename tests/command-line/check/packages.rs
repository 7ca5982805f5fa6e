//! Packages of many files: judged as a whole, and reported on one screen.

use super::{Sandbox, wheel};

/// Number of files for each architecture.
const FILES: usize = 30;

/// Returns files with one kernel each, as flashinfer's and TensorRT-LLM's packages of cubins have them: the name of each
/// kernel contains its architecture (flashinfer #3294, #5238; TensorRT-LLM #19361).
fn files() -> Vec<(String, Vec<u8>)> {
    let file = |arch: u32, number: usize| {
        let entry = format!(".visible .entry fmhaSm{arch}Kernel_{number}() {{ ret; }}");
        let text = format!(".version 8.1\n.target sm_{arch}\n.address_size 64\n{entry}\n");
        (format!("cubins/sm{arch}/{number:02}.ptx"), text.into_bytes())
    };
    [80, 90].into_iter().flat_map(|arch| (0..FILES).map(move |number| file(arch, number))).collect()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let files = files();
    for directory in ["pkg/cubins/sm80", "pkg/cubins/sm90"] {
        std::fs::create_dir_all(sandbox.path(directory)).unwrap();
    }
    for (name, text) in &files {
        sandbox.file(&format!("pkg/{name}"), text);
    }
    let members: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    sandbox.file("pkg.whl", wheel(&members)).file("half.whl", wheel(&members[FILES..]));
    sandbox
}

const FAMILY: &str = "[[package.kernels]]\nmatch = '^(fmha)Sm[0-9]+'\ndevices = ['sm_80', 'sm_90', 'sm_120']\n";

#[test]
fn a_package_is_one_verdict() {
    let sandbox = sandbox();
    for input in ["pkg", "pkg.whl"] {
        let run = sandbox.check(FAMILY, input);
        assert_eq!(run.status, 0, "{}{}", run.out, run.err);
        let run = sandbox.check(&format!("package.jit = false\n{FAMILY}"), input);
        let expected = format!(
            "{input}: package-coverage: kernel fmha: no machine code that runs on sm_80 (only PTX); its code is for sm_80 \
             ptx, sm_90 ptx\n"
        );
        assert!(run.status == 1 && run.out.starts_with(&expected), "{}", run.out);
        assert_eq!(run.out.lines().count(), 4, "{}", run.out);
    }
    // Each package is judged alone.
    let run = sandbox.check(FAMILY, "pkg.whl half.whl");
    let expected = "half.whl: package-coverage: kernel fmha: does not run on sm_80; its code is for sm_90 ptx\n";
    assert!(run.status == 1 && run.out.starts_with(expected), "{}", run.out);
    assert_eq!(run.out.lines().count(), 2, "{}", run.out);
}

#[test]
fn without_a_group_each_template_is_a_family() {
    let sandbox = sandbox();
    let run = sandbox.check("[[package.kernels]]\nmatch = '^fmha'\ndevices = ['sm_80']\n", "pkg");
    assert_eq!(run.status, 1);
    assert!(run.out.contains("pkg: package-coverage: kernel fmhaSm90Kernel_0: does not run on sm_80"), "{}", run.out);
    assert!(!run.out.contains("fmhaSm80Kernel"), "{}", run.out);
}

#[test]
fn thousands_of_findings_are_one_screen() {
    let sandbox = sandbox();
    let run = sandbox.check("archs.devices = ['sm_80']", "pkg");
    let lines: Vec<&str> = run.out.lines().collect();
    let [first, second, hint, summary] = lines[..] else { panic!("{}", run.out) };
    assert!(
        first.starts_with("pkg/cubins/sm80/00.ptx and 29 more: devices: no machine code that runs on sm_80"),
        "{first}"
    );
    assert!(second.starts_with("pkg/cubins/sm90/00.ptx and 29 more: devices: no code that runs on sm_80"), "{second}");
    assert_eq!(hint, "use -v to list all findings by file");
    assert!(summary.ends_with(", 60 violated"), "{summary}");
    let all = sandbox.fatbin("check -v --policy policy.toml pkg");
    assert_eq!((all.status, all.out.lines().count()), (1, 61), "{}", all.out);
    // Different messages are cut.
    let many = sandbox.check("[[package.kernels]]\nmatch = '^fmha'\ndevices = ['sm_80']\n", "pkg");
    assert_eq!(many.out.lines().count(), 22, "{}", many.out);
    assert!(many.out.contains("\n10 findings more; use -v to list all findings by file\n"), "{}", many.out);
}
