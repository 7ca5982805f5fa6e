//! Programs of several objects that nvcc links. nvlink checks each answer of `select`: it links the images that the
//! driver would link at load time, and refuses the image of one container alone.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// A kernel that needs a function of another object.
const KERNEL: &str = "extern __device__ unsigned part(unsigned);\n\
    __global__ void answer(unsigned *out) { *out = part(*out); }\n\
    int main() { answer<<<1, 1>>>(nullptr); return 0; }\n";
const PART: &str = "__device__ unsigned part(unsigned seed) { return seed + 6; }\n";
/// A kernel that launches another: it needs the device runtime.
const PARENT: &str = "__global__ void child(int *p) { *p = 1; }\n\
    __global__ void parent(int *p) { child<<<1, 1>>>(p); }\n\
    int main() { parent<<<1, 1>>>(nullptr); return 0; }\n";

/// Device whose answers are compared.
const DEVICE: &str = "sm_90";

/// Name, targets of the two objects (`s80` is a cubin, `p80` PTX), and the answer.
const PROGRAMS: [(&str, [&str; 2], &str); 6] = [
    ("ptx", ["s80 p80", "s80 p80"], "jit-ptx"),
    ("ptx-only", ["p80", "p80"], "jit-ptx"),
    ("mixed", ["s80 s90", "s80 p80"], "jit-ptx"),
    ("cubins", ["s80 s90", "s80 s90"], "jit-link"),
    ("one-without", ["s80 p80", "s80"], "nothing"),
    ("linked", ["s90", "s90"], "native"),
];

pub fn trials() -> Vec<Trial> {
    let programs =
        PROGRAMS.map(|(name, targets, answer)| trial(name, move |directory| program(directory, targets, answer)));
    let runtime = trial("device-runtime", device_runtime);
    programs.into_iter().chain([runtime]).collect()
}

fn trial(name: &'static str, test: impl FnOnce(&Path) -> Result<()> + Send + 'static) -> Trial {
    Trial::ignorable_test(format!("device-link/{name}"), move || {
        completion(fresh_directory("device-link", name).and_then(|directory| test(&directory)))
    })
}

fn nvcc() -> Result<PathBuf> {
    let path = fetched("cuda-nvcc").join("nvidia/cu13/bin/nvcc");
    Ok(Some(path).filter(|path| path.is_file()).ok_or_else(|| not_fetched("nvcc"))?)
}

fn options(targets: &str) -> impl Iterator<Item = String> {
    targets.split(' ').map(|target| {
        let (code, number) = target.split_at(1);
        let code = if code == "s" { "sm" } else { "compute" };
        format!("-gencode=arch=compute_{number},code={code}_{number}")
    })
}

fn fatbin(directory: &Path, arguments: &[&str]) -> Result<String> {
    // Exit status 1 is an answer.
    let script = "\"$0\" \"$@\" || test $? = 1";
    Ok(Step::new(directory, "sh").args(["-c", script, fatbin_program()]).args(arguments).run()?.stdout)
}

/// Returns the answer for the device, and the images that are loaded.
fn answer(directory: &Path) -> Result<(String, Vec<String>)> {
    let text = fatbin(directory, &["select", "--json", "--device", DEVICE, "program"])?;
    let document: Value = serde_json::from_str(&text)?;
    let choices = document["files"][0]["choices"].as_array().context("choices")?;
    let [choice] = &choices.iter().filter(|it| it["concerned"] == true).collect::<Vec<_>>()[..] else {
        anyhow::bail!("not one choice: {text}");
    };
    let answer = &choice["answers"][0];
    let images = answer["images"].as_array().context("images")?.iter().filter(|image| image["chosen"] == true);
    let images = images.map(|image| image["index"].to_string()).collect();
    Ok((answer["answer"].as_str().context("answer")?.to_owned(), images))
}

