//! The remedies of `fatbin doctor`, followed literally: a link with the problem, the commands of the remedy, and the link without it.
//!
//! `src/ops/link/doctor/remedies.txt` lists every remedy with its trial.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use super::{diagnose, trial};
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, fetched, in_path, llvm_tool, not_fetched};
use crate::harness::trial::completion;

struct Case {
    /// Name of the trial.
    name: &'static str,
    /// Remedy, or its start.
    remedy: &'static str,
    /// Commands that write the objects, in the words of a shell; see [`run`] for the variables.
    prepare: &'static [&'static str],
    /// Link with the problem.
    bad: &'static str,
    /// Commands of the remedy.
    mend: &'static [&'static str],
    /// Link without problems.
    good: &'static str,
}

const NEW: &str = "$HIP --offload-new-driver -c kernel.hip -o k.o";
const BUNDLE: &str = "$FATBIN bundle --type o --align 4096 --target host-x86_64-unknown-linux-gnu=/dev/null \
    --target hipv4-amdgcn-amd-amdhsa--gfx90a=$IMAGE -o a.hipfb";
/// A kernel and the device function that it calls, in two sources.
const CUDA: &str = "echo '__device__ int probe(int x) { return x ^ 7; }' >core.cu && \
    echo '__device__ int probe(int); __global__ void k(int *p) { *p = probe(*p); } int main() { k<<<1, 1>>>(nullptr); }' >kernel.cu";
const RUNTIME: &str = "$CC -c runtime.c -o rt.o";

