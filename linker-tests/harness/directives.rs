//! Directives of a case: lines `//# key: value` at the top of its `main.c`.
//!
//! | key | value |
//! |---|---|
//! | `image` | a device image to wrap: `FILE[,triple=T][,arch=A]`, FILE in `fixtures/` or made from `main.c` (below). Repeatable; images are wrapped in this order |
//! | `raw` | `yes`: embed the images without an offload binary around each |
//! | `object-per-image` | `yes`: a wrapper object for each image instead of one for all |
//! | `beside` | a source in `fixtures/` to compile and link into the program |
//! | `openmp-target` | a triple: compile `main.c` with OpenMP offloading, its device half to the image `device.so` |
//! | `device-flag` | a compiler flag for the device half only |
//! | `link-flag` | a linker flag for the program |
//! | `link-flag-lld` | a linker flag for lld only |
//! | `environment` | `NAME=VALUE` for the program's run |
//!
//! Anything else is an error with the line: a misspelled directive must not weaken a test.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};

/// A case: a program, its images, and its expected output.
pub struct Case {
    /// Name of the directory, first part of the names of trials.
    pub name: String,
    pub source: PathBuf,
    pub images: Vec<Image>,
    pub raw: bool,
    pub object_per_image: bool,
    pub beside: Vec<PathBuf>,
    pub openmp_target: Option<String>,
    pub device_flags: Vec<String>,
    pub link_flags: Vec<String>,
    pub link_flags_lld: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub expected_stdout: String,
}

/// An image to wrap, with its properties in the offload binary.
#[derive(Clone)]
pub struct Image {
    pub file: String,
    pub triple: Option<String>,
    pub arch: Option<String>,
}

impl Case {
    pub fn read(directory: &Path) -> Result<Case> {
        let source = directory.join("main.c");
        let text = read(&source)?;
        let name = directory.file_name().context("a case directory has a name")?;
        let mut case = Case {
            name: name.to_string_lossy().into_owned(),
            source,
            images: Vec::new(),
            raw: false,
            object_per_image: false,
            beside: Vec::new(),
            openmp_target: None,
            device_flags: Vec::new(),
            link_flags: Vec::new(),
            link_flags_lld: Vec::new(),
            environment: Vec::new(),
            expected_stdout: read(&directory.join("expected-stdout"))?,
        };
        for (index, line) in text.lines().enumerate() {
            if let Some(directive) = line.strip_prefix("//#") {
                case.apply(directive).with_context(|| format!("{}:{}: `{line}`", case.source.display(), index + 1))?;
            }
        }
        ensure!(!case.images.is_empty(), "{}: no `//# image:`", case.source.display());
        Ok(case)
    }

    fn apply(&mut self, directive: &str) -> Result<()> {
        let (key, value) = directive.split_once(':').context("a directive is `//# key: value`")?;
        let value = value.trim();
        ensure!(!value.is_empty(), "a directive needs a value");
        match key.trim() {
            "image" => self.images.push(Image::parse(value)?),
            "raw" => self.raw = yes(value)?,
            "object-per-image" => self.object_per_image = yes(value)?,
            "beside" => self.beside.push(fixture(value)?),
            "openmp-target" => self.openmp_target = Some(value.to_owned()),
            "device-flag" => self.device_flags.push(value.to_owned()),
            "link-flag" => self.link_flags.push(value.to_owned()),
            "link-flag-lld" => self.link_flags_lld.push(value.to_owned()),
            "environment" => {
                let (name, value) = value.split_once('=').context("`NAME=VALUE` expected")?;
                self.environment.push((name.to_owned(), value.to_owned()));
            }
            unknown => bail!("unknown directive `{unknown}`"),
        }
        Ok(())
    }
}

impl Image {
    fn parse(value: &str) -> Result<Image> {
        let mut fields = value.split(',');
        let file = fields.next().context("`FILE[,triple=T][,arch=A]` expected")?;
        let mut image = Image { file: file.to_owned(), triple: None, arch: None };
        for field in fields {
            match field.split_once('=') {
                Some(("triple", triple)) => image.triple = Some(triple.to_owned()),
                Some(("arch", arch)) => image.arch = Some(arch.to_owned()),
                _ => bail!("unknown part `{field}`: `triple=T` or `arch=A` expected"),
            }
        }
        Ok(image)
    }

    /// Returns `file=F,triple=T,arch=A`, the syntax of both fatbin's and LLVM's command lines.
    pub fn option(&self) -> String {
        let mut option = format!("file={}", self.file);
        for (key, value) in [("triple", &self.triple), ("arch", &self.arch)] {
            if let Some(value) = value {
                option.push_str(&format!(",{key}={value}"));
            }
        }
        option
    }
}

/// Returns the path of a file in `fixtures/`, which must exist.
pub fn fixture(name: &str) -> Result<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    ensure!(path.is_file(), "{}: no such fixture", path.display());
    Ok(path)
}

fn yes(value: &str) -> Result<bool> {
    match value {
        "yes" => Ok(true),
        _ => Err(anyhow!("`{value}`: this directive is `yes` or absent")),
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
