//! clang with the drop-in as its packager, and the tools that read its output.
//!
//! clang's driver searches its tools in the directory of `-B` first. A link there with the packager's name leads to fatbin, or
//! to the original tool, so that both compilations have the same command line. The output of `-v` shows that it was called.
//! Both objects must be equal to the byte: builds do not change.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::Side;
use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Tool, llvm_tool, path_with};
use crate::harness::trial::{completion, fresh_directory};
use crate::linker_wrapper::{kernel, stand_ins};

/// A compilation that packs device code.
struct Client {
    name: &'static str,
    /// Release of clang and of the packager.
    release: &'static str,
    source: Source,
    flags: &'static str,
    /// Triple, arch and kind of each image, in order.
    images: &'static [[&'static str; 3]],
}

#[derive(Clone, Copy, PartialEq)]
enum Source {
    OpenMp,
    Hip,
    Cuda,
}

const HOST: &str = "x86_64-pc-linux-gnu";
const OPENMP_ON_HOST: &str = "-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -Xarch_device -DMARKER=42";
const CUDA: &str = "--cuda-path=cuda -nocudalib -nocudainc --no-cuda-version-check -Xclang -target-sdk-version=11.8";

const CLIENTS: [Client; 9] = [
    Client {
        name: "openmp-host",
        release: "22",
        source: Source::OpenMp,
        flags: OPENMP_ON_HOST,
        images: &[[HOST, "generic", "openmp"]],
    },
    Client {
        name: "openmp-amdgpu",
        release: "22",
        source: Source::OpenMp,
        flags: "-fopenmp --offload-arch=gfx90a,gfx906:xnack+ -nogpulib",
        images: &[["amdgcn-amd-amdhsa", "gfx906:xnack+", "openmp"], ["amdgcn-amd-amdhsa", "gfx90a", "openmp"]],
    },
    Client {
        name: "hip",
        release: "22",
        source: Source::Hip,
        flags: "-fgpu-rdc --offload-arch=gfx90a --offload-arch=gfx906:xnack+",
        images: &[["amdgcn-amd-amdhsa", "gfx906:xnack+", "hip"], ["amdgcn-amd-amdhsa", "gfx90a", "hip"]],
    },
    Client {
        name: "hip-lto",
        release: "22",
        source: Source::Hip,
        flags: "-fgpu-rdc -foffload-lto --offload-arch=gfx906:xnack+",
        images: &[["amdgcn-amd-amdhsa", "gfx906:xnack+", "hip"]],
    },
    Client {
        name: "cuda",
        release: "22",
        source: Source::Cuda,
        flags: "-fgpu-rdc --offload-arch=sm_52",
        images: &[["nvptx64-nvidia-cuda", "sm_52", "cuda"]],
    },
    Client {
        name: "cuda-lto",
        release: "22",
        source: Source::Cuda,
        flags: "-fgpu-rdc -foffload-lto --offload-arch=sm_52",
        images: &[["nvptx64-nvidia-cuda", "sm_52", "cuda"]],
    },
    Client {
        name: "openmp-host-15",
        release: "15",
        source: Source::OpenMp,
        flags: OPENMP_ON_HOST,
        images: &[[HOST, "", "openmp"]],
    },
    Client {
        name: "openmp-host-16",
        release: "16",
        source: Source::OpenMp,
        flags: OPENMP_ON_HOST,
        images: &[[HOST, "", "openmp"]],
    },
    Client {
        name: "openmp-host-19",
        release: "19",
        source: Source::OpenMp,
        flags: OPENMP_ON_HOST,
        images: &[[HOST, "", "openmp"]],
    },
];

pub fn trials() -> Vec<Trial> {
    let trial = |client: &'static Client| {
        let name = format!("dropin/clients/{}", client.name);
        Trial::ignorable_test(name, move || completion(client.is_served()))
    };
    CLIENTS.iter().map(trial).collect()
}

impl Client {
    fn is_served(&self) -> Result<()> {
        let directory = fresh_directory("dropin-clients", self.name)?;
        let theirs = self.compile(&directory, Side::Theirs)?;
        let ours = self.compile(&directory, Side::Ours)?;
        let read = |object: &Path| std::fs::read(directory.join(object));
        ensure!(read(&ours)? == read(&theirs)?, "{}: the objects differ", directory.display());
        self.objdump_lists_images(&directory, &ours)?;
        self.linker_wrapper_finds_images(&directory, &ours)?;
        if self.name == "openmp-host" {
            runs_on_its_device(&directory, &ours)?;
        }
        Ok(())
    }

    /// Name and path of the packager that the driver calls.
    fn packager(&self) -> Result<(&'static str, PathBuf)> {
        if self.release == "22" {
            return Ok(("llvm-offload-binary", Tool::OffloadBinary.path()?));
        }
        let name = "clang-offload-packager";
        Ok((name, llvm_tool(name, self.release, &format!("clang-tools-{}", self.release))?))
    }

