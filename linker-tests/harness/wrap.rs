//! The wrapper objects of a case, made by fatbin or by LLVM.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::fatbin_program;
use crate::harness::directives::{Case, Image};
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// The program that makes wrapper objects.
#[derive(Clone, Copy)]
pub enum Wrapper {
    Ours,
    /// LLVM's tools, the reference.
    Reference,
}

impl Wrapper {
    /// Wraps the images, in one object or one each as the case requires, and returns the paths of the objects.
    pub fn run(self, case: &Case, directory: &Path, images: &[Image]) -> Result<Vec<PathBuf>> {
        let groups = if case.object_per_image { images.chunks(1) } else { images.chunks(images.len()) };
        let mut objects = Vec::new();
        for (index, group) in groups.enumerate() {
            let object = format!("wrapper-{index}.o");
            match self {
                Wrapper::Ours => wrap(case, directory, group, &object)?,
                Wrapper::Reference => wrap_by_reference(case, directory, group, &object)?,
            }
            objects.push(PathBuf::from(object));
        }
        Ok(objects)
    }
}

fn wrap(case: &Case, directory: &Path, images: &[Image], object: &str) -> Result<()> {
    let mut step = Step::new(directory, fatbin_program()).args(["wrap", "--kind", "openmp"]);
    if case.raw {
        step = step.arg("--raw");
    }
    for image in images {
        step = step.arg("--image").arg(image.option());
    }
    step.args(["-o", object]).run()?;
    Ok(())
}

/// Packs each image into an offload binary, writes the registration as LLVM IR, and compiles that to an object.
fn wrap_by_reference(case: &Case, directory: &Path, images: &[Image], object: &str) -> Result<()> {
    let mut inputs = Vec::new();
    for (index, image) in images.iter().enumerate() {
        if case.raw {
            inputs.push(image.file.clone());
            continue;
        }
        let binary = format!("{object}.{index}.offload");
        let step = Step::new(directory, Tool::OffloadBinary.path()?).args(["-o", &binary]);
        step.arg(format!("--image={},kind=openmp", image.option())).run()?;
        inputs.push(binary);
    }
    let bitcode = format!("{object}.bc");
    let step = Step::new(directory, Tool::OffloadWrapper.path()?).args(["--kind=openmp", "-o", &bitcode]);
    step.arg("--triple=x86_64-unknown-linux-gnu").args(inputs).run()?;
    // The compiler warns that it spells the triple differently; both spellings mean this machine.
    let step = Step::new(directory, Tool::Clang.path()?).args(["-O2", "-fPIC", "-Wno-override-module"]);
    step.args(["-c", &bitcode, "-o", object]).run()?;
    Ok(())
}
