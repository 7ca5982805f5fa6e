//! `fatbin requires` on the output of NVIDIA's tools and on packages that people install. ptxas of each release accepts
//! the versions of the PTX ISA that the driver of that release compiles; the floors of the packages were worked out by
//! hand from their toolkits and architectures.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Tool, fetched, not_fetched};
use crate::harness::trial::{completion, fresh_directory};
use crate::real_files;

/// Releases of ptxas, in order.
const RELEASES: [&str; 4] = ["11.8", "12.0", "12.9", "13.5"];

/// Versions of the PTX ISA that know `sm_75`, up to one that no release accepts.
const PTX_VERSIONS: [&str; 28] = [
    "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "8.0", "8.1", "8.2", "8.3",
    "8.4", "8.5", "8.6", "8.7", "8.8", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5", "9.6",
];

/// Options of fatbinary, and whether its entries need a driver that decompresses zstd.
const MODES: [(&[&str], bool); 5] = [
    (&["--compress-mode=none"], false),
    (&["--compress-mode=speed", "--compress-all"], false),
    (&["--compress-mode=balance", "--compress-all"], true),
    (&["--compress-mode=size", "--compress-all"], true),
    (&["--compress-all"], true),
];

/// Cubins: release of ptxas, architecture, version of the PTX, and the floor without compression and with zstd.
const CUBINS: [(&str, &str, &str, [&str; 2]); 7] = [
    ("11.8", "sm_80", "7.0", ["11.0 450.80.02", "12.4 550.54.14"]),
    ("11.8", "sm_90", "7.8", ["11.8 520.61.05", "12.4 550.54.14"]),
    ("12.0", "sm_80", "7.0", ["12.0 525.60.13", "12.4 550.54.14"]),
    ("12.9", "sm_90", "7.8", ["12.0 525.60.13", "12.4 550.54.14"]),
    ("12.9", "sm_100", "8.6", ["12.8 570.26", "12.8 570.26"]),
    ("13.5", "sm_80", "7.0", ["13.0 580.65.06", "13.0 580.65.06"]),
    ("13.5", "sm_100", "8.6", ["13.0 580.65.06", "13.0 580.65.06"]),
];

/// Files of packages, each with the floor of all of its images.
const PACKAGES: [(&str, &str, &str); 12] = [
    ("bitsandbytes", "libbitsandbytes_cuda118.so", "cuda 11.8 520.61.05"),
    // PTX of CUDA 12.1 and 12.6 in relocatable code, which the driver links for devices after 9.0.
    ("bitsandbytes", "libbitsandbytes_cuda121.so", "cuda 12.1 530.30.02"),
    ("bitsandbytes", "libbitsandbytes_cuda126.so", "cuda 12.5 555.42.02"),
    ("bitsandbytes", "libbitsandbytes_cuda128.so", "cuda 12.8 570.26"),
    ("bitsandbytes", "libbitsandbytes_cuda130.so", "cuda 13.0 580.65.06"),
    ("bitsandbytes", "libbitsandbytes_rocm64.so", "rocm 6.3; llvm 19"),
    ("bitsandbytes", "libbitsandbytes_rocm71.so", "rocm 7.0; llvm 20"),
    ("bitsandbytes-windows", "libbitsandbytes_cuda118.dll", "cuda 11.8 520.06"),
    ("nvjpeg", "libnvjpeg.so.12", "cuda 12.9 575.51.03"),
    ("qiskit-aer", "controller_wrappers.cpython-312-x86_64-linux-gnu.so", "cuda 12.5 555.42.02"),
    ("pennylane", "lightning_amdgpu_ops.cpython-312-x86_64-linux-gnu.so", "rocm 6.3"),
    ("rocrand", "librocrand.so", "rocm none"),
];

pub fn trials() -> Vec<Trial> {
    let ptx = RELEASES.map(|release| trial(&format!("ptx/{release}"), move |directory| ptx(directory, release)));
    let packages = PACKAGES.map(|(name, file, floors)| {
        trial(&format!("packages/{name}/{file}"), move |directory| package(directory, name, file, floors))
    });
    let cubins = CUBINS.map(|(release, arch, version, floors)| {
        let name = format!("fatbinary/{release}-{arch}");
        trial(&name, move |directory| modes(directory, release, (arch, version), floors))
    });
    ptx.into_iter().chain(cubins).chain(packages).collect()
}

/// Returns a trial in a separate directory.
fn trial(name: &str, test: impl FnOnce(&Path) -> Result<()> + Send + 'static) -> Trial {
    let directory = name.replace('/', "-");
    Trial::ignorable_test(format!("requires/{name}"), move || {
        completion(fresh_directory("requires", &directory).and_then(|directory| test(&directory)))
    })
}