const CASES: [Case; 20] = [
    Case {
        name: "offload-binary",
        remedy: "link with fatbin link -- COMMAND LINE, or with the compiler and its offload options",
        prepare: &[NEW, RUNTIME],
        bad: "$CC k.o rt.o -o program",
        mend: &["$FATBIN link -- $CC k.o rt.o -o program", "./program | grep -q 'registered scale'"],
        good: "$FATBIN link -- $CC k.o rt.o -o program",
    },
    Case {
        name: "hip-bundle",
        remedy: "link with clang --hip-link -fgpu-rdc --no-offload-new-driver, or compile with --offload-new-driver and link with \
            fatbin link -- COMMAND LINE",
        prepare: &["$HIP --no-offload-new-driver -c kernel.hip -o k.o", RUNTIME],
        bad: "$CC k.o rt.o -o program",
        mend: &[
            "$CLANG --hip-link -fgpu-rdc --no-offload-new-driver --offload-arch=gfx90a -no-hip-rt k.o rt.o -o program",
            "./program | grep -q 'registered scale'",
            NEW,
            "$FATBIN link -- $CC k.o rt.o -o program",
            "./program | grep -q 'registered scale'",
            "$HIP --no-offload-new-driver -c kernel.hip -o k.o",
        ],
        good: "$CLANG --hip-link -fgpu-rdc --no-offload-new-driver --offload-arch=gfx90a -no-hip-rt k.o rt.o -o program",
    },
    Case {
        name: "openmp-bundle",
        remedy: "link with the clang that compiled the object, and its -fopenmp-targets",
        prepare: &["$CLANG14 $OPENMP -c one.c -o one.o"],
        bad: "$CC one.o -o program",
        mend: &[],
        good: "$CLANG14 $OPENMP one.o -o program",
    },
    Case {
        name: "unused-image",
        remedy: "wrap the image with fatbin wrap, and link the wrapper in place of the object",
        prepare: &[
            BUNDLE,
            "$FATBIN embed -o image.o --symbol image=a.hipfb --section .hip_fatbin --align 4096",
            RUNTIME,
        ],
        bad: "$CC -shared rt.o image.o -o lib.so",
        mend: &["$FATBIN wrap --kind hip -o wrapper.o a.hipfb"],
        good: "$CC -shared rt.o wrapper.o -o lib.so",
    },
    Case {
        name: "missing-image",
        remedy: "link the object with the device code, or write it with fatbin embed -o OBJECT --symbol __hip_fatbin_",
        prepare: &[
            "$HIP -fno-gpu-rdc --no-offload-new-driver --cuda-host-only -c kernel.hip -o host.o",
            RUNTIME,
            BUNDLE,
        ],
        bad: "$CC host.o rt.o -o program",
        mend: &[
            "$FATBIN embed -o device.o --symbol $($NM -u host.o | grep -o '__hip_fatbin_.*')=a.hipfb --section .hip_fatbin --align 4096",
            "$CC host.o rt.o device.o -o program",
        ],
        good: "$CC host.o rt.o device.o -o program",
    },
    Case {
        name: "two-wrappers",
        remedy: "link one of the wrappers",
        prepare: &[
            "$HIP -fno-gpu-rdc --no-offload-new-driver --cuda-host-only -cuid=1 -c kernel.hip -o host.o",
            "sed s/scale/second/g kernel.hip >second.hip",
            "$HIP -fno-gpu-rdc --no-offload-new-driver --cuda-host-only -cuid=1 -c second.hip -o second.o",
            BUNDLE,
            "$FATBIN embed -o device.o --symbol $($NM -u host.o | grep -o '__hip_fatbin_.*')=a.hipfb --section .hip_fatbin --align 4096",
            RUNTIME,
        ],
        bad: "$CC host.o second.o device.o rt.o -o program",
        mend: &[],
        good: "$CC host.o device.o rt.o -o program",
    },
    Case {
        name: "shared-entries",
        remedy: "link each object by itself with fatbin link -- LINKER -r OBJECT -o OUTPUT, instead of wrapping its images",
        prepare: &[
            "sed s/main/other/g one.c >two.c",
            "for n in one two; do $CLANG $OPENMP -c $n.c -o $n.o && $CLANG $OPENMP --offload-host-only -c $n.c -o $n-host.o; done",
            "for n in one two; do $CLANG $OPENMP --offload-device-only -c $n.c -o $n-image.o; done",
            "for n in one two; do $CC -shared $n-image.o -o $n.so; done",
            "for n in one two; do $FATBIN wrap --kind openmp -o $n-wrapper.o --image=file=$n.so,triple=x86_64-pc-linux-gnu; done",
        ],
        bad: "$LD -r one-host.o one-wrapper.o two-host.o two-wrapper.o -o both.o",
        mend: &["for n in one two; do $FATBIN link -- $LD -r $n.o -o $n-linked.o; done"],
        good: "$LD -r one-linked.o two-linked.o -o both.o",
    },
    Case {
        name: "entry",
        remedy: "link the objects that define it, and their device code",
        prepare: &[
            "$FATBIN wrap --kind hip --entry answer_kernel -o one.o $IMAGE",
            "$HIP --offload-new-driver --offload-host-only -c kernel.hip -o host.o",
        ],
        bad: "$CC -shared one.o host.o -o lib.so",
        mend: &[NEW],
        good: "$FATBIN link -- $CC -shared k.o -o lib.so",
    },
    Case {
        name: "kernel",
        remedy: "link the host object that launches it, or remove the kernel",
        prepare: &[
            "cp kernel.hip both.hip && echo '__global__ void second(int *to) { *to = 1; }' >>both.hip",
            "$HIP -fno-gpu-rdc --cuda-device-only --no-gpu-bundle-output -c both.hip -o both.hsaco",
            "$FATBIN wrap --kind hip -o wrapper.o both.hsaco",
            "$HIP --offload-new-driver --offload-host-only -c kernel.hip -o host.o",
        ],
        bad: "$CC -shared wrapper.o host.o -o lib.so",
        mend: &["$HIP --offload-new-driver --offload-host-only -c both.hip -o host.o"],
        good: "$CC -shared wrapper.o host.o -o lib.so",
    },
    Case {
        name: "gcc",
        remedy: "link with the GCC that compiled the object, its offload compiler, and GNU ld or gold",
        prepare: &["$GCC -fopenmp -foffload=nvptx-none -c one.c -o one.o"],
        bad: "$GCC -fopenmp -foffload=nvptx-none -fuse-ld=mold one.o -o program",
        mend: &[],
        good: "$GCC -fopenmp -foffload=nvptx-none one.o -o program",
    },
    Case {
        name: "removed-image",
        remedy: "link the objects with their device code, which a tool or an option has removed",
        prepare: &[NEW, RUNTIME, "objcopy -R .llvm.offloading k.o removed.o"],
        bad: "$FATBIN link -- $CC removed.o rt.o -o program",
        mend: &[],
        good: "$FATBIN link -- $CC k.o rt.o -o program",
    },
    Case {
        name: "stripped",
        remedy: "build the object again, and leave its symbols, relocations and sections as they are",
        prepare: &["$FATBIN wrap --kind openmp -o one.o $IMAGE", "strip -s one.o"],
        bad: "$CC -shared one.o -o lib.so",
        mend: &["$FATBIN wrap --kind openmp -o one.o $IMAGE"],
        good: "$CC -shared one.o -o lib.so",
    },
    Case {
        name: "stub",
        remedy: "link the object that defines the kernel, or instantiate the template",
        prepare: &[
            "echo 'extern void _Z20__device_stub__scalev(void); void run(void) { _Z20__device_stub__scalev(); }' >run.c",
            "echo 'void _Z20__device_stub__scalev(void) {}' >stub.c",
            "$CC -fPIC -c run.c stub.c",
        ],
        bad: "$CC -shared run.o -o lib.so",
        mend: &[],
        good: "$CC -shared run.o stub.o -o lib.so",
    },
    Case {
        name: "nvcc-arch",
        remedy: "link with the -arch or -gencode options that compiled the object",
        prepare: &[CUDA, "$NVCC -dc -arch=sm_90 kernel.cu core.cu"],
        bad: "$NVCC kernel.o core.o -o program",
        mend: &[],
        good: "$NVCC -arch=sm_90 kernel.o core.o -o program",
    },
    Case {
        name: "nvcc-symbol",
        remedy: "compile the object that defines it for the same architectures, and link it",
        prepare: &[
            CUDA,
            "$NVCC -dc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 kernel.cu",
            "$NVCC -dc -arch=sm_90 core.cu && ar rcs libcore.a core.o",
        ],
        bad: "$NVCC -dlink -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 kernel.o -L. -lcore -o dlink.o",
        mend: &[
            "$NVCC -dc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 core.cu && ar rcs libcore.a core.o",
            "$NVCC -dlink -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 kernel.o -L. -lcore -o dlink.o",
        ],
        good: "$NVCC -dlink -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 kernel.o -L. -lcore -o dlink.o",
    },
    Case {
        name: "two-device-links",
        remedy: "link every object of the device link into the library, with -Wl,-Bsymbolic",
        prepare: &[
            CUDA,
            "$NVCC -dc -Xcompiler -fPIC -arch=sm_90 kernel.cu core.cu",
            "$NVCC -dlink -Xcompiler -fPIC -arch=sm_90 core.o -o core-link.o",
            "$NVCC -dlink -Xcompiler -fPIC -arch=sm_90 kernel.o core.o -o kernel-link.o",
            "$CC -shared core.o core-link.o -o libcore.so",
        ],
        bad: "$CC -shared kernel.o kernel-link.o -L. -lcore -o lib.so",
        mend: &[],
        good: "$CC -shared kernel.o core.o kernel-link.o -L. -lcore -Wl,-Bsymbolic -o lib.so",
    },
    Case {
        name: "targets",
        remedy: "compile all objects for the same targets, with the same features",
        prepare: &[
            NEW,
            RUNTIME,
            "sed 's/scale/second/; s/main/other/' kernel.hip >second.hip",
            "$HIP --no-offload-arch=gfx90a --offload-arch=gfx90a:xnack- --offload-new-driver -c second.hip -o second.o",
            "! $FATBIN link -- $CC k.o second.o rt.o -o program 2>message",
            "grep -q 'conflicting targets' message",
        ],
        bad: "$FATBIN link -- $CC k.o second.o rt.o -o program",
        mend: &[
            "$HIP --offload-new-driver -c second.hip -o second.o",
            "$FATBIN link -- $CC k.o second.o rt.o -o program",
            "./program | grep -q 'registered second'",
        ],
        good: "$FATBIN link -- $CC k.o second.o rt.o -o program",
    },
    Case {
        name: "two-libraries",
        remedy: "link every object of the device link into the library, with -Wl,-Bsymbolic",
        prepare: &[
            CUDA,
            "$NVCC -dc -Xcompiler -fPIC -arch=sm_90 core.cu && ar rcs libcore.a core.o",
            "$NVCC -dlink -Xcompiler -fPIC -arch=sm_90 core.o -o link.o && echo 'int main(void) { return 0; }' >main.c && $CC -c main.c",
            "for n in a b; do $CC -shared -Wl,--whole-archive libcore.a -Wl,--no-whole-archive link.o -o lib$n.so; done",
        ],
        bad: "$CC main.o -Wl,--no-as-needed -L. -la -lb -o program",
        mend: &["$CC -shared -Wl,-Bsymbolic -Wl,--whole-archive libcore.a -Wl,--no-whole-archive link.o -o libb.so"],
        good: "$CC main.o -Wl,--no-as-needed -L. -la -lb -o program",
    },
    Case {
        name: "gcc-lto",
        remedy: "compile the objects with nvcc -Xfatbin --no-asm, or without -flto",
        prepare: &[
            "for n in one two; do echo \"__global__ void k_$n(int *p) { *p = 1; }\" >$n.cu; done",
            "$NVCC -c -arch=sm_80 -Xcompiler -flto,-fPIC one.cu two.cu",
            "! $CC -flto=1 -shared one.o two.o -o both.so 2>message && grep -q fatbinData message",
        ],
        bad: "$CC -flto=1 -shared one.o two.o -o both.so",
        mend: &[
            "$NVCC -c -arch=sm_80 -Xcompiler -flto,-fPIC -Xfatbin --no-asm one.cu two.cu",
            "$CC -flto=1 -shared one.o two.o -o both.so",
        ],
        good: "$CC -flto=1 -shared one.o two.o -o both.so",
    },
    Case {
        name: "collision",
        remedy: "link one of the objects, or rename the symbol",
        prepare: &[NEW, "$HIP --offload-new-driver -cuid=2 -c kernel.hip -o two.o"],
        bad: "$LD -r k.o two.o -o both.o",
        mend: &[],
        good: "$FATBIN link -- $LD -r k.o -o both.o",
    },
];

