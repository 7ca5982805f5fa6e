//! What a case says about itself: lines `//# key: value` at the top of its `main.c`.
//!
//! | key | value |
//! |---|---|
//! | `image` | a device image to wrap: `FILE[,triple=T][,arch=A]`, FILE in `fixtures/` or made from `main.c` (below). Repeat it for several images; they are wrapped in this order |
//! | `raw` | `yes`: embed the images as they are, without an offload binary around each |
//! | `object-per-image` | `yes`: a wrapper object for each image instead of one for all |
//! | `beside` | a source in `fixtures/` to compile and link into the program |
//! | `openmp-target` | a triple: compile `main.c` with OpenMP offloading, its device half to the image `device.so` |
//! | `device-flag` | a compiler flag for the device half alone |
//! | `link-flag` | a flag for the link of the program |
//! | `link-flag-lld` | the same, for lld alone |
//! | `environment` | `NAME=VALUE` for the program's run |
//!
//! Anything else is an error that names the line: a directive with a typing mistake must not turn into a weaker test.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};

/// One case: a program, the images that go into it, and what it prints.
pub struct Case {
    /// The directory's name, first part of the trials' names.
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

/// An image to wrap, with the two facts that travel with it in the offload binary.
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

    /// `file=F,triple=T,arch=A`, as our command line and LLVM's both have it.
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

/// The path of a file in `fixtures/`, which has to be there.
pub fn fixture(name: &str) -> Result<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    ensure!(path.is_file(), "{}: no such fixture", path.display());
    Ok(path)
}

fn yes(value: &str) -> Result<bool> {
    match value {
        "yes" => Ok(true),
        _ => Err(anyhow!("`{value}`: this directive is `yes` or not there")),
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
