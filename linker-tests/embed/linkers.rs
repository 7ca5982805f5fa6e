//! Every linker of Linux links, drops and keeps embedded files.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Object, ObjectSymbol, elf};
use sha2::{Digest, Sha256};

use super::{Files, check_scan, embed, fnv, source};
use crate::harness::build::Form;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool};
use crate::harness::trial::{completion, fresh_directory};

const HOST: &str = "x86_64-unknown-linux-gnu";

pub fn trials() -> Vec<Trial> {
    let trials = Linker::ALL.into_iter().map(|linker| {
        let name = linker.name();
        let run = move || {
            // A missing linker is detected first.
            linker.path()?;
            links(&fresh_directory("embed", name)?, linker)
        };
        Trial::ignorable_test(format!("embed/linkers/{name}"), move || completion(run()))
    });
    trials.collect()
}

/// A directory with the files, their objects and a linker.
struct Build<'a> {
    directory: &'a Path,
    linker: Linker,
    files: &'a Files,
}

fn links(directory: &Path, linker: Linker) -> Result<()> {
    let files = Files::write(directory)?;
    let build = Build { directory, linker, files: &files };
    embed(directory, HOST, "retained.o", &["--retain", "--index", "table"])?;
    embed(directory, HOST, "large.o", &["--large", "always", "--index", "table"])?;
    embed(directory, HOST, "files.o", &["--index", "table"])?;
    for form in Form::ALL {
        build.is_dropped_where_unused(form)?;
    }
    build.is_kept_by_the_index()?;
    build.runs("large", "large.o", &[])?;
    build.is_kept_if_retained()?;
    build.absolute_sizes_are_those_of_the_linker()
}

impl Build<'_> {
    /// Compiles `check.c` to `check.o`.
    fn compile(&self, flags: &[&str]) -> Result<()> {
        let step = Step::new(self.directory, Tool::Cc.path()?).args(["-O1", "-Wall", "-Wextra", "-Werror", "-I."]);
        step.args(self.files.macros()).args(flags).arg("-c").arg(source()).args(["-o", "check.o"]).run()?;
        Ok(())
    }

    fn link(&self, output: &str, flags: &[&str], inputs: &[&str]) -> Result<()> {
        let step = Step::new(self.directory, Tool::Cc.path()?).args(self.linker.cc_flags()?);
        step.args(["-Wl,--gc-sections", "-o", output]).args(flags).args(inputs).run()?;
        Ok(())
    }

    /// Compiles `check.c`, links it with an object, runs the program, and checks its output and its stack.
    fn runs(&self, program: &str, object: &str, macros: &[&str]) -> Result<()> {
        self.compile(&[&["-fPIE"], macros].concat())?;
        self.link(program, &["-pie"], &["check.o", object])?;
        self.prints(program)
    }

    fn prints(&self, program: &str) -> Result<()> {
        let done = Step::new(self.directory, self.directory.join(program)).env("LD_LIBRARY_PATH", ".").run()?;
        ensure!(done.stdout == format!("{:016x} 0\n", fnv(&self.files.kernel)), done.error(done.stdout.clone()));
        ensure!(!has_executable_stack(&self.directory.join(program))?, "{program}: executable stack");
        Ok(())
    }

    fn is_dropped_where_unused(&self, form: Form) -> Result<()> {
        let (compile, flags, object) = match form {
            Form::Pie => ("-fPIE", ["-pie"], "files.o"),
            Form::NoPie => ("-fno-pie", ["-no-pie"], "files.o"),
            // A symbol of a library that marks an end has no size, and cannot be copied to the program.
            Form::Shared => ("-fPIC", ["-pie"], "./libfiles.so"),
            Form::Relocatable => ("-fPIE", ["-pie"], "merged.o"),
        };
        if form == Form::Shared {
            self.link("libfiles.so", &["-shared", "-Wl,-soname,libfiles.so"], &["files.o"])?;
        }
        if form == Form::Relocatable {
            Step::new(self.directory, self.linker.path()?).args(["-r", "-o", object, "files.o"]).run()?;
        }
        self.compile(&[compile])?;
        self.link(form.name(), &flags, &["check.o", object])?;
        self.prints(form.name())?;
        if form == Form::Shared {
            // Users of a library may refer to each of its files.
            ensure!(self.files.has_unused(&self.directory.join("libfiles.so"))?, "a library lacks a file");
            return check_scan(self.directory, "libfiles.so", &[], &self.images());
        }
        ensure!(!self.files.has_unused(&self.directory.join(form.name()))?, "{}: an unused file was kept", form.name());
        self.link("stripped", &[&flags[..], &["-s"]].concat(), &["check.o", object])?;
        // Without the search through all bytes, the note leads to the files.
        check_scan(self.directory, "stripped", &["--fast"], &self.images())?;
        check_scan(self.directory, "stripped", &[], &self.images())
    }

    /// The images in the program: symbols and bytes.
    fn images(&self) -> [(&'static str, &[u8]); 2] {
        [("kernel", &self.files.kernel), ("text", &self.files.text)]
    }

    fn is_kept_by_the_index(&self) -> Result<()> {
        let hash = format!("-DUNUSED_SHA256={}", Sha256::digest(&self.files.unused)[0]);
        self.runs("indexed", "files.o", &["-DWITH_INDEX", &hash])?;
        ensure!(self.files.has_unused(&self.directory.join("indexed"))?, "the index does not keep a file");
        Ok(())
    }

    fn is_kept_if_retained(&self) -> Result<()> {
        self.runs("retained", "retained.o", &[])?;
        ensure!(self.files.has_unused(&self.directory.join("retained"))?, "a retained file was dropped");
        Ok(())
    }

    /// Checks that the symbols of `--symbols binary` have the values that they have in an object of GNU ld.
    fn absolute_sizes_are_those_of_the_linker(&self) -> Result<()> {
        let step = super::fatbin(self.directory).args(["embed", "--symbols", "binary", "-o", "binary.o", "kernel"]);
        step.run()?;
        std::fs::write(
            self.directory.join("empty.c"),
            "extern const char _binary_kernel_start[];\nconst char *use = _binary_kernel_start;\n",
        )?;
        Step::new(self.directory, Tool::Cc.path()?).args(["-fPIC", "-c", "empty.c"]).run()?;
        self.link("libbinary.so", &["-shared"], &["empty.o", "binary.o"])?;
        let bytes = std::fs::read(self.directory.join("libbinary.so"))?;
        let file = object::File::parse(&*bytes)?;
        let find = |name: &str| {
            let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name));
            symbol.map(|symbol| symbol.address()).with_context(|| format!("{name} is not exported"))
        };
        let (start, end, size) =
            (find("_binary_kernel_start")?, find("_binary_kernel_end")?, find("_binary_kernel_size")?);
        ensure!((end - start, size) == (self.files.kernel.len() as u64, self.files.kernel.len() as u64), "{size:#x}");
        Ok(())
    }
}

fn has_executable_stack(program: &Path) -> Result<bool> {
    let bytes = std::fs::read(program)?;
    let header = elf::FileHeader64::<object::Endianness>::parse(&*bytes)?;
    let endian = header.endian()?;
    let mut stacks =
        header.program_headers(endian, &*bytes)?.iter().filter(|it| it.p_type(endian) == elf::PT_GNU_STACK);
    let stack = stacks.next().context("PT_GNU_STACK")?;
    Ok(stack.p_flags(endian).contains(elf::PF_X))
}