    fn compile(&self, directory: &Path, side: Side) -> Result<PathBuf> {
        let (name, tool) = self.packager()?;
        let program = if matches!(side, Side::Ours) { Path::new(fatbin_program()) } else { &tool };
        let link = directory.join(format!("{side:?}")).join(name);
        std::fs::create_dir(directory.join(format!("{side:?}")))?;
        std::os::unix::fs::symlink(program, &link)?;
        let clang = match self.release {
            "22" => Tool::Clang.path()?,
            release => llvm_tool("clang", release, &format!("clang-{release}"))?,
        };
        let object = PathBuf::from(format!("{side:?}.o"));
        let mut compile = self.command(directory, &clang)?;
        compile
            .env("FATBIN_LLVM", self.release)
            .args(["-v", "-O1", "-c"])
            .arg(format!("-B{side:?}"))
            .args(self.flags.split(' '));
        let output = output_of(compile.args(self.source.flags(directory)?).arg("-o").arg(&object))?;
        let call = format!(" \"{side:?}/{name}\" ");
        ensure!(output.lines().any(|line| line.starts_with(&call)), "{compile:?} did not call{call}:\n{output}");
        Ok(object)
    }

    /// Checks that llvm-objdump lists the packed images.
    fn objdump_lists_images(&self, directory: &Path, object: &Path) -> Result<()> {
        let done = Step::new(directory, Tool::Objdump.path()?).arg("--offloading").arg(object).run()?;
        let column = |name: &str| -> Vec<String> {
            let values = done.stdout.lines().filter_map(|line| line.strip_prefix(name));
            values.map(|value| value.trim().to_owned()).collect()
        };
        for (index, name) in ["triple ", "arch ", "producer "].into_iter().enumerate() {
            let expected: Vec<&str> = self.images.iter().map(|image| image[index]).collect();
            ensure!(column(name) == expected, "{}", done.error(format!("expected {name}{expected:?}")));
        }
        Ok(())
    }

    /// Checks that clang-linker-wrapper extracts the images and would link each for its target.
    fn linker_wrapper_finds_images(&self, directory: &Path, object: &Path) -> Result<()> {
        let wrapper = llvm_tool("clang-linker-wrapper", "22", "clang-tools-22")?;
        let mut link = self.command(directory, &wrapper)?;
        link.args(["--dry-run", "--linker-path=/usr/bin/ld", "-o", "program"]).arg(format!("--host-triple={HOST}"));
        if self.source == Source::Cuda {
            link.arg("--cuda-path=cuda");
        }
        let output = output_of(link.arg(object))?;
        for [triple, arch, _] in self.images {
            let is_linked = output.lines().any(|line| line.contains(&format!("-{triple}-{arch}")));
            ensure!(is_linked, "{link:?} does not link {triple} {arch}:\n{output}");
        }
        Ok(())
    }

    /// Returns a command in the directory, with CUDA's tools in its path if it needs them.
    fn command(&self, directory: &Path, program: &Path) -> Result<Command> {
        let mut command = command(program);
        command.current_dir(directory);
        if self.source == Source::Cuda {
            command.env("PATH", path_with(&stand_ins(directory)?)?);
        }
        Ok(command)
    }
}

/// Returns the output of a command, with standard error, where the drivers print their calls.
fn output_of(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {}\n{printed}", output.status);
    Ok(printed)
}

impl Source {
    /// The flags for the source and its language.
    fn flags(self, directory: &Path) -> Result<Vec<String>> {
        let kind = match self {
            Source::OpenMp => {
                let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cases/openmp/main.c");
                return Ok(vec![source.display().to_string()]);
            }
            Source::Hip => "hip",
            Source::Cuda => "cuda",
        };
        std::fs::write(directory.join("kernel.cpp"), kernel(kind))?;
        // The ID that clang generates depends on the whole command line.
        let mut flags = vec!["-x", kind, "--offload-new-driver", "-cuid=same"];
        flags.extend(if self == Source::Cuda { CUDA } else { "-nogpulib -nogpuinc" }.split(' '));
        flags.push("kernel.cpp");
        Ok(flags.into_iter().map(str::to_owned).collect())
    }
}

/// Links the object with the driver and runs it on its device, which is the host itself.
fn runs_on_its_device(directory: &Path, object: &Path) -> Result<()> {
    let (runtime, target) = (Tool::Libomp.path()?, Tool::Libomptarget.path()?);
    // Debian's library lacks the name that the driver uses.
    std::os::unix::fs::symlink(&target, directory.join("libomptarget.so"))?;
    let link = Step::new(directory, Tool::Clang.path()?).args(["-fopenmp", &format!("-fopenmp-targets={HOST}"), "-L."]);
    link.arg(object).args(["-o", "program"]).run()?;
    let directories: Vec<PathBuf> =
        [runtime, target].iter().filter_map(|path| path.parent().map(Path::to_owned)).collect();
    let run =
        Step::new(directory, directory.join("program")).env("LD_LIBRARY_PATH", std::env::join_paths(directories)?);
    let done: Done = run.env("OMP_TARGET_OFFLOAD", "MANDATORY").run()?;
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cases/openmp/expected-stdout");
    let expected = std::fs::read_to_string(&expected).with_context(|| expected.display().to_string())?;
    ensure!(done.stdout == expected, "{}", done.error("the program does not print what it should"));
    Ok(())
}