fn program(directory: &Path, [kernel, part]: [&str; 2], expected: &str) -> Result<()> {
    let nvcc = nvcc()?;
    for (name, source, targets) in [("kernel", KERNEL, kernel), ("part", PART, part)] {
        std::fs::write(directory.join(format!("{name}.cu")), source)?;
        let step = Step::new(directory, &nvcc).args(["-w", "-dc"]).args(options(targets));
        step.args([&format!("{name}.cu"), "-o", &format!("{name}.o")]).run()?;
        let answer = fatbin(directory, &["select", "--device", DEVICE, &format!("{name}.o")])?;
        ensure!(answer.contains("to be linked first"), "{answer}");
    }
    // The linked code is for the target that both objects have.
    let linked = kernel.split(' ').next().context("a target")?;
    Step::new(directory, &nvcc).args(options(linked)).args(["kernel.o", "part.o", "-o", "program"]).run()?;
    let (found, images) = answer(directory)?;
    ensure!(found == expected, "{found} {images:?}");
    policy_agrees(directory, expected)?;
    if !expected.starts_with("jit") {
        return Ok(());
    }
    ensure!(images.len() >= 2, "{images:?}");
    let cubins = compiled(directory, &images)?;
    ensure!(links(directory, &cubins)?, "nvlink refuses {images:?}");
    ensure!(!links(directory, &cubins[..1])?, "nvlink links a part of {images:?}");
    Ok(())
}

/// `check` agrees with `select`.
fn policy_agrees(directory: &Path, expected: &str) -> Result<()> {
    std::fs::write(
        directory.join("policy.toml"),
        format!("[archs]\ndevices = [\"{DEVICE}\"]\nptx-fallback = \"compute_80\"\n"),
    )?;
    let verdict = fatbin(directory, &["check", "--policy", "policy.toml", "program"])?;
    ensure!(verdict.contains("violated") == (expected == "nothing"), "{verdict}");
    Ok(())
}

/// Extracts images, and compiles PTX to relocatable cubins as the driver does.
fn compiled(directory: &Path, images: &[String]) -> Result<Vec<String>> {
    fatbin(directory, &["extract", "-o", "images", "--name", "{number}.{extension}", "program"])?;
    let mut cubins = Vec::new();
    for image in images {
        let cubin = format!("images/{image}.cubin");
        if !directory.join(&cubin).is_file() {
            let step = Step::new(directory, Tool::Ptxas.path()?).args(["-c", "-arch", DEVICE, "-o", &cubin]);
            step.arg(format!("images/{image}.ptx")).run()?;
        }
        cubins.push(cubin);
    }
    Ok(cubins)
}

/// Returns whether nvlink links cubins.
fn links(directory: &Path, cubins: &[String]) -> Result<bool> {
    let script = "\"$0\" -arch \"$@\" -o linked.cubin 2>&1 || echo refused";
    let step = Step::new(directory, "sh").args(["-c", script]).arg(Tool::Nvlink.path()?);
    Ok(!step.arg(DEVICE).args(cubins).run()?.stdout.contains("refused"))
}

/// The device runtime has code for every architecture, and the program for one.
fn device_runtime(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("k.cu"), PARENT)?;
    let step = Step::new(directory, nvcc()?).args(["-w", "-rdc=true"]).args(options("s90"));
    step.args(["k.cu", "-o", "program"]).run()?;
    for (device, is_served) in [("sm_75", false), ("sm_80", false), ("sm_90", true), ("sm_120", false)] {
        std::fs::write(directory.join("policy.toml"), format!("[archs]\ndevices = [\"{device}\"]\n"))?;
        let verdict = fatbin(directory, &["check", "--policy", "policy.toml", "program"])?;
        ensure!(verdict.contains("violated") != is_served, "{device}: {verdict}");
    }
    let metadata: Value = serde_json::from_str(&fatbin(directory, &["metadata", "--format", "json", "program"])?)?;
    let code = &metadata["backends"][0];
    ensure!(code["machine_code"] == serde_json::json!(["sm_90"]) && code["forward_compatible"] == false, "{code}");
    let (found, images) = answer(directory)?;
    ensure!((found.as_str(), images.len()) == ("native", 1), "{found} {images:?}");
    fatbin(directory, &["prune", "--relocatable", "-o", "pruned", "program"])?;
    let listed = fatbin(directory, &["scan", "pruned"])?;
    ensure!(listed.contains(" 1 device image") && listed.contains("sm_90"), "{listed}");
    Ok(())
}