const KERNEL: &str = r#"
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void **);
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
extern "C" __global__ void scale(int *to) { *to = 42; }
int main() { return 0; }
"#;

const OPENMP: &str =
    "int main(void) {\n int x = 0;\n#pragma omp target map(tofrom : x)\n x = 42;\n return x != 42;\n}\n";

/// A runtime of HIP that prints the kernels.
const HIP_RUNTIME: &str = r#"
#include <stdio.h>
void **__hipRegisterFatBinary(void *wrapper) { return wrapper; }
void __hipUnregisterFatBinary(void **handle) {}
void __hipRegisterFunction(void **handle, void *function, char *name, const char *device_name) {
    printf("registered %s\n", device_name);
}
void __hipRegisterVar(void) {}
void __hipRegisterManagedVar(void) {}
void __hipRegisterSurface(void) {}
void __hipRegisterTexture(void) {}
int __hipPopCallConfiguration(void) { return 0; }
int hipLaunchKernel(void) { return 0; }
"#;

/// Remedies that no trial follows, by the reason in the list.
const NOT_FOLLOWED: [&str; 2] = ["none: DPC++ is not packaged", "none: no compiler writes such an object"];

pub fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = CASES
        .iter()
        .map(|case| trial(format!("remedies/{}", case.name), move |directory| case.is_mended(directory)))
        .collect();
    let run = || completion(every_remedy_has_its_trial());
    trials.push(Trial::ignorable_test("doctor/remedies", run));
    trials
}

