//! The build of a case: compiles the host, makes and wraps the images, and links the program.
//!
//! Names are relative to the trial's directory, and every command runs there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::harness::directives::{Case, Image, fixture};
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool};
use crate::harness::wrap::Wrapper;

/// How the wrapper object is linked into the program.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    /// A position-independent program.
    Pie,
    /// A program at a fixed address: the linker resolves addresses that are otherwise left to the loader.
    NoPie,
    /// A shared library with the case's objects; the program consists of the `beside` sources.
    Shared,
    /// Two links: `ld -r` of host object and wrapper object, then a normal one of the result.
    Relocatable,
}

impl Form {
    pub const ALL: [Form; 4] = [Form::Pie, Form::NoPie, Form::Shared, Form::Relocatable];

    pub fn name(self) -> &'static str {
        match self {
            Form::Pie => "pie",
            Form::NoPie => "no-pie",
            Form::Shared => "shared",
            Form::Relocatable => "relocatable",
        }
    }

    fn compile_flag(self) -> &'static str {
        match self {
            Form::Pie | Form::Relocatable => "-fPIE",
            Form::NoPie => "-fno-pie",
            Form::Shared => "-fPIC",
        }
    }

    fn link_flag(self) -> &'static str {
        match self {
            Form::Pie | Form::Shared | Form::Relocatable => "-pie",
            Form::NoPie => "-no-pie",
        }
    }
}

/// Results of a build, for the checks.
pub struct Built {
    pub program: PathBuf,
    /// The linked file that contains the images: the program, or the shared library.
    pub carrier: PathBuf,
    /// The output of `ld -r`, if any.
    pub merged: Option<PathBuf>,
    /// The wrapped images in order, with the wrapped path as `file`.
    pub images: Vec<Image>,
}

pub struct Build<'a> {
    pub case: &'a Case,
    pub directory: &'a Path,
    pub linker: Linker,
    pub form: Form,
}

impl Build<'_> {
    pub fn run(&self, wrapper: Wrapper) -> Result<Built> {
        // A missing linker is detected first.
        let linker_flags = self.linker.cc_flags()?;
        let host = self.compile_host()?;
        let images = self.images()?;
        let wrappers = wrapper.run(self.case, self.directory, &images)?;
        let mut carried = vec![host];
        carried.extend(wrappers);
        let beside = self.compile_beside()?;

        let link = |output: &str, kind: &[&str], inputs: &[PathBuf]| {
            let step =
                Step::new(self.directory, Tool::Cc.path()?).args(&linker_flags).args(kind).args(self.link_flags());
            step.arg("-o").arg(output).args(inputs).args(self.libraries()?).run().map(|_| ())
        };
        let mut carrier = PathBuf::from("program");
        let mut merged = None;
        match self.form {
            Form::Pie | Form::NoPie => {}
            Form::Shared => {
                // Without a soname, the program would refer to the library by its path at link time.
                link("libcase.so", &["-shared", "-Wl,-soname,libcase.so"], &carried)?;
                carrier = PathBuf::from("libcase.so");
                carried = vec![carrier.clone()];
            }
            Form::Relocatable => {
                let output = PathBuf::from("merged.o");
                Step::new(self.directory, self.linker.path()?).arg("-r").arg("-o").arg(&output).args(&carried).run()?;
                carried = vec![output.clone()];
                merged = Some(output);
            }
        }
        // Objects first: if the library contains the whole case, it also contains `main`, which needs the runtime.
        let inputs = [beside, carried].concat();
        link("program", &[self.form.link_flag()], &inputs)?;
        Ok(Built { program: PathBuf::from("program"), carrier, merged, images })
    }

    /// Compiles `main.c` of the case to a host object, and with OpenMP its device half to the image `device.so`.
    fn compile_host(&self) -> Result<PathBuf> {
        let object = PathBuf::from("host.o");
        let Some(target) = &self.case.openmp_target else {
            return self.compile(&self.case.source, object);
        };
        let clang = || -> Result<Step> {
            let step = Step::new(self.directory, Tool::Clang.path()?).args(["-O1", "-fopenmp"]);
            // The name of the region depends on the path: both halves are compiled from the same one.
            Ok(step.arg(format!("-fopenmp-targets={target}")).arg("-c").arg(&self.case.source))
        };
        clang()?.args(["--offload-host-only", self.form.compile_flag(), "-o"]).arg(&object).run()?;
        let device = clang()?.args(["--offload-device-only", "-fPIC"]).args(&self.case.device_flags);
        device.args(["-o", "device.o"]).run()?;
        Step::new(self.directory, Tool::Cc.path()?).args(["-shared", "-o", "device.so", "device.o"]).run()?;
        Ok(object)
    }

    fn compile_beside(&self) -> Result<Vec<PathBuf>> {
        let objects = self.case.beside.iter().map(|source| {
            let name = source.file_stem().context("a source has a name")?;
            self.compile(source, Path::new(name).with_extension("o"))
        });
        objects.collect()
    }

    fn compile(&self, source: &Path, object: PathBuf) -> Result<PathBuf> {
        let step =
            Step::new(self.directory, Tool::Cc.path()?).args(["-O1", "-Wall", "-Werror", self.form.compile_flag()]);
        step.arg("-c").arg(source).arg("-o").arg(&object).run()?;
        Ok(object)
    }

    /// Returns the images with paths instead of names. A file that was just built precedes one in `fixtures/`.
    fn images(&self) -> Result<Vec<Image>> {
        let located = self.case.images.iter().map(|image| {
            let built = self.directory.join(&image.file);
            let path = if built.is_file() { built } else { fixture(&image.file)? };
            Ok(Image { file: path.display().to_string(), ..image.clone() })
        });
        located.collect()
    }

    fn link_flags(&self) -> Vec<String> {
        let mut flags = self.case.link_flags.clone();
        if self.linker == Linker::Lld {
            flags.extend(self.case.link_flags_lld.clone());
        }
        flags
    }

    /// Returns the OpenMP runtime as needed libraries, even if only the wrapper's constructor uses it.
    fn libraries(&self) -> Result<Vec<OsString>> {
        if self.case.openmp_target.is_none() {
            return Ok(Vec::new());
        }
        Ok(vec!["-Wl,--no-as-needed".into(), Tool::Libomp.path()?.into(), Tool::Libomptarget.path()?.into()])
    }
}