fn ptxas(release: &str) -> Result<PathBuf> {
    if release == "13.5" {
        return Tool::Ptxas.path();
    }
    let path = fetched(&format!("ptxas-{release}")).join("ptxas");
    Ok(Some(path).filter(|path| path.is_file()).ok_or_else(|| not_fetched("ptxas"))?)
}

fn ptx_text(version: &str, arch: &str) -> String {
    format!(
        ".version {version}\n.target {arch}\n.address_size 64\n\
         .visible .entry k(.param .u64 p) {{ .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u64 [%a], %a; ret; }}\n"
    )
}

/// Returns the answer about a file, and the run.
fn answer(directory: &Path, file: impl AsRef<Path>) -> Result<(Value, Done)> {
    let step = Step::new(directory, fatbin_program()).args(["requires", "--json"]);
    let done = step.arg(file.as_ref()).run()?;
    Ok((serde_json::from_str(&done.stdout)?, done))
}

/// Returns the floors of all images of a file as text: product, release and driver of each.
fn floors(file: &Value) -> Result<String> {
    let needs = file["all"].as_array().context("floors")?.iter().map(|need| {
        let floor = &need["floor"];
        let release = if floor["known"] == true { &floor["at_least"] } else { &floor["newer_than"] };
        let parts = [&need["product"], &release["release"], &release["driver"]].map(|it| it.as_str());
        let newer = if floor["known"] == true { None } else { Some("newer") };
        let none = if release.is_null() { Some("none") } else { None };
        parts.into_iter().chain([newer, none]).flatten().collect::<Vec<_>>().join(" ")
    });
    Ok(needs.collect::<Vec<_>>().join("; "))
}

fn number(release: &str) -> Result<(u32, u32)> {
    let (major, minor) = release.split_once('.').context("a release")?;
    Ok((major.parse()?, minor.parse()?))
}

/// A release accepts exactly the versions whose floor is not later.
fn ptx(directory: &Path, release: &str) -> Result<()> {
    let ptxas = ptxas(release)?;
    for version in PTX_VERSIONS {
        std::fs::write(directory.join("k.ptx"), ptx_text(version, "sm_75"))?;
        let (document, done) = answer(directory, "k.ptx")?;
        let floor = &document["files"][0]["all"][0]["floor"];
        let expected = match floor["at_least"]["release"].as_str() {
            Some(first) => number(first)? <= number(release)?,
            None => false,
        };
        let run = Step::new(directory, "sh").args(["-c", "\"$0\" -arch=sm_75 -o k.cubin k.ptx 2>&1 || echo refused"]);
        let run = run.arg(&ptxas).run()?;
        let is_accepted = !run.stdout.contains("refused");
        ensure!(is_accepted == expected, "{}\n{}", done.error(format!("PTX {version}")), run.error("ptxas"));
    }
    Ok(())
}

/// The toolkit and the architecture decide the floor of a cubin, in every form that fatbinary stores.
fn modes(directory: &Path, release: &str, (arch, version): (&str, &str), floors_of: [&str; 2]) -> Result<()> {
    std::fs::write(directory.join("k.ptx"), ptx_text(version, arch))?;
    Step::new(directory, ptxas(release)?).args([&format!("-arch={arch}"), "-o", "k.cubin", "k.ptx"]).run()?;
    let image = format!("--image3=kind=elf,sm={},file=k.cubin", &arch["sm_".len()..]);
    let check = |file: &str, expected: &str| {
        let (document, done) = answer(directory, file)?;
        let found = floors(&document["files"][0])?;
        ensure!(found == format!("cuda {expected}"), "{}", done.error(format!("{file}: {found}")));
        Ok(())
    };
    check("k.cubin", floors_of[0])?;
    for (options, needs_zstd) in MODES {
        let step = Step::new(directory, Tool::Fatbinary.path()?).args(["-64", "--create=fat"]).args(options);
        step.arg(&image).run()?;
        let expected = floors_of[usize::from(needs_zstd)];
        check("fat", expected).with_context(|| options.join(" "))?;
    }
    Ok(())
}

fn package(directory: &Path, name: &'static str, file: &str, expected: &str) -> Result<()> {
    let (document, done) = answer(directory, real_files::path_of(name)?)?;
    let files = document["files"].as_array().context("files")?;
    let found = files.iter().find(|it| it["path"].as_str().is_some_and(|path| path.contains(file)));
    let found = floors(found.context(format!("{file} in {name}"))?)?;
    ensure!(found == expected, "{}", done.error(format!("{file}: {found}")));
    Ok(())
}