impl Case {
    fn is_mended(&self, directory: &Path) -> Result<()> {
        for (name, text) in [("kernel.hip", KERNEL), ("one.c", OPENMP), ("runtime.c", HIP_RUNTIME)] {
            std::fs::write(directory.join(name), text)?;
        }
        let run = |commands: &[&str]| commands.iter().try_for_each(|command| run(directory, command).map(drop));
        run(self.prepare)?;
        let document = self.diagnose(directory, self.bad)?;
        let remedies = document["problems"].as_array().into_iter().flatten();
        let mut remedies = remedies.filter_map(|problem| problem["remedy"].as_str());
        ensure!(remedies.any(|remedy| remedy.starts_with(self.remedy)), "{}: {document:#}", self.bad);
        run(self.mend)?;
        let document = self.diagnose(directory, self.good)?;
        let problems = document["problems"].as_array().context("problems")?;
        ensure!(problems.is_empty(), "{}: {document:#}", self.good);
        Ok(())
    }

    fn diagnose(&self, directory: &Path, line: &str) -> Result<Value> {
        let words = run(directory, &format!("printf '%s\\n' {line}"))?;
        let words: Vec<String> = words.lines().map(str::to_owned).collect();
        diagnose(directory, &[], &words)
    }
}

/// Runs a command of a shell, and returns its output.
fn run(directory: &Path, command: &str) -> Result<String> {
    let quoted = command.replace("$FATBIN", "\"$FATBIN\"").replace("$IMAGE", "\"$IMAGE\"");
    let mut step = Step::new(directory, "sh").args(["-e", "-c", &quoted]);
    let hip = format!(
        "{} -O1 -fPIE -nogpuinc -nogpulib -fgpu-rdc --offload-arch=gfx90a -x hip",
        Tool::Clang.path()?.display()
    );
    let variables = [
        ("FATBIN", fatbin_program().to_owned()),
        ("HIP", hip),
        ("CC", Tool::Cc.path()?.display().to_string()),
        ("LD", Tool::Bfd.path()?.display().to_string()),
        ("CLANG", Tool::Clang.path()?.display().to_string()),
        ("NM", Tool::Nm.path()?.display().to_string()),
        ("OPENMP", "-O1 -fPIC -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu".to_owned()),
        ("IMAGE", fixture("answer-gfx90a.hsaco")?.display().to_string()),
    ];
    for (name, value) in variables {
        step = step.env(name, value);
    }
    if command.contains("$GCC") {
        step = step.env("GCC", in_path("gcc-12").ok_or_else(|| Missing::new("gcc-12", "gcc-12-offload-nvptx"))?);
    }
    if command.contains("$NVCC") {
        let path = fetched("cuda-nvcc").join("nvidia/cu13/bin/nvcc");
        step = step.env("NVCC", Some(path).filter(|path| path.is_file()).ok_or_else(|| not_fetched("nvcc"))?);
    }
    if command.contains("$CLANG14") {
        step = step.env("CLANG14", llvm_tool("clang", "14", "clang-14")?);
    }
    Ok(step.run()?.stdout)
}

/// Each row of the list has a trial with its remedy, or a reason that is listed here.
fn every_remedy_has_its_trial() -> Result<()> {
    let list = include_str!("../../src/ops/link/doctor/remedies.txt");
    let rows: Vec<(&str, &str)> = list.lines().map_while(|line| line.split_once(" | ")).collect();
    ensure!(rows.len() > CASES.len(), "{rows:?}");
    for (remedy, name) in rows {
        let others = ["doctor/relocatable-cuda", "doctor/module-ids", "doctor/tile-kernels"];
        let case = CASES.iter().find(|case| name == format!("doctor/remedies/{}", case.name));
        let is_followed = match case {
            Some(case) => remedy.starts_with(case.remedy.trim_end_matches("__hip_fatbin_")),
            None => others.contains(&name) || NOT_FOLLOWED.contains(&name),
        };
        ensure!(is_followed, "{remedy}: {name}");
    }
    Ok(())
}
